"""docs/papers.md is true and whole: what it names exists, and nothing of the papers is left out."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (\w+)[^\n]*\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
PAPERS = pytest.mark.parametrize(("paper", "text"), SECTIONS, ids=[paper for paper, _ in SECTIONS])
# What each paper has, and our numbers of its slips.
WHOLE = {
    "Yan": {"eq.": 9, "Theorem": 2, "Table": 1, "A": 12},
    "Geng": {"eq.": 20, "Algorithm": 2, "Theorem": 1, "Proposition": 1, "Table": 1, "Figure": 6, "C": 14},
    "Merler": {"eq.": 17, "Figure": 9, "B": 14},
    "Wan": {"eq.": 7, "Proposition": 1, "Lemma": 1, "Theorem": 3, "Table": 3, "Figure": 4, "D": 9},
}


@cache
def names_of(path: Path) -> frozenset[str]:
    """The names that a module defines, those of a class as Class.name."""
    found = set()

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            found.update(prefix + target.id for target in targets if isinstance(target, ast.Name))

    visit(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return frozenset(found)


def references(cell: str) -> list[tuple[str, str]]:
    """The files and names of a cell; a name without a file is in the file before it."""
    found: list[tuple[str, str]] = []
    for file, name in re.findall(r"`([\w/]+\.py|)::([\w:.*]+)`", cell):
        found.append((file or found[-1][0], name.replace("::", ".")))
    return found


def path_of(file: str) -> Path:
    return ROOT / ("tests" if file.rpartition("/")[2].startswith("test_") else "src/rankloom") / file


def missing(file: str, name: str) -> bool:
    path = path_of(file)
    return not path.is_file() or not any(fnmatch(known, name) for known in names_of(path))


def unknown_words(row: str) -> set[str]:
    """Parameters and the like of a row, such as `lam` or `shift="query"`, that none of its files has."""
    texts = [
        path.read_text(encoding="utf-8") for path in {path_of(file) for file, _ in references(row)} if path.is_file()
    ]
    words = {*re.findall(r"`(\w+)(?:[=(][^`]*)?`", row)}
    return {word for word in words if not any(re.search(rf"\b{word}\b", text) for text in texts)}


def problems(row: str) -> list[str]:
    """What is wrong with a row: in the paper, here, shown by, differs."""
    cells = [cell.strip() for cell in row.split("|")]
    if len(cells) != 4:
        return [f"{len(cells)} cells"]
    _, here, shown, _ = cells
    wrong = [f"no {file}::{name}" for file, name in references(row) if missing(file, name)]
    if not references(here) and "not " not in here:
        wrong.append("no module")
    if shown != "not tested" and not any("test_" in name for _, name in references(shown)):
        wrong.append("no test")
    if len(references(row)) != len(re.findall(r"\.py|`::", row)):
        wrong.append("a file without a name")
    return wrong + [f"no {word}" for word in sorted(unknown_words(row))]


@PAPERS
def test_what_rows_name_exists_and_is_shown(paper, text):
    rows = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)[1:]
    assert not [f"{row[:60]}: {', '.join(wrong)}" for row in rows if (wrong := problems(row))]


def test_rot_is_noticed():
    good = "eq. 1 | `rankers/losses.py::MarginLoss.value` | `rankers/test_losses.py::test_get_*` | no"
    assert problems(good) == []
    assert problems(good.replace("test_get_", "test_gone_")) == ["no rankers/test_losses.py::test_gone_*"]
    assert problems(good.replace("MarginLoss.value", "Gone")) == ["no rankers/losses.py::Gone"]
    assert problems(good.replace("losses.py", "gone.py", 1)) == ["no rankers/gone.py::MarginLoss.value"]
    assert problems(good.replace("| no", '| `gone="l1"`')) == ["no gone"]
    assert problems("eq. 1 | here | there | no") == ["no module", "no test"]
    assert problems("Figure 1 | not built | not tested | -") == []


@PAPERS
def test_nothing_of_a_paper_is_left_out(paper, text):
    first = re.findall(r"^\| ([^|]*) \|", text, re.MULTILINE)
    slips = [cell[2:].partition("**")[0] for cell in first if cell.startswith("**")]
    items = " ".join(cell for cell in first if not cell.startswith("**"))
    for kind, count in WHOLE[paper].items():
        if kind in "ABCD":
            assert slips == [f"{kind}{number}" for number in range(1, count + 1)]
        else:
            ranges = re.findall(rf"\b{re.escape(kind)} (\d+)(?: to (\d+))?", items)
            covered = {n for start, end in ranges for n in range(int(start), int(end or start) + 1)}
            assert covered == {*range(1, count + 1)}, f"{paper}: {kind}"
    assert {paper for paper, _ in SECTIONS} == {*WHOLE}


def test_every_test_of_a_slip_is_in_the_row_of_its_slip():
    for file in ("test_errata_a.py", "test_errata_b.py", "test_errata_c.py", "test_online.py"):
        for name in names_of(ROOT / "tests" / "rankers" / file):
            slip = re.match(r"test_([a-d]\d+)_", name)
            if slip:
                row = re.search(rf"^\| \*\*{slip[1].upper()}\*\* .*$", TEXT, re.MULTILINE)
                assert row, f"docs/papers.md has no row {slip[1].upper()}"
                assert any(fnmatch(name, pattern) for _, pattern in references(row[0])), f"{name} is not in {slip[1]}"

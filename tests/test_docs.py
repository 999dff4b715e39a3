"""The documentation is complete: commands, options, public names, links. (Its examples run as doctests.)"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rankloom
import rankloom.datasets
import rankloom.rankers
from rankloom.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
ABSOLUTE = re.compile(r"(?<![\w.:/~])/(?:home|root|tmp|usr|var|opt|work|mnt|Users)\b|[A-Za-z]:\\\\")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """What stands below a heading, up to the next one of the same level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section {title!r}"
    return found[1]


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to headings; code blocks have none."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", sorted(main.commands))
def test_command_is_documented(name):
    text = section(page("command-line.md"), name)
    for parameter in main.commands[name].params:
        if parameter.param_type_name == "option":
            for spelling in parameter.opts:
                row = re.search(rf"^\| [^|]*`{spelling}[` ]", text, re.MULTILINE)
                assert row, f"{name} {spelling} has no row in a table of docs/command-line.md"
        else:
            singular = parameter.name.upper().removesuffix("S")
            assert singular in text, f"{name} {parameter.name.upper()} is not in docs/command-line.md"


@pytest.mark.parametrize("module", [rankloom, rankloom.rankers, rankloom.datasets], ids=lambda module: module.__name__)
def test_public_names_are_documented(module):
    text = page("api.md")
    missing = [name for name in module.__all__ if not re.search(rf"`{name}[`(]", text)]
    assert not missing, f"not in docs/api.md: {', '.join(missing)}"


def test_every_short_name_is_documented():
    text = page("api.md")
    missing = [name for name in rankloom.rankers.RANKERS if f"`{name}`" not in text]
    assert not missing, f"not in docs/api.md: {', '.join(missing)}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_resolve(path):
    text = path.read_text(encoding="utf-8")
    for target in LINK.findall(text):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.is_relative_to(ROOT), f"{target} leaves the repository"
        assert there.exists(), f"{target} does not exist"
        if anchor:
            assert anchor in anchors(there.read_text(encoding="utf-8")), f"{target}: no such heading"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_absolute_paths(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        assert not ABSOLUTE.search(line), f"{path.name}:{number}: {line.strip()}"


def test_readme_links_every_page():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in PAGES:
        name = path.relative_to(ROOT).as_posix()
        assert name == "README.md" or f"({name})" in readme, f"README.md does not link {name}"

"""The documentation is complete and true: commands, options, signatures, links. (Its examples run as doctests.)"""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
import tomllib
from pathlib import Path

import click
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


def command_lines(text: str) -> list[str]:
    """Every `rankloom ...` of a page: lines of its code blocks, and what stands between backticks."""
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    shown = [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?rankloom ", line)]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return shown + re.findall(r"`(rankloom [^`]+)`", prose)


def parse_command(line: str) -> None:
    """Fail unless the command of a line exists, has these options and takes these choices; nothing is run."""
    words = shlex.split(re.sub(r"[\[\]|]", " ", line), comments=True)[1:]
    command: click.Command = main
    context = click.Context(main, info_name="rankloom", **main.context_settings)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        assert words[0] in command.commands, f"{line}: there is no command {words[0]!r}"
        command = command.commands[words.pop(0)]
        context = click.Context(command, context, command.name)
    valued = {spelling for option in command.params if not getattr(option, "is_flag", True) for spelling in option.opts}
    if words and words[-1] in valued:  # prose may leave the value out
        words.append("VALUE")
    values, *_ = command.make_parser(context).parse_args([word for word in words if word not in ("COMMAND", "...")])
    for parameter in command.params:
        value = values.get(parameter.name)
        if isinstance(parameter.type, click.Choice) and isinstance(value, str) and not value.isupper():
            parameter.type.convert(value, parameter, context)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_command_lines_are_understood(path):
    for line in command_lines(path.read_text(encoding="utf-8")):
        try:
            parse_command(line)
        except click.UsageError as error:
            pytest.fail(f"{line}: {error.format_message()}")


def signatures():
    """The rows of the tables of docs/api.md with a signature: module, whose methods they are, first column, second."""
    for module, text in re.findall(r"^## (rankloom\S*)\n(.*?)(?=^## |\Z)", page("api.md"), re.MULTILINE | re.DOTALL):
        owner = ""
        for row in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
            first, *others = (cell.strip() for cell in row.split("|"))
            if first == "name" or first.startswith("method of"):
                owner = first.removeprefix("method of ").strip("`") if first != "name" else ""
            elif re.search(r"`\w+\(", first):
                yield pytest.param(module, owner, first, " ".join(others), id=f"{module}: {first}")


def difference(function: object, text: str) -> str:
    """How documented parameters differ from the real ones; empty if they do not.

    A default that is shown as `...` may be any, and `...` at the end stands for further parameters. What collects
    unknown parameters in order to refuse them is none.
    """
    given, cut = re.subn(r"(, |^)\.\.\.$", "", text)
    wanted = inspect.signature(eval(f"lambda {given}: 0", {"Filters": rankloom.Filters})).parameters.values()
    real = [
        actual for actual in inspect.signature(function).parameters.values() if actual.name not in ("self", "unknown")
    ]
    for shown, actual in zip(wanted, real, strict=False):
        free = shown.default is ... or repr(actual.default) == "<factory>"
        if (shown.name, shown.kind) != (actual.name, actual.kind) or not (free or shown.default == actual.default):
            return f"{shown} is {actual}, in {inspect.signature(function)}"
    complete = len(wanted) == len(real) or (cut and len(wanted) < len(real))
    return "" if complete else f"it is {inspect.signature(function)}"


@pytest.mark.parametrize(("module", "owner", "first", "rest"), [*signatures()])
def test_signatures_are_those_of_the_code(module, owner, first, rest):
    place = importlib.import_module(module)
    place = getattr(place, owner) if owner else place
    subjects = [place]
    for name, text in re.findall(r"`(\w+)\((.*?)\)`", first):
        subjects.append(getattr(place, name))
        assert not (wrong := difference(subjects[-1], text)), f"{name}: {wrong}"
    for name, text in re.findall(r"`(\w+)\((.*?)\)`", rest):
        functions = [getattr(subject, name) for subject in reversed(subjects) if hasattr(subject, name)]
        assert functions, f"{name} is neither a method of what the row is about nor a name of {module}"
        assert not (wrong := difference(functions[0], text)), f"{name}: {wrong}"


def test_signatures_stand_in_tables():
    prose = re.sub(r"^\|[^\n]*$|^```.*?^```", "", page("api.md"), flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"`\w+\([^`]*\w[^`]*\)`", prose)


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


def test_contributing_draws_the_tree_and_the_layers():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    packages = [path.parent.name for path in (ROOT / "src" / "rankloom").glob("*/__init__.py")]
    assert packages
    missing = [name for name in packages if not re.search(rf"^  {name}/ ", text, re.MULTILINE)]
    assert not missing, f"CONTRIBUTING.md does not list {', '.join(missing)}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "\n".join(project["tool"]["importlinter"]["contracts"][0]["layers"]) in text

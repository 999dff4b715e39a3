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
import rankloom.cli
import rankloom.datasets
import rankloom.rankers
from rankloom.cli import main
from rankloom.collection import _pool, _worker, marks
from rankloom.engine import Engine, Results, SearchHit, cascade, cells, contradictions, cutoff, diffusion
from rankloom.engine.index import INDEXES
from rankloom.experts import teaching
from rankloom.media import _text_files, captions, images, ocr, videos
from rankloom.server import ServerSettings, archives, guard, organizing_schemas, schemas, work
from rankloom.server.routes import media, session
from rankloom.server.settings import SHORTEST_TOKEN

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


def subjects():
    """The first cells of the tables of docs/api.md: module, whose methods they are, the names between backticks."""
    for module, text in re.findall(r"^## (rankloom\S*)\n(.*?)(?=^## |\Z)", page("api.md"), re.MULTILINE | re.DOTALL):
        owner = ""
        for row in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
            first = row.split("|")[0].strip()
            if first == "name" or first.startswith("method of"):
                owner = first.removeprefix("method of ").strip("`") if first != "name" else ""
            elif "`" in first:
                elsewhere = re.search(r" in `(rankloom[.\w]*)`$", first)
                names = re.findall(r"`(\w+(?:\.\w+)*)[`(]", first.removesuffix(elsewhere[0] if elsewhere else ""))
                yield pytest.param(module, owner, names, elsewhere and elsewhere[1], id=f"{module}: {first[:60]}")


@pytest.mark.parametrize(("module", "owner", "names", "elsewhere"), [*subjects()])
def test_names_of_the_api_exist(module, owner, names, elsewhere):
    places = [importlib.import_module(name) for name in (module, elsewhere) if name]
    places = [getattr(place, owner) for place in places] if owner else places
    for name in names:
        assert any(hasattr(place, name.split(".")[0]) for place in places), f"{owner or module} has no {name}"


def test_every_public_method_of_the_engine_is_documented():
    text = section(page("api.md"), "rankloom.engine")
    missing = [name for name in dir(Engine) if name[0] != "_" and not re.search(rf"^\|[^|]*`{name}[`(]", text, re.M)]
    assert not missing, f"not in the table of Engine in docs/api.md: {', '.join(missing)}"


@pytest.mark.parametrize("kind", [SearchHit, Results])
def test_what_a_search_returns_is_documented(kind):
    (row,) = re.findall(r"^\| `search\(query.*$", page("api.md"), re.MULTILINE)
    names = [name for name in inspect.signature(kind).parameters if name != "hits"]
    missing = [name for name in names if f"`{name}`" not in row]
    assert not missing, f"docs/api.md does not say that hits have {', '.join(missing)}"


def test_every_index_by_name_is_documented():
    text = section(page("api.md"), "rankloom.engine")
    assert not [name for name in INDEXES if f'`"{name}"`' not in text]


LIMITED = ServerSettings()
AWAITED = LIMITED.connections
MB = 1_000_000
# Sentences with numbers that are constants of the code; {} stands for the number.
NUMBERS = [
    ("README.md", "Up to {:,} items every query", cascade.LARGE),
    ("docs/api.md", "Up to {:,} items every query", cascade.LARGE),
    ("docs/command-line.md", "`cascade` beyond {:,} items unless given", cascade.LARGE),
    ("docs/command-line.md", "exact up to {:,} items", diffusion.EXACT),
    ("docs/large-collections.md", "Up to {:,} items a search compares", cascade.LARGE),
    ("docs/large-collections.md", "the default up to {:,}", cascade.LARGE),
    ("docs/large-collections.md", "\nbeyond {:,} items, or with", cascade.LARGE),
    ("docs/large-collections.md", "Up to {:,} items the neighbour graph is exact", diffusion.EXACT),
    ("docs/large-collections.md", "in the {} nearest of", cells.LOOKED_INTO),
    ("docs/large-collections.md", "Beyond {:,} items scores are diffused", diffusion.LOCAL),
    ("docs/large-collections.md", "{:,} items spread over the collection are always", cascade.REFERENCE),
    ("docs/how-it-learns.md", "at most .{:.0f} of the links of the results before it", 100 * cutoff.LEAVING),
    ("docs/how-it-learns.md", "at most .{:.0f} of the links of the next", 10 * cutoff.RETURNING),
    ("docs/how-it-learns.md", "of the links of the next {} lead back", cutoff.FOLLOWING),
    ("docs/how-it-learns.md", "has a probability of .{:.0f}", 100 * contradictions.SURE),
    ("docs/how-it-learns.md", "(of .{:.0f} for a wrong one", 100 * contradictions.SURE_OF_WRONG),
    ("docs/how-it-learns.md", "When there are {} items", teaching.LEAST),
    ("docs/how-it-learns.md", "shows up to {:,} thumbnails", teaching.SAMPLE),
    ("docs/collections.md", "| picture | {} million pixels", images.MAX_PIXELS // MB),
    ("docs/collections.md", "| frame of a video | {} million pixels", videos.MAX_PIXELS // MB),
    ("docs/collections.md", "| {} MiB in all", _worker.TOTAL_BYTES >> 20),
    ("docs/collections.md", "or {} MB above what was loaded", _worker.LEAST_BYTES // MB),
    ("docs/collections.md", "keeps {} MiB after a file is replaced", _worker.KEPT_BYTES >> 20),
    ("docs/collections.md", "| lines of text in a picture | {};", ocr.MOST_TEXTS),
    ("docs/collections.md", "| an unresponsive worker | {:.0f} s", _pool.STALL_SECONDS),
    ("docs/collections.md", "| {} million bytes; ", _text_files.MAX_BYTES // MB),
    ("docs/collections.md", "; {} million bytes, in the page", captions.MAX_BYTES // MB),
    ("docs/collections.md", "bytes, in the page {} million", LIMITED.upload_bytes // MB),
    ("docs/collections.md", "| one text | {:,} characters", _text_files.MAX_TEXT),
    ("docs/collections.md", "the first {} of the list", marks.MOST_SHOWN),
    ("docs/server.md", "at most {:,}; with `explain`", schemas.MOST),
    ("docs/server.md", "with `explain` at most {})", schemas.MOST_EXPLAINED),
    ("docs/server.md", "`k` (200, at most {:,}) -> `total`, `hits`", organizing_schemas.MOST_PAGE),
    ("docs/server.md", "only numbers, at most {:,}", schemas.MOST),
    ("docs/server.md", "for `items` (at most {:,}) tags", schemas.MOST),
    ("docs/server.md", "`items` (at most {:,}; of sidecars", schemas.MOST),
    ("docs/server.md", "`columns` and `rows` (at most {})", organizing_schemas.MOST_CELLS),
    ("docs/server.md", "kept for {:.0f} days", LIMITED.uploads.days),
    ("docs/server.md", "of at most {} MB and", LIMITED.upload_bytes // MB),
    ("docs/server.md", "client_max_body_size {}m;", LIMITED.upload_bytes // MB),
    ("docs/server.md", "a JPEG of at most {} pixels", media.VIEW_SIDE),
    ("docs/server.md", "Wrong tokens are counted by address: {} at once", LIMITED.limits["token"].burst),
    ("docs/server.md", "then one in {} seconds", {5: "five"}.get(round(1 / LIMITED.limits["token"].per_second))),
    ("docs/server.md", "A browser may have up to {}", {8: "eight"}.get(session.MOST_PROFILES)),
    ("docs/server.md", "up to a {} of a second", {0.25: "quarter"}.get(work.PATIENCE)),
    ("SECURITY.md", "a token of at least {} characters", SHORTEST_TOKEN),
    ("SECURITY.md", "it comes from: {} at once", LIMITED.limits["token"].burst),
    ("SECURITY.md", "then {:.0f} a minute", 60 * LIMITED.limits["token"].per_second),
    ("SECURITY.md", "which may take {} MiB", _worker.TOTAL_BYTES >> 20),
    ("SECURITY.md", "Bodies are at most {} MB", guard.JSON_BYTES // MB),
    ("SECURITY.md", "uploads {} MB and", LIMITED.upload_bytes // MB),
    ("SECURITY.md", "and {} million pixels; a length", LIMITED.upload_pixels // MB),
    ("SECURITY.md", "results a limit of {:,}", schemas.MOST),
    ("SECURITY.md", "and of {} with\n  explanations", schemas.MOST_EXPLAINED),
    ("SECURITY.md", "A download has at most {:,} items", schemas.MOST),
    ("SECURITY.md", "while it is made, {} at once", {4: "four"}.get(archives.MOST_STREAMS)),
    ("SECURITY.md", "are kept for {:.0f} days", LIMITED.uploads.days),
    ("SECURITY.md", "days, {} a browser", LIMITED.uploads.of_one),
    ("SECURITY.md", "a browser and {:,} in all", LIMITED.uploads.in_all),
    ("SECURITY.md", "A header must arrive within {:.0f} s", AWAITED.header_seconds),
    ("SECURITY.md", "a body within {:.0f} s", AWAITED.body_seconds),
    ("SECURITY.md", "a second more for each {:.0f} kB", AWAITED.bytes_per_second / 1000),
    ("SECURITY.md", "who reads nothing for {:.0f} s is cut", AWAITED.stalled_seconds),
    ("SECURITY.md", "At most {} connections", AWAITED.in_all),
    ("SECURITY.md", "and {} of one address", AWAITED.of_one),
]


@pytest.mark.parametrize(("path", "sentence", "value"), NUMBERS)
def test_numbers_are_those_of_the_code(path, sentence, value):
    assert sentence.format(value) in (ROOT / path).read_text(encoding="utf-8")


def test_numbers_in_help_texts_are_those_of_the_code():
    helped = {
        (name, option.opts[0]): option.help or "" for name in main.commands for option in main.commands[name].params
        if isinstance(option, click.Option)
    }  # fmt: skip
    assert f"exact up to {diffusion.EXACT:,} items" in helped["index", "--no-neighbours"]
    assert f"beyond {cascade.LARGE:,} items" in helped["search", "--index"]
    # A number in a help text is a default or comes from the code: nobody compares one that is typed there.
    for path in Path(rankloom.cli.__file__).parent.glob("*.py"):
        assert not re.search(r"\d,\d{3}", path.read_text(encoding="utf-8")), path.name


def test_what_needs_no_token_is_said():
    """Of the calls that are said to answer without the token, all do, and no others are named."""
    (row,) = re.findall(r"^\| GET `/api/health`.*$", page("server.md"), re.MULTILINE)
    assert "/api/metrics" not in guard.OPEN
    assert "also without the token" in row.split(";")[0]
    assert "needs the token" in row


def test_readme_has_the_measured_time():
    (measured,) = re.findall(
        r"^\| the same 36 experts of 1,000,000 items, two cores \|[^|]*\| (\S+ s) \|", page("performance.md"), re.M
    )
    assert f"score a million items in\n  {measured} on two cores" in (ROOT / "README.md").read_text(encoding="utf-8")


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
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")}
    assert folders <= {*packages}, "a folder of tests is of a package"

"""The modules of the page in one file, and its styles in another: a browser asks once instead of eighty times.

Modules are joined, not compiled: each becomes a function that runs once, after those that it imports, and returns what
it exports. Comments that have lines of their own are left out. Only the forms of import and export that the page uses
are known; anything else is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import \{([^{}]*)\} from "\./([a-z0-9]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) ([A-Za-z_$][\w$]*)(?![\w$]))", re.MULTILINE)
_LEFT = re.compile(r"^\s*(?:import|export)\b(?!\.meta|:)|\bimport\s*\(", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*(?:(?!\*/)[\s\S])*\*/)[ \t]*\n", re.MULTILINE)  # that has lines of its own
_NAME = re.compile(r"([A-Za-z_$][\w$]*)(?: as ([A-Za-z_$][\w$]*))?")
_STYLES = re.compile(r'(?:[ \t]*<link rel="stylesheet" href="/static/[\w.]+">\n)+')
_STYLE = re.compile(r'href="/static/([\w.]+)"')


def bundled(modules: Mapping[str, str], first: str) -> str:
    """A module that does what another does, with all that it imports inside.

    Parameters
    ----------
    modules : the text of each by its name.
    first : the name of the one to begin with.

    Examples
    --------
    >>> modules = {"a.js": "export const one = 1;", "b.js": 'import { one as n } from "./a.js";\\nalert(n);'}
    >>> print(bundled(modules, "b.js"))
    const bundle = {};
    bundle["a.js"] = await (async () => {
    const one = 1;
    return { one };
    })();
    bundle["b.js"] = await (async () => {
    const { one: n } = bundle["a.js"];
    alert(n);
    return {  };
    })();
    <BLANKLINE>
    """
    exported: dict[str, set[str]] = {}
    parts = ["const bundle = {};\n"]

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"{name}: modules import each other in a circle: {' > '.join([*above, name])}")
        if name in exported:
            return
        if name not in modules:
            raise ValueError(f"{above[-1]}: imports {name}, which is not there")
        for wanted in _IMPORT.finditer(modules[name]):
            add(wanted[2], (*above, name))
            _check_names(name, wanted[1], wanted[2], exported[wanted[2]])
        text = _IMPORT.sub(lambda found: f'const {{ {_taken(found[1])} }} = bundle["{found[2]}"];', modules[name])
        names = [found[1] for found in _EXPORT.finditer(text)]
        text = _COMMENT.sub("", _EXPORT.sub("", text))
        if left := _LEFT.search(text):
            line = text.count("\n", 0, left.start()) + 1
            raise ValueError(f"{name}: line {line}: this form of import or export is not known: {left[0].strip()}")
        exported[name] = {*names}
        parts.append(
            f'bundle["{name}"] = await (async () => {{\n{text.strip()}\nreturn {{ {", ".join(names)} }};\n}})();\n'
        )

    add(first, ())
    return "".join(parts)


def _names(listed: str) -> list[tuple[str, str]]:
    """What is imported, and what it is called then."""
    found = [_NAME.fullmatch(name.strip()) for name in listed.split(",") if name.strip()]
    if None in found:
        raise ValueError(f"this form of import is not known: {{{listed}}}")
    return [(match[1], match[2] or match[1]) for match in found if match is not None]


def _taken(listed: str) -> str:
    return ", ".join(name if name == called else f"{name}: {called}" for name, called in _names(listed))


def _check_names(name: str, listed: str, source: str, exported: set[str]) -> None:
    missing = [wanted for wanted, _ in _names(listed) if wanted not in exported]
    if missing:
        raise ValueError(f"{name}: imports {', '.join(missing)}, which {source} does not export")


def joined_styles(page: str, contents: Mapping[str, bytes], name: str) -> tuple[str, bytes]:
    """The page with one link for all its styles, and these, in the same order.

    Parameters
    ----------
    page : with links to files of styles, one after another.
    contents : of these files, by name.
    name : of the one file.
    """
    links = _STYLES.search(page)
    if links is None:
        raise ValueError("the page has no links to styles, one a line")
    files = _STYLE.findall(links[0])
    one = f'  <link rel="stylesheet" href="/static/{name}">\n'
    return page.replace(links[0], one, 1), b"".join(contents[file].rstrip() + b"\n" for file in files)

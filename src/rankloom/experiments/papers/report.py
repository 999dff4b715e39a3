"""One report of all papers: published numbers, ours, and figures, as Markdown and as one HTML file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from rankloom.experiments.papers import Finding

Figures = tuple[tuple[str, str], ...]  # files of pictures, relative to the report, with what they show

_STYLE = """
:root { --ink: #1d2733; --soft: #4a5868; --line: #d8dee6; --paper: #fff; --tint: #f3f6f9;
  --yes: #1d6b3a; --no: #a3341f; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1.5rem; color: var(--ink);
  background: var(--paper); }
h1 { font-size: 1.9rem; line-height: 1.2; }
h2 { font-size: 1.4rem; line-height: 1.25; margin-top: 3rem; padding-top: 1rem; border-top: 2px solid var(--line); }
p, li { max-width: 48rem; }
cite, .about { color: var(--soft); }
nav ul { padding-left: 1.2rem; }
nav small { color: var(--soft); }
td { min-width: 4rem; }
td + td { white-space: nowrap; }
td:first-child { min-width: 9rem; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
tbody tr:nth-child(even) { background: var(--tint); }
td.yes { color: var(--yes); } td.no { color: var(--no); font-weight: 600; }
summary { cursor: pointer; font-weight: 600; font-size: .88rem; }
figure { margin: 1.5rem 0; }
figcaption { color: var(--soft); font-size: .9rem; }
img { max-width: 100%; height: auto; background: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ef; --soft: #a8b4c2; --line: #33404e; --paper: #14191f; --tint: #1b222a;
    --yes: #7fd19b; --no: #ff9b85; }
}
"""


@dataclass(frozen=True)
class Table:
    """A table of texts; `folded` where a page should show it on request only."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    folded: bool = False


@dataclass(frozen=True)
class Section:
    """What a paper says, and what was found here.

    Parameters
    ----------
    title : of the section. citation : of the paper.
    about : what was measured, on which data, and how these differ from the paper's.
    findings : numbers, with the paper's beside them.
    tables : in full.
    figures : files of pictures, relative to the report, with what they show.
    remarks : what did not come as the paper has it, and why.
    headline : rows of the first table of the report: what, the published number, the same here, and our best.
    details : findings that the tables show already; for programs.
    """

    title: str
    citation: str
    about: str
    findings: tuple[Finding, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: Figures = ()
    remarks: tuple[str, ...] = ()
    headline: tuple[tuple[str, str, str, str], ...] = ()
    details: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        findings = {name: [one._asdict() for one in getattr(self, name)] for name in ("findings", "details")}
        return {**asdict(self), **findings}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Section:
        """The section of `to_dict`."""
        return cls(
            plain["title"],
            plain["citation"],
            plain["about"],
            tuple(Finding(**one) for one in plain["findings"]),
            tuple(
                Table(one["title"], tuple(one["head"]), tuple(map(tuple, one["rows"])), one["folded"])
                for one in plain["tables"]
            ),
            tuple((file, what) for file, what in plain["figures"]),
            tuple(plain["remarks"]),
            tuple((what, published, here, best) for what, published, here, best in plain["headline"]),
            tuple(Finding(**one) for one in plain["details"]),
        )

    def appearing(self) -> str:
        """How many of the conclusions appear; nothing where none is drawn."""
        verdicts = [one.holds for one in self.findings if one.holds is not None]
        return f"{sum(verdicts)} of {len(verdicts)}" if verdicts else ""

    def all_tables(self) -> list[Table]:
        """The findings as a table, and the others."""
        rows = tuple(
            (one.what, f"{one.found:.4g}", "" if one.paper is None else f"{one.paper:.4g}", _APPEARS[one.holds])
            for one in self.findings
        )
        head = ("finding", "here", "paper", "appears")
        return [Table("Findings", head, rows), *self.tables] if rows else [*self.tables]


_APPEARS = {None: "", True: "yes", False: "no"}


def reasons(findings: Sequence[Finding], why: str) -> tuple[str, ...]:
    """Why some conclusion does not appear, if one does not."""
    return (why,) if any(finding.holds is False for finding in findings) else ()


def overview(sections: Sequence[Section]) -> Table:
    """How many of the conclusions of each paper appear."""
    rows = tuple((section.title, section.appearing()) for section in sections)
    return Table("Conclusions that appear here", ("part", "appear"), rows)


def side_by_side(sections: Sequence[Section]) -> Table:
    """The numbers that tell most: published, of the same method here, and our best."""
    rows = tuple(row for section in sections for row in section.headline)
    return Table("Side by side", ("what", "published", "the same here", "our best"), rows)


def markdown(title: str, intro: str, sections: Sequence[Section]) -> str:
    """The report as Markdown; pictures are files beside it."""
    lines = [f"# {title}", "", intro, ""]
    for table in (side_by_side(sections), overview(sections)):
        lines += _markdown_table(table) if table.rows else []
    for section in sections:
        lines += [f"## {section.title}", "", f"*{section.citation}*", "", section.about, ""]
        if section.remarks:
            lines += [*(f"* {remark}" for remark in section.remarks), ""]
        for table in section.all_tables():
            lines += _markdown_table(table)
        for file, what in section.figures:
            lines += [f"![{what}]({file})", "", f"*{what}*", ""]
    return "\n".join(lines)


def _markdown_table(table: Table) -> list[str]:
    cells = [table.head, ("---", *("---:" for _ in table.head[1:])), *table.rows]
    return [f"**{table.title}**", "", *("| " + " | ".join(map(_cell, row)) + " |" for row in cells), ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def html(title: str, intro: str, sections: Sequence[Section], root: Path) -> str:
    """The report as one file, pictures inside.

    Parameters
    ----------
    title, intro, sections : as for `markdown`.
    root : the folder that the files of pictures are relative to.
    """
    links = "".join(_link(number, section) for number, section in enumerate(sections, 1))
    summary = side_by_side(sections)
    parts = [
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>", f"<style>{_STYLE}</style>", "</head>", "<body>",
        f"<h1>{escape(title)}</h1>", f"<p>{escape(intro)}</p>",
        f'<nav aria-label="Parts"><ul>{links}</ul></nav>', _html_table(summary) if summary.rows else "", "<main>",
    ]  # fmt: skip
    for number, section in enumerate(sections, 1):
        parts += [f'<h2 id="part-{number}">{escape(section.title)}</h2>',
                  f"<p><cite>{escape(section.citation)}</cite></p>",
                  f'<p class="about">{escape(section.about)}</p>']  # fmt: skip
        if section.remarks:
            parts.append(f"<ul>{''.join(f'<li>{escape(remark)}</li>' for remark in section.remarks)}</ul>")
        parts += [_html_table(table) for table in section.all_tables()]
        for file, what in section.figures:
            data = base64.b64encode((root / file).read_bytes()).decode()
            image = f'<img src="data:image/png;base64,{data}" alt="{escape(what)}">'
            parts.append(f"<figure>{image}<figcaption>{escape(what)}</figcaption></figure>")
    return "\n".join([*parts, "</main>", "</body>", "</html>", ""])


def _link(number: int, section: Section) -> str:
    """A part in the list of parts, with how many conclusions appear."""
    counted = f" <small>{section.appearing()} conclusions appear</small>" if section.appearing() else ""
    return f'<li><a href="#part-{number}">{escape(section.title)}</a>{counted}</li>'


def _html_table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.head)
    rows = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in table.rows)
    body = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    title = escape(table.title)
    if table.folded:
        return f'<details><summary>{title}</summary><div class="table"><table>{body}</table></div></details>'
    return f'<div class="table"><table><caption>{title}</caption>{body}</table></div>'


def _html_cell(text: str) -> str:
    mark = f' class="{text}"' if text in ("yes", "no") else ""
    return f"<td{mark}>{escape(text)}</td>"

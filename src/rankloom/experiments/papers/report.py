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
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1d2733; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #d8dee6; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; height: auto; margin: .5rem 0; }
.about { color: #4a5868; }
@media (prefers-color-scheme: dark) {
  body { background: #14191f; color: #e4e9ef; } .about { color: #a8b4c2; } th, td { border-color: #33404e; }
  img { background: #fff; }
}
"""


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


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
    """

    title: str
    citation: str
    about: str
    findings: tuple[Finding, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: Figures = ()
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "findings": [one._asdict() for one in self.findings]}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Section:
        """The section of `to_dict`."""
        return cls(
            plain["title"],
            plain["citation"],
            plain["about"],
            tuple(Finding(**one) for one in plain["findings"]),
            tuple(Table(one["title"], tuple(one["head"]), tuple(map(tuple, one["rows"]))) for one in plain["tables"]),
            tuple((file, what) for file, what in plain["figures"]),
            tuple(plain["remarks"]),
        )

    def all_tables(self) -> list[Table]:
        """The findings as a table, and the others."""
        rows = tuple(
            (one.what, f"{one.found:.4g}", "" if one.paper is None else f"{one.paper:.4g}", _APPEARS[one.holds])
            for one in self.findings
        )
        head = ("finding", "here", "paper", "appears")
        return [Table("Findings", head, rows), *self.tables] if rows else [*self.tables]


_APPEARS = {None: "", True: "yes", False: "no"}


def overview(sections: Sequence[Section]) -> Table:
    """How many of the conclusions of each paper appear."""
    rows = []
    for section in sections:
        verdicts = [one.holds for one in section.findings if one.holds is not None]
        rows.append((section.title, f"{sum(verdicts)} of {len(verdicts)}" if verdicts else ""))
    return Table("Conclusions that appear here", ("paper", "appear"), tuple(rows))


def markdown(title: str, intro: str, sections: Sequence[Section]) -> str:
    """The report as Markdown; pictures are files beside it."""
    lines = [f"# {title}", "", intro, "", *_markdown_table(overview(sections))]
    for section in sections:
        lines += [f"## {section.title}", "", f"*{section.citation}*", "", section.about, ""]
        lines += [f"* {remark}" for remark in section.remarks] + [""]
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
    parts = [
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>", f"<style>{_STYLE}</style>", "</head>", "<body>",
        f"<h1>{escape(title)}</h1>", f"<p>{escape(intro)}</p>", _html_table(overview(sections)),
    ]  # fmt: skip
    for section in sections:
        parts += [f"<h2>{escape(section.title)}</h2>", f"<p><cite>{escape(section.citation)}</cite></p>",
                  f'<p class="about">{escape(section.about)}</p>']  # fmt: skip
        if section.remarks:
            parts.append(f"<ul>{''.join(f'<li>{escape(remark)}</li>' for remark in section.remarks)}</ul>")
        parts += [_html_table(table) for table in section.all_tables()]
        for file, what in section.figures:
            data = base64.b64encode((root / file).read_bytes()).decode()
            parts.append(f'<img src="data:image/png;base64,{data}" alt="{escape(what)}">')
    return "\n".join([*parts, "</body>", "</html>", ""])


def _html_table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.head)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return f"<table><caption>{escape(table.title)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

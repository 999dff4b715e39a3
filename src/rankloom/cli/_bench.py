"""How the bench commands end: files, findings for programs, tables for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloom.cli._output import emit, say, say_written, table, write_json

if TYPE_CHECKING:
    from rankloom.experiments.papers.report import Section

Plots = Mapping[str, tuple[Callable[[Any, Path], None], str]]


def write_figures(report: Any, folder: str, document: str, plots: Plots) -> None:
    """Write a report as JSON and its plots, by the names of their files, into a folder."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    write_json(report.to_dict(), root / document)
    for name, (plot, _) in plots.items():
        plot(report, root / name)


def show(section: Section, as_json: bool, output: str | None) -> None:
    """Print what was found: findings as JSON lines, or all tables and where files were written."""
    if as_json:
        for finding in (*section.findings, *section.details):
            emit(finding._asdict())
        return
    say(section.about)
    for one in section.all_tables():
        table(one.head, one.rows, one.title)
    say_written(output)

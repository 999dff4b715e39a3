"""bench all: every paper in one report."""

from __future__ import annotations

from pathlib import Path

import click

from rankloom.cli._output import file_progress, say, say_written


@click.command("all")
@click.option("--data", type=click.Path(file_okay=False, exists=True), help="Folders of data; generated data without.")
@click.option("--out", "-o", type=click.Path(file_okay=False), required=True, help="Where the report is written.")
@click.option("--quick", is_flag=True, help="Little of everything, mostly generated: half a minute.")
def everything(data: str | None, out: str, quick: bool) -> None:
    """Measure all papers and write one report, as Markdown and as one HTML file.

    What was measured with the same data is not measured again; killed, it goes on with the part it was in.

    \b
    Example:
      rankloom bench all --quick --out report/
      rankloom bench all --data data/ --out report/
    """
    from rankloom.experiments.papers.everything import STEPS, Job, run

    with file_progress("papers") as update:
        steps = [*STEPS]
        job = Job(None if data is None else Path(data), quick, Path(out))
        sections = run(job, lambda step, text: update(steps.index(step), len(steps), f"{step}: {text}"))
    for section in sections:
        parts = len(section.findings), len(section.tables), len(section.figures)
        say(f"{section.title}: {parts[0]} findings, {parts[1]} tables, {parts[2]} figures")
    say_written(str(Path(out) / "report.md"), str(Path(out) / "report.html"))

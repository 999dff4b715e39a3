"""bench: the papers' tables and figures, measured here."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from rankloom.cli._options import json_option
from rankloom.cli._output import emit, file_progress, progress, say_written, table, write_figures
from rankloom.cli.bench_all import everything
from rankloom.cli.bench_car import car
from rankloom.cli.bench_online import online
from rankloom.cli.bench_rlr import rlr

if TYPE_CHECKING:
    from rankloom.experiments.papers.cascade import CascadeReport


@click.group()
def bench() -> None:
    """Measure the methods of the papers and show which of their findings appear.

    \b
    Example:
      rankloom bench cascade --quick
    """


@bench.command()
@click.option("--quick", is_flag=True, help="Fewer and smaller concepts: under a minute.")
@click.option("--concepts", type=click.IntRange(min=1), help="How many concepts; 20, or 4 with --quick.")
@click.option(
    "--data", type=click.Path(file_okay=False), help="A labelled folder of pictures instead of generated data."
)
@click.option("--cache", type=click.Path(file_okay=False), help="Keep the descriptions of its pictures there.")
@click.option("--seed", default=0, show_default=True, help="Seed of the generated concepts and of the parts.")
@click.option("--output", "-o", type=click.Path(file_okay=False), help="Write the curves as JSON and plots there.")
@json_option
def cascade(
    quick: bool, concepts: int | None, data: str | None, cache: str | None, seed: int, output: str | None, as_json: bool
) -> None:
    """Quality against cost for RankBoost, Imbalanced RankBoost and the soft cascade (Merler et al. 2009).

    Concepts are generated: many weak detectors of a rare kind of item, each of which costs time to ask. Or they are the
    classes of a folder with labels.csv (or with a folder per class), and the detectors are machines trained on it.

    \b
    Example:
      rankloom bench cascade --quick -o cascade/
      rankloom bench cascade --data caltech101/ --cache caltech101.rankloom
    """
    from rankloom.experiments.papers import cascade as paper

    n_concepts = concepts or (4 if quick else 20)
    n_items, n_models = (9_000, 80) if quick else (30_000, 200)
    n_rounds = 60 if quick else 100
    if data is None:
        generated = paper.generated_concepts(n_concepts, n_items, n_models, random_state=seed)
        with progress(n_concepts, "boosting") as advance:
            report = paper.run(generated, n_rounds=n_rounds, progress=advance)
    else:
        report = _measure_collection(data, cache, n_concepts, n_rounds, seed)
    if output is not None:
        from rankloom.experiments import plots

        figures = {
            "quality-against-cost.png": plots.plot_cascade,
            "concepts.png": plots.plot_concepts,
            "regularizers.png": plots.plot_regularizers,
            "cost-by-place.png": plots.plot_places,
        }
        write_figures(report, output, "cascade.json", figures)
    if as_json:
        for finding in paper.findings(report):
            emit(finding._asdict())
        return
    _show_cascade(report, "generated concepts" if data is None else "concepts")
    say_written(output)


def _measure_collection(data: str, cache: str | None, n_concepts: int, n_rounds: int, seed: int) -> CascadeReport:
    """The same on the classes of a labeled folder, whose descriptions are kept in `cache` if that is given."""
    from rankloom.experiments.labeled import load_labeled
    from rankloom.experiments.papers.cascade import run
    from rankloom.experiments.papers.cascade_concepts import concepts_of

    with TemporaryDirectory() as scratch:
        with file_progress() as update:
            labeled = load_labeled(data, work=cache or scratch, progress=update)
        with file_progress() as update:
            concepts = concepts_of(labeled, n_concepts, n_jobs=-1, random_state=seed, progress=update)
            return run(concepts, n_rounds=n_rounds)


def _show_cascade(report: CascadeReport, what: str) -> None:
    from rankloom.experiments.papers import cascade as paper

    rows = [
        [finding.what, f"{finding.found:.3g}", "" if finding.paper is None else f"{finding.paper:g}"]
        for finding in paper.findings(report)
    ]
    table(["finding", "here", "paper"], rows, f"{len(report.curves[paper.METHODS[0]])} {what}")
    rows = []
    for method in paper.METHODS:
        asked, means = report.at_the_end(method)
        rows.append([method, f"{asked:.1f}", *(f"{value:.3f}" for value in means.values())])
    table(["method, all rounds", "features an item", *paper.DEPTHS], rows)


bench.add_command(car)
bench.add_command(everything)
bench.add_command(online)
bench.add_command(rlr)

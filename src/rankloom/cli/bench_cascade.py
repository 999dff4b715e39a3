"""bench cascade: boosting and cascades, quality against cost."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from rankloom.cli._bench import show, write_figures
from rankloom.cli._options import json_option
from rankloom.cli._output import file_progress, progress

if TYPE_CHECKING:
    from rankloom.experiments.papers.cascade import CascadeReport


@click.command()
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
    from rankloom.experiments.papers.sections import cascade_section

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
        from rankloom.experiments.papers.cascade_plots import FIGURES

        write_figures(report, output, "cascade.json", FIGURES)
    what = "generated concepts" if data is None else "concepts of pictures"
    show(cascade_section(report, what), as_json, output)


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

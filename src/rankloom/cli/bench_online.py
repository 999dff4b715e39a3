"""bench online: online learning to rank for image retrieval, measured here."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from rankloom.cli._options import json_option
from rankloom.cli._output import emit, file_progress, progress, say, say_written, table, write_figures

if TYPE_CHECKING:
    from rankloom.experiments.labeled import LabeledCollection
    from rankloom.experiments.papers.online import OnlineReport

_Folder = click.Path(file_okay=False)


@click.command()
@click.option("--quick", is_flag=True, help="Little of everything: under a minute.")
@click.option("--data", type=_Folder, help="A collection, or a labelled folder of pictures, instead of generated data.")
@click.option("--labels", type=click.Path(dir_okay=False), help="CSV: path, relative to it, and class.")
@click.option("--preset", default="paper36", show_default=True, help="Which experts: paper36, fast or full.")
@click.option("--distractors-of", "others", type=_Folder, help="A collection that distractors are mixed of.")
@click.option("--cache", type=_Folder, help="Keep the descriptions of the pictures there.")
@click.option("--seed", default=0, show_default=True, help="Which items are queries, and what is sampled.")
@click.option("--output", "-o", type=_Folder, help="Write the results as JSON and plots there.")
@json_option
def online(
    quick: bool,
    data: str | None,
    labels: str | None,
    preset: str,
    others: str | None,
    cache: str | None,
    seed: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Thirteen rankers over many experts: quality, cost, and learning while people search (Wan et al. 2015).

    Queries are items, and what is of their class is relevant. Five folds by query; parameters are chosen by validation.

    \b
    Example:
      rankloom bench online --quick
      rankloom bench online --data caltech101/ --cache caltech101.rankloom -o online/
    """
    from rankloom.experiments.papers import online as paper
    from rankloom.experiments.papers.online_plots import FIGURES

    labeled = paper.generated(seed) if data is None else _labeled(data, labels, preset, cache)
    source = None if others is None else _unlabeled(others, labeled)
    with progress(paper.n_steps(quick), "measuring") as advance:
        report = paper.run(labeled, paper.QUICK if quick else None, others=source, random_state=seed, progress=advance)
    if output is not None:
        write_figures(report, output, "online.json", FIGURES)
    if as_json:
        for finding in paper.findings(report):
            emit(finding._asdict())
        return
    _show(report)
    say_written(output)


def _labeled(data: str, labels: str | None, preset: str, cache: str | None) -> LabeledCollection:
    from rankloom.experiments.labeled import load_labeled

    with TemporaryDirectory() as scratch, file_progress() as update:
        return load_labeled(data, labels, preset=preset, work=cache or scratch, progress=update)


def _unlabeled(folder: str, like: LabeledCollection) -> LabeledCollection:
    """The items of a collection, by the descriptors of another, without classes."""
    import numpy as np

    from rankloom.collection import Collection
    from rankloom.experiments.labeled import LabeledCollection

    with Collection(folder) as collection:
        vectors = {name: collection.vectors(name).take(slice(None)) for name in like.vectors}
        return LabeledCollection(vectors, np.zeros(len(collection)))


def _show(report: OnlineReport) -> None:
    from rankloom.experiments.papers import online as paper

    rows = []
    for name in report.measured:
        published = paper.TABLE_2.get(name, {}).get("Caltech101")
        mean, seconds = f"{report.mean(name):.4f} ± {report.error(name):.4f}", [*report.costs[name].values()][-1]
        rows.append([name, mean, "" if published is None else f"{published:.4f}", f"{seconds:.3g}"])
    title = f"{report.n_items:,} items, {report.n_experts} experts, five folds"
    table(["method", "MAP", "paper, Caltech-101", "CPU s of a fit"], rows, title)
    found = [
        [one.what, f"{one.found:.3g}", "" if one.paper is None else f"{one.paper:.4g}"]
        for one in paper.findings(report)
    ]
    table(["finding", "here", "paper"], found)
    for name, why in report.absent.items():
        say(f"{name} was not measured: {why}")

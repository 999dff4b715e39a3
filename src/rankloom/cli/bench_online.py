"""bench online: online learning to rank for image retrieval, measured here."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from rankloom.cli._bench import show, write_figures
from rankloom.cli._options import json_option
from rankloom.cli._output import file_progress, progress

if TYPE_CHECKING:
    from rankloom.experiments.labeled import LabeledCollection

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
    from rankloom.experiments.labeled import load_unlabeled
    from rankloom.experiments.papers import online as paper
    from rankloom.experiments.papers.online_plots import FIGURES
    from rankloom.experiments.papers.online_section import online_section

    labeled = paper.generated(seed) if data is None else _labeled(data, labels, preset, cache)
    source = None if others is None else load_unlabeled(others, others, labeled.vectors)
    with progress(paper.n_steps(quick), "measuring") as advance:
        report = paper.run(labeled, paper.QUICK if quick else None, others=source, random_state=seed, progress=advance)
    if output is not None:
        write_figures(report, output, "online.json", FIGURES)
    what = "generated classes" if data is None else "classes of pictures"
    show(online_section(report, what), as_json, output)


def _labeled(data: str, labels: str | None, preset: str, cache: str | None) -> LabeledCollection:
    from rankloom.experiments.labeled import load_labeled

    with TemporaryDirectory() as scratch, file_progress() as update:
        return load_labeled(data, labels, preset=preset, work=cache or scratch, progress=update)

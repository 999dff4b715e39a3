"""bench letor: all rankers on a LETOR collection, beside the published ones."""

from __future__ import annotations

from pathlib import Path

import click

from rankloom.cli._bench import show
from rankloom.cli._options import json_option
from rankloom.cli._output import progress


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True))
@click.option("--ranker", "rankers", multiple=True, help="Only this one (may be repeated); all of them without.")
@click.option("--jobs", default=1, show_default=True, help="Processes.")
@click.option("--cache", type=click.Path(file_okay=False), help="Keep what was measured there, and read it again.")
@json_option
def letor(folder: str, rankers: tuple[str, ...], jobs: int, cache: str | None, as_json: bool) -> None:
    """All rankers on the folds of a LETOR collection, beside the published ones.

    FOLDER has Fold1, Fold2 ... with train.txt, vali.txt and test.txt each. What was published is known for MQ2008 and
    OHSUMED.

    \b
    Example:
      rankloom bench letor MQ2008/ --jobs 2
      rankloom bench letor OHSUMED/ --ranker ranksvm --ranker rankboost --ranker listnet
    """
    from joblib import Memory

    from rankloom.experiments.papers import letor4, unavailable
    from rankloom.experiments.papers.sections import letor_section
    from rankloom.model_selection.selection import read_folds

    folds = read_folds(folder)
    wanted = rankers or letor4.RANKERS
    missing = unavailable(wanted)
    names = [name for name in wanted if name not in missing]
    with progress(len(folds) * len(names), "comparing") as advance:
        memory = None if cache is None else Memory(cache, verbose=0)
        results = letor4.run(folds, names, n_jobs=jobs, memory=memory, progress=advance)
    show(letor_section(folds, results, missing, Path(folder).resolve().name), as_json, None)

"""bench car: content-aware ranking against text ranking and visual reranking."""

from __future__ import annotations

import click

from rankloom.cli._bench import show, write_figures
from rankloom.cli._options import json_option
from rankloom.cli._output import progress


@click.command()
@click.option("--data", required=True, type=click.Path(file_okay=False), help="The folder of Flickr8k.")
@click.option("--quick", is_flag=True, help="One run with fewer queries: under a minute once pictures are described.")
@click.option("--runs", type=click.IntRange(min=1), help="Runs with new texts and splits; 4, or 1 with --quick.")
@click.option("--train", type=click.IntRange(min=1), multiple=True, help="Training queries; may be repeated.")
@click.option("--validation", type=click.IntRange(min=1), help="Queries of each of the two validation parts.")
@click.option("--selected", is_flag=True, help="Also with 164 of 280 text features, chosen by boosting.")
@click.option("--cache", type=click.Path(file_okay=False), help="Keep the vectors of the pictures there.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(min=1), help="Processes.")
@click.option("--seed", default=0, show_default=True, help="Seed of texts and splits.")
@click.option("--output", "-o", type=click.Path(file_okay=False), help="Write the figures as JSON and plots there.")
@json_option
def car(
    data: str,
    quick: bool,
    runs: int | None,
    train: tuple[int, ...],
    validation: int | None,
    selected: bool,
    cache: str | None,
    jobs: int,
    seed: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Content-aware ranking against text rankers and their lists reranked by pictures (Geng et al. 2009).

    Queries are single words, or captions that people judged; the text of a picture is one of its other captions.

    \b
    Example:
      rankloom bench car --data flickr8k/ --quick -o car/
    """
    from rankloom.experiments.papers import content_aware as paper
    from rankloom.experiments.papers.flickr8k import read_flickr8k, visual_vectors
    from rankloom.experiments.papers.sections import car_section

    source = read_flickr8k(data)
    with progress(len(source.images), "describing") as advance:
        vectors = visual_vectors(source, cache, progress=advance)
    n_runs = runs or (1 if quick else 4)
    tasks = [task for task in paper.TASKS if selected or task != paper.SELECTED]
    with progress(len(tasks) * n_runs + 1, "ranking") as advance:
        report = paper.run(
            source,
            vectors,
            tasks=tasks,
            n_runs=n_runs,
            n_train=train or ((25,) if quick else (50, 100)),
            n_validation=validation or (20 if quick else 50),
            n_queries=100 if quick else 400,
            n_jobs=jobs,
            random_state=seed,
            progress=advance,
        )
    if output is not None:
        from rankloom.experiments.papers.content_aware_plots import FIGURES

        write_figures(report, output, "car.json", FIGURES)
    show(car_section(report), as_json, output)

"""bench rlr: margin-based rank learning on multimodal experts, measured here."""

from __future__ import annotations

from tempfile import TemporaryDirectory

import click

from rankloom.cli._bench import show
from rankloom.cli._options import json_option
from rankloom.cli._output import file_progress, progress, write_json


@click.command()
@click.option("--quick", is_flag=True, help="Fewer and smaller queries: seconds.")
@click.option(
    "--data",
    type=click.Path(file_okay=False),
    help="A captioned folder (captions.tsv, images) instead of generated data.",
)
@click.option("--films", is_flag=True, help="Shots of generated films with unreliable subtitles instead.")
@click.option("--queries", type=click.IntRange(min=2), help="How many; 25, or 6 with --quick.")
@click.option("--cache", type=click.Path(file_okay=False), help="Keep the collection of its pictures there.")
@click.option("--seed", default=0, show_default=True, help="Seed of the generated queries, or of the parts.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write the results as JSON there.")
@json_option
def rlr(
    quick: bool,
    data: str | None,
    films: bool,
    queries: int | None,
    cache: str | None,
    seed: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Ranking logistic regression and its rivals on many experts, per query and pooled (Yan & Hauptmann 2006).

    Queries are generated, or words of captions that no expert sees, or kinds of shots of films, asked together with two
    pictures. Half of the items is learned from, the other half is searched.

    \b
    Example:
      rankloom bench rlr --quick
      rankloom bench rlr --films
      rankloom bench rlr --data flickr8k/ --cache flickr8k.rankloom -o rlr.json
    """
    from rankloom.experiments.papers import margin as paper
    from rankloom.experiments.papers.sections import margin_section

    if films and data is not None:
        raise click.UsageError("--films are generated: give either these or --data")
    wanted = queries or (6 if quick else 25)
    if films:
        from rankloom.experiments.papers.margin_films import filmed

        with TemporaryDirectory() as scratch, file_progress() as update:
            multimodal = filmed(cache or scratch, n_films=16 if quick else 48, random_state=seed, progress=update)
    elif data is None:
        multimodal = paper.generated(wanted, 300 if quick else 2000, random_state=seed)
    else:
        from rankloom.experiments.papers.margin_captions import captioned

        with TemporaryDirectory() as scratch, file_progress() as update:
            multimodal = captioned(data, cache or scratch, n_queries=wanted, random_state=seed, progress=update)
    with progress(3 * len(paper.METHODS), "learning") as advance:
        report = paper.run(multimodal, progress=advance)
    if output is not None:
        write_json(report.to_dict(), output)
    show(margin_section(report), as_json, output)

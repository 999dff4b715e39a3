"""bench rlr: margin-based rank learning on multimodal experts, measured here."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from rankloom.cli._options import json_option
from rankloom.cli._output import emit, file_progress, progress, say_written, table, write_json

if TYPE_CHECKING:
    from rankloom.experiments.papers.margin import MarginReport


@click.command()
@click.option("--quick", is_flag=True, help="Fewer and smaller queries: seconds.")
@click.option(
    "--data",
    type=click.Path(file_okay=False),
    help="A captioned folder (captions.tsv, images) instead of generated data.",
)
@click.option("--queries", type=click.IntRange(min=2), help="How many; 25, or 6 with --quick.")
@click.option("--cache", type=click.Path(file_okay=False), help="Keep the collection of its pictures there.")
@click.option("--seed", default=0, show_default=True, help="Seed of the generated queries, or of the parts.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write the results as JSON there.")
@json_option
def rlr(
    quick: bool, data: str | None, queries: int | None, cache: str | None, seed: int, output: str | None, as_json: bool
) -> None:
    """Ranking logistic regression and its rivals on many experts, per query and pooled (Yan & Hauptmann 2006).

    Queries are generated, or words of captions that no expert sees, asked together with two pictures. Half of the items
    is learned from, the other half is searched.

    \b
    Example:
      rankloom bench rlr --quick
      rankloom bench rlr --data flickr8k/ --cache flickr8k.rankloom -o rlr.json
    """
    from rankloom.experiments.papers import margin as paper

    wanted = queries or (6 if quick else 25)
    if data is None:
        multimodal = paper.generated(wanted, 300 if quick else 2000, random_state=seed)
    else:
        from rankloom.experiments.papers.margin_captions import captioned

        with TemporaryDirectory() as scratch, file_progress() as update:
            multimodal = captioned(data, cache or scratch, n_queries=wanted, random_state=seed, progress=update)
    with progress(3 * len(paper.METHODS), "learning") as advance:
        report = paper.run(multimodal, progress=advance)
    if output is not None:
        write_json(report.to_dict(), output)
    if as_json:
        for finding in paper.findings(report):
            emit(finding._asdict())
        return
    _show(report)
    say_written(output)


def _show(report: MarginReport) -> None:
    from rankloom.experiments.papers import margin as paper

    title = f"{report.name}: {report.n_queries} queries, {report.n_features} experts"
    head = ["method", "TrainAP", "TestAP", "P@10", "P@30", "P@100", "CPU s"]
    for results, how in ((report.per_query, "learned per query"), (report.pooled, "learned on all queries together")):
        rows = [
            [name, *(f"{value:.3f}" for value in result.row()), f"{result.seconds:.3g}"]
            for name, result in results.items()
        ]
        table(head, rows, f"{title}, {how}")
    for name, published in paper.TABLE_1.items():
        rows = [[method, *(f"{value:.3f}" for value in values), ""] for method, values in published.items()]
        table(head, rows, f"paper, TRECVID {name}")
    found = [
        [one.what, f"{one.found:.3g}", "" if one.paper is None else f"{one.paper:.3g}"]
        for one in paper.findings(report)
    ]
    table(["finding", "here", "paper"], found)

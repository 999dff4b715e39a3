"""bench: the papers' tables and figures, measured here."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from rankloom.cli._options import json_option
from rankloom.cli._output import emit, file_progress, progress, table, write_json
from rankloom.cli.bench_car import car


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
    quick: bool,
    concepts: int | None,
    data: str | None,
    cache: str | None,
    seed: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Quality against cost for RankBoost, Imbalanced RankBoost and the soft cascade (Merler et al. 2009).

    Concepts are generated: many weak detectors of a rare kind of item, each of which costs time to ask. Or they are the
    classes of a folder with labels.csv (or with a folder a class), and the detectors are machines trained on it.

    \b
    Example:
      rankloom bench cascade --quick -o cascade/
      rankloom bench cascade --data caltech101/ --cache caltech101.rankloom
    """
    from rankloom.experiments.papers import cascade as paper

    n_concepts = concepts or (4 if quick else 20)
    n_items, n_models = (9_000, 80) if quick else (30_000, 200)
    n_rounds = 60 if quick else 100
    with ExitStack() as stack:
        if data is None:
            made = paper.generated_concepts(n_concepts, n_items, n_models, random_state=seed)
            advance = stack.enter_context(progress(n_concepts, "boosting"))
            report = paper.run(made, n_rounds=n_rounds, progress=advance)
        else:
            from rankloom.experiments.labeled import load_labeled
            from rankloom.experiments.papers.cascade_concepts import concepts_of

            kept = cache or stack.enter_context(TemporaryDirectory())
            with file_progress() as update:
                labeled = load_labeled(data, work=kept, progress=update)
            n_concepts = min(n_concepts, len(set(labeled.labels.tolist())))
            update = stack.enter_context(file_progress())
            made = concepts_of(labeled, n_concepts, n_jobs=-1, random_state=seed, progress=update)
            report = paper.run(made, n_rounds=n_rounds)
    if output is not None:
        from rankloom.experiments import plots

        folder = Path(output)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(report.to_dict(), folder / "cascade.json")
        plots.plot_cascade(report, folder / "quality-against-cost.png")
        plots.plot_concepts(report, folder / "concepts.png")
        plots.plot_regularizers(report, folder / "regularizers.png")
        plots.plot_places(report, folder / "cost-by-place.png")
    findings = paper.findings(report)
    if as_json:
        for finding in findings:
            emit(finding._asdict())
        return
    rows = [
        [finding.what, f"{finding.found:.3g}", "" if finding.paper is None else f"{finding.paper:g}"]
        for finding in findings
    ]
    table(["finding", "here", "paper"], rows, f"{n_concepts} {'generated concepts' if data is None else 'concepts'}")
    rows = []
    for method in paper.METHODS:
        last = [curve[-1] for curve in report.curves[method].values()]
        means = [sum(point.quality[metric] for point in last) / len(last) for metric in paper.DEPTHS]
        asked = sum(point.evaluations for point in last) / len(last)
        rows.append([method, f"{asked:.1f}", *(f"{value:.3f}" for value in means)])
    table(["method, all rounds", "features an item", *paper.DEPTHS], rows)
    if output is not None:
        click.echo(f"-> {output}")


bench.add_command(car)

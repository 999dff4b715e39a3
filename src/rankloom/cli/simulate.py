"""simulate: what would be learned if users judged, or clicked on, the top of each list."""

from __future__ import annotations

import click

from rankloom.cli._options import RANKER_NAMES, json_option, read_settings, set_option
from rankloom.cli._output import emit, progress, table, write_json
from rankloom.cli._simulate_users import simulate_on_collection


@click.command()
@click.argument("data", type=click.Path(dir_okay=False), required=False)
@click.option("--data", "folder", type=click.Path(exists=True, file_okay=False), help="A labelled collection instead.")
@click.option("--labels", type=click.Path(dir_okay=False), help="Its classes: CSV with path and class.")
@click.option("--preset", help="Only the descriptors of a preset of the collection.")
@click.option("--rounds", default=3, show_default=True, help="How often users of a collection mark.")
@click.option("--per-round", default=20, show_default=True, help="How many results they mark each time.")
@click.option("--noise", default=0.0, show_default=True, help="The share of their marks that are wrong.")
@click.option("--users", default=200, show_default=True, help="How many users search the collection.")
@click.option(
    "--rankers", default="opr,opar1,opar2,ogdr,arow", show_default=True,
    help=f"Short names with commas ({RANKER_NAMES}); those not online are fitted again on all that was judged.",
)  # fmt: skip
@click.option("-k", default=50, show_default=True, help="How many rows of the top are judged.")
@click.option("--clicks", is_flag=True, help="Click from the top down instead of judging.")
@click.option("--retrain-every", default=10, show_default=True, help="Queries between two fits of other rankers.")
@click.option("--seed", default=0, show_default=True, help="Seed of the order of the queries and of the clicks.")
@set_option
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write the curves as JSON.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw the curves (PNG, SVG or PDF).")
@json_option
def simulate(
    data: str | None,
    folder: str | None,
    labels: str | None,
    preset: str | None,
    rounds: int,
    per_round: int,
    noise: float,
    users: int,
    rankers: str,
    k: int,
    clicks: bool,
    retrain_every: int,
    seed: int,
    settings: tuple[str, ...],
    output: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Let a simulated user teach rankers with DATA, query after query; or let users mark results of a collection.

    Each query is ranked by what was learned before it, which is measured; then its top is judged and learned from. On a
    labelled collection, users search by example and mark what they see in some rounds: what each way of following
    marks gains is measured.

    \b
    Example:
      rankloom simulate judged.txt --rankers opr,opar2,rlr -k 20 -o curves.json --plot curves.png
      rankloom simulate judged.txt --clicks --set C=0.1
      rankloom simulate --data photos.rankloom --labels photos/labels.csv --noise 0.1
    """
    if folder is not None:
        options = {"rounds": rounds, "per_round": per_round, "noise": noise, "n_queries": users, "random_state": seed}
        simulate_on_collection(folder, labels, preset, options, output, plot, as_json)
        return
    if data is None:
        raise click.UsageError("give DATA, a file of judged rows, or --data, a labelled collection")
    from rankloom.datasets import load
    from rankloom.experiments.simulation import CascadeClicks
    from rankloom.experiments.simulation import simulate as run
    from rankloom.rankers import make_ranker

    names = [name.strip() for name in rankers.split(",") if name.strip()]
    given = read_settings(settings)
    made = {name: make_ranker(name) for name in names}
    for ranker in made.values():
        ranker.set_params(**{key: value for key, value in given.items() if key in ranker.get_params()})
    rows = load(data)
    n_queries = len(set(rows.qid.tolist()))
    runs = {}
    with progress(n_queries * len(names), "simulating") as advance:
        for name, ranker in made.items():
            runs[name] = run(
                rows,
                ranker,
                k=k,
                clicks=CascadeClicks() if clicks else None,
                retrain_every=retrain_every,
                random_state=seed,
                progress=advance,
            )
    if output is not None:
        curves = {name: found.to_dict() for name, found in runs.items()}
        write_json(curves, output)
    if plot is not None:
        from rankloom.experiments.plots import plot_learning

        plot_learning(runs, plot)
    tail = max(1, n_queries // 4)
    if as_json:
        for name, found in runs.items():
            emit(
                {
                    "ranker": name,
                    "metric": found.metric,
                    "queries": n_queries,
                    "gain": float(found.gain.mean()),
                    "late_gain": float(found.gain[-tail:].mean()),
                    "uniform": float(found.baseline.mean()),
                    "seconds": float(found.seconds[-1]),
                }
            )
        return
    table(
        ["ranker", next(iter(runs.values())).metric, "gain over uniform", f"in the last {tail}", "seconds of learning"],
        [
            [
                name,
                f"{found.values.mean():.4f}",
                f"{found.gain.mean():+.4f}",
                f"{found.gain[-tail:].mean():+.4f}",
                f"{found.seconds[-1]:.3f}",
            ]
            for name, found in runs.items()
        ],
        f"{n_queries:,} queries, the top {k} {'clicked' if clicks else 'judged'}",
    )
    for written in (output, plot):
        if written is not None:
            click.echo(f"-> {written}")

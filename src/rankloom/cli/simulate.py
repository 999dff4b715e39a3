"""simulate: what would be learned if users judged, or clicked on, the top of each list."""

from __future__ import annotations

import click

from rankloom.cli._options import RANKER_NAMES, json_option, read_settings, set_option
from rankloom.cli._output import emit, progress, table, write_json


@click.command()
@click.argument("data", type=click.Path(dir_okay=False))
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
    data: str,
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
    """Let a simulated user teach rankers with DATA, query after query.

    Each query is ranked by what was learned before it, which is measured; then its top is judged and learned from.

    \b
    Example:
      rankloom simulate judged.txt --rankers opr,opar2,rlr -k 20 -o curves.json --plot curves.png
      rankloom simulate judged.txt --clicks --set C=0.1
    """
    from rankloom.datasets import load
    from rankloom.rankers import make_ranker
    from rankloom.simulate import CascadeClicks
    from rankloom.simulate import simulate as run

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
        from rankloom.plots import plot_learning

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

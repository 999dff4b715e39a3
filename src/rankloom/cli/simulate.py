"""simulate: what would be learned if users judged, or clicked on, the top of each list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankloom.cli._options import RANKER_NAMES, json_option, read_settings, set_option, split_names
from rankloom.cli._output import emit, file_progress, progress, say_written, table, write_json

if TYPE_CHECKING:
    from rankloom.experiments.simulation import Simulation
    from rankloom.rankers import Ranker


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
        _simulate_users(folder, labels, preset, options, output, plot, as_json)
        return
    if data is None:
        raise click.UsageError("give DATA, a file of judged rows, or --data, a labelled collection")
    runs = _simulate_queries(
        data,
        _make_rankers(rankers, read_settings(settings)),
        k=k,
        clicks=clicks,
        retrain_every=retrain_every,
        seed=seed,
    )
    if output is not None:
        write_json({name: run.to_dict() for name, run in runs.items()}, output)
    if plot is not None:
        from rankloom.experiments.plots import plot_learning

        plot_learning(runs, plot)
    if as_json:
        _emit_runs(runs)
        return
    _show_runs(runs, f"the top {k} {'clicked' if clicks else 'judged'}")
    say_written(output, plot)


def _make_rankers(names: str, settings: dict[str, Any]) -> dict[str, Ranker]:
    """Rankers by their short names, each with the settings that it knows."""
    from rankloom.rankers import make_ranker

    rankers = {name: make_ranker(name) for name in split_names(names)}
    for ranker in rankers.values():
        ranker.set_params(**{key: value for key, value in settings.items() if key in ranker.get_params()})
    return rankers


def _simulate_queries(
    path: str, rankers: dict[str, Ranker], *, k: int, clicks: bool, retrain_every: int, seed: int
) -> dict[str, Simulation]:
    from rankloom.datasets import load
    from rankloom.experiments.simulation import CascadeClicks
    from rankloom.experiments.simulation import simulate as run

    data = load(path)
    model = CascadeClicks() if clicks else None
    options: dict[str, Any] = {"k": k, "clicks": model, "retrain_every": retrain_every, "random_state": seed}
    with progress(len(set(data.qid.tolist())) * len(rankers), "simulating") as advance:
        return {name: run(data, ranker, **options, progress=advance) for name, ranker in rankers.items()}


def _emit_runs(runs: dict[str, Simulation]) -> None:
    for name, run in runs.items():
        emit(
            {
                "ranker": name,
                "metric": run.metric,
                "queries": len(run.values),
                "gain": float(run.gain.mean()),
                "late_gain": run.late_gain,
                "uniform": float(run.baseline.mean()),
                "seconds": float(run.seconds[-1]),
            }
        )


def _show_runs(runs: dict[str, Simulation], judged: str) -> None:
    first = next(iter(runs.values()))
    table(
        ["ranker", first.metric, "gain over uniform", f"in the last {first.n_late}", "seconds of learning"],
        [
            [
                name,
                f"{run.values.mean():.4f}",
                f"{run.gain.mean():+.4f}",
                f"{run.late_gain:+.4f}",
                f"{run.seconds[-1]:.3f}",
            ]
            for name, run in runs.items()
        ],
        f"{len(first.values):,} queries, {judged}",
    )


def _simulate_users(
    folder: str,
    labels: str | None,
    preset: str | None,
    options: dict[str, Any],
    output: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Let users search a labeled collection by example and mark; show what each way of following their marks gains."""
    from rankloom.experiments import learned_weights, load_labeled, simulate_users

    if labels is None:
        raise click.UsageError("--data needs --labels, the classes of its files")
    with file_progress() as update:
        data = load_labeled(folder, labels, preset=preset)
        weights = learned_weights(data, random_state=options["random_state"] + 1)
        trial = simulate_users(data, weights, progress=update, **options)
    if output is not None:
        write_json(trial.to_dict(), output)
    if plot is not None:
        from rankloom.experiments.plots import plot_rounds

        plot_rounds(trial.to_dict(), plot)
    if as_json:
        for name in trial.values:
            emit({"strategy": name, "AP": trial.mean(name), "interval": trial.interval(name)})
    else:
        rows = []
        for name in trial.values:
            cells = zip(trial.mean(name), trial.interval(name), strict=True)
            rows.append([name, *(f"{mean:.3f} [{low:.3f}, {high:.3f}]" for mean, (low, high) in cells)])
        heads = ["AP of users who follow marks by", "at first"]
        heads += [f"after {turn * options['per_round']} marks" for turn in range(1, options["rounds"] + 1)]
        table(heads, rows, f"{len(data)} items, {options['n_queries']} users, {options['noise']:.0%} of marks wrong")
    say_written(output, plot, err=as_json)

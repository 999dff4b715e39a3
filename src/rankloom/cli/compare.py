"""compare: several rankers on the same folds, with intervals and paired tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rankloom.cli._options import (
    RANKER_NAMES,
    json_option,
    metric_option,
    policy_option,
    read_settings,
    set_option,
    split_names,
)
from rankloom.cli._output import emit, progress, say, table

if TYPE_CHECKING:
    from rankloom.evaluation.significance import PairComparison
    from rankloom.model_selection.selection import FoldResults


@click.command()
@click.argument("files", nargs=-1, type=click.Path(dir_okay=False))
@click.option(
    "--rankers", default="rlr,frlr,ranksvm,lr,uniform", show_default=True,
    help=f"Short names with commas: {RANKER_NAMES}.",
)  # fmt: skip
@click.option("--folds", type=click.Path(file_okay=False), help="A folder of folds, each with train, vali and test.")
@click.option("--n-folds", default=5, show_default=True, help="Folds by query where one FILE is given.")
@set_option
@metric_option("AP", "nDCG@10", "MeanNDCG")
@policy_option
@json_option
def compare(
    files: tuple[str, ...],
    rankers: str,
    folds: str | None,
    n_folds: int,
    settings: tuple[str, ...],
    metrics: tuple[str, ...],
    policy: str,
    as_json: bool,
) -> None:
    """Compare rankers, with parameters chosen on validation queries by the first metric.

    One FILE is divided into folds by query; three FILES are training, validation and test; --folds takes LETOR's
    folders (Fold1/train.txt, vali.txt, test.txt, also .gz).

    \b
    Example:
      rankloom compare data.txt --rankers rlr,ranksvm,uniform
      rankloom compare --folds MQ2008 --policy letor4
    """
    from rankloom.datasets import load
    from rankloom.experiments.papers.letor4 import published_for
    from rankloom.model_selection.selection import Fold, compare_folds, make_fold, query_folds, read_folds
    from rankloom.rankers import make_ranker

    names = split_names(rankers)
    given = read_settings(settings)
    fixed = {name: {k: v for k, v in given.items() if k in make_ranker(name).get_params()} for name in names}
    for key in given:
        if not any(key in params for params in fixed.values()):
            raise ValueError(f"none of the rankers {', '.join(names)} has a parameter {key!r}")
    parts: list[Fold]
    if folds is not None and not files:
        parts = read_folds(folds)
    elif len(files) == 1 and folds is None:
        parts = list(query_folds(load(files[0]), n_folds))
    elif len(files) == 3 and folds is None:
        parts = [make_fold("test", *(load(file) for file in files))]
    else:
        raise click.UsageError("give one FILE, three FILES (training, validation, test), or --folds DIR")
    with progress(len(parts) * len(names), "comparing") as advance:
        results = compare_folds(parts, fixed, metrics, policy, progress=advance)
    published = published_for(parts) if policy == "letor4" else {}
    if as_json:
        _emit_comparison(results, policy, published)
    else:
        _show_comparison(results, policy, published)


def _emit_comparison(results: FoldResults, policy: str, published: dict[str, dict[str, float]]) -> None:
    tested = results.comparison(results.metrics[0])
    for name in results.values:
        emit(
            {
                "ranker": name,
                "policy": policy,
                **{metric: results.mean(name, metric) for metric in results.metrics},
                "interval": list(tested.intervals[name]),
                "params": results.params[name],
                "seconds": [round(seconds, 4) for seconds in results.seconds[name]],
            }
        )
    for name, values in published.items():
        emit({"published": name, **values})
    for pair in tested.to_dict()["pairs"]:
        emit({"metric": results.metrics[0], **pair})


def _spell_params(folds: Sequence[dict[str, Any]]) -> str:
    """`nu=1 10 1`: each parameter with its value in every fold."""
    return "; ".join(f"{key}=" + " ".join(f"{params[key]}" for params in folds) for key in folds[0])


def _spell_pair(p: PairComparison) -> list[str]:
    interval = f"[{p.interval[0]:+.4f}, {p.interval[1]:+.4f}]"
    tests = [
        "<0.001" if value < 0.001 else f"{value:.3f}" for value in (p.p_randomization, p.p_t, p.holm_randomization)
    ]
    return [f"{p.a} - {p.b}", f"{p.difference:+.4f}", interval, *tests, str(p.wins), str(p.losses)]


def _show_comparison(results: FoldResults, policy: str, published: dict[str, dict[str, float]]) -> None:
    first = results.metrics[0]
    tested = results.comparison(first)
    rows = []
    for name in results.values:
        low, high = tested.intervals[name]
        chosen = _spell_params(results.params[name])
        means = [f"{results.mean(name, metric):.4f}" for metric in results.metrics]
        rows.append([name, *means, f"[{low:.4f}, {high:.4f}]", chosen or "-", f"{sum(results.seconds[name]):.2f}"])
    for name, values in published.items():
        rows.append(
            [name, *(f"{values[m]:.4f}" if m in values else "-" for m in results.metrics), "-", "published", "-"]
        )
    n_folds = len(results.n_queries)
    table(
        ["ranker", *results.metrics, f"95% interval of {first}", "chosen, fold by fold", "seconds"],
        rows,
        f"{sum(results.n_queries):,} test queries in {n_folds} fold{'s' * (n_folds > 1)}, policy {policy}",
    )
    if len(tested.names) > 1:
        table(
            ["pair", f"difference of {first}", "95% interval", "p (randomisation)", "p (t)", "Holm", "wins", "losses"],
            [_spell_pair(pair) for pair in tested.pairs],
        )
        clear = sum(p.holm_randomization < 0.05 for p in tested.pairs)
        say(
            f"{clear} of {len(tested.pairs)} differences are significant (Holm-corrected randomisation test, 5%); "
            "the others may be noise."
        )

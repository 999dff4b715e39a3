"""The demonstration: what a newcomer runs first."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import click

from rankloom.cli._output import progress, table


@click.command()
@click.option(
    "--queries", type=click.IntRange(min=10), default=200, show_default=True, help="Queries, half of them held out."
)
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same table.")
def demo(queries: int, seed: int) -> None:
    """Generate a ranking problem, fit every ranker, compare them on held-out queries.

    \b
    Example:
      rankloom demo
    """
    from rankloom import compare, make_ranker
    from rankloom.datasets import make_ranking
    from rankloom.rankers import RANKERS

    data = make_ranking(n_queries=queries, n_items=50, n_features=20, noise=1.5, random_state=seed)
    train, test = data.take(data.qid <= queries // 2), data.take(data.qid > queries // 2)
    click.echo(
        f"A ranking problem: {queries} queries x 50 items, 20 features of which 5 matter, 3 grades, noise.\n"
        f"Rankers learn from {queries // 2} queries and rank the other {queries - queries // 2}.\n"
    )
    scores, seconds, left_out = {}, {}, []
    with progress(len(RANKERS), "fitting") as advance:
        for name in RANKERS:
            advance(f"fitting {name}")
            ranker = make_ranker(name)
            began = perf_counter()
            try:
                ranker.fit(train.X, train.y, qid=train.qid)
            except ImportError as error:  # an extra that is not installed
                left_out.append(str(error))
                continue
            seconds[name] = perf_counter() - began
            scores[name] = ranker.predict(test.X)
    result = compare(scores, test.y, test.qid, metric="nDCG@10")
    against = {pair.b: pair for pair in result.pairs if pair.a == "uniform"}
    rows = []
    for name in sorted(result.names, key=lambda name: -result.means[name]):
        low, high = result.intervals[name]
        gain, p = "", ""
        if name in against:
            gain = f"{-against[name].difference:+.3f}"
            p = f"{against[name].holm_randomization:.4f}"
        kind = type(make_ranker(name)).__name__
        rows.append(
            [name, kind, f"{result.means[name]:.3f}", f"[{low:.3f}, {high:.3f}]", gain, p, f"{seconds[name]:.2f}"]
        )
    head = ["ranker", "class", "nDCG@10", "95% interval", "over uniform", "p (Holm)", "seconds to fit"]
    table(head, rows, "On held-out queries")
    for reason in left_out:
        click.echo(f"Left out: {reason}")
    click.echo(
        "Seconds to fit include compiling on the first run.\n\n"
        "Next, with files of your own (LETOR, SVMlight, Parquet, CSV):\n"
        f"  {_own_name()} fit train.txt --ranker rlr -o model.json\n"
        f"  {_own_name()} evaluate test.txt --model model.json"
    )


def _own_name() -> str:
    """How this command can be called again from here."""
    called, here = Path(sys.argv[0]).absolute(), Path.cwd()
    in_here = called.name == "rankloom" and called.is_relative_to(here)
    return str(called.relative_to(here)) if in_here else "rankloom"

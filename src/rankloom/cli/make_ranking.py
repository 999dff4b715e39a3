"""make-ranking: a learning-to-rank problem to try the rankers on."""

from __future__ import annotations

from pathlib import Path

import click

from rankloom.cli._options import json_option
from rankloom.cli._output import emit, say


@click.command("make-ranking")
@click.argument("dir", type=click.Path(file_okay=False))
@click.option("--queries", default=120, show_default=True, type=click.IntRange(min=4), help="In all three files.")
@click.option("--items", default=40, show_default=True, type=click.IntRange(min=2), help="Of each query.")
@click.option("--features", default=10, show_default=True, type=click.IntRange(min=5), help="Five of them matter.")
@click.option("--noise", default=1.5, show_default=True, type=click.FloatRange(min=0), help="The signal has 1.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="The same seed, the same files.")
@json_option
def make_ranking(dir: str, queries: int, items: int, features: int, noise: float, seed: int, as_json: bool) -> None:
    """Write generated queries with graded items to DIR: train.txt (half of them), vali.txt and test.txt.

    \b
    Example:
      rankloom make-ranking .
      rankloom make-ranking hard --queries 400 --noise 3 --seed 7
    """
    from rankloom.core import RankingData
    from rankloom.datasets import make_ranking as generate
    from rankloom.datasets import save_letor

    made = generate(queries, items, features, noise=noise, random_state=seed)
    ids = [f"img{row}" for row in range(len(made.y))]
    data = RankingData(made.X, made.y, made.qid, ids, made.feature_names)
    half, rest = queries // 2, queries // 2 + queries // 4
    parts = {"train": data.qid <= half, "vali": (data.qid > half) & (data.qid <= rest), "test": data.qid > rest}
    Path(dir).mkdir(parents=True, exist_ok=True)
    counts = {}
    for name, rows in parts.items():
        save_letor(data.take(rows), Path(dir, f"{name}.txt"))
        counts[name] = int(rows.sum()) // items
    if as_json:
        emit({"queries": counts, "items": items, "features": features, "folder": dir})
        return
    named = ", ".join(f"{name}.txt: {count}" for name, count in counts.items())
    say(f"{named} queries of {items} items with {features} features -> {dir}")

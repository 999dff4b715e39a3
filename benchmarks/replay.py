"""A long log of marks is learned again: marks a second of processor time, by how many marks a query has.

`python -m benchmarks.replay --collection DIR` replays a generated log in a copy of that collection, otherwise in one of
1,000 generated pictures.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.harness import Bar, at_least, show
from benchmarks.load import generated
from rankloom.collection import Collection
from rankloom.collection.query import Example, Query
from rankloom.engine import Engine

TITLE = "Replay of a log of marks"
N_MARKS = 12_000


def fill(collection: Collection, n_items: int, per_query: int) -> None:
    """A new log: queries by example, half of their marks right."""
    rng = np.random.default_rng(per_query)
    queries, marks = [], []
    for number in range(N_MARKS // per_query):
        query = Query(examples=(Example(item=int(rng.integers(1, n_items + 1)), weight=1.0 + 1e-6 * number),))
        at = f"{number:08}"
        queries.append((query.qid, json.dumps(query.to_json()), at))
        items = rng.choice(n_items, per_query, replace=False) + 1
        marks += [(query.qid, int(item), float(place % 2 == 0), at) for place, item in enumerate(items)]
    with collection.transaction() as db:
        for table in ("qrels", "queries", "undos", "checkpoints"):
            db.execute(f"DELETE FROM {table}")
        db.executemany("INSERT INTO queries VALUES (?, ?, ?)", queries)
        db.executemany("INSERT INTO qrels (qid, item, grade, user, at) VALUES (?, ?, ?, '', ?)", marks)


def rate(collection: Collection, per_query: int) -> float:
    """Marks a second of processor time; the best of three, after a few to warm up."""
    fill(collection, len(collection), per_query)
    times = []
    for turn in range(4):
        engine = Engine(collection)
        replay = engine._weights.online(engine.snapshot())
        began = time.process_time()
        replay.catch_up(500 if turn == 0 else None)
        times.append(time.process_time() - began)
    return N_MARKS / min(times[1:])


def run(folder: Path | None = None) -> list[Bar]:
    """Measure, in a folder of its own."""
    place = Path(tempfile.mkdtemp(prefix="rankloom-replay-"))
    try:
        if folder is None:
            generated(place, 1000)
        else:
            shutil.copytree(folder, place / "c")
        with Collection(place / "c") as collection:
            rates = {per_query: rate(collection, per_query) for per_query in (1, 3, 5)}
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return [
        Bar("replay", "marks a second, one a query", "-", f"{rates[1]:,.0f}/s", None),
        at_least("replay", "marks a second, three a query", rates[3], 20_000, "/s"),
        at_least("replay", "marks a second, five a query", rates[5], 20_000, "/s"),
    ]


def main() -> int:
    """Measure and show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", type=Path)
    bars = run(parser.parse_args().collection)
    show(TITLE, bars)
    return int(any(bar.passed is False for bar in bars))


if __name__ == "__main__":
    sys.exit(main())

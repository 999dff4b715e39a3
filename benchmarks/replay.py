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
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.harness import Bar, at_least, at_most, show
from benchmarks.load import generated
from rankloom.collection import Collection, Mark
from rankloom.collection.query import Example, Query
from rankloom.engine import Engine

TITLE = "Long logs of marks"
N_MARKS = 12_000


def fill(collection: Collection, n_items: int, per_query: int, n_marks: int = N_MARKS) -> None:
    """A new log: queries by example, half of their marks right."""
    rng = np.random.default_rng(per_query)
    queries, marks = [], []
    for number in range(n_marks // per_query):
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


def long_log(folder: Path, n_marks: int = 100_000) -> list[Bar]:
    """What people wait for where a collection has many marks; by the clock."""
    with Collection(folder) as collection:
        fill(collection, len(collection), 5, n_marks)
        Engine(collection).refresh()
    times: dict[str, float] = {}

    def timed(name: str, call: Callable[[], object]) -> None:
        began = time.perf_counter()
        call()
        times[name] = time.perf_counter() - began

    with Collection(folder) as collection:
        query = Query(examples=(Example(item=9),))
        engine = Engine(collection)
        timed("opening, with the first search", lambda: engine.search(query))
        engine.feedback(query, [Mark(20, 1.0)])
        timed("a mark", lambda: engine.feedback(query, [Mark(21, 1.0)]))
        timed("undo of the last", lambda: engine.undo(query))
        middle = collection.db.execute("SELECT id FROM qrels LIMIT 1 OFFSET ?", (n_marks // 2,)).fetchone()[0]
        timed("undo of one in the middle, until searches know", lambda: engine.undo(mark=middle))
        timed("and until all weights are learned again", engine.settle)
    bars = zip(times.items(), (2.0, 0.02, 0.05, 1.0, None), strict=True)
    return [
        Bar("-", f"{n_marks:,} marks: {what}", "-", f"{figure:.3g} s", None)
        if most is None
        else at_most("-", f"{n_marks:,} marks: {what}", figure, most, " s")
        for (what, figure), most in bars
    ]


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
        waiting = long_log(place / "c")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return [
        Bar("replay", "marks a second, one a query", "-", f"{rates[1]:,.0f}/s", None),
        at_least("replay", "marks a second, three a query", rates[3], 20_000, "/s"),
        at_least("replay", "marks a second, five a query", rates[5], 20_000, "/s"),
        *waiting,
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

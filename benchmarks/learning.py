"""What marks gain: inside a search, over many searches, and how long a mark takes."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.harness import SHARED, Bar, at_least, at_most
from benchmarks.packs import PACKS, collection_of, pack
from rankloom.collection import Collection, Mark
from rankloom.collection.query import Example, Query
from rankloom.core import RankingData
from rankloom.descriptors import CLASSICAL, PRESETS
from rankloom.engine import Engine, SearchOptions
from rankloom.experiments import LabeledCollection, judge_cutoff, learned_weights, search_lists, simulate_users
from rankloom.experiments.simulation import simulate
from rankloom.rankers import OnlineConfidenceRanker

TITLE = "Learning from marks"
BEST = "engine + neighbours"


def run() -> list[Bar]:
    if not SHARED.is_dir():
        return [Bar("6a", "the packs of pictures are not here", "-", "-", None)]
    caltech = pack("caltech101")
    classical, fast = caltech.only(CLASSICAL), caltech.only(PRESETS["fast"])
    bars = []
    for name, data, limit in (("classical experts", classical, 0.78), ("preset fast", fast, 0.99)):
        found = simulate_users(data, learned_weights(data), [BEST.partition(" +")[0]], n_queries=300)
        values = found.mean(BEST)
        what = f"Caltech-101, {name}, AP at first {values[0]:.3f}, after three rounds of 20 marks"
        bars.append(at_least("6a", what, values[-1], limit, ""))
    return [*bars, *_progressive(classical), _one_mark(), *_cutoffs()]


def _progressive(data: LabeledCollection) -> list[Bar]:
    """Query after query, the top 50 judged."""
    rows, grades, qid = [], [], []
    for query in data.queries(500).tolist():
        others = np.arange(len(data)) != query
        rows.append(data.phi(query)[others])
        grades.append(data.relevant(query)[others].astype(np.float64))
        qid.append(np.full(len(data) - 1, query))
    found = RankingData(np.concatenate(rows), np.concatenate(grades), np.concatenate(qid))
    # Four orders of the queries: which come first changes the early gain by .02.
    gains = [simulate(found, OnlineConfidenceRanker(r=1.0), k=50, random_state=order).gain for order in range(4)]
    gain = np.mean(gains, axis=0)
    what = "Caltech-101, classical experts, top 50 judged, AROW: nDCG@50 over uniform"
    early = int(np.argmax(np.cumsum(gain) > 0)) + 1
    return [
        at_least("6b", f"{what}, first 200 queries", float(gain[:200].mean()), 0.08, ""),
        at_least("6b", f"{what}, after them", float(gain[200:].mean()), 0.11, ""),
        Bar("6b", "judged queries until the mean gain is above 0", "about 10", str(early), None),
    ]


def _cutoffs() -> list[Bar]:
    """Suggested ends of lists, and what comes after them."""
    bars = []
    for name in PACKS:
        data = pack(name).only(PRESETS["fast"])
        found = judge_cutoff(search_lists(data, data.start))
        what = f"{name}: an end is suggested for {100 * found.share:.0f}% of the lists (precision {found.precision:.2f}"
        what += f" and recall {found.recall:.2f} before it); precision of the 20 results after it"
        bars.append(at_most("-", what, found.after, 0.3, ""))
    return bars


def _one_mark() -> Bar:
    """A mark and the new order, against a plain search."""
    plain, marked = [], []
    with Collection(collection_of("caltech101")) as collection:
        engine = Engine(collection)
        engine.refresh()
        for turn, item in enumerate(range(1, 400, 20)):
            query = Query(examples=(Example(item=item),))
            began = time.perf_counter()
            found = engine.search(query, 50, SearchOptions(user="benchmark"))
            plain.append(time.perf_counter() - began)
            for place in range(4):
                began = time.perf_counter()
                engine.feedback(query, [Mark(found[place + turn % 3].id, float(place < 2))], "benchmark")
                found = engine.search(query, 50, SearchOptions(user="benchmark"))
                marked.append(time.perf_counter() - began)
            while engine.undo(query, "benchmark") is not None:
                pass
    what = f"a mark and the new order ({1e3 * np.median(marked):.0f} ms) / a search, all descriptors, 1,824 items"
    return at_most("6c", what, float(np.median(marked) / np.median(plain)), 2)

"""Exact search: all experts of all items, against scipy one distance at a time; and a cascade that reads less."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist

import rankloom.experts.threads
from benchmarks.harness import Bar, at_least, at_most, seconds
from rankloom.descriptors import DESCRIPTORS as DESCRIPTORS_BY_NAME
from rankloom.descriptors import PRESETS
from rankloom.experts import EncodedExample, expert_features, experts_of, measure_scales
from rankloom.experts.compact import CompactVectors, row_bytes
from rankloom.experts.distances import DISTANCES, Weighted, add_similarities, all_distances
from rankloom.rankers import RankingLogisticRegression, SoftCascade

TITLE = "Search"
DESCRIPTORS, COMPONENTS = 9, 64
NAMES = [f"descriptor{number}" for number in range(DESCRIPTORS)]
CLASSES = 1000
VISUAL_WORDS = 256  # of a vocabulary that is trained on the collection


def problem(n: int) -> tuple[CompactVectors, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = np.empty((n, row_bytes(COMPONENTS)), dtype=np.uint8)
    for start in range(0, n, 100_000):
        part = rng.random((min(100_000, n - start), COMPONENTS))
        rows[start : start + 100_000] = CompactVectors.of(part).rows
    return CompactVectors(rows), rng.random(COMPONENTS).astype(np.float32)


def ours(query: np.ndarray, rows: CompactVectors) -> None:
    for _ in range(DESCRIPTORS):
        all_distances(query, rows)


def scipys(query: np.ndarray, rows: np.ndarray) -> None:
    for _ in range(DESCRIPTORS):
        for name in ("cityblock", "euclidean", "cosine"):
            cdist(query[None], rows, name)


def run() -> list[Bar]:
    cores = rankloom.experts.threads.CORES
    rankloom.experts.threads.CORES = 1
    rows, query = problem(100_000)
    fast, slow = seconds(partial(ours, query, rows), partial(scipys, query, rows[:]), repeats=5)
    large, _ = problem(1_000_000)
    began = time.process_time()
    ours(query, large)
    grown = time.process_time() - began
    what = f"36 experts x 100,000 items ({1e3 * fast:.0f} ms): cdist in float32, without chi-square / ours"
    bars = [
        at_least("5b", what, slow / fast, 10),
        Bar("5b", "1,000,000 items / 100,000 items", "-", f"{grown / fast:.3g}x", None),
    ]
    bars += _cascade()
    rankloom.experts.threads.CORES = cores
    what = f"36 experts x 1,000,000 items, {cores} cores"
    bars.append(at_most("5b", what, _wall(partial(ours, query, large), 7), 0.3, " s"))
    return [*bars, *_presets(cores)]


def _wall(call: Callable[[], None], repeats: int) -> float:
    """The median time by the clock, after a first call, for work on several cores."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def _presets(cores: int, n: int = 200_000) -> list[Bar]:
    """The weighted sum of all experts of a preset, with the components that its descriptors have."""
    bars = []
    random = np.random.default_rng(0)
    even = np.ones(len(DISTANCES), dtype=np.float32)
    for preset, names in PRESETS.items():
        widths = [DESCRIPTORS_BY_NAME[name].dimension or VISUAL_WORDS for name in names]
        block = random.random((10_000, max(widths)), dtype=np.float32)
        parts = [CompactVectors.of(block[:, :width]).rows for width in widths]
        stored = [CompactVectors(np.tile(part, (n // len(part), 1))) for part in parts]

        def search(stored: list[CompactVectors] = stored) -> None:
            total = np.zeros(n, dtype=np.float32)
            for rows in stored:
                add_similarities(total, Weighted(rows[0], rows, even, even))

        elapsed = _wall(search, 3)
        what = f"preset {preset}, {sum(widths):,} components x {n:,} items, {cores} cores; a million at this rate"
        bars.append(Bar("5b", what, "-", f"{elapsed:.2f} s; {1e6 / n * elapsed:.1f} s", None))
    return bars


def labelled(n: int, seed: int) -> tuple[np.ndarray, dict[str, CompactVectors]]:
    """Items of many classes, which some descriptors show better than others."""
    centres = np.random.default_rng(0).random((DESCRIPTORS, CLASSES, COMPONENTS)).astype(np.float32)
    random = np.random.default_rng(seed)
    labels = random.integers(0, CLASSES, n)
    vectors = {}
    for name, centre, noise in zip(NAMES, centres, np.linspace(0.25, 0.6, DESCRIPTORS), strict=True):
        rows = np.empty((n, row_bytes(COMPONENTS)), dtype=np.uint8)
        for start in range(0, n, 100_000):
            part = labels[start : start + 100_000]
            spread = noise * random.standard_normal((len(part), COMPONENTS)).astype(np.float32)
            rows[start : start + 100_000] = CompactVectors.of(np.clip(centre[part] + spread, 0, 2)).rows
        vectors[name] = CompactVectors(rows)
    return labels, vectors


def _cascade() -> list[Bar]:
    """A cascade over the experts of a million items against the weighted sum of all of them, each in one thread."""
    labels, vectors = labelled(40_000, 1)
    everything = np.ones(len(labels), dtype=bool)
    scales = {name: measure_scales(stored, everything) for name, stored in vectors.items()}
    experts = experts_of(NAMES)
    random = np.random.default_rng(2)
    X, y, qid = [], [], []
    for query in range(20):
        seen = EncodedExample({name: stored[query] for name, stored in vectors.items()})
        phi = expert_features(experts, vectors, scales, [seen], len(labels))
        alike = np.flatnonzero((labels == labels[query]) & (np.arange(len(labels)) != query))
        rows = np.concatenate([alike, random.choice(len(labels), 2000, replace=False)])
        X.append(np.stack([phi.column(j, rows) for j in range(len(experts))], axis=1))
        y.append((labels[rows] == labels[query]).astype(float))
        qid.append(np.full(len(rows), query))
    judged = np.concatenate(X), np.concatenate(y), np.concatenate(qid)
    ranker = RankingLogisticRegression().fit(judged[0], judged[1], qid=judged[2])
    cascade = SoftCascade(ranker).fit(judged[0], judged[1], qid=judged[2])
    weights = dict(zip((expert.name for expert in experts), ranker.coef_, strict=True))
    truth, archive = labelled(1_000_000, 3)
    found: dict[str, np.ndarray] = {}

    def whole(query: int) -> None:
        total = np.zeros(len(truth), dtype=np.float32)
        for name, stored in archive.items():
            mine = np.array([weights.get(f"{name}.{one}", 0.0) for one in DISTANCES], np.float32)
            scale = np.array([scales[name][one] for one in DISTANCES], np.float32)
            add_similarities(total, Weighted(stored[query], stored, mine, scale))
        found["all"] = total

    def part(query: int) -> None:
        seen = EncodedExample({name: stored[query] for name, stored in archive.items()})
        found["cascade"] = cascade.predict(expert_features(experts, archive, scales, [seen], len(truth)))

    ratios, precision = [], {"all": [], "cascade": []}
    for query in range(5):
        times = seconds(partial(whole, query), partial(part, query), repeats=3)
        ratios.append(times[0] / times[1])
        for name, scores in found.items():
            top = np.argpartition(-scores, 100)[:100]
            precision[name].append(float((truth[top] == truth[query]).mean()))
    shares = " and ".join(f"{np.mean(one):.3f}" for one in precision.values())
    what = f"1,000,000 items: all experts / a cascade (P@100 {shares})"
    return [at_least("5b", what, float(np.median(ratios)), 3)]

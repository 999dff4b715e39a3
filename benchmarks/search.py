"""Exact search: all experts of all items, against scipy one distance at a time."""

from __future__ import annotations

import time
from functools import partial

import numba
import numpy as np
from scipy.spatial.distance import cdist

from benchmarks.harness import Bar, at_least, at_most, seconds
from rankloom.distances import all_distances

TITLE = "Search"
DESCRIPTORS, COMPONENTS = 9, 64


def problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = np.empty((n, COMPONENTS), dtype=np.float16)
    for start in range(0, n, 100_000):
        rows[start : start + 100_000] = rng.random((min(100_000, n - start), COMPONENTS))
    return rows, rng.random(COMPONENTS).astype(np.float32)


def ours(query: np.ndarray, rows: np.ndarray) -> None:
    for _ in range(DESCRIPTORS):
        all_distances(query, rows)


def scipys(query: np.ndarray, rows: np.ndarray) -> None:
    for _ in range(DESCRIPTORS):
        for name in ("cityblock", "euclidean", "cosine"):
            cdist(query[None], rows, name)


def run() -> list[Bar]:
    rows, query = problem(100_000)
    numba.set_num_threads(1)
    fast, slow = seconds(partial(ours, query, rows), partial(scipys, query, rows.astype(np.float32)), repeats=5)
    large, _ = problem(1_000_000)
    began = time.process_time()
    ours(query, large)
    grown = time.process_time() - began
    what = f"36 experts x 100,000 items ({1e3 * fast:.0f} ms): cdist in float32, without chi-square / ours"
    bars = [
        at_least("5b", what, slow / fast, 10),
        Bar("5b", "1,000,000 items / 100,000 items", "-", f"{grown / fast:.3g}x", None),
    ]
    walls = []
    for _ in range(5):
        began = time.perf_counter()
        ours(query, large)
        walls.append(time.perf_counter() - began)
    bars.append(at_most("5b", "36 experts x 1,000,000 items, one thread", float(np.median(walls)), 0.3, " s"))
    return bars

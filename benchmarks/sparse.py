"""Sparse rows: time and memory against the dense array of the same rows, and their growth with the non-zeros."""

from __future__ import annotations

import time
import tracemalloc
import warnings

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import Bar, at_least, at_most
from rankloom.rankers import (
    FullRankingLogisticRegression,
    LinearRanker,
    ListNet,
    OnlineConfidenceRanker,
    OnlinePassiveAggressiveRanker,
    RankingLogisticRegression,
    RankSVM,
)

TITLE = "Sparse rows"
D = 2000
GIVEN = 20  # non-zeros a row: 1%
RANKERS = (
    RankingLogisticRegression(),
    FullRankingLogisticRegression(),
    RankSVM(),
    ListNet(),
    OnlinePassiveAggressiveRanker(),
    OnlineConfidenceRanker(full=False),
)


def run() -> list[Bar]:
    return [bar for ranker in RANKERS for bar in measured(ranker)]


def problem(n: int, d: int = D) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    parts = (rng.normal(size=n * GIVEN), rng.integers(0, d, n * GIVEN), np.arange(0, n * GIVEN + 1, GIVEN))
    X = sparse.csr_array(parts, shape=(n, d))
    X.sum_duplicates()
    scores = X @ rng.normal(size=d) / np.sqrt(GIVEN) + rng.normal(size=n)
    return X, np.clip(np.round(scores), 0, 3), np.arange(n) // 100


def measured(ranker: LinearRanker) -> list[Bar]:
    name = type(ranker).__name__
    small, large = problem(25_000), problem(100_000)
    cost(ranker, *problem(1000, 50))  # compiles
    taken, used = zip(*(cost(ranker, *data) for data in (small, large)), strict=True)
    X, y, qid = small
    dense_taken, dense_used = cost(ranker, X.toarray(), y, qid)
    size = large[0].data.nbytes + large[0].indices.nbytes + large[0].indptr.nbytes
    return [
        at_least("10g", f"{name}, 25,000 x 2,000, 1% non-zeros: time of dense / sparse", dense_taken / taken[0], 1),
        at_least("10g", f"{name}: memory of dense / sparse, with X", dense_used / used[0], 10),
        at_most("10g", f"{name}: time of 100,000 rows / 25,000 (4 is linear)", taken[1] / taken[0], 6),
        at_most("10g", f"{name}: memory of 100,000 rows / size of the CSR matrix", used[1] / size, 8),
    ]


def cost(ranker: LinearRanker, X: object, y: np.ndarray, qid: np.ndarray) -> tuple[float, float]:
    """Processor time of a fit, and the most memory beyond what was there before X: that of X is counted."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    began = time.process_time()
    clone(ranker).fit(X, y, qid=qid)
    taken = time.process_time() - began
    tracemalloc.start()
    clone(ranker).fit(X, y, qid=qid)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    own = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return taken, peak + own

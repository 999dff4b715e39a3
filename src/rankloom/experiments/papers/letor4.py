"""LETOR: the published results on MQ2008 (LETOR 4.0) and OHSUMED (LETOR 3.0).

References: T. Qin and T.-Y. Liu, Introducing LETOR 4.0 datasets, arXiv:1306.2597, 2013; T. Qin et al., LETOR: a
benchmark collection for research on learning to rank for information retrieval, Information Retrieval 13, 2010; and the
result pages of the collections. Means over the test parts of the five folds, by the official evaluation script (policy
`letor4`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from joblib import Memory

from rankloom.experiments.papers import Finding
from rankloom.model_selection.selection import Fold, FoldResults, compare_folds

CITATION = (
    "T. Qin, T.-Y. Liu, Introducing LETOR 4.0 datasets, arXiv:1306.2597, 2013; T. Qin, T.-Y. Liu, J. Xu, H. Li, LETOR: "
    "a benchmark collection for research on learning to rank for information retrieval, Inf. Retrieval 13, 2010."
)
MQ2008: dict[str, dict[str, float]] = {
    "RankSVM-Struct": {"AP": 0.4696, "nDCG@10": 0.2279, "MeanNDCG": 0.4832},
    "ListNet": {"AP": 0.4775, "nDCG@10": 0.2303, "MeanNDCG": 0.4914},
    "AdaRank-MAP": {"AP": 0.4764, "nDCG@10": 0.2288, "MeanNDCG": 0.4915},
    "AdaRank-NDCG": {"AP": 0.4824, "nDCG@10": 0.2307, "MeanNDCG": 0.4950},
    "RankBoost": {"AP": 0.4775, "nDCG@10": 0.2255, "MeanNDCG": 0.4850},
}
OHSUMED: dict[str, dict[str, float]] = {
    "RankSVM": {"AP": 0.4334},
    "RankBoost": {"AP": 0.4411},
    "ListNet": {"AP": 0.4457},
}


METRICS = ("AP", "nDCG@10", "MeanNDCG")
RANKERS = (
    "uniform", "best", "nb", "lr", "rlr", "frlr", "ranksvm", "rankboost", "listnet", "ranknet", "coordascent",
    "opr", "opar1", "opar2", "ogdr", "arow", "lambdamart", "irankboost", "softcascade", "car",
)  # fmt: skip
NOISE = 0.01  # differences of MAP up to this are noise on collections of this size
# The ranker here that a published one is compared with.
SAME = {"RankSVM-Struct": "ranksvm", "RankSVM": "ranksvm", "ListNet": "listnet", "RankBoost": "rankboost"}


def published_for(folds: Sequence[Fold]) -> dict[str, dict[str, float]]:
    """The published results for these folds, known by their counts; none for other data."""
    tests = [fold.test for fold in folds]
    counts = (
        len(folds),
        len({qid for test in tests for qid in np.unique(test.qid).tolist()}),
        sum(len(test) for test in tests),
        tests[0].X.shape[1],
    )
    return {(5, 784, 15211, 46): MQ2008, (5, 106, 16140, 45): OHSUMED}.get(counts, {})


def run(
    folds: Sequence[Fold],
    rankers: Sequence[str] = RANKERS,
    *,
    n_jobs: int = 1,
    memory: Memory | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> FoldResults:
    """All rankers on folds, with parameters by validation, measured as LETOR does; see `compare_folds`."""
    fixed: dict[str, dict[str, float]] = {name: {} for name in rankers}
    return compare_folds(folds, fixed, METRICS, "letor4", n_jobs=n_jobs, memory=memory, progress=progress)


def findings(results: FoldResults, published: Mapping[str, Mapping[str, float]]) -> list[Finding]:
    """MAP of the rankers that were published too, and of the best one; one that is not worse than noise appears."""
    maps = {name: results.mean(name, "AP") for name in results.values}
    found = []
    for name, values in published.items():
        if (ours := maps.get(SAME.get(name, ""))) is not None:
            found.append(Finding(f"MAP of {name}", ours, values["AP"], ours >= values["AP"] - NOISE))
    if published:
        best, top = max(maps.values()), max(values["AP"] for values in published.values())
        found.append(Finding("the best MAP", best, top, best >= top - NOISE))
    return found

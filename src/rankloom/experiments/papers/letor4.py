"""LETOR: the published results on MQ2008 (LETOR 4.0) and OHSUMED (LETOR 3.0).

References: T. Qin and T.-Y. Liu, Introducing LETOR 4.0 datasets, arXiv:1306.2597, 2013; T. Qin et al., LETOR: a
benchmark collection for research on learning to rank for information retrieval, Information Retrieval 13, 2010; and the
result pages of the collections. Means over the test parts of the five folds, by the official evaluation script (policy
`letor4`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankloom.model_selection.selection import Fold

CITATION = "T. Qin, T.-Y. Liu, Introducing LETOR 4.0 datasets, arXiv:1306.2597, 2013."
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

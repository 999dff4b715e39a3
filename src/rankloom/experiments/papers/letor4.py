"""LETOR 4.0: the published results on MQ2008.

Reference: T. Qin and T.-Y. Liu, Introducing LETOR 4.0 datasets, arXiv:1306.2597, 2013, and the result pages of the
collection. Means over the test parts of the five folds, by the official evaluation script (policy `letor4`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankloom.model_selection.selection import Fold

MQ2008: dict[str, dict[str, float]] = {
    "RankSVM-Struct": {"AP": 0.4696, "nDCG@10": 0.2279, "MeanNDCG": 0.4832},
    "ListNet": {"AP": 0.4775, "nDCG@10": 0.2303, "MeanNDCG": 0.4914},
    "AdaRank-MAP": {"AP": 0.4764, "nDCG@10": 0.2288, "MeanNDCG": 0.4915},
    "AdaRank-NDCG": {"AP": 0.4824, "nDCG@10": 0.2307, "MeanNDCG": 0.4950},
    "RankBoost": {"AP": 0.4775, "nDCG@10": 0.2255, "MeanNDCG": 0.4850},
}


def published_for(folds: Sequence[Fold]) -> dict[str, dict[str, float]]:
    """The published results for these folds: those of MQ2008 if the data are MQ2008 by their counts, else none."""
    tests = [fold.test for fold in folds]
    counts = (
        len(folds),
        len({qid for test in tests for qid in np.unique(test.qid).tolist()}),
        sum(len(test) for test in tests),
        tests[0].X.shape[1],
    )
    return MQ2008 if counts == (5, 784, 15211, 46) else {}

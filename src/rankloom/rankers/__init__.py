"""Learning to rank: rankers learn from graded rows and score rows; a new one is a class and a line in `RANKERS`.

They see arrays and queries, and know nothing of pictures, items, files of data or databases.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from rankloom.rankers import _persist
from rankloom.rankers.base import AdditiveRanker, LinearRanker, Ranker
from rankloom.rankers.baselines import BestFeature, NaiveBayesRanker, UniformCombination
from rankloom.rankers.boost import RankBoost, select_features
from rankloom.rankers.cascade import SoftCascade
from rankloom.rankers.content_aware import ContentAwareRanker, select_content_aware
from rankloom.rankers.coordinate_ascent import CoordinateAscent
from rankloom.rankers.imbalanced import ImbalancedRankBoost
from rankloom.rankers.lambdamart import LambdaMART
from rankloom.rankers.listwise import ListNet
from rankloom.rankers.logistic import FullRankingLogisticRegression, LogisticRegressionRanker, RankingLogisticRegression
from rankloom.rankers.margin import MarginRanker
from rankloom.rankers.online import (
    OnlineConfidenceRanker,
    OnlineGradientDescentRanker,
    OnlinePassiveAggressiveRanker,
    OnlinePerceptronRanker,
)
from rankloom.rankers.per_query import PerQueryRankers, fit_per_query
from rankloom.rankers.rank_svm import RankSVM
from rankloom.rankers.ranknet import RankNet
from rankloom.rankers.streaming import OnlineRanker
from rankloom.rankers.theory import pairwise_risk_bounds, rank_consistency

__all__ = [
    "RANKERS", "AdditiveRanker", "BestFeature", "ContentAwareRanker", "CoordinateAscent",
    "FullRankingLogisticRegression", "ImbalancedRankBoost", "LambdaMART", "LinearRanker", "ListNet",
    "LogisticRegressionRanker", "MarginRanker", "NaiveBayesRanker", "OnlineConfidenceRanker",
    "OnlineGradientDescentRanker", "OnlinePassiveAggressiveRanker", "OnlinePerceptronRanker", "OnlineRanker",
    "PerQueryRankers", "RankBoost", "RankNet", "RankSVM", "Ranker", "RankingLogisticRegression", "SoftCascade",
    "UniformCombination", "fit_per_query", "load_ranker", "make_ranker", "pairwise_risk_bounds", "rank_consistency",
    "ranker_from_json", "ranker_to_json", "select_content_aware", "select_features",
]  # fmt: skip

# The short name of each ranker, in Python and in the shell.
RANKERS: dict[str, Callable[..., Ranker]] = {
    "uniform": UniformCombination,
    "best": BestFeature,
    "nb": NaiveBayesRanker,
    "lr": LogisticRegressionRanker,
    "rlr": RankingLogisticRegression,
    "frlr": FullRankingLogisticRegression,
    "ranksvm": RankSVM,
    "opr": OnlinePerceptronRanker,
    "opar1": OnlinePassiveAggressiveRanker,
    "opar2": partial(OnlinePassiveAggressiveRanker, squared=True),
    "ogdr": OnlineGradientDescentRanker,
    "arow": OnlineConfidenceRanker,
    "listnet": ListNet,
    "ranknet": RankNet,
    "coordascent": CoordinateAscent,
    "lambdamart": LambdaMART,
    "rankboost": RankBoost,
    "irankboost": ImbalancedRankBoost,
    "softcascade": SoftCascade,
    "car": ContentAwareRanker,
}


def make_ranker(name: str, **params: Any) -> Ranker:
    """Make a ranker by its short name.

    >>> make_ranker("rlr", nu=0.5)
    RankingLogisticRegression(nu=0.5)
    """
    if name not in RANKERS:
        raise ValueError(f"unknown ranker {name!r}; known are {', '.join(RANKERS)}")
    try:
        return RANKERS[name](**params)
    except TypeError:
        known = ", ".join(ranker_class(name)().get_params(deep=False)) or "none"
        raise ValueError(f"{name} does not take {', '.join(params)}; its parameters are: {known}") from None


def ranker_class(name: str) -> type[Ranker]:
    """The class of a short name."""
    maker = RANKERS[name]
    ranker = maker.func if isinstance(maker, partial) else maker
    assert isinstance(ranker, type)
    return ranker


def load_ranker(path: str | os.PathLike[str], *, classes: Iterable[type] = ()) -> Ranker:
    """Read a ranker that `ranker.save(path)` wrote.

    Parameters
    ----------
    path : the JSON file.
    classes : ranker classes of your own that the file may name.
    """
    ranker: Ranker = _persist.load(path, _classes(classes))
    return ranker


def ranker_to_json(ranker: Ranker) -> dict[str, Any]:
    """A fitted ranker as plain values, those that `ranker.save` writes."""
    return _persist.to_document(ranker)


def ranker_from_json(document: Mapping[str, Any], *, classes: Iterable[type] = ()) -> Ranker:
    """The ranker that `ranker_to_json` described."""
    ranker: Ranker = _persist.from_document(document, _classes(classes))
    return ranker


def _classes(more: Iterable[type]) -> dict[str, type]:
    classes: list[type] = [*(ranker_class(name) for name in RANKERS), MarginRanker, *more]
    return {ranker.__name__: ranker for ranker in classes}

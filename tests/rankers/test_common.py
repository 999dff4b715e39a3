"""The checks that every ranker passes, ours and scikit-learn's."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankloom.checks import RANKER_CHECKS
from rankloom.rankers import (
    RANKERS,
    ContentAwareRanker,
    CoordinateAscent,
    ImbalancedRankBoost,
    LambdaMART,
    ListNet,
    MarginRanker,
    RankBoost,
    RankingLogisticRegression,
    RankNet,
    RankSVM,
    make_ranker,
)

DEFAULTS = [make_ranker(name) for name in RANKERS]
WITH_SCIKIT_LEARN = [ListNet(hidden=8), RankNet(hidden=8), ContentAwareRanker(visual=[-1], gamma=0.1)]
VARIANTS = [
    *WITH_SCIKIT_LEARN,
    RankingLogisticRegression(shift="global"),
    RankingLogisticRegression(normalize="query", nu=0.01),
    RankSVM(loss="squared_hinge"),
    MarginRanker("exponential", nu=10.0),
    MarginRanker("hinge", "approximate"),
    MarginRanker("squared_hinge", "pointwise"),
    MarginRanker("logistic", penalty="l1", tol=1e-10),
    RankBoost(weak="feature"),
    RankBoost(30, alpha="exact", patience=5),
    ImbalancedRankBoost(50, scaling="centred"),
    ContentAwareRanker(visual=slice(-2, None), candidates=15, normalize_graph=False),
    ContentAwareRanker(visual=[-1], distance="cosine", solver="cutting_plane", tol=1e-11),
    RankNet(hidden=3, normalize="query", nu=0.01),
    CoordinateAscent("nDCG@10", "letor4"),
    CoordinateAscent("tau", n_restarts=1, max_iter=1),
    LambdaMART(max_list=7, options={"bagging_fraction": 0.5}),
]


@pytest.mark.parametrize("check", RANKER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "ranker", [*DEFAULTS, *(pytest.param(ranker, marks=pytest.mark.slow) for ranker in VARIANTS)], ids=str
)
def test_common_checks(ranker, check):
    check(ranker)


def expected_failures(estimator):
    if estimator.list_aware:
        return {"check_methods_subset_invariance": "scores depend on the list"}
    return {}


@pytest.mark.slow
@parametrize_with_checks([*DEFAULTS, *WITH_SCIKIT_LEARN], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    if isinstance(estimator, RankSVM) and check.func.__name__.startswith("check_sample_weight_equivalence_on_"):
        pytest.skip(
            "wants scores equal to 1e-7, which hangs on rounding: a hinge is solved to a duality gap that does not "
            "promise it; test_common_checks compares them to 1e-5"
        )
    check(estimator)

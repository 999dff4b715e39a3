"""The checks that every ranker passes, ours and scikit-learn's."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankloom.checks import RANKER_CHECKS
from rankloom.rankers import (
    RANKERS,
    ContentAwareRanker,
    ImbalancedRankBoost,
    MarginRanker,
    RankBoost,
    RankingLogisticRegression,
    RankSVM,
    make_ranker,
)

VARIANTS = [
    *(make_ranker(name) for name in RANKERS),
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
    ContentAwareRanker(visual=[-1], gamma=0.1),
]


@pytest.mark.parametrize("check", RANKER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_common_checks(ranker, check):
    check(ranker)


@parametrize_with_checks([make_ranker(name) for name in RANKERS])
def test_scikit_learn_checks(estimator, check):
    if isinstance(estimator, RankSVM) and check.func.__name__ == "check_sample_weight_equivalence_on_dense_data":
        pytest.skip(
            "wants scores equal to 1e-7, which hangs on rounding: a hinge is solved to a duality gap that does not "
            "promise it; test_common_checks compares them to 1e-5"
        )
    check(estimator)

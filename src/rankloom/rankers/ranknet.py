"""RankNet: a network that learns from pairs."""

from __future__ import annotations

from typing import Any

from rankloom.core import FloatArray
from rankloom.groups import Preferences
from rankloom.rankers._risks import Design, PairRisk, pair_risk
from rankloom.rankers.losses import LOSSES
from rankloom.rankers.neural import NetworkRanker


class RankNet(NetworkRanker):
    r"""RankNet: the logistic loss over every pair, through linear scores or a network with one hidden layer.

    .. math:: \sum_q \sum_{j \succ_q k} \log\bigl(1 + e^{-(f_j - f_k)}\bigr) + \nu \|w\|^2,

    the cross entropy of the paper where the preferred row is preferred for certain. The loss of all pairs and its
    gradient by score take time proportional to the rows, and one backpropagation per row, not per pair. With linear
    scores this is `FullRankingLogisticRegression`; hidden units (of tanh; their biases are not in the penalty) find
    interactions of features, by L-BFGS to a minimum near a random start, on features that are standardised inside.

    Parameters
    ----------
    hidden : number of hidden units; 0 means linear scores.
    nu : weight of the penalty \(\nu\|w\|^2\).
    normalize : "pairs" sums over pairs (the paper's), "query" makes each query's pairs weigh 1 together.
    tol : relative accuracy of the objective; a network stops when a step gains less than that.
    max_iter : most steps.
    random_state : seed of the first weights of a network; linear scores do not use it.

    Attributes
    ----------
    coef_ : the weights of linear scores, absent with hidden units.
    hidden_coef_, hidden_bias_, output_coef_ : the weights of a network, for features less `mean_` over `scale_`.
    objective_ : the minimum found. `n_iter_` : steps taken.

    References
    ----------
    C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton and G. Hullender, Learning to rank using gradient
    descent, ICML 2005, eq. 3 with target probability 1; C. J. C. Burges, From RankNet to LambdaRank to LambdaMART: an
    overview, MSR-TR-2010-82, section 2.1 (one backpropagation per row).

    Examples
    --------
    >>> X, y = [[-1.0], [-0.5], [0.0], [0.5], [1.0]], [0, 1, 2, 1, 0]
    >>> RankNet(hidden=4, nu=0.001).fit(X, y).predict(X).argmax().item()
    2
    """

    def __init__(
        self,
        hidden: int = 0,
        nu: float = 1.0,
        *,
        normalize: str = "pairs",
        tol: float = 1e-7,
        max_iter: int = 1000,
        random_state: Any = 0,
    ):
        self.hidden = hidden
        self.nu = nu
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def rank_consistent(self) -> bool:  # type: ignore[override]
        """Theorem 1 of Yan & Hauptmann (2006) holds for linear scores."""
        return self.hidden == 0

    def _risk_of(self, X: Design, y: FloatArray, prefs: Preferences) -> PairRisk:
        return pair_risk(X, prefs, LOSSES["logistic"])

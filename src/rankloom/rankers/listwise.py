"""ListNet: learn the probability of each item to be the first of its list."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloom.core import FloatArray
from rankloom.groups import Preferences
from rankloom.rankers._compact import CompactRows, Curvature
from rankloom.rankers._risks import Design
from rankloom.rankers.neural import NetworkRanker


class ListRisk:
    r"""The cross entropy of lists, \(\sum_q \log \sum_j w_j e^{f_j} - \sum_j t_j f_j\), by score and by linear weights.

    \(t_j = w_j e^{y_j} / \sum_k w_k e^{y_k}\): a row of weight 2 is a list with the row twice.
    """

    has_hessian = True

    X: Any  # a Design

    def __init__(self, X: Design, y: FloatArray, prefs: Preferences):
        self.X, self.weight = X, prefs.weight
        self.n_weights = X.shape[1]
        self.starts = np.flatnonzero(np.diff(prefs.query, prepend=-1))
        self.compact = isinstance(X, CompactRows)
        self.chunks = X.chunks(self.starts) if isinstance(X, CompactRows) else None
        self.lengths = np.diff(self.starts, append=len(y))
        self.scale = prefs.scale[self.starts]
        self.row_scale = prefs.scale
        with np.errstate(over="ignore"):  # grades may be further apart than the largest float
            self.target = self._softmax(y)[0]

    def by_score(self, f: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient by score."""
        share, below, log_total = self._softmax(f)
        value = float(self.scale @ log_total) - float((self.row_scale * self.target) @ below)
        return value, self.row_scale * (share - self.target)

    def value_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient."""
        value, slopes = self.by_score(self.X @ w)
        return value, np.asarray(slopes @ self.X)

    def hessian(self, w: FloatArray) -> FloatArray | Curvature:
        """The second derivatives: the covariance of the features under each list's probabilities, added up."""
        share = self._softmax(self.X @ w)[0]
        if not self.compact:
            return self._covariance(self.X, share, slice(0, len(share)))
        if self.chunks is not None:
            total = np.zeros((self.n_weights, self.n_weights))
            for rows in self.chunks:
                total += self._covariance(self.X.dense(rows), share, rows)
            return total
        bends = self.row_scale * share

        def apply(g: FloatArray) -> FloatArray:
            means = np.add.reduceat(share * g, self.starts)
            return np.asarray(bends * (g - np.repeat(means, self.lengths)))

        return Curvature(self.X, apply, bends)

    def _covariance(self, X: FloatArray, share: FloatArray, rows: slice) -> FloatArray:
        """The part of whole lists, with dense rows."""
        first, last = np.searchsorted(self.starts, [rows.start, rows.stop])
        shares = share[rows, None] * X
        means = np.add.reduceat(shares, self.starts[first:last] - rows.start, axis=0)
        shares *= self.row_scale[rows, None]
        return np.asarray(X.T @ shares - means.T @ (self.scale[first:last, None] * means))

    def _softmax(self, f: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Top-one probabilities, scores below the largest of their list, and the log of the lists' sums below it."""
        below = f - np.repeat(np.maximum.reduceat(f, self.starts), self.lengths)
        share = self.weight * np.exp(below)
        total = np.add.reduceat(share, self.starts)
        share /= np.repeat(total, self.lengths)
        return share, below, np.log(total)


class ListNet(NetworkRanker):
    r"""ListNet: the cross entropy between the top-one probabilities of the grades and of the scores.

    .. math:: -\sum_q \sum_{j \in q} P_y(j) \log P_f(j) + \nu \|w\|^2, \qquad
              P_y(j) = \frac{e^{y_j}}{\sum_{k \in q} e^{y_k}}, \quad P_f(j) = \frac{e^{f_j}}{\sum_{k \in q} e^{f_k}},

    with linear scores, or a network with one hidden layer of tanh units (whose biases are not in the penalty). All
    queries are one batch. Queries with rows of one grade are left out: their even probabilities would only hold the
    scores back. The size of grades matters: 0 and 1 ask for one row to be first \(e\) times as often as the other,
    0 and 2 for \(e^2\) times.

    Linear scores are fitted by Newton's method (by L-BFGS beyond 1000 features) to the one minimum. A network is fitted
    by L-BFGS to a minimum near its random start, on features that it standardises itself.

    Parameters
    ----------
    hidden : number of hidden units; 0 means linear scores.
    nu : weight of the penalty \(\nu\|w\|^2\).
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
    Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai and H. Li, Learning to rank: from pairwise approach to listwise approach,
    ICML 2007: top-one probability (section 4.2, theorem 6), cross entropy and its gradient (section 5).

    Examples
    --------
    Without a penalty, one list of two rows has the scores of its grades:

    >>> ListNet(nu=0.0).fit([[1.0], [3.0]], [0, 1]).coef_.round(6).tolist()
    [0.5]
    """

    grades_are_ordinal = False

    def __init__(
        self, hidden: int = 0, nu: float = 1e-3, *, tol: float = 1e-7, max_iter: int = 1000, random_state: Any = 0
    ):
        self.hidden = hidden
        self.nu = nu
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _risk_of(self, X: Design, y: FloatArray, prefs: Preferences) -> ListRisk:
        return ListRisk(X, y, prefs)

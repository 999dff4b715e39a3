r"""Online rankers of Wan et al. (2015), and second order: learn from one preference after another.

A preference "row i rather than row j" is the difference \(x = \phi_i - \phi_j\) with label +1; its hinge loss is
\(\ell_t(w) = \max(0, 1 - w \cdot x)\). The rankers differ in the step that they take along \(x\) when they err.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from rankloom.core import FloatArray, IntArray
from rankloom.groups import check_number
from rankloom.rankers import _kernels
from rankloom.rankers._compact import dense_rows
from rankloom.rankers.streaming import OnlineRanker


class _FirstOrderRanker(OnlineRanker):
    """The rankers of the paper: a step along the difference."""

    @abstractmethod
    def _step(self) -> tuple[int, float, float]:
        """Kind of the step, its rate, and the decay of the rate."""

    def _learn(self, X: Any, pairs: IntArray) -> None:
        state = (*self._step(), self._most, self.last_coef_, self.drag_, self.sums_, self.reference_)
        if sparse.issparse(X):
            bad = _kernels.sparse_stream.first_order(X.indptr, X.indices, X.data, pairs, *state)
        else:
            bad = _kernels.stream.first_order(X, pairs, *state)
        self._settle(X, pairs, bad)


class OnlinePerceptronRanker(_FirstOrderRanker):
    r"""OPR: a full step along every preference that the weights get wrong.

    .. math:: w_{t+1} = w_t + x_t \quad \text{if } w_t \cdot x_t \le 0

    Parameters
    ----------
    average : whether `coef_` is the mean of the weights over all rounds (`last_coef_` are the last ones, which follow
        the latest noise).
    n_epochs : passes of `fit` over the data.
    max_pairs : a query with more preferences than this is sampled, with replacement.
    init : weights to start from: a linear ranker, or one number per feature.
    reference : fixed weights to compare with in `report()`.
    random_state : seed of the order and of the sample of preferences.

    References
    ----------
    J. Wan et al., Online learning to rank for content-based image retrieval, IJCAI 2015, section 3.2; the update at a
    margin of exactly 0 is ours, as from zero weights the rule would never start otherwise.

    Examples
    --------
    >>> ranker = OnlinePerceptronRanker(average=False).learn_one([1.0, 0.0], [0.0, 2.0])
    >>> ranker.coef_.tolist(), ranker.report().n_mistakes
    ([1.0, -2.0], 1)
    """

    def __init__(
        self,
        *,
        average: bool = True,
        n_epochs: int = 1,
        max_pairs: int = 100_000,
        init: Any = None,
        reference: Any = None,
        random_state: Any = 0,
    ):
        self.average = average
        self.n_epochs = n_epochs
        self.max_pairs = max_pairs
        self.init = init
        self.reference = reference
        self.random_state = random_state

    def _step(self) -> tuple[int, float, float]:
        return _kernels.stream.PERCEPTRON, 1.0, 0.0

    def _guarantee(self, reference: dict[str, float], distance: float) -> tuple[str, float, float]:
        K, sums = _kernels.stream, self.sums_
        bound = 0.5 * distance + reference["update"] + 0.5 * float(sums[K.UPDATE_NORMS])
        text = "loss of the rounds with an update <= |u - w1|^2 / 2 + loss of u there + sum of |x|^2 / 2 there"
        return text, float(sums[K.UPDATE_LOSS]), bound


class OnlinePassiveAggressiveRanker(_FirstOrderRanker):
    r"""OPAR: the smallest change of the weights that satisfies the latest preference, within limits.

    .. math:: w_{t+1} = w_t + \lambda_t x_t, \qquad \lambda_t = \min(C, \ell_t / \|x_t\|^2)
              \quad\text{or}\quad \ell_t / (\|x_t\|^2 + \tfrac{1}{2C})

    Parameters
    ----------
    C : how much one preference may change the weights.
    squared : False is OPAR-I (hinge loss, the first \(\lambda\)), True is OPAR-II (squared hinge loss, the second).
    average, n_epochs, max_pairs, init, reference, random_state : as for `OnlinePerceptronRanker`.

    References
    ----------
    J. Wan et al., Online learning to rank for content-based image retrieval, IJCAI 2015, section 3.3, eq. 4 and 5;
    K. Crammer et al., Online passive-aggressive algorithms, JMLR 2006.

    Examples
    --------
    >>> OnlinePassiveAggressiveRanker(average=False).learn_one([1.0, 0.0], [0.0, 1.0]).coef_.tolist()
    [0.5, -0.5]
    """

    def __init__(
        self,
        C: float = 1.0,
        squared: bool = False,
        *,
        average: bool = True,
        n_epochs: int = 1,
        max_pairs: int = 100_000,
        init: Any = None,
        reference: Any = None,
        random_state: Any = 0,
    ):
        self.C = C
        self.squared = squared
        self.average = average
        self.n_epochs = n_epochs
        self.max_pairs = max_pairs
        self.init = init
        self.reference = reference
        self.random_state = random_state

    def _step(self) -> tuple[int, float, float]:
        check_number("C", self.C, open_below=True)
        K = _kernels.stream
        return K.PASSIVE_AGGRESSIVE_SQUARED if self.squared else K.PASSIVE_AGGRESSIVE, float(self.C), 0.0

    def _guarantee(self, reference: dict[str, float], distance: float) -> tuple[str, float, float]:
        K, sums = _kernels.stream, self.sums_
        if self.squared:
            bound = (sums[K.LARGEST_NORM] + 0.5 / self.C) * (distance + 2.0 * self.C * reference["squared"])
            text = "squared loss <= (max |x|^2 + 1/(2C)) (|u - w1|^2 + 2C squared loss of u)"
            return text, float(sums[K.SQUARED_LOSS]), float(bound)
        return _weighted_guarantee(sums, reference, distance)


class OnlineGradientDescentRanker(_FirstOrderRanker):
    r"""OGDR: gradient descent on the hinge loss of each preference.

    .. math:: w_{t+1} = w_t + \eta_t x_t \quad \text{if } \ell_t(w_t) > 0, \qquad \eta_t = \eta / t^{decay}

    Parameters
    ----------
    eta : the learning rate.
    decay : 0 keeps the rate constant (the paper's), 0.5 is Zinkevich's.
    average, n_epochs, max_pairs, init, reference, random_state : as for `OnlinePerceptronRanker`.

    References
    ----------
    J. Wan et al., Online learning to rank for content-based image retrieval, IJCAI 2015, section 3.4, eq. 6 and 7;
    M. Zinkevich, Online convex programming and generalized infinitesimal gradient ascent, ICML 2003.

    Examples
    --------
    >>> OnlineGradientDescentRanker(eta=0.5, average=False).learn_one([1.0, 0.0], [0.0, 2.0]).coef_.tolist()
    [0.5, -1.0]
    """

    def __init__(
        self,
        eta: float = 0.1,
        decay: float = 0.0,
        *,
        average: bool = True,
        n_epochs: int = 1,
        max_pairs: int = 100_000,
        init: Any = None,
        reference: Any = None,
        random_state: Any = 0,
    ):
        self.eta = eta
        self.decay = decay
        self.average = average
        self.n_epochs = n_epochs
        self.max_pairs = max_pairs
        self.init = init
        self.reference = reference
        self.random_state = random_state

    def _step(self) -> tuple[int, float, float]:
        check_number("eta", self.eta, open_below=True)
        check_number("decay", self.decay)
        return _kernels.stream.GRADIENT, float(self.eta), float(self.decay)

    def _guarantee(self, reference: dict[str, float], distance: float) -> tuple[str, float, float]:
        K, sums = _kernels.stream, self.sums_
        if self.decay > 0:
            return _weighted_guarantee(sums, reference, distance)
        bound = distance / (2.0 * self.eta) + 0.5 * self.eta * float(sums[K.UPDATE_NORMS]) + reference["loss"]
        return "loss <= |u - w1|^2 / (2 eta) + eta/2 sum of |x|^2 + loss of u", float(sums[K.LOSS]), bound


class OnlineConfidenceRanker(OnlineRanker):
    r"""AROW: second order; weights that have been seen often move less.

    .. math:: w_{t+1} = w_t + \ell_t \beta_t \Sigma_t x_t, \quad
              \Sigma_{t+1} = \Sigma_t - \beta_t \Sigma_t x_t x_t^\top \Sigma_t, \quad
              \beta_t = 1 / (x_t^\top \Sigma_t x_t + r)

    Parameters
    ----------
    r : how little one preference may change weights and confidence.
    full : whether the covariance is a full matrix (a round then costs the square of the features, and so does memory,
        also for sparse rows) or a diagonal.
    average, n_epochs, max_pairs, init, reference, random_state : as for `OnlinePerceptronRanker`.

    References
    ----------
    K. Crammer, A. Kulesza and M. Dredze, Adaptive regularization of weight vectors, NIPS 2009; the extension that
    section 3.1 of Wan et al., IJCAI 2015, leaves open.

    Examples
    --------
    >>> OnlineConfidenceRanker(average=False).learn_one([1.0, 0.0], [0.0, 1.0]).coef_.round(3).tolist()
    [0.333, -0.333]
    """

    feature_range = (1e-100, 1e7)  # from identity on, a covariance has no digits left along larger differences

    def __init__(
        self,
        r: float = 1.0,
        full: bool = True,
        *,
        average: bool = True,
        n_epochs: int = 1,
        max_pairs: int = 100_000,
        init: Any = None,
        reference: Any = None,
        random_state: Any = 0,
    ):
        self.r = r
        self.full = full
        self.average = average
        self.n_epochs = n_epochs
        self.max_pairs = max_pairs
        self.init = init
        self.reference = reference
        self.random_state = random_state

    def _begin(self, n_features: int) -> None:
        super()._begin(n_features)
        if not hasattr(self, "covariance_"):
            self.covariance_ = np.eye(n_features) if self.full else np.ones(n_features)

    def _learn(self, X: Any, pairs: IntArray) -> None:
        check_number("r", self.r, open_below=True)
        state = (self._most, self.last_coef_, self.drag_, self.sums_, self.covariance_, self.reference_)
        if not sparse.issparse(X):
            kernel = _kernels.stream.confidence_full if self.full else _kernels.stream.confidence_diagonal
            bad = kernel(X, pairs, float(self.r), *state)
        elif not self.full:
            kernel = _kernels.sparse_stream.confidence_diagonal
            bad = kernel(X.indptr, X.indices, X.data, pairs, float(self.r), *state)
        else:
            # The covariance is dense: as many dense rows as it has cost no more than it does.
            step, bad = max(X.shape[1] // 2, 1000), -1
            for start in range(0, len(pairs), step):
                part = pairs[start : start + step]
                rows, places = np.unique(part, return_inverse=True)
                places = places.reshape(part.shape)
                bad = _kernels.stream.confidence_full(dense_rows(X, rows), places, float(self.r), *state)
                if bad >= 0:
                    bad += start
                    break
        self._settle(X, pairs, bad)

    def _guarantee(self, reference: dict[str, float], distance: float) -> tuple[str, None, None]:
        return "no inequality is kept for second order", None, None


def _weighted_guarantee(sums: FloatArray, reference: dict[str, float], distance: float) -> tuple[str, float, float]:
    K = _kernels.stream
    bound = 0.5 * distance + reference["step"] + 0.5 * float(sums[K.STEP_ENERGY])
    text = "sum of step * loss <= |u - w1|^2 / 2 + sum of step * loss of u + sum of (step |x|)^2 / 2"
    return text, float(sums[K.STEP_LOSS]), bound

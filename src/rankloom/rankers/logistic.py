"""The logistic rankers of Yan & Hauptmann (2006): LR on rows, RLR on approximate pairs, F-RLR on all pairs."""

from __future__ import annotations

from rankloom.rankers.margin import MarginRanker


class LogisticRegressionRanker(MarginRanker):
    r"""LR: a pointwise classifier as a ranker (eq. 1), the baseline that the pairwise rankers improve on.

    .. math:: \sum_i t_i L(w \cdot x_i + b) + (1 - t_i) L(-w \cdot x_i - b) + \nu \|w\|^2

    with \(t\) the grade scaled to 0 .. 1 over the training rows, which is plain logistic regression for two grades.

    Parameters
    ----------
    nu : weight of the penalty \(\nu\|w\|^2\); the intercept is free.
    tol : relative accuracy of the objective.
    max_iter : most Newton steps.

    References
    ----------
    R. Yan and A. G. Hauptmann, Efficient margin-based rank learning algorithms for information retrieval, CIVR 2006,
    eq. 1.

    Examples
    --------
    >>> from rankloom.datasets import make_ranking
    >>> X, y, qid = make_ranking(random_state=0)
    >>> ranker = LogisticRegressionRanker(nu=1.0).fit(X, y, qid=qid)
    >>> bool(ranker.score(X, y, qid) > 0.5)
    True
    """

    loss = "logistic"
    pairs = "pointwise"
    penalty = "l2"
    shift = "none"
    normalize = "pairs"

    def __init__(self, nu: float = 1.0, *, tol: float = 1e-8, max_iter: int = 200):
        self.nu = nu
        self.tol = tol
        self.max_iter = max_iter


class RankingLogisticRegression(MarginRanker):
    r"""RLR: logistic regression on rows that stands in for all pairs, at the price of a classifier.

    .. math:: \sum_q \sum_i \bigl[ n^-_i L(w \cdot (x_i - \alpha_q)) + n^+_i L(-w \cdot (x_i - \alpha_q)) \bigr]
              + \nu \|w\|^2, \qquad L(x) = \log(1 + e^{-x}),

    where \(n^-_i, n^+_i\) count the rows of the query with lower and higher grade than row \(i\), and \(\alpha_q\) are
    the weighted medians of the features in query \(q\). It bounds the all-pairs risk from above; Newton's method (IRLS)
    minimises it.

    The paper takes one \(\alpha\) for all queries (`shift="global"`); its Theorem 1 (rank consistency) then fails with
    several queries, and holds with a shift per query.

    Parameters
    ----------
    nu : weight of the penalty \(\nu\|w\|^2\).
    shift : "query", "global" (the paper's) or "none".
    normalize : "pairs" (the paper's) or "query", which makes each query's pairs weigh 1 together.
    tol : relative accuracy of the objective.
    max_iter : most Newton steps.

    References
    ----------
    R. Yan and A. G. Hauptmann, Efficient margin-based rank learning algorithms for information retrieval, CIVR 2006,
    eq. 4, 6 and 7.

    Examples
    --------
    >>> from rankloom.datasets import make_ranking
    >>> X, y, qid = make_ranking(random_state=0)
    >>> ranker = RankingLogisticRegression(nu=1.0).fit(X, y, qid=qid)
    >>> bool(ranker.score(X, y, qid) > 0.5)
    True
    """

    loss = "logistic"
    pairs = "approximate"
    penalty = "l2"

    def __init__(
        self, nu: float = 1.0, shift: str = "query", *, normalize: str = "pairs", tol: float = 1e-8, max_iter: int = 200
    ):
        self.nu = nu
        self.shift = shift
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter


class FullRankingLogisticRegression(MarginRanker):
    r"""F-RLR: the logistic loss over every pair, exactly, in time proportional to the rows.

    .. math:: \sum_q \sum_{j \succ_q k} \log\bigl(1 + e^{-w \cdot (x_j - x_k)}\bigr) + \nu \|w\|^2

    Value, gradient and Hessian come from Chebyshev moments of binned scores, without ever forming a pair.

    Parameters
    ----------
    nu : weight of the penalty \(\nu\|w\|^2\).
    normalize : "pairs" (the paper's) or "query", which makes each query's pairs weigh 1 together.
    tol : relative accuracy of the objective.
    max_iter : most Newton steps.

    References
    ----------
    R. Yan and A. G. Hauptmann, Efficient margin-based rank learning algorithms for information retrieval, CIVR 2006,
    eq. 2.

    Examples
    --------
    >>> from rankloom.datasets import make_ranking
    >>> X, y, qid = make_ranking(random_state=0)
    >>> ranker = FullRankingLogisticRegression(nu=1.0).fit(X, y, qid=qid)
    >>> bool(ranker.score(X, y, qid) > 0.5)
    True
    """

    loss = "logistic"
    pairs = "all"
    penalty = "l2"
    shift = "none"

    def __init__(self, nu: float = 1.0, *, normalize: str = "pairs", tol: float = 1e-8, max_iter: int = 200):
        self.nu = nu
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter

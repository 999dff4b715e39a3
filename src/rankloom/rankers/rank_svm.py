"""Ranking SVM: the hinge, or its square, over all pairs."""

from __future__ import annotations

from rankloom.rankers.margin import MarginRanker


class RankSVM(MarginRanker):
    r"""Ranking SVM: the hinge loss over every pair, exactly, in O(n log n) a step.

    .. math:: \sum_q \sum_{j \succ_q k} \max(0, 1 - w \cdot (x_j - x_k)) + \nu \|w\|^2

    With the usual \(\tfrac12\|w\|^2 + C \sum \xi\) this is \(\nu = 1/(2C)\). The hinge is solved to a certified
    relative duality gap of `tol` (`gap_` is the absolute one).

    Parameters
    ----------
    nu : weight of the penalty \(\nu\|w\|^2\).
    loss : "hinge" or "squared_hinge".
    normalize : "pairs" or "query", which makes each query's pairs weigh 1 together.
    tol : relative accuracy of the objective; below 1e-7 rounding may keep the hinge from reaching it.
    max_iter : most Newton steps.

    References
    ----------
    T. Joachims, Optimizing search engines using clickthrough data, KDD 2002. R. Herbrich, T. Graepel and K. Obermayer,
    Large margin rank boundaries for ordinal regression, 2000.

    Examples
    --------
    >>> from rankloom.datasets import make_ranking
    >>> X, y, qid = make_ranking(random_state=0)
    >>> ranker = RankSVM(nu=1.0).fit(X, y, qid=qid)
    >>> bool(ranker.score(X, y, qid) > 0.5)
    True
    """

    pairs = "all"
    penalty = "l2"
    shift = "none"

    def __init__(
        self, nu: float = 1.0, loss: str = "hinge", *, normalize: str = "pairs", tol: float = 1e-5, max_iter: int = 500
    ):
        self.nu = nu
        self.loss = loss
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        if self.loss not in ("hinge", "squared_hinge"):
            raise ValueError(f"loss must be 'hinge' or 'squared_hinge', got {self.loss!r}")
        super()._check_parameters()

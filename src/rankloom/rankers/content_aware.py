"""Content-aware ranking: text features are learned so that, smoothed over the visual neighbours, they rank well."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from rankloom.core import FloatArray, IntArray, RankingData
from rankloom.evaluation.metrics import evaluate
from rankloom.groups import Groups, check_finite, check_grades, check_number, check_weights, group_rows
from rankloom.rankers._compact import NEWTON_LIMIT
from rankloom.rankers._content_risk import ContentRisk, Lists, prepare
from rankloom.rankers._content_solve import Fit, cutting_planes, sharpen, smooth
from rankloom.rankers.base import Problem, Ranker, Weights, refuse_unknown, warn_nothing_to_learn
from rankloom.reranking.graph import Graph, Similarity, knn_graph
from rankloom.reranking.methods import reorder_top
from rankloom.reranking.spherical import solve_spherical

GAMMAS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
CS = (0.1, 1.0, 10.0)

_MakeGraph = Callable[[FloatArray], Graph]


class ContentAwareRanker(Ranker):
    r"""Content-aware ranking: a linear ranker of text features whose scores are smoothed over visual neighbours.

    The scores of a list are those that agree with \(z = X w\) and are similar for similar items,

    .. math:: \hat y = \arg\max_{\|y\| = 1} F(y), \qquad
              F(y) = z^\top y - \gamma \sum_{mn} G_{mn} (y_m - y_n)^2 = z^\top y - 2 \gamma\, y^\top L y,

    and the weights are learned through that step: with the target \(y^*\) (grades, centred and of length 1) and
    \(\Delta(y^*, y) = 1 - y^{*\top} y\),

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_q \xi_q, \qquad
              \xi_q = \max_{\|y\| = 1} \Delta(y^*, y) + F(y) - F(y^*).

    \(\xi_q\) is convex and, but for kinks, smooth: its gradient is \(X^\top (\hat y - y^*)\), so L-BFGS applies, and
    \(\|\nabla\|^2/2\) bounds what is left to gain. Text features are centred in each list. Lists of one grade teach
    nothing. Without visual columns, or with \(\gamma = 0\), it is a text-only ranker with
    \(\xi = 1 + \|Xw - y^*\| - y^{*\top} X w\): a regression on the cosine.

    `predict` depends on the list: rows with the same `qid` are smoothed together (all rows without one). The scores
    have the scale of the text scores and turn into them as \(\gamma \to 0\).

    Parameters
    ----------
    visual : the columns of X that hold the visual vector, a slice or a list of numbers; the others are text features.
        None: all are.
    gamma : weight \(\gamma\) of smoothness; it counts relative to the length of z.
    C : weight of the lists against \(\tfrac12 \|w\|^2\).
    n_neighbors : visual neighbours of each item.
    distance : "l2" or "cosine", between visual vectors.
    similarity : a name of `rankloom.reranking.graph.SIMILARITIES`, or a function of distances (which cannot be saved).
    normalize_graph : whether weights are divided by degrees, \(D^{-1/2} W D^{-1/2}\); False is the paper's graph, which
        leaves items with few near neighbours where the text puts them.
    solver : "lbfgs", or "cutting_plane", the paper's algorithm 1.
    slacks : for cutting planes: "one" for all lists together, or "n", one for each, as in the paper.
    candidates : only so many items of each list, those with the highest text scores, are smoothed by `predict`; the
        others follow in the order of their text scores. None: all are.
    tol : certified relative gap between the objective and its minimum.
    max_passes : most passes over the data.

    Attributes
    ----------
    coef_ : the weights of the features; 0 for visual columns.
    objective_ : the objective reached. `gap_` : a bound on its excess over the minimum.
    n_passes_ : passes, each an evaluation of all lists. `n_cuts_` : constraints made, 0 for L-BFGS.

    Notes
    -----
    Short lists have kinks that L-BFGS may run into; then cutting planes finish the work from there.

    References
    ----------
    B. Geng, L. Yang and X.-S. Hua, Learning to rank with graph consistency, 2009: eq. 4 (the model), 6 (learning), 9
    to 15 (the worst scores), algorithms 1 and 2; here with \(\gamma\) where eq. 10 to 15 lost it, a symmetric graph,
    and the case without a root.

    Examples
    --------
    The text favours the third item, but the first two, which look alike, agree against it:

    >>> X = np.array([[0.9, 0.0], [0.8, 0.1], [1.0, 5.0], [0.1, 5.1], [0.2, 5.2], [0.0, 0.2]])
    >>> y = [1, 1, 0, 0, 0, 1]
    >>> ranker = ContentAwareRanker(visual=[1], gamma=1.0, n_neighbors=2).fit(X, y)
    >>> np.argsort(-ranker.predict(X)).tolist()
    [0, 1, 5, 2, 3, 4]
    """

    def __init__(
        self,
        visual: slice | Sequence[int] | None = None,
        gamma: float = 1.0,
        C: float = 1.0,
        *,
        n_neighbors: int = 10,
        distance: str = "l2",
        similarity: Similarity = "gaussian",
        normalize_graph: bool = True,
        solver: str = "lbfgs",
        slacks: str = "one",
        candidates: int | None = None,
        tol: float = 1e-8,
        max_passes: int = 1000,
    ):
        self.visual = visual
        self.gamma = gamma
        self.C = C
        self.n_neighbors = n_neighbors
        self.distance = distance
        self.similarity = similarity
        self.normalize_graph = normalize_graph
        self.solver = solver
        self.slacks = slacks
        self.candidates = candidates
        self.tol = tol
        self.max_passes = max_passes

    @property
    def list_aware(self) -> bool:  # type: ignore[override]
        """Whether the score of a row depends on the other rows of its list."""
        return self.visual is not None and self.gamma != 0

    @property
    def query_shift_invariant(self) -> bool:  # type: ignore[override]
        """Whether a constant added to a query changes nothing: angles between visual vectors it does change."""
        return self.visual is None or self.distance == "l2"

    def fit(self, X: ArrayLike, y: ArrayLike, qid: Any = None, *, query_weight: Weights = None, **unknown: Any) -> Self:
        """Learn from graded rows.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), with text features and visual vectors.
        y, qid, query_weight : as for `Ranker.fit`.
        """
        refuse_unknown("fit", unknown)
        return super().fit(X, y, qid, query_weight=query_weight)

    def _fit(self, problem: Problem) -> None:
        self._check_parameters()
        columns = self._columns(problem.X.shape[1])
        self._learn(prepare(problem, columns.text, self._graph_maker(columns)), columns)

    def _learn(self, lists: Lists, columns: _Columns, start: FloatArray | None = None) -> None:
        """Find the weights for prepared lists."""
        self.coef_ = np.zeros(columns.n)
        self.objective_ = self.gap_ = 0.0
        self.n_passes_ = self.n_cuts_ = 0
        if not len(lists):
            warn_nothing_to_learn()
            return
        risk = ContentRisk(lists, 0.0 if self.visual is None else float(self.gamma), float(self.C))
        first = np.zeros(risk.n_weights) if start is None else start
        if self.solver == "lbfgs":
            fit = smooth(risk, first, self.tol, self.max_passes)
            if fit.gap > self.tol * fit.objective and risk.n_passes < self.max_passes:
                fit = min(fit, self._finish(risk, fit.w), key=lambda fit: fit.gap)
        else:
            fit = cutting_planes(risk, first, self.tol, self.max_passes, n_slacks=self.slacks == "n")
        if fit.gap <= self.tol * fit.objective and not fit.w.any():
            # Small features gain less than the tolerance; a step still orders rows, where zero weights would not.
            fit = fit._replace(w=-risk.value_gradient(fit.w)[1])
        self._store(fit, risk, columns)

    def _finish(self, risk: ContentRisk, start: FloatArray) -> Fit:
        """Where a kink has stopped L-BFGS."""
        if not (risk.has_hessian and risk.n_weights <= NEWTON_LIMIT):
            return cutting_planes(risk, start, self.tol, self.max_passes, n_slacks=False)
        return sharpen(risk, start, self.tol, self.max_passes)

    def _store(self, fit: Fit, risk: ContentRisk, columns: _Columns) -> None:
        self.coef_[columns.text] = fit.w
        self.objective_, self.gap_, self.n_cuts_ = fit.objective, fit.gap, fit.n_cuts
        self.n_passes_ = risk.n_passes
        if fit.gap > max(self.tol, 1e-6) * fit.objective:
            warnings.warn(
                f"the relative gap is {fit.gap / fit.objective:.1e} after {risk.n_passes} passes, "
                f"above tol={self.tol:g}; raise max_passes or tol, or lower C",
                ConvergenceWarning,
                stacklevel=6,
            )

    def _predict(self, X: FloatArray, qid: Any) -> FloatArray:
        return self._scores(X, group_rows(qid, len(X)), self._graph_maker(self._columns(X.shape[1])))

    def _scores(self, X: FloatArray, groups: Groups, make_graph: _MakeGraph | None) -> FloatArray:
        scores = X @ self.coef_
        if make_graph is not None:

            def reorder(text: FloatArray, rows: FloatArray) -> FloatArray:
                return smoothed(text, make_graph(rows), self.gamma)

            for rows in groups:
                scores[rows] = reorder_top(scores[rows], X[rows], self.candidates, reorder)
        return scores

    def _graph_maker(self, columns: _Columns) -> _GraphMaker | None:
        if self.visual is None or self.gamma == 0:
            return None
        return _GraphMaker(columns.visual, self.n_neighbors, self.distance, self.similarity, self.normalize_graph)

    def _columns(self, n_features: int) -> _Columns:
        every = np.arange(n_features)
        if self.visual is None:
            return _Columns(every, every[:0], n_features)
        try:
            visual = every[self.visual if isinstance(self.visual, slice) else np.asarray(self.visual, dtype=np.int64)]
        except (IndexError, TypeError, ValueError):
            raise ValueError(
                f"visual must be a slice or a list of column numbers below n_features={n_features}, got {self.visual!r}"
            ) from None
        text = np.setdiff1d(every, visual)
        if not len(visual) or not len(text):
            kind = "text" if len(visual) else "visual"
            raise ValueError(f"visual={self.visual!r} leaves no {kind} column of X, which has n_features={n_features}")
        return _Columns(text, np.asarray(visual, dtype=np.int64), n_features)

    def _check_parameters(self) -> None:
        check_number("gamma", self.gamma)
        check_number("C", self.C, open_below=True)
        check_number("tol", self.tol, open_below=True)
        check_number("max_passes", self.max_passes, least=1)
        if self.candidates is not None:
            check_number("candidates", self.candidates, least=1)
        for name, known in (("solver", ("lbfgs", "cutting_plane")), ("slacks", ("one", "n"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be {' or '.join(map(repr, known))}, got {getattr(self, name)!r}")


class _Columns(NamedTuple):
    """Text columns, visual columns and the number of both."""

    text: IntArray
    visual: IntArray
    n: int


@dataclass(frozen=True)
class _GraphMaker:
    """Makes the graph of the rows of a list."""

    visual: IntArray
    n_neighbors: int
    distance: str
    similarity: Similarity
    normalize: bool

    def __call__(self, X: FloatArray) -> Graph:
        return knn_graph(
            X[:, self.visual],
            self.n_neighbors,
            distance=self.distance,
            similarity=self.similarity,
            normalize=self.normalize,
        )


@dataclass(frozen=True)
class _Remembering:
    """Makes each graph once."""

    make_graph: _MakeGraph
    known: dict[bytes, Graph]

    def __call__(self, X: FloatArray) -> Graph:
        key = X.tobytes()
        if key not in self.known:
            self.known[key] = self.make_graph(X)
        return self.known[key]


def smoothed(text: FloatArray, graph: Graph, gamma: float) -> FloatArray:
    r"""Text scores of a list, smoothed over its graph: \(\bar z + \|z - \bar z\| \hat y\)."""
    mean = float(text.mean())
    centered = text - mean
    size = float(np.linalg.norm(centered))
    if size == 0.0:
        return text
    return np.asarray(mean + size * solve_spherical(graph, centered, gamma).particular)


class ContentAwareSelection(NamedTuple):
    """The ranker that did best on held-out queries, and the value of every pair of gamma and C that was tried."""

    ranker: ContentAwareRanker
    tries: tuple[tuple[float, float, float], ...]


def select_content_aware(
    train: RankingData,
    validation: RankingData,
    *,
    gammas: Sequence[float] = GAMMAS,
    Cs: Sequence[float] = CS,
    metric: str = "nDCG@10",
    **params: Any,
) -> ContentAwareSelection:
    """Choose gamma and C by a metric of held-out queries; ties keep the first.

    `model_selection.select` does the same for any ranker. This one makes each graph and its decomposition once, and
    begins each fit where the one before it ended.

    Parameters
    ----------
    train, validation : the data.
    gammas, Cs : what is tried.
    metric : what is compared, higher is better.
    params : other parameters of `ContentAwareRanker`, such as `visual`.

    Examples
    --------
    >>> from rankloom.datasets import make_ranking
    >>> data = make_ranking(20, 10, 6)
    >>> found = select_content_aware(data.take(data.qid <= 10), data.take(data.qid > 10), visual=[5], gammas=(0.0, 1.0))
    >>> len(found.tries)
    6
    """
    rows = np.asarray(train.X, dtype=np.float64)
    groups = group_rows(train.qid, len(rows))
    problem = Problem(rows, check_grades(train.y, len(rows)), groups, *check_weights(groups, None, None))
    held_out = np.asarray(validation.X, dtype=np.float64)
    check_finite(rows, "the X of train")
    check_finite(held_out, "the X of validation")
    lists: Lists | None = None
    remembered: dict[bytes, Graph] = {}
    start: FloatArray | None = None
    tries, best = [], (-np.inf, ContentAwareRanker(**params))
    for gamma in gammas:
        for C in Cs:
            ranker = ContentAwareRanker(**{**params, "gamma": gamma, "C": C})
            ranker._check_parameters()
            columns = ranker._columns(rows.shape[1])
            make_graph: _MakeGraph | None = ranker._graph_maker(columns)
            if lists is None or (make_graph is not None and not lists.n_null.any()):
                lists = prepare(problem, columns.text, make_graph)
            ranker._learn(lists, columns, start)
            start = ranker.coef_[columns.text]
            if make_graph is not None:
                make_graph = _Remembering(make_graph, remembered)
            scores = ranker._scores(held_out, group_rows(validation.qid, len(held_out)), make_graph)
            value = evaluate(validation.y, scores, validation.qid, [metric])[metric]
            tries.append((gamma, C, value))
            if value > best[0]:
                best = value, ranker
    return ContentAwareSelection(best[1].fit(train.X, train.y, train.qid), tuple(tries))

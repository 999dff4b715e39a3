"""What all rankers share: the signature, the checks of its arguments, scores of linear rankers, JSON."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from rankloom.core import FloatArray, IntArray, Matrix
from rankloom.evaluation import metrics
from rankloom.features import Features
from rankloom.groups import Groups, canonical_csr, check_finite, check_grades, check_weights, group_rows
from rankloom.rankers import _persist
from rankloom.rankers._compact import dense_rows, scores
from rankloom.rankers._feature_size import check_largest, check_least

Weights = Mapping[Hashable, float] | ArrayLike | None


def warn_nothing_to_learn(outcome: str = "all scores are equal") -> None:
    """Say that no preference is in the data; to be called from `_fit`, so that it points to the caller of `fit`."""
    message = f"no query has rows of two grades: nothing to learn from, {outcome}"
    warnings.warn(message, UserWarning, stacklevel=4)


def refuse_unknown(method: str, unknown: Mapping[str, Any]) -> None:
    """Raise a TypeError for a keyword argument that is not known, with the cure for those of other libraries."""
    for name in unknown:
        cure = ""
        if name in ("group", "groups"):
            cure = (
                "; rankers take the query of each row: qid=rankloom.groups.qid_from_group_sizes(sizes) for the sizes "
                "of LightGBM and XGBoost, qid=groups for the groups of scikit-learn"
            )
        raise TypeError(f"{method}() got an unexpected keyword argument {name!r}{cure}")


class Problem(NamedTuple):
    """The checked arguments of `fit`: rows, grades, queries, one weight per row, one weight per query."""

    X: Matrix
    y: FloatArray
    groups: Groups
    weight: FloatArray
    query_weight: FloatArray


ONE_QUERY = 500  # rows; more of them are hardly ever one query, and fit warns if they come without qid
ANY_SIZE = (0.0, np.inf)  # the `feature_range` of rankers that only compare, or scale features themselves


class Ranker(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class: `fit(X, y, qid=...)`, `predict(X)`, `score(X, y, qid=...)`, `save(path)`.

    A subclass defines `_fit(problem)` and `_predict(X, qid)`. `query_shift_invariant` says whether a constant that is
    added to a feature of all rows of one query leaves the fitted ranker as it is, `rank_consistent` whether a feature
    that orders all pairs of two grades alone can never get a weight against it, `learns_in_order` whether the order of
    the queries matters (that of the rows within a query never does), `grades_are_ordinal` whether only the order and
    the proportions of grades matter, not their size, `list_aware` whether a score depends on the other rows of its
    query, `takes_compact` whether sparse and float32 rows are learned from and scored as they are (otherwise sparse
    rows are refused and float32 ones become float64). `feature_range` are the least and the greatest size of a feature
    that the ranker can compute with: `fit` refuses a column whose largest absolute value is outside.
    """

    # scikit-learn's metadata routing hands qid to fit, predict and score without set_fit_request(...).
    __metadata_request__fit = {"qid": True, "sample_weight": True}  # noqa: RUF012
    __metadata_request__predict = {"qid": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True, "sample_weight": True}  # noqa: RUF012

    query_shift_invariant: bool = False
    rank_consistent: bool = False
    learns_in_order: bool = False
    grades_are_ordinal: bool = True
    list_aware: bool = False
    takes_compact: bool = False
    feature_range: tuple[float, float] = (1e-100, 1e100)  # squares, and sums of them, are then ordinary numbers

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        qid: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        **unknown: Any,
    ) -> Self:
        """Learn from graded rows.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), a sparse matrix where `takes_compact`, or `Features`
        y : grades, one per row: integers or floats, higher is better.
        qid : the query of each row, any hashable values in any order; None makes all rows one query, with a warning if
            there are more than 500. `rankloom.groups.qid_from_group_sizes` makes it from the sizes of groups.
        sample_weight : one weight per row. A row of weight 2 counts like the same row twice.
        query_weight : mapping from qid to weight, or one value per row that is constant within each query.
        """
        refuse_unknown("fit", unknown)
        rows = self._check_rows(X, reset=True)
        self._check_sizes(rows)
        if qid is None and rows.shape[0] > ONE_QUERY:
            warnings.warn(
                f"fit without qid treats all {rows.shape[0]} rows as one query; pass qid=..., the query of each row "
                "(to scikit-learn's searches as params={'qid': qid} with set_config(enable_metadata_routing=True), "
                "since groups= does not reach fit), or qid=np.zeros(len(y)) if they really are one query",
                UserWarning,
                stacklevel=2,
            )
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        problem = self._problem(rows, y, qid, sample_weight, query_weight)
        self._fit(problem)
        self.n_queries_ = len(problem.groups)
        return self

    @staticmethod
    def _problem(
        rows: Matrix, y: ArrayLike, qid: Any, sample_weight: ArrayLike | None = None, query_weight: Weights = None
    ) -> Problem:
        """Checked rows with the other arguments of `fit`, checked too."""
        groups = group_rows(qid, rows.shape[0])
        grades = check_grades(y, rows.shape[0])
        return Problem(rows, grades, groups, *check_weights(groups, sample_weight, query_weight))

    def _check_sizes(self, rows: Matrix) -> None:
        """Refuse columns whose largest absolute value is outside `feature_range`."""
        check_largest(rows, self.feature_range[1], type(self).__name__)
        check_least(rows, self.feature_range[0], type(self).__name__)

    def predict(self, X: ArrayLike, qid: Any = None) -> FloatArray:
        """Return a score for each row, higher is better. Only list-aware rankers use `qid`.

        Of `Features`, a ranker computes only the cells that it needs.
        """
        check_is_fitted(self)
        if isinstance(X, Features):
            validate_data(self, X, reset=False, skip_check_array=True)
            return self._predict_lazy(X, qid)
        rows = self._check_rows(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._check_scores(self._predict(rows, qid), rows)

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        qid: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        metric: str = "nDCG@10",
    ) -> float:
        """Return the mean of a metric over the queries (policy `trec`).

        Rows of weight 0 are left out; other weights mean nothing to a metric of ranks.
        """
        check_is_fitted(self)
        if qid is None and self.n_queries_ > 1:
            raise ValueError(
                f"this ranker was fitted on {self.n_queries_} queries but score() got no qid, so all rows would count "
                "as one query; pass qid (in scikit-learn's searches: set_config(enable_metadata_routing=True))"
            )
        scores = self.predict(X, qid)
        grades, groups = check_grades(y, len(scores)), group_rows(qid, len(scores))
        keep = check_weights(groups, sample_weight, None)[0] > 0
        return metrics.evaluate(grades[keep], scores[keep], groups.codes[keep], [metric])[metric]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted ranker as JSON; `rankloom.load_ranker` reads it."""
        check_is_fitted(self)
        _persist.save(self, path)

    @abstractmethod
    def _fit(self, problem: Problem) -> None:
        """Learn from checked arguments."""

    @abstractmethod
    def _predict(self, X: Matrix, qid: Any) -> FloatArray:
        """Score checked rows."""

    def _predict_lazy(self, features: Features, qid: Any) -> FloatArray:
        """Score lazy features; a ranker that needs fewer cells overrides this."""
        return self._predict(self._check_rows(features, reset=False), qid)

    def _check_rows(self, X: ArrayLike, *, reset: bool) -> Matrix:
        if sparse.issparse(X) and not self.takes_compact:
            raise ValueError(f"{type(self).__name__} needs dense rows, got a sparse matrix; pass X.toarray()")
        types = [np.float64, np.float32] if self.takes_compact else np.float64
        rows: Matrix = validate_data(
            self, X, reset=reset, dtype=types, order="C", ensure_all_finite=False, accept_sparse="csr"
        )
        if sparse.issparse(rows):
            rows = canonical_csr(rows)
        check_finite(rows, "X")
        return rows

    def _check_scores(self, scores: FloatArray, rows: Matrix) -> FloatArray:
        """Refuse rows that are too large to be scored."""
        if not np.isfinite(scores).all():
            bad = dense_rows(rows, np.array([np.argmin(np.isfinite(scores))]))[0]
            raise ValueError(
                f"X has the value {np.abs(bad).max():.3g} in column {np.abs(bad).argmax()}, with which the score is "
                "not a finite number; divide the column by a constant before fit and predict"
            )
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self.takes_compact
        return tags


class AdditiveRanker(Ranker):
    r"""A ranker whose score is a sum over features, \(f(d) = \sum_j g_j(x_{dj})\)."""

    @property
    @abstractmethod
    def used_features(self) -> IntArray:
        """The features with a part in the score."""

    @abstractmethod
    def contribution(self, j: int, values: FloatArray) -> FloatArray:
        r"""What values of feature j add to the score, \(g_j\)."""

    def _predict_lazy(self, features: Features, qid: Any) -> FloatArray:
        scores = np.zeros(len(features))
        for j in self.used_features.tolist():
            scores += self.contribution(j, features.column(j))
        return scores


class LinearRanker(AdditiveRanker):
    r"""A ranker with scores \(f(d) = \lambda \cdot x_d\); the weights \(\lambda\) are `coef_`."""

    coef_: FloatArray

    @property
    def used_features(self) -> IntArray:
        """The features whose weight is not 0."""
        return np.flatnonzero(self.coef_)

    def contribution(self, j: int, values: FloatArray) -> FloatArray:
        """The weight times the values."""
        return np.asarray(self.coef_[j] * values, dtype=np.float64)

    def _predict(self, X: Matrix, qid: Any) -> FloatArray:
        return scores(X, self.coef_)

"""What online rankers share: streams of preferences, averages, reports, state that resumes bit for bit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_random_state, metadata_routing
from sklearn.utils.validation import check_is_fitted

from rankloom.core import FloatArray, IntArray, Matrix
from rankloom.groups import canonical_csr, check_grades, check_number, group_rows
from rankloom.rankers import _kernels
from rankloom.rankers._compact import dense_rows
from rankloom.rankers._feature_size import check_largest
from rankloom.rankers.base import LinearRanker, Problem, refuse_unknown
from rankloom.rankers.pairs import query_pairs

HELD_PAIRS = 100_000  # preferences of several queries that are learned from in one call


@dataclass(frozen=True)
class OnlineReport:
    r"""What an online ranker has met so far, and the guarantee that holds for it.

    `guarantee` is an inequality `bounded <= bound` that holds on every stream, against the fixed weights \(u\) given as
    `reference` (zero weights where none were given). `regret` is the loss beyond that of \(u\).
    """

    n_preferences: int
    n_updates: int
    n_mistakes: int
    cumulative_loss: float
    reference_loss: float
    largest_squared_norm: float
    guarantee: str
    bounded: float | None
    bound: float | None

    @property
    def regret(self) -> float:
        """Cumulative hinge loss minus that of the reference."""
        return self.cumulative_loss - self.reference_loss

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a plain dict."""
        return {**asdict(self), "regret": self.regret}

    def __str__(self) -> str:
        n = max(self.n_preferences, 1)
        lines = [
            f"{self.n_preferences:,} preferences, {self.n_updates:,} updates, "
            f"{self.n_mistakes:,} mistakes ({self.n_mistakes / n:.1%})",
            f"cumulative hinge loss {self.cumulative_loss:,.1f} ({self.cumulative_loss / n:.3f} each), "
            f"reference {self.reference_loss:,.1f}, regret {self.regret:,.1f}",
        ]
        if self.bound is not None and self.bounded is not None:
            lines.append(f"{self.guarantee}: {self.bounded:,.1f} <= {self.bound:,.1f}")
        return "\n".join(lines)


class OnlineRanker(LinearRanker):
    """Base of the online rankers: streams of preferences, averaged weights, state that JSON resumes bit for bit.

    A subclass stores its parameters and defines `_learn(X, pairs)`.
    """

    __metadata_request__fit = {"qid": True, "sample_weight": metadata_routing.UNUSED}  # noqa: RUF012
    n_mixed_: int  # parts of a cluster whose weights were mixed, where they were
    learns_in_order = True  # the order of the queries matters
    query_shift_invariant = True
    takes_compact = True

    average: bool
    n_epochs: int
    max_pairs: int
    init: Any
    reference: Any
    random_state: Any

    def fit(self, X: ArrayLike, y: ArrayLike, qid: Any = None, **unknown: Any) -> Self:
        """Forget everything and learn from graded rows, `n_epochs` times.

        One epoch is the same as `partial_fit` query by query, in the order in which the queries first appear.

        Parameters
        ----------
        X, y, qid : as for `Ranker.fit`.
        """
        refuse_unknown("fit", unknown)
        self._forget()
        return super().fit(X, y, qid)

    def _fit(self, problem: Problem) -> None:
        self._begin(problem.X.shape[1])
        for _ in range(self.n_epochs):
            self._learn_queries(problem.X, problem.y, problem.groups)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, qid: Any = None) -> Self:
        """Learn from the preferences within each query: all of them, or `max_pairs` sampled ones.

        Parameters
        ----------
        X, y, qid : as in `fit`.
        """
        rows = self._check_rows(X, reset=not hasattr(self, "coef_"))
        check_largest(rows, self.feature_range[1], type(self).__name__)
        grades = check_grades(y, rows.shape[0])
        groups = group_rows(qid, rows.shape[0])
        self._begin(rows.shape[1])
        self._learn_queries(rows, grades, groups)
        self.n_queries_ = getattr(self, "n_queries_", 0) + len(groups)
        return self

    def partial_fit_triplets(self, X: Any, pairs: ArrayLike) -> Self:
        """Learn from a stream of preferences between rows of a table.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), float32 or float64; a memory-mapped one is read row by row. A sparse
            matrix is used as CSR.
        pairs : array of shape (n, 2): row `pairs[t, 0]` is preferred to row `pairs[t, 1]`.
        """
        table = _table(X)
        if table.ndim != 2:
            raise ValueError(f"X must be a table of rows, got an array of shape {table.shape}")
        if hasattr(self, "coef_") and table.shape[1] != len(self.coef_):
            raise ValueError(
                f"X has {table.shape[1]} features, but this ranker learned from {len(self.coef_)} features"
            )
        self._begin(table.shape[1])
        self.n_features_in_ = table.shape[1]
        self._learn(table, _check_pairs(pairs, table.shape[0]))
        self.n_queries_ = getattr(self, "n_queries_", 0)
        return self

    def partial_fit_stream(self, batches: Iterable[Sequence[Any]]) -> Self:
        """Learn from an iterator of batches `(X, y, qid)`, each held in memory alone."""
        for X, y, qid in batches:
            self.partial_fit(X, y, qid=qid)
        check_is_fitted(self)
        return self

    def learn_one(self, preferred: ArrayLike, other: ArrayLike) -> Self:
        """Learn from one preference between two feature vectors."""
        first, second = np.asarray(preferred, dtype=np.float64), np.asarray(other, dtype=np.float64)
        if first.ndim != 1 or first.shape != second.shape:
            raise ValueError("learn_one takes two vectors of features of the same length")
        rows = np.stack([first, second])
        return self.partial_fit_triplets(rows, np.array([[0, 1]]))

    def report(self) -> OnlineReport:
        """Return the running statistics and the guarantee that holds for them."""
        check_is_fitted(self)
        K, sums = _kernels.stream, self.sums_
        # Against zero weights every preference has loss 1.
        rounds, known = float(sums[K.ROUNDS]), len(self.reference_) > 0
        losses = {
            name: float(sums[position]) if known else fallback
            for name, position, fallback in (
                ("loss", K.REFERENCE_LOSS, rounds),
                ("squared", K.REFERENCE_SQUARED_LOSS, rounds),
                ("update", K.REFERENCE_UPDATE_LOSS, float(sums[K.UPDATES])),
                ("step", K.REFERENCE_STEP_LOSS, float(sums[K.TOTAL_STEP])),
            )
        }
        u = self.reference_ if known else np.zeros(len(self.last_coef_))
        distance = float(((u - self.first_coef_) ** 2).sum())
        guarantee, bounded, bound = "no inequality is kept for weights that were mixed", None, None
        if getattr(self, "n_mixed_", 1) == 1:
            guarantee, bounded, bound = self._guarantee(losses, distance)
        return OnlineReport(
            int(rounds),
            int(sums[K.UPDATES]),
            int(sums[K.MISTAKES]),
            float(sums[K.LOSS]),
            losses["loss"],
            float(sums[K.LARGEST_NORM]),
            guarantee,
            bounded,
            bound,
        )

    @abstractmethod
    def _learn(self, X: Any, pairs: IntArray) -> None:
        """Run the kernel over checked preferences and set `coef_`."""

    @abstractmethod
    def _guarantee(self, reference: dict[str, float], distance: float) -> tuple[str, float | None, float | None]:
        """The inequality that holds for the ranker: its text, left and right side."""

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _resumed(self, other: Self) -> Self:
        """Take over the fitted state of another ranker, as copies."""
        for name in [name for name in vars(other) if name.endswith("_") and not name.startswith("_")]:
            setattr(self, name, deepcopy(getattr(other, name)))
        return self

    def _begin(self, n_features: int) -> None:
        """Set up the state on the first preference."""
        if hasattr(self, "sums_"):
            return
        check_number("n_epochs", self.n_epochs, least=1)
        check_number("max_pairs", self.max_pairs, least=1)
        self.first_coef_ = _given(self.init, n_features, "init")
        self.reference_ = np.empty(0) if self.reference is None else _given(self.reference, n_features, "reference")
        self.last_coef_ = self.first_coef_.copy()
        self.drag_ = np.zeros(n_features)
        self.sums_ = np.zeros(_kernels.stream.N_SUMS)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))
        self.n_lists_ = 0
        self.coef_ = self.first_coef_.copy()

    def _learn_queries(self, X: Matrix, y: FloatArray, groups: Any) -> None:
        held: list[IntArray] = []
        n_held = 0
        for g in np.argsort(np.minimum.reduceat(groups.order, groups.starts[:-1])).tolist():  # as they first appear
            rows = np.sort(groups.order[groups.starts[g] : groups.starts[g + 1]])
            # A generator of its own for each list: a resumed stream goes on exactly where it stopped.
            random = np.random.default_rng([self.seed_, self.n_lists_])
            self.n_lists_ += 1
            pairs = query_pairs(X[rows], y[rows], self.max_pairs, random)
            held.append(rows[pairs])
            n_held += len(pairs)
            # Where a stream is cut changes no bit; with many features, weights after every query would cost the most.
            if n_held >= HELD_PAIRS:
                self._learn(X, np.concatenate(held))
                held, n_held = [], 0
        if n_held:
            self._learn(X, np.concatenate(held))

    @property
    def _most(self) -> float:
        """The largest squared norm of a difference of rows of which every feature is within its range."""
        return 4.0 * len(self.last_coef_) * self.feature_range[1] ** 2

    def _settle(self, X: Any, pairs: IntArray, bad: int) -> None:
        """Refuse a bad row, or set the weights."""
        rounds = self.sums_[_kernels.stream.ROUNDS]
        self.coef_ = self.last_coef_ - self.drag_ / rounds if self.average and rounds else self.last_coef_.copy()
        if bad >= 0:
            rows = dense_rows(X, pairs[bad])
            finite = np.isfinite(rows)
            learned = f"learned from the {bad} preferences before"
            if not finite.all():
                row = pairs[bad, int(not finite[1].all() and finite[0].all())]
                raise ValueError(f"X contains NaN or infinity (inf) in row {row}; {learned}")
            sizes = np.abs(rows).max(axis=0)
            column = int(np.argmax(sizes))
            raise ValueError(
                f"X has values up to {sizes[column]:.3g} in column {column}, {type(self).__name__} computes with at "
                f"most {self.feature_range[1]:g}; divide the column by a constant; {learned}"
            )


def _table(X: Any) -> Matrix:
    """A table of rows that the kernels read: dense or CSR, float32 or float64."""
    if sparse.issparse(X):
        X = canonical_csr(X)
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    return X if isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64) else np.asarray(X, np.float64)


def _given(weights: Any, n_features: int, name: str) -> FloatArray:
    if weights is None:
        return np.zeros(n_features)
    array = np.array(getattr(weights, "coef_", weights), dtype=np.float64)
    if array.shape != (n_features,) or not np.isfinite(array).all():
        raise ValueError(f"{name} must be a linear ranker or {n_features} finite weights, got shape {array.shape}")
    return array


def _check_pairs(pairs: ArrayLike, n_rows: int) -> IntArray:
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"pairs must be whole numbers of shape (n, 2), got {array.dtype} of shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= n_rows):
        row = int(np.flatnonzero(((array < 0) | (array >= n_rows)).any(axis=1))[0])
        raise ValueError(f"pairs[{row}] names a row outside of X, which has {n_rows} rows")
    return np.ascontiguousarray(array, dtype=np.int64)

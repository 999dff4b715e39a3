r"""Risks: sums of a margin loss over rows or over pairs, as functions of the weights, with their derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from rankloom.core import FloatArray, IntArray
from rankloom.groups import Preferences
from rankloom.rankers import _kernels
from rankloom.rankers._compact import CompactRows, Curvature
from rankloom.rankers.losses import LOSSES, MarginLoss, smoothed_hinge

if TYPE_CHECKING:
    from rankloom.rankers._kernels.hinge import Pieces

BLOCK = 1 << 20  # pairs held at once for a loss without a kernel
EIGHTH = 8  # of every so many queries one is in the sample with which a hinge begins
LEAST_QUERIES, LEAST_ROWS = 40, 10  # of a sample; rows for each feature
SHORT = 200  # rows in a half up to which its old order is mended, beyond it all rows are sorted anew

Design = FloatArray | CompactRows


class PointRisk:
    r"""Rows apart: \(\sum_i u_i L(f_i) + v_i L(-f_i)\) with \(f = Z w\); eq. 1, 4 and 7 of Yan & Hauptmann."""

    def __init__(self, Z: Design, up: FloatArray, down: FloatArray, loss: MarginLoss):
        self.Z, self.loss = Z, loss
        self.n_weights = Z.shape[1]
        self.compact = isinstance(Z, CompactRows)
        self.chunks = Z.chunks(np.arange(0, len(Z), 100)) if isinstance(Z, CompactRows) else None
        self.has_hessian = loss.curvature is not None
        # Rows of one class only (all of them for two grades) need one evaluation, of the margin +f or -f.
        self.one_sided = not np.any((up > 0) & (down > 0))
        self.sign = np.where(down > 0, -1.0, 1.0)
        self.up, self.down, self.weight = up, down, up + down

    def value_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient."""
        f = self.Z @ w
        value, derivative = self.loss.value, self.loss.derivative
        if self.one_sided:
            margin = self.sign * f
            return float(self.weight @ value(margin)), (self.weight * self.sign * derivative(margin)) @ self.Z
        total = float(self.up @ value(f) + self.down @ value(-f))
        return total, (self.up * derivative(f) - self.down * derivative(-f)) @ self.Z

    def hessian(self, w: FloatArray) -> FloatArray | Curvature:
        """The second derivatives."""
        assert self.loss.curvature is not None
        f = self.Z @ w
        if self.one_sided:
            h = self.weight * self.loss.curvature(self.sign * f)
        else:
            h = self.up * self.loss.curvature(f) + self.down * self.loss.curvature(-f)
        if not isinstance(self.Z, CompactRows):
            np.multiply(self.Z, np.sqrt(h)[:, None], out=self.buffer)
            upper = dsyrk(1.0, self.buffer.T)
        elif self.chunks is None:
            return Curvature(self.Z, lambda g: h * g, h)
        else:
            upper = np.zeros((self.n_weights, self.n_weights), order="F")
            for rows in self.chunks:
                Z = self.Z.dense(rows)
                Z *= np.sqrt(h[rows])[:, None]
                upper = dsyrk(1.0, Z.T, beta=1.0, c=upper, overwrite_c=1)
        return np.asarray(upper + np.triu(upper, 1).T)

    def smoothed(self, width: float) -> PointRisk:
        """The same risk with a smoothed hinge."""
        return PointRisk(self.Z, self.up, self.down, smoothed_hinge(width))

    def sample(self) -> None:
        """No sample: a pass over rows costs little."""

    @cached_property
    def buffer(self) -> FloatArray:
        """Room for one matrix of the size of Z, kept from step to step."""
        return np.empty(self.Z.shape)

    def sharp_parts(self, w: FloatArray) -> tuple[float, float]:
        """The risk of the hinge itself, and the sum of the slopes -L'."""
        f = self.Z @ w
        sharp = LOSSES["hinge"].value
        return (
            float(self.up @ sharp(f) + self.down @ sharp(-f)),
            -float(self.up @ self.loss.derivative(f) + self.down @ self.loss.derivative(-f)),
        )


class PairRisk:
    r"""All pairs: \(\sum_q \sum_{j \succ k} w_j w_k L(f_j - f_k)\) with \(f = X w\); eq. 2 of Yan & Hauptmann.

    This class serves a loss without a kernel: it goes through the pairs in blocks, so that only its time grows with
    their number.
    """

    X: Any  # a Design; kernels take arrays only

    def __init__(self, X: Design, prefs: Preferences, loss: MarginLoss):
        self.X, self.loss = X, loss
        self.compact = isinstance(X, CompactRows)
        self.starts = np.flatnonzero(np.diff(prefs.query, prepend=-1))
        self.chunks = X.chunks(self.starts) if isinstance(X, CompactRows) else None
        self.has_hessian = loss.curvature is not None
        self.n_weights = X.shape[1]
        self.weight = prefs.weight
        by_depth = np.argsort(prefs.depth, kind="stable")
        self.splits: IntArray = np.ascontiguousarray(prefs.splits[by_depth])
        self.scales: FloatArray = prefs.split_scale[by_depth]
        self.depths: IntArray = prefs.depth[by_depth]

    def by_score(self, f: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient by score."""
        value, gradient = 0.0, np.zeros_like(f)
        for upper, lower, margins, weights in self._blocks(f):
            value += float((weights * self.loss.value(margins)).sum())
            slopes = weights * self.loss.derivative(margins)
            gradient[upper] += slopes.sum(axis=1)
            gradient[lower] -= slopes.sum(axis=0)
        return value, gradient

    def _blocks(self, f: FloatArray) -> Iterator[tuple[slice, slice, FloatArray, FloatArray]]:
        """Margins and weights of some upper rows against all lower rows of a split, block by block."""
        for (a, m, b), scale in zip(self.splits.tolist(), self.scales.tolist(), strict=True):
            step, lower = max(1, BLOCK // (b - m)), slice(m, b)
            for start in range(a, m, step):
                upper = slice(start, min(start + step, m))
                weights = scale * self.weight[upper, None] * self.weight[None, lower]
                yield upper, lower, f[upper, None] - f[None, lower], weights

    def value_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient."""
        value, by_score = self.by_score(self.X @ w)
        return value, np.asarray(by_score @ self.X)

    def hessian(self, w: FloatArray) -> FloatArray | Curvature:
        """The second derivatives."""
        return self.hessian_by_score(self.X @ w)

    def hessian_by_score(self, f: FloatArray) -> FloatArray | Curvature:
        """The second derivatives, where the scores are known; of compact rows from dense chunks, or by products."""
        if not self.compact:
            B = self.half_hessian(f)
        elif self.chunks is None:
            return self.curvature(f)
        else:
            B = np.zeros((self.n_weights, self.n_weights))
            for rows in self.chunks:
                B += self._part(rows).half_hessian(f[rows])
        return B + B.T

    def _part(self, rows: slice) -> PairRisk:
        """The risk of whole queries, with dense rows."""
        part = copy(self)
        part.X, part.weight = self.X.dense(rows), self.weight[rows]
        splits = np.flatnonzero((self.splits[:, 0] >= rows.start) & (self.splits[:, 0] < rows.stop))
        part.splits, part.scales, part.depths = (
            self.splits[splits] - rows.start,
            self.scales[splits],
            self.depths[splits],
        )
        return part

    def half_hessian(self, f: FloatArray) -> FloatArray:
        """A matrix B such that the Hessian is B + B'."""
        assert self.loss.curvature is not None
        diagonal, mixed = np.zeros(len(f)), np.zeros_like(self.X)
        for upper, lower, margins, weights in self._blocks(f):
            curvature = weights * self.loss.curvature(margins)
            diagonal[upper] += curvature.sum(axis=1)
            diagonal[lower] += curvature.sum(axis=0)
            mixed[upper] += curvature @ self.X[lower]
        return np.asarray(self.X.T @ (0.5 * diagonal[:, None] * self.X - mixed))

    def curvature(self, f: FloatArray) -> Curvature:
        """The second derivatives by products."""
        out, degrees = np.empty_like(f), np.empty_like(f)

        def apply(g: FloatArray) -> FloatArray:
            self.product(f, g, out, degrees)
            return out

        return Curvature(self.X, apply, apply(np.zeros_like(f)) + degrees)

    def product(self, f: FloatArray, g: FloatArray, out: FloatArray, degrees: FloatArray) -> None:
        """The second derivatives by score times g, and their diagonal."""
        assert self.loss.curvature is not None
        out[:], degrees[:] = 0.0, 0.0
        for upper, lower, margins, weights in self._blocks(f):
            h = weights * self.loss.curvature(margins)
            for own, other, parts in ((upper, lower, h), (lower, upper, h.T)):
                met = parts.sum(axis=1)
                degrees[own] += met
                out[own] += met * g[own] - parts @ g[other]

    def smoothed(self, width: float) -> QuadraticPairs:
        """The same risk with a smoothed hinge, for the hinge."""
        raise TypeError(f"the loss {self.loss.name!r} has no smoothed form")

    def sample(self) -> tuple[QuadraticPairs, float] | None:
        """A sample of the queries, for the hinge."""
        raise TypeError(f"the loss {self.loss.name!r} needs no sample")

    @cached_property
    def buffer(self) -> FloatArray:
        """Room for one matrix of the size of X, kept from step to step."""
        return np.empty(self.X.shape)


class LogisticPairs(PairRisk):
    """All pairs, logistic loss, in O(n)."""

    def by_score(self, f: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient by score."""
        values, slopes, _ = _kernels.logistic.tables()
        value, gradient = _kernels.logistic.value_gradient(f, self.weight, self.splits, self.scales, values, slopes)
        return float(value), gradient

    def half_hessian(self, f: FloatArray) -> FloatArray:
        """A matrix B such that the Hessian is B + B'."""
        half, table = self.buffer, _kernels.logistic.tables()[2]
        cross = _kernels.logistic.curvature(f, self.weight, self.X, self.splits, self.scales, table, half)
        return np.asarray(self.X.T @ half - cross)

    def product(self, f: FloatArray, g: FloatArray, out: FloatArray, degrees: FloatArray) -> None:
        """The second derivatives by score times g, and their diagonal."""
        table = _kernels.logistic.tables()[2]
        _kernels.products.logistic(f, self.weight, self.splits, self.scales, table, g, out, degrees)


class _Sorted:
    """The last weights with their scores, and the rows of both halves of all splits in ascending score."""

    def __init__(self, splits: IntArray, depths: IntArray, n: int):
        self.splits, self.depths = splits, depths
        self.w: FloatArray | None = None
        self.f: FloatArray = np.empty(0)
        self.rows: NDArray[np.int32] = np.tile(np.arange(n, dtype=np.int32), (int(depths.max(initial=0)) + 1, 1))
        self.short = int(np.diff(splits, axis=1).max(initial=0)) <= SHORT

    def sort(self, f: FloatArray) -> NDArray[np.int32]:
        """The rows by these scores."""
        if f is not self.f:
            self.w, self.f = None, f
            if self.short:
                _kernels.hinge.resort_halves(f, self.splits, self.depths, self.rows)
            else:
                _kernels.hinge.sort_halves(np.argsort(f), self.splits, self.depths, self.rows)
        return self.rows


class QuadraticPairs(PairRisk):
    """All pairs, a piecewise quadratic loss (hinge, squared or smoothed hinge), in O(n log n)."""

    def __init__(self, X: Design, prefs: Preferences, loss: MarginLoss, pieces: Pieces):
        super().__init__(X, prefs, loss)
        self.has_hessian = True
        self.pieces = pieces
        self.sorted = _Sorted(self.splits, self.depths, len(self.weight))
        self.pair_weight: FloatArray = prefs.weight * prefs.lower * prefs.scale
        self._sharp = (0.0, 0.0)

    def smoothed(self, width: float) -> QuadraticPairs:
        """The same risk with a smoothed hinge; it shares the rows, the room and the last scores."""
        if not self.compact:
            _ = self.buffer  # made before the copy, so that all widths share it
        other = copy(self)
        other.pieces = _kernels.hinge.smoothed_hinge(width)
        return other

    def _part(self, rows: slice) -> QuadraticPairs:
        part = super()._part(rows)
        assert isinstance(part, QuadraticPairs)
        part.sorted = _Sorted(part.splits, part.depths, len(part.weight))
        return part

    def sample(self) -> tuple[QuadraticPairs, float] | None:
        """A sample of the queries, and its share of the weight of all pairs; None where it is too little."""
        chosen = sampled_queries(np.diff(self.starts, append=len(self.weight)), self.n_weights)
        if chosen is None:
            return None
        part = self.of_queries(chosen)
        return part, float(part.pair_weight.sum() / self.pair_weight.sum())

    def of_queries(self, numbers: IntArray) -> QuadraticPairs:
        """The risk of some queries, by their numbers in ascending order."""
        chosen = np.zeros(len(self.starts), dtype=bool)
        chosen[numbers] = True
        kept = np.repeat(chosen, np.diff(self.starts, append=len(self.weight)))
        rows = np.flatnonzero(kept)
        place = np.cumsum(kept) - 1
        inside = kept[self.splits[:, 0]]
        part = copy(self)
        part.__dict__.pop("buffer", None)
        part.X = CompactRows(self.X.X[rows]) if self.compact else self.X[rows]
        part.weight, part.pair_weight = self.weight[rows], self.pair_weight[rows]
        part.splits = np.ascontiguousarray(place[self.splits[inside] - [0, 0, 1]] + [0, 0, 1])
        part.scales, part.depths = self.scales[inside], self.depths[inside]
        part.starts = place[self.starts[numbers]]
        part.chunks = part.X.chunks(part.starts) if self.compact else None
        part.sorted = _Sorted(part.splits, part.depths, len(rows))
        return part

    def _scores(self, w: FloatArray) -> FloatArray:
        """The scores, remembered for the last weights: a step asks for value and Hessian at the same w."""
        if self.sorted.w is not w:
            self.sorted.sort(self.X @ w)
            self.sorted.w = w
        return self.sorted.f

    def value_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient."""
        f = self._scores(w)
        value, by_score, slope, sharp = _kernels.hinge.value_gradient(
            f, self.weight, self.sorted.rows, self.splits, self.scales, self.depths, self.pieces
        )
        self._sharp = (float(sharp), float(slope))
        return float(value), np.asarray(by_score @ self.X)

    def sharp_parts(self, w: FloatArray) -> tuple[float, float]:
        """The risk of the hinge itself, and the sum of the slopes -L', of the last `value_gradient(w)`."""
        return self._sharp

    def hessian(self, w: FloatArray) -> FloatArray | Curvature:
        """The second derivatives."""
        return self.hessian_by_score(self._scores(w))

    def half_hessian(self, f: FloatArray) -> FloatArray:
        """A matrix B such that the Hessian is B + B'."""
        half, order = self.buffer, self.sorted.sort(f)
        rows = _kernels.hinge.curvature(
            f, self.weight, self.X, order, self.splits, self.scales, self.depths, self.pieces, half
        )
        X = self.X if len(rows) == len(f) else self.X.take(rows, axis=0)
        return np.asarray(X.T @ half[: len(rows)])

    def product(self, f: FloatArray, g: FloatArray, out: FloatArray, degrees: FloatArray) -> None:
        """The second derivatives by score times g, and their diagonal."""
        order = self.sorted.sort(f)
        _kernels.products.hinge(
            f, self.weight, order, self.splits, self.scales, self.depths, self.pieces, g, out, degrees
        )


class ExponentialPairs(PairRisk):
    """All pairs, exponential loss, in O(n)."""

    def by_score(self, f: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient by score."""
        value, gradient = _kernels.exponential.value_gradient(f, self.weight, self.splits, self.scales)
        return float(value), gradient

    def half_hessian(self, f: FloatArray) -> FloatArray:
        """A matrix B such that the Hessian is B + B'."""
        half = self.buffer
        cross = _kernels.exponential.curvature(f, self.weight, self.X, self.splits, self.scales, half)
        return np.asarray(self.X.T @ half - cross)

    def product(self, f: FloatArray, g: FloatArray, out: FloatArray, degrees: FloatArray) -> None:
        """The second derivatives by score times g, and their diagonal."""
        _kernels.products.exponential(f, self.weight, self.splits, self.scales, g, out, degrees)


def sampled_queries(lengths: IntArray, n_weights: int) -> IntArray | None:
    """The numbers of every EIGHTH query, given how many rows each has; None where that is too little to learn from."""
    chosen = np.arange(0, len(lengths), EIGHTH)
    if len(lengths) < EIGHTH * LEAST_QUERIES or lengths[chosen].sum() < LEAST_ROWS * n_weights:
        return None
    return chosen


def pair_risk(X: Design, prefs: Preferences, loss: MarginLoss) -> PairRisk:
    """The risk of a loss over all pairs, by its kernel where it has one."""
    if loss is LOSSES["logistic"]:
        return LogisticPairs(X, prefs, loss)
    if loss is LOSSES["exponential"]:
        return ExponentialPairs(X, prefs, loss)
    if loss is LOSSES["hinge"]:
        return QuadraticPairs(X, prefs, loss, _kernels.hinge.HINGE)
    if loss is LOSSES["squared_hinge"]:
        return QuadraticPairs(X, prefs, loss, _kernels.hinge.SQUARED_HINGE)
    return PairRisk(X, prefs, loss)

"""Cut-offs for a ranker that has seen all rows, by how copies that had not seen them rank those that matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from rankloom.core import FloatArray, IntArray
from rankloom.rankers._cascade_rows import MARGINS, ROUNDING, HeldRows

_ENOUGH = 1 << 15  # rows that show how the estimates of all lie


class Unseen(NamedTuple):
    """Rows that matter, and where they stand among the rows that the ranker has seen: a normal score after each stage.

    Where a row stands can be compared between rankers, its estimate cannot.
    """

    rows: IntArray
    weights: FloatArray
    scores: FloatArray

    def without(self, rows: NDArray[np.bool_]) -> Unseen:
        """Those that are not among some rows."""
        kept = ~rows[self.rows]
        return Unseen(self.rows[kept], self.weights[kept], self.scores[:, kept])

    def after(self, n_stages: int) -> FloatArray:
        """The scores as after the stages of a ranker that has another number of them: at the same share of its way."""
        ends = np.ceil(np.arange(1, n_stages + 1) * len(self.scores) / n_stages - 1e-9)
        return self.scores[ends.astype(np.int64) - 1]


class SeenRows:
    """Sorted estimates after each stage of rows that the ranker was fitted on."""

    def __init__(self, estimates: FloatArray):
        self._sorted = np.sort(estimates, axis=1)
        self._size = np.maximum.accumulate(np.abs(self._sorted).max(axis=1))

    @classmethod
    def sampled(cls, X: FloatArray, estimates: Callable[[FloatArray], FloatArray]) -> Self:
        """Of rows or, if they are many, of a part of them."""
        return cls(estimates(X[:: -(-len(X) // _ENOUGH)]))

    def unseen(self, held: HeldRows, rows: IntArray) -> Unseen:
        """Where held-out rows stand, of those that matter; `rows` are their numbers among all rows."""
        losses = held.losses()
        matter = np.flatnonzero(losses)
        n = self._sorted.shape[1]
        below = [np.searchsorted(seen, own) for seen, own in zip(self._sorted, held.estimates[:, matter], strict=True)]
        shares = np.clip(np.array(below) / n, 0.5 / n, 1.0 - 0.5 / n)
        return Unseen(rows[matter], losses[matter], ndtri(shares))

    def cut_offs(self, parts: Sequence[Unseen]) -> FloatArray:
        """Cut-offs for every margin below the mean of the rows that matter, widest last."""
        n_stages, n = self._sorted.shape
        weights = np.concatenate([np.empty(0), *(part.weights for part in parts)])
        cuts = np.full((len(MARGINS), n_stages), -np.inf)
        if not weights.any():
            return cuts
        share = weights / weights.sum()
        scores = np.concatenate([part.after(n_stages) for part in parts], axis=1)
        mean = scores @ share
        spread = np.sqrt((scores - mean[:, None]) ** 2 @ share)
        dropped = np.floor(n * ndtr(mean - MARGINS[:, None] * spread) + 1e-6).astype(np.int64)
        for stage, seen in enumerate(self._sorted[:-1]):
            # Of equal estimates all are kept; the cut-off lies in the gap below them, where rounding cannot reach.
            kept = seen[np.maximum(dropped[:, stage], 0)]
            first = np.searchsorted(seen, kept - ROUNDING * self._size[stage])
            middle = (seen[np.maximum(first - 1, 0)] + seen[first]) / 2
            cuts[:, stage] = np.where(first > 0, middle, -np.inf)
        return cuts


class Part(NamedTuple):
    """Rows held out from a ranker: which, their estimates; the rows it saw; where those that matter stand; costs."""

    held: NDArray[np.bool_]
    rows: HeldRows
    seen: SeenRows
    unseen: Unseen
    paid: FloatArray

"""The held-out rows of a soft cascade: how much each matters, and what cut-offs cost and lose."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloom.core import FloatArray, IntArray
from rankloom.evaluation.metrics import evaluate_queries, parse_metric
from rankloom.rankers import _kernels

LONG = 1 << 14  # rows of a list from which on only those that count are sorted
JUDGED = 128  # rows of a grade in a list whose loss is computed
MARGINS = np.linspace(0.0, 6.0, 49)  # in standard deviations
ROUNDING = 1e-9  # of the estimates: sums in another order must not fall below a cut-off that they stand on


class HeldRows:
    """Held-out rows with their estimates after each stage."""

    def __init__(self, estimates: FloatArray, y: FloatArray, codes: IntArray, metric: str):
        self.estimates, self.y, self._codes, self._metric = np.ascontiguousarray(estimates), y, codes, metric

    def take(self, rows: Any, metric: str) -> HeldRows:
        """Some of the rows, and what is to be kept of them."""
        return HeldRows(self.estimates[:, rows], self.y[rows], self._codes[rows], metric)

    def points(self, cuts: FloatArray, paid: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean cost, as a share of the full one, and metric with each set of cut-offs; the last is without any."""
        stages = [_kernels.cascade.run_cascade(self.estimates, per_stage) for per_stage in cuts]
        stages.append(np.full(len(self.y), len(paid) - 1))
        places = np.arange(len(self.y))
        quality = [float(np.mean(self._values(self.estimates[stage, places]))) for stage in stages]
        return np.array([paid[stage].mean() / paid[-1] for stage in stages]), np.array(quality)

    def full_quality(self) -> float:
        """The metric without any cut-offs."""
        return float(np.mean(self._values(self.estimates[-1])))

    def _values(self, scores: FloatArray, y: FloatArray | None = None) -> FloatArray:
        grades, codes = self.y if y is None else y, self._codes
        k = parse_metric(self._metric).k
        if k is not None and len(scores) > max(LONG, k) and (codes == codes[0]).all():
            # Rows of no grade below the cut-off change nothing, and sorting them would be most of the time.
            kept = (scores >= np.partition(scores, len(scores) - k)[len(scores) - k]) | (grades != 0)
            grades, scores, codes = grades[kept], scores[kept], codes[kept]
        return np.nan_to_num(evaluate_queries(grades, scores, codes, [self._metric]).values[self._metric])

    def losses(self) -> FloatArray:
        """How much the metric of its list falls if a row changes grades with the last row of the lowest grade.

        Of more than `JUDGED` rows of a grade in a list, so many are judged, evenly spaced by rank; the others have a
        loss between those of their neighbours.
        """
        full = self.estimates[-1]
        queries, code = np.unique(self._codes, return_inverse=True)
        order = np.lexsort((-full, code))
        starts = np.searchsorted(code[order], np.arange(len(queries)))
        shown = np.minimum(np.bincount(code, minlength=len(queries)), parse_metric(self._metric).k or len(full))
        last_shown = full[order[starts + shown - 1]]  # rows of an equal score may be shown too
        lowest = np.full(len(queries), np.inf)
        np.minimum.at(lowest, code, self.y)
        last = np.zeros(len(queries), dtype=np.int64)
        low = order[self.y[order] == lowest[code[order]]]
        last[code[low]] = low  # the last of each query is written last
        matter = np.flatnonzero((self.y > lowest[code]) & (full >= last_shown[code]))
        matter = matter[np.argsort(code[matter], kind="stable")]
        everything, matter = matter, self._judged(matter, code)
        turn = np.arange(len(matter)) - np.searchsorted(code[matter], code[matter])
        before, losses = self._values(full), np.zeros(len(full))
        for number in range(int(turn.max(initial=-1)) + 1):  # one row of every query at a time: lists are independent
            moved = matter[turn == number]
            y = self.y.copy()
            y[last[code[moved]]], y[moved] = self.y[moved], lowest[code[moved]]
            losses[moved] = np.maximum(before - self._values(full, y), 0.0)[code[moved]]
        if len(matter) < len(everything):
            for rows in self._by_grade(everything, code):
                judged = np.isin(rows, matter)
                losses[rows] = np.interp(np.arange(len(rows)), np.flatnonzero(judged), losses[rows[judged]])
        return losses

    def _by_grade(self, rows: IntArray, code: IntArray) -> list[IntArray]:
        """The rows of each grade of each query, from the highest score on."""
        rows = rows[np.lexsort((-self.estimates[-1][rows], self.y[rows], code[rows]))]
        new = (np.diff(code[rows], prepend=-1) != 0) | (np.diff(self.y[rows], prepend=np.nan) != 0)
        return np.split(rows, np.flatnonzero(new)[1:])

    def _judged(self, rows: IntArray, code: IntArray) -> IntArray:
        """The rows whose loss is computed: all, or `JUDGED` of each grade of a query; in the order of the rows."""
        parts = self._by_grade(rows, code)
        if all(len(part) <= JUDGED for part in parts):
            return rows
        even = [part[np.unique(np.linspace(0, len(part) - 1, JUDGED).astype(np.int64))] for part in parts]
        return rows[np.isin(rows, np.concatenate(even))]

    def cut_offs(self) -> FloatArray:
        """Cut-offs for every margin, widest last."""
        losses = self.losses()
        if not losses.any():
            return np.full((len(MARGINS), len(self.estimates)), -np.inf)
        share = losses / losses.sum()
        mean = self.estimates @ share
        spread = np.sqrt((self.estimates - mean[:, None]) ** 2 @ share)
        # Where all that matter have one estimate the spread is 0, and rounding alone would decide.
        size = np.maximum.accumulate(np.abs(self.estimates).max(axis=1))
        cuts = mean - MARGINS[:, None] * spread - ROUNDING * size
        cuts[:, -1] = -np.inf
        return np.asarray(cuts, dtype=np.float64)

"""Columns of a symmetric matrix that is too large to be computed as a whole."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rankloom.core import LRU, IntArray

Floats = NDArray[np.float32]
Compute = Callable[[list[int], IntArray], Floats]  # the entries of some columns in some rows, one column a row


class Columns:
    """Columns that are computed when they are asked for, and kept; without room, what was not used for longest goes.

    Of a new column only those entries are computed that no kept one has: row i of column j is row j of column i. It may
    be used from several threads.

    Parameters
    ----------
    n : rows.
    most : columns that are kept.

    Examples
    --------
    >>> K = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.7], [0.2, 0.7, 1.0]], np.float32)
    >>> def compute(columns, rows):
    ...     print("computing rows", rows.tolist(), "of", columns)
    ...     return K[np.ix_(columns, rows)]
    >>> kept = Columns(3, most=2)
    >>> _ = kept.get([0], compute), kept.get([2, 0], compute)
    computing rows [0, 1, 2] of [0]
    computing rows [1, 2] of [2]
    """

    def __init__(self, n: int, most: int):
        self.n, self.most = n, most
        self._values: Floats = np.empty((most, n), dtype=np.float32)  # takes memory only where it is written to
        self._slots: OrderedDict[int, int] = OrderedDict()  # by column, the one used last at the end
        self._column_of = np.full(most, -1, dtype=np.int64)  # by slot
        self._length = np.zeros(most, dtype=np.int64)  # rows of each slot that are known: all but after growth
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._slots)

    def grown(self, n: int, most: int) -> Columns:
        """The same for more rows, and maybe for fewer columns."""
        larger = Columns(n, most)
        with self._lock:
            for slot, (column, before) in enumerate([*self._slots.items()][-most:]):
                larger._slots[column] = slot
                larger._column_of[slot] = column
                larger._length[slot] = self._length[before]
                larger._values[slot, : self.n] = self._values[before]
        return larger

    def get(self, columns: Sequence[int], compute: Compute) -> list[Floats]:
        """Some columns; `compute` is asked for what is not known."""
        with self._lock:
            known = {column: self._known(column) for column in columns}
        found = {column: values for column, values in known.items() if values is not None}
        for column, values in found.items():
            if len(values) < self.n:
                added = compute([column], np.arange(len(values), self.n))[0]
                found[column] = self._kept(column, np.concatenate([values, added]))
        missing = [column for column in known if column not in found]
        if missing:
            computed = self._computed(missing, compute)
            found |= {column: self._kept(column, values) for column, values in zip(missing, computed, strict=True)}
        return [found[column] for column in columns]

    def _known(self, column: int) -> Floats | None:
        slot = self._slots.get(column)
        if slot is None:
            return None
        self._slots.move_to_end(column)
        return self._values[slot, : self._length[slot]].copy()  # the slot may be another column's soon

    def _computed(self, columns: list[int], compute: Compute) -> Floats:
        """New columns, from the kept ones as far as they go."""
        values = np.empty((len(columns), self.n), dtype=np.float32)
        unknown = np.ones(self.n, dtype=bool)
        with self._lock:
            slots = np.flatnonzero(self._length > max(columns))
            rows = self._column_of[slots]
            values[:, rows] = self._values[np.ix_(slots, np.array(columns))].T
        unknown[rows] = False
        wanted = np.flatnonzero(unknown)
        values[:, wanted] = compute(columns, wanted)
        return values

    def _kept(self, column: int, values: Floats) -> Floats:
        with self._lock:
            slot = self._slots.pop(column, None)
            if slot is None:
                slot = len(self._slots) if len(self._slots) < self.most else self._slots.popitem(last=False)[1]
            self._slots[column] = slot
            self._values[slot] = values
            self._column_of[slot], self._length[slot] = column, self.n
        return values


class PartialColumns:
    """Columns of which only chosen rows are needed, as long as these change little from one time to the next.

    Parameters
    ----------
    most : columns that are kept.

    Examples
    --------
    >>> def compute(columns, rows):
    ...     print("computing rows", rows.tolist(), "of", columns)
    ...     return np.array([[10.0 * column + row for row in rows] for column in columns], np.float32)
    >>> kept = PartialColumns(most=2)
    >>> _, again = kept.get([7], np.array([1, 4]), compute), kept.get([7], np.array([1, 3]), compute)
    computing rows [1, 4] of [7]
    computing rows [3] of [7]
    >>> again[0].tolist()
    [71.0, 73.0]
    """

    def __init__(self, most: int):
        self._known: LRU[int, tuple[IntArray, Floats]] = LRU(most)

    def get(self, columns: Sequence[int], rows: IntArray, compute: Compute) -> list[Floats]:
        """Some rows, in ascending order, of some columns; `compute` is asked for what is not known."""
        known = {column: self._known.get(column) for column in columns}
        fresh = [column for column, entry in known.items() if entry is None]
        found = dict(zip(fresh, compute(fresh, rows), strict=True)) if fresh else {}
        for column, entry in known.items():
            if entry is not None:
                found[column] = _completed(entry, rows, partial(_single, compute, column))
        for column, values in found.items():
            self._known.put(column, (rows, values))
        return [found[column] for column in columns]


def _single(compute: Compute, column: int, rows: IntArray) -> Floats:
    return np.asarray(compute([column], rows)[0])


def _completed(entry: tuple[IntArray, Floats], rows: IntArray, compute: Callable[[IntArray], Floats]) -> Floats:
    """The values of rows, those of an entry as far as it has them."""
    known, before = entry
    if known is rows:
        return before
    places = np.minimum(np.searchsorted(known, rows), max(0, len(known) - 1))
    missing = known[places] != rows if len(known) else np.ones(len(rows), dtype=bool)
    values = before[places] if len(known) else np.empty(len(rows), dtype=np.float32)
    if missing.any():
        values[missing] = compute(rows[missing])
    return values

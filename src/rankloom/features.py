"""The lazy feature matrix phi: a cell is computed when it is first asked for, counted and timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import RLock
from time import perf_counter
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom.core import FloatArray, IntArray

Column = Callable[[IntArray], ArrayLike]


class Features:
    r"""The matrix \(\phi\) of one query or of many, whose cells are computed when they are needed.

    Every ranker takes it in place of an array. A ranker that needs few cells (a cascade, sparse weights) asks for
    those alone by `column(j, rows)`; any other calls `np.asarray(features)` and notices nothing. What was computed is
    kept, so that no cell is computed twice, also where several threads ask.

    Parameters
    ----------
    source : an array of shape (n_rows, n_features), or one function per column, as a list or as a mapping from names.
        A function takes row numbers and returns one finite number for each.
    n_rows : the number of rows, where the columns are functions.
    names : the names of the columns.
    costs : what one cell of each column costs, in any unit. Otherwise functions are timed, and a cell of an array
        costs 1.

    Examples
    --------
    >>> lazy = Features({"length": lambda rows: 2.0 * rows, "slow": lambda rows: rows**2}, n_rows=1000)
    >>> lazy.column(1, [3, 5])
    array([ 9., 25.])
    >>> lazy.n_evaluations, lazy.evaluations, lazy.names
    (2, array([0, 2]), ['length', 'slow'])
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(
        self,
        source: ArrayLike | Sequence[Column] | Mapping[str, Column],
        *,
        n_rows: int | None = None,
        names: Sequence[str] | None = None,
        costs: ArrayLike | None = None,
    ):
        self._lock = RLock()
        self._array: FloatArray | None = None
        self._columns: list[Column] = []
        if isinstance(source, Mapping):
            names = [*source] if names is None else names
            self._columns = [*source.values()]
        elif isinstance(source, list | tuple) and source and all(callable(entry) for entry in source):
            self._columns = cast(list[Column], [*source])
        else:
            self._array = np.asarray(source, dtype=np.float64)
            if self._array.ndim != 2:
                raise ValueError(f"features must have two dimensions, rows and columns; got {self._array.ndim}")
        if self._array is not None:
            self.shape: tuple[int, int] = self._array.shape
            if n_rows is not None and n_rows != self.shape[0]:
                raise ValueError(f"n_rows={n_rows}, but the array has {self.shape[0]} rows")
        else:
            if isinstance(n_rows, bool) or not isinstance(n_rows, int | np.integer) or n_rows < 0:
                raise ValueError(f"columns that are functions need n_rows, the number of rows; got {n_rows!r}")
            self.shape = (int(n_rows), len(self._columns))
        width = self.shape[1]
        self.names = [f"f{j + 1}" for j in range(width)] if names is None else [*names]
        if len(self.names) != width:
            raise ValueError(f"{len(self.names)} names for {width} columns")
        self._costs = None if costs is None else check_costs(costs, width)
        self._whole: Features | None = None  # of which these are the rows `_index`
        self._index: IntArray = np.empty(0, dtype=np.int64)
        self.reset()

    def reset(self) -> None:
        """Forget what was computed, and start the ledger again."""
        width = self.shape[1]
        self.evaluations: IntArray = np.zeros(width, dtype=np.int64)
        self.seconds: FloatArray = np.zeros(width)
        self._known: list[NDArray[np.bool_] | None] = [None] * width
        self._values: list[FloatArray | None] = [None] * width

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Features({self.shape[0]} rows, {self.shape[1]} columns, {self.n_evaluations} cells computed)"

    def is_nothing(self, j: int) -> bool:
        """Whether column j is known to be 0 throughout: a sum may leave it out."""
        return self._array is None and self._columns[j] is nothing

    @property
    def n_evaluations(self) -> int:
        """How many cells were computed."""
        return int(self.evaluations.sum())

    @property
    def cost(self) -> float:
        """What the computed cells cost: in the unit of `costs`, else in seconds; cells of an array cost 1 each."""
        if self._costs is None and self._array is None and self._whole is None:
            return float(self.seconds.sum())
        return float(self.evaluations @ np.nan_to_num(self.cell_costs()))

    def cell_costs(self) -> FloatArray:
        """What one cell of each column costs: as stated, else as measured; NaN for a column not yet computed."""
        if self._costs is not None:
            return self._costs.copy()
        if self._array is not None:
            return np.ones(self.shape[1])
        with np.errstate(invalid="ignore"):
            measured = np.where(self.evaluations > 0, self.seconds / self.evaluations, np.nan)
        if self._whole is None:
            return measured
        costs = self._whole.cell_costs()  # what is timed here may be no more than looking up a cell there
        return np.where(np.isnan(costs), measured, costs)

    def computed_by_row(self) -> IntArray:
        """How many cells of each row were computed."""
        counts = np.zeros(self.shape[0], dtype=np.int64)
        for known in self._known:
            if known is not None:
                counts += known
        return counts

    def column(self, j: int, rows: ArrayLike | None = None) -> FloatArray:
        """The values of column j, of all rows or of some (numbers or a mask). Only cells not yet known are computed."""
        if not 0 <= j < self.shape[1]:
            raise ValueError(f"there is no column {j}; the columns are 0 to {self.shape[1] - 1}")
        if rows is None:
            return self.whole_column(j).copy()
        wanted = self._row_numbers(rows)
        with self._lock:
            known = self._known_rows(j)
            missing = wanted[~known[wanted]]
            if len(missing):
                self._compute(j, missing if (missing[1:] > missing[:-1]).all() else np.unique(missing), known)
            values = self._values[j]
            assert values is not None
            return values[wanted]

    def whole_column(self, j: int) -> FloatArray:
        """The values of column j of all rows, as they are kept here: to be read, and not to be changed."""
        with self._lock:
            known = self._known_rows(j)
            if not known.all():
                self._compute(j, np.flatnonzero(~known) if known.any() else np.arange(len(known)), known)
            values = self._values[j]
            assert values is not None
            shown = values.view()
        shown.flags.writeable = False
        return shown

    def _known_rows(self, j: int) -> NDArray[np.bool_]:
        known = self._known[j]
        if known is None:
            known = self._known[j] = np.zeros(self.shape[0], dtype=bool)
            self._values[j] = np.empty(self.shape[0]) if self._array is None else self._array[:, j]
        return known

    def _row_numbers(self, rows: ArrayLike | None) -> IntArray:
        if rows is None:
            return np.arange(self.shape[0])
        wanted = np.asarray(rows)
        if wanted.dtype == bool:
            if wanted.shape != (self.shape[0],):
                raise ValueError(f"a mask of rows must have {self.shape[0]} entries, got the shape {wanted.shape}")
            return np.flatnonzero(wanted)
        wanted = wanted.astype(np.int64) if wanted.size == 0 else wanted
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise ValueError("rows must be a list of row numbers or a mask")
        if len(wanted) and (wanted.min() < 0 or wanted.max() >= self.shape[0]):
            raise ValueError(f"there is no row {wanted[(wanted < 0) | (wanted >= self.shape[0])][0]}")
        return wanted

    def _compute(self, j: int, rows: IntArray, known: NDArray[np.bool_]) -> None:
        values = self._values[j]
        assert values is not None
        began = perf_counter()
        if self._array is None:
            given = rows if len(rows) == len(known) else rows.copy()  # it may change what it is given
            computed = np.asarray(self._columns[j](given), dtype=np.float64)
            if computed.shape != rows.shape:
                raise ValueError(f"column {self.names[j]!r} gave the shape {computed.shape} for {len(rows)} rows")
        else:
            computed = values[rows]
        self.seconds[j] += perf_counter() - began
        finite = np.isfinite(computed)
        if not finite.all():
            bad = int(np.argmin(finite))
            number = bad if len(rows) == len(known) else rows[bad]
            raise ValueError(f"X contains {computed[bad]} in row {number}, column {j} ({self.names[j]})")
        everything: IntArray | slice = slice(None) if len(rows) == len(known) else rows
        if self._array is None:
            values[everything] = computed
        self.evaluations[j] += len(rows)
        known[everything] = True
        if self._array is not None and self._whole is not None:
            self._whole._count(j, self._index[rows])

    def _count(self, j: int, rows: IntArray) -> None:
        """Count cells of an array that a part has read."""
        known = self._known_rows(j)
        before = np.count_nonzero(known)
        known[rows] = True
        self.evaluations[j] += np.count_nonzero(known) - before
        if self._whole is not None:
            self._whole._count(j, self._index[rows])

    def take(self, rows: ArrayLike) -> Features:
        """Some rows as features of their own, with a ledger of their own; cells are computed, and counted, here too."""
        index = self._row_numbers(rows)
        columns: dict[str, Column] = {str(j): partial(self._part, j, index) for j in range(self.shape[1])}
        source = columns if self._array is None else self._array[index]
        part = Features(source, n_rows=len(index), names=self.names, costs=self._costs)
        part._whole, part._index = self, index
        return part

    def _part(self, j: int, index: IntArray, rows: IntArray) -> FloatArray:
        return self.column(j, index[rows])

    def __getitem__(self, rows: Any) -> Features:
        """Rows by numbers, mask or slice, as scikit-learn's splitters ask for them."""
        return self.take(np.arange(self.shape[0])[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All cells."""
        if copy is False:
            raise ValueError("lazy features can only be copied into an array")
        columns = [self.column(j) for j in range(self.shape[1])]
        dense = np.stack(columns, axis=1) if columns else np.empty(self.shape)
        return dense if dtype is None else dense.astype(dtype)


def nothing(rows: IntArray) -> FloatArray:
    """A column of 0: no evidence."""
    return np.zeros(len(rows))


def check_costs(costs: ArrayLike, n_features: int) -> FloatArray:
    """Return what a cell of each feature costs, as floats."""
    checked = np.asarray(costs, dtype=np.float64)
    if checked.shape != (n_features,):
        raise ValueError(f"costs must be one number a feature: expected {n_features}, got the shape {checked.shape}")
    if not (np.isfinite(checked).all() and (checked >= 0).all()):
        raise ValueError("costs must be finite and not negative")
    return checked

"""Checks of arguments, and everything about qid: groups, preferences, pairs."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom.core import FloatArray, IntArray, Matrix


@dataclass(frozen=True)
class Groups:
    """The rows of each query.

    Query `g` is `keys[g]` and has the rows `order[starts[g]:starts[g + 1]]`; `codes[row]` is the `g` of a row.
    """

    keys: Sequence[Hashable]
    codes: IntArray
    order: IntArray
    starts: IntArray

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[IntArray]:
        """The row numbers of one query after another."""
        return (self.order[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True))


def qid_from_group_sizes(sizes: ArrayLike) -> IntArray:
    """Return the query of each row, 0, 1, 2 ..., from the number of rows of each query.

    Those are the `group` of LightGBM and XGBoost; the rows of a query follow each other.

    >>> qid_from_group_sizes([2, 3]).tolist()
    [0, 0, 1, 1, 1]
    """
    counts = np.asarray(sizes)
    if counts.ndim != 1 or (counts.size and counts.dtype.kind not in "iu") or (counts < 0).any():
        raise ValueError("group sizes must be one whole number per query, not negative")
    return np.repeat(np.arange(len(counts)), counts.astype(np.int64))


def group_rows(qid: Any, n_rows: int) -> Groups:
    """Group rows by query; `qid=None` makes all rows one query.

    >>> groups = group_rows(["b", "a", "b"], 3)
    >>> groups.keys, [rows.tolist() for rows in groups]
    (['a', 'b'], [[1], [0, 2]])
    """
    if qid is None:
        codes = np.zeros(n_rows, dtype=np.int64)
        keys: Sequence[Hashable] = [None] if n_rows else []
    else:
        if not hasattr(qid, "__len__") or getattr(qid, "ndim", 1) == 0:
            raise ValueError(f"qid must be a sequence with one value a row, got {type(qid).__name__}")
        if len(qid) != n_rows:
            cure = "; these are group sizes: pass qid_from_group_sizes(sizes)" if _add_up_to(qid, n_rows) else ""
            raise ValueError(f"qid has {len(qid)} values but there are {n_rows} rows; give one qid per row{cure}")
        codes, keys = _encode(qid)
    counts = np.bincount(codes, minlength=len(keys))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    in_order = n_rows == 0 or bool((codes[1:] >= codes[:-1]).all())
    order = np.arange(n_rows, dtype=np.int64) if in_order else np.argsort(codes, kind="stable").astype(np.int64)
    return Groups(keys, codes, order, starts)


def _add_up_to(sizes: Any, n_rows: int) -> bool:
    """Whether these are numbers of rows of queries that have so many rows together."""
    counts = np.asarray(sizes)
    return counts.ndim == 1 and counts.dtype.kind in "iu" and int(counts.sum()) == n_rows


def _encode(qid: Any) -> tuple[IntArray, Sequence[Hashable]]:
    """Number the distinct values: sorted where they are numbers or strings, else in order of appearance."""
    if hasattr(qid, "to_numpy"):  # a pandas or polars column
        qid = qid.to_numpy()
    array = qid if isinstance(qid, np.ndarray) and qid.ndim == 1 and qid.dtype.kind != "O" else _same_type(qid)
    if array is not None and array.dtype.kind in "iubfUSmM":
        missing = np.isnan(array) if array.dtype.kind == "f" else np.isnat(array) if array.dtype.kind in "mM" else None
        if missing is not None and missing.any():
            raise ValueError(f"qid is missing (NaN) in row {int(np.flatnonzero(missing)[0])}")
        values, codes = np.unique(array, return_inverse=True)
        return codes.astype(np.int64), values.tolist()
    numbers: dict[Hashable, int] = {}
    codes = np.empty(len(qid), dtype=np.int64)
    for row, value in enumerate(qid):
        key = tuple(value) if isinstance(value, np.ndarray | list) else value
        if key is None or _is_nan(key):
            raise ValueError(f"qid is missing in row {row}")
        try:
            codes[row] = numbers.setdefault(key, len(numbers))
        except TypeError:
            raise ValueError(f"qid must be hashable, got {type(value).__name__} in row {row}") from None
    return codes, list(numbers)


def _same_type(qid: Any) -> NDArray[Any] | None:
    """An array where all values are integers, or all are strings: only then numpy can neither merge nor change them."""
    types = {type(value) for value in qid}
    if types == {int}:
        try:
            return np.array(list(qid), dtype=np.int64)
        except OverflowError:
            return None
    if types == {str} and not any("\0" in value for value in qid):  # numpy drops a NUL at the end
        return np.array(list(qid))
    return None


def _is_nan(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA compares to neither
        return True


def check_number(name: str, value: Any, *, least: float = 0.0, open_below: bool = False) -> None:
    """Raise a ValueError unless a parameter is a finite number >= least (or > least)."""
    good = not isinstance(value, bool) and isinstance(value, Real) and np.isfinite(float(value))
    if not good or value < least or (open_below and value == least):
        raise ValueError(f"{name} must be a number {'>' if open_below else '>='} {least:g}, got {value!r}")


def check_count(name: str, value: Any, *, least: int = 1) -> None:
    """Raise a ValueError unless a parameter is a whole number >= least."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_choice(name: str, value: Any, known: Sequence[str]) -> None:
    """Raise a ValueError unless a parameter is one of the known words."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}")


def check_finite(array: Matrix, name: str) -> None:
    """Raise a ValueError that names the first row with NaN or infinity."""
    if not isinstance(array, np.ndarray):
        _check_sparse(array, name)
        return
    with np.errstate(over="ignore", invalid="ignore"):
        flat = array.ravel(order="K")
        if np.isfinite(flat @ flat):  # one pass without a temporary; a sum that overflows goes on to the exact test
            return
    finite = np.isfinite(array)
    if finite.all():
        return
    row = int(np.flatnonzero(~finite.reshape(len(array), -1).all(axis=1))[0])
    if array.ndim == 1:
        raise ValueError(f"{name} contains {_spell(array[row])} in row {row}")
    column = int(np.flatnonzero(~finite[row])[0])
    raise ValueError(f"{name} contains {_spell(array[row, column])} in row {row}, column {column}")


def canonical_csr(X: Matrix, dtype: Any = None) -> Matrix:
    """A sparse matrix as a `csr_array` with sorted columns, none twice; the caller's matrix stays as it is."""
    from scipy.sparse import csr_array

    rows = csr_array(X, dtype=dtype)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _check_sparse(array: Matrix, name: str) -> None:
    finite = np.isfinite(array.data)
    if not finite.all():
        place = int(np.argmin(finite))
        row, column = np.searchsorted(array.indptr, place, side="right") - 1, array.indices[place]
        raise ValueError(f"{name} contains {_spell(array.data[place])} in row {row}, column {column}")


def _spell(value: float) -> str:
    return "NaN" if np.isnan(value) else "infinity (inf)"


def check_grades(y: ArrayLike, n_rows: int) -> FloatArray:
    """Return grades as floats, one per row and finite."""
    try:
        grades = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("y must hold numbers (grades, higher is better)") from None
    if grades.ndim == 2 and grades.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn("y is a column; one grade a row, y.ravel(), was expected", DataConversionWarning, stacklevel=4)
        grades = grades[:, 0]
    if grades.ndim != 1:
        raise ValueError(f"y must be one grade a row, got an array of shape {grades.shape}")
    if len(grades) != n_rows:
        raise ValueError(f"y has {len(grades)} grades but there are {n_rows} rows")
    check_finite(grades, "y")
    return grades


def check_weights(
    groups: Groups, sample_weight: ArrayLike | None, query_weight: Mapping[Hashable, float] | ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Return one weight per row and one weight per query.

    `query_weight` is a mapping from qid to weight (queries not in it weigh 1), or one value per row that is constant
    within each query.
    """
    n_rows = len(groups.codes)
    rows = np.ones(n_rows) if sample_weight is None else _one_a_row(sample_weight, n_rows, "sample_weight")
    if query_weight is None:
        return rows, np.ones(len(groups))
    if isinstance(query_weight, Mapping):
        unknown = set(query_weight) - set(groups.keys)
        if unknown:
            raise ValueError(f"query_weight names the query {next(iter(unknown))!r}, which has no row")
        queries = np.array([query_weight.get(key, 1.0) for key in groups.keys], dtype=np.float64)
        if not (np.isfinite(queries).all() and (queries >= 0).all()):
            raise ValueError("query_weight must be finite and not negative")
        return rows, queries
    by_row = _one_a_row(query_weight, n_rows, "query_weight")
    queries = by_row[groups.order[groups.starts[:-1]]] if len(groups) else np.ones(0)
    differs = np.flatnonzero(by_row != queries[groups.codes])
    if differs.size:
        raise ValueError(f"query_weight must be the same for all rows of a query; row {int(differs[0])} differs")
    return rows, queries


def _one_a_row(weight: ArrayLike, n_rows: int, name: str) -> FloatArray:
    weights = np.asarray(weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(f"{name} must be one number a row: expected shape ({n_rows},), got {weights.shape}")
    check_finite(weights, name)
    negative = np.flatnonzero(weights < 0)
    if negative.size:
        raise ValueError(f"{name} is negative in row {int(negative[0])}")
    if n_rows and not weights.any():
        raise ValueError(f"{name} is zero in every row: nothing is left to learn from")
    return weights


@dataclass(frozen=True)
class Preferences:
    r"""All pairs of a ranking problem, "j is preferred to k", in memory proportional to the rows.

    `rows` lists the rows that stand in at least one pair, sorted by query and then from high to low grade. In that
    order every pair of one query lies in exactly one *split* `(a, m, b)`: all of `[a, m)` have higher grades than all
    of `[m, b)`. Two grades make one split per query; `G` grades make `G - 1` of total length `O(n log G)`, by halving.

    Attributes
    ----------
    rows : row numbers, `weight` their sample weights.
    query : number of the query (an index of `Groups.keys`) of each entry of `rows`.
    lower, higher : total weight of the rows of the same query with strictly lower and strictly higher grades.
    splits : array (n_splits, 3) of `a, m, b`, by `depth`: splits of one depth do not overlap.
    scale : the factor of each entry's query: its weight, over its total pair weight for `normalize="query"`.
    """

    rows: IntArray
    weight: FloatArray
    query: IntArray
    lower: FloatArray
    higher: FloatArray
    splits: IntArray
    depth: IntArray
    scale: FloatArray

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        a, m, b = self.splits.T
        return int(((m - a) * (b - m)).sum())

    @property
    def split_scale(self) -> FloatArray:
        """The factor of each split's query."""
        return self.scale[self.splits[:, 0]]


def preferences(
    y: FloatArray,
    groups: Groups,
    weight: FloatArray | None = None,
    query_weight: FloatArray | None = None,
    *,
    normalize: str = "pairs",
) -> Preferences:
    """Lay out all preference pairs of a ranking problem. Rows and queries of weight 0 are left out."""
    if normalize not in ("pairs", "query"):
        raise ValueError(f"normalize must be 'pairs' or 'query', got {normalize!r}")
    weight = np.ones(len(y)) if weight is None else weight
    query_weight = np.ones(len(groups)) if query_weight is None else query_weight
    rows = groups.order
    keep = (weight[rows] > 0) & (query_weight[groups.codes[rows]] > 0)
    if not keep.all():
        rows = rows[keep]
    rows = rows[np.lexsort((-y[rows], groups.codes[rows]))]
    new_query, new_level, first_level, n_levels = _runs(groups.codes[rows], y[rows])
    # Queries of one grade hold no pair; dropping them here keeps them out of every kernel.
    teaches = np.repeat(n_levels > 1, np.diff(new_query, append=len(rows)))
    if not teaches.all():
        rows = rows[teaches]
        new_query, new_level, first_level, n_levels = _runs(groups.codes[rows], y[rows])

    query, weight = groups.codes[rows], weight[rows]
    ends = np.append(new_query[1:], len(rows))
    splits, depth = _halve(new_level, first_level, n_levels, len(rows))
    lower, higher = _partners(weight, splits, depth)
    query_of = np.repeat(np.arange(len(new_query)), ends - new_query)
    scale = query_weight[query]
    if normalize == "query" and len(rows):
        pair_weight = np.add.reduceat(weight * lower, new_query)
        scale = scale / pair_weight[query_of]
    return Preferences(rows, weight, query, lower, higher, splits, depth, scale)


def _runs(query: IntArray, grade: FloatArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Where queries and grade levels begin; the first level and the number of levels of each query."""
    changes = np.ones((2, len(query)), dtype=bool)
    np.not_equal(query[1:], query[:-1], out=changes[0, 1:])
    np.not_equal(grade[1:], grade[:-1], out=changes[1, 1:])
    changes[1] |= changes[0]
    new_query, new_level = np.flatnonzero(changes[0]), np.flatnonzero(changes[1])
    first_level = np.searchsorted(new_level, new_query)
    return new_query, new_level, first_level, np.diff(first_level, append=len(new_level))


def _halve(new_level: IntArray, first_level: IntArray, n_levels: IntArray, n_rows: int) -> tuple[IntArray, IntArray]:
    """Cut each query's grade levels in two where the halves are most equal, again and again, all queries at once."""
    bounds = np.append(new_level, n_rows)
    low, high = first_level, first_level + n_levels
    splits = [np.empty((0, 3), dtype=np.int64)]
    depths: list[IntArray] = []
    while len(low):
        twice = bounds[low] + bounds[high]
        after = np.clip(np.searchsorted(bounds, twice / 2), low + 1, high - 1)
        before = np.maximum(after - 1, low + 1)
        middle = np.where(np.abs(2 * bounds[before] - twice) < np.abs(2 * bounds[after] - twice), before, after)
        splits.append(np.stack([bounds[low], bounds[middle], bounds[high]], axis=1))
        depths.append(np.full(len(low), len(depths), dtype=np.int64))
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        low, high = low[high - low > 1], high[high - low > 1]
    return np.concatenate(splits).astype(np.int64), np.concatenate([*depths, np.empty(0, dtype=np.int64)])


def _partners(weight: FloatArray, splits: IntArray, depth: IntArray) -> tuple[FloatArray, FloatArray]:
    """The weight below and above each row, added up split by split: differences of long sums would lose digits."""
    lower, higher = np.zeros(len(weight)), np.zeros(len(weight))
    padded = np.append(weight, 0.0)  # reduceat wants every end to be a row
    for level in range(int(depth.max(initial=-1)) + 1):
        level_splits = splits[depth == level]
        level_splits = level_splits[np.argsort(level_splits[:, 0])]
        above, below = (np.add.reduceat(padded, level_splits.ravel())[part::3] for part in (0, 1))
        a, m, b = level_splits.T
        lower[_ranges(a, m)] += np.repeat(below, m - a)
        higher[_ranges(m, b)] += np.repeat(above, b - m)
    return lower, higher


def _ranges(starts: IntArray, ends: IntArray) -> IntArray:
    """The numbers of several ranges, one after another."""
    lengths = ends - starts
    skipped = np.repeat(starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    return np.asarray(skipped + np.arange(len(skipped)), dtype=np.int64)


def preference_pairs(y: ArrayLike, qid: Any = None) -> IntArray:
    """List every pair of rows `(preferred, other)` of the same query with different grades.

    This is the explicit list that the rankers avoid; it is there for small problems, peers and tests.

    >>> preference_pairs([0, 2, 1], None).tolist()
    [[1, 0], [1, 2], [2, 0]]
    """
    grades = check_grades(y, len(np.asarray(y)))
    prefs = preferences(grades, group_rows(qid, len(grades)))
    parts = []
    for a, m, b in prefs.splits:
        winners, losers = prefs.rows[a:m], prefs.rows[m:b]
        parts.append(np.stack([np.repeat(winners, len(losers)), np.tile(losers, len(winners))], axis=1))
    pairs = np.concatenate(parts) if parts else np.empty((0, 2), dtype=np.int64)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]

"""SVMlight / LETOR text, the format of the public learning-to-rank collections.

One row a line, with the grade first, then the query, then the features, then a comment:

    2 qid:10 1:0.25 2:1 46:0.076923 #docid = GX004-93-7097963 inc = 1 prob = 0.0246906

* Words are separated by blanks or tabs. Blank lines, lines that begin with `#`, and Windows line ends are accepted.
* The grade is any finite number, higher is better.
* `qid:` names the query with any word without blanks. If all are integers the queries are int64, else strings.
  A file may have no `qid:` at all, but not in some rows only.
* `index:value` gives one feature. Indices count from 1, or from 0 if an index 0 stands anywhere in the file. They may
  come in any order but not twice in a row. A feature that is not given is 0. NaN and infinity are errors.
* The item of a row is what follows `docid =` in the comment, up to `inc =`, `prob =` or the end of the line.
* The file may be compressed with gzip, whatever its name.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._io import atomic_write
from rankloom.core import FloatArray, IntArray, Matrix, RankingData
from rankloom.datasets._files import PathLike, check_data, check_path, check_word, fields, read_blocks, show
from rankloom.datasets._svmlight import Rows, csr_rows, item_id, parse_careful, parse_fast, qid_array

# Without n_features the dense array may have this many cells (256 MiB), or this many times what the file gives.
_MOST_CELLS = 1 << 25
_MOST_CELLS_A_VALUE = 100


def load_letor(
    path: PathLike,
    *,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    group_sizes: PathLike | Sequence[int] | None = None,
    sparse: bool = False,
) -> RankingData:
    """Load a file of SVMlight / LETOR rows, plain or gzip.

    A malformed row raises a ValueError `path:line: what is wrong`; nothing is skipped silently.

    Parameters
    ----------
    path : str or Path
    n_features : int, optional
        The number of columns of `X`; the default is the largest feature index of the file. A larger index is an error.
        Giving it also lifts the guard against a tiny file with a huge feature index.
    zero_based : "auto" or bool
        Whether feature indices count from 0. "auto": from 0 if an index 0 stands anywhere in the file, else from 1.
    group_sizes : path or sequence of int, optional
        For a file without `qid:`, the number of rows of each query in order (a file has one per line, as LightGBM's
        `rank.train.query`); queries are then numbered from 1. Without it all rows are query 1.
    sparse : bool
        Whether `X` is a `scipy.sparse.csr_array` of the values that the file gives, never a dense array.

    Returns
    -------
    RankingData
        With `ids` if every row has a comment `docid = ...`. `X, y, qid = load_letor(path)` works too.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 3:1  # a comment\\n0 qid:7 2:0.25\\n")
    ...     X, y, qid = load_letor(path)
    >>> X
    array([[0.5 , 0.  , 1.  ],
           [0.  , 0.25, 0.  ]])
    >>> y, qid
    (array([2., 0.]), array([7, 7]))
    """
    name = check_path(path, "load_letor(path)")
    if zero_based not in ("auto", True, False):
        raise ValueError(f"zero_based must be 'auto', True or False, got {zero_based!r}")
    if n_features is not None:
        n_features = operator.index(n_features)
        if n_features < 1:
            raise ValueError(f"n_features must be at least 1, got {n_features}")

    file = _read(name)
    qid = _queries(file, name, group_sizes)
    base, width = _columns(file.parts, name, n_features, zero_based, dense=not sparse)
    y = np.concatenate([rows.y for rows in file.parts])
    X = csr_rows(file.parts, base, width) if sparse else _dense(file.parts, base, width)
    return RankingData(X, y, qid, file.ids)


class _File(NamedTuple):
    """Parsed rows: in parts as they were read, the number of each query, that of each row, and the items."""

    parts: list[Rows]
    queries: dict[bytes | None, int]
    codes: IntArray
    ids: list[str] | None


def _read(name: str) -> _File:
    parts: list[Rows] = []
    queries: dict[bytes | None, int] = {}
    codes: list[int] = []
    ids: list[str] | None = []
    for first, block in read_blocks(name):
        rows = parse_fast(block, first) or parse_careful(block, first, name)
        if not len(rows.lines):
            continue
        codes.extend(queries.setdefault(qid, len(queries)) for qid in rows.qids)
        ids = _more_ids(ids, rows, name)
        parts.append(rows._replace(qids=[], comments=[]))
    if not parts:
        raise ValueError(f"{name}: no rows; the file is empty or holds only comments")
    return _File(parts, queries, np.array(codes, dtype=np.int64), ids)


def _dense(parts: list[Rows], base: int, width: int) -> FloatArray:
    """The features as an array; the memory of the parts is given back on the way."""
    X = np.zeros((sum(len(rows.y) for rows in parts), width))
    start = 0
    for i, rows in enumerate(parts):
        at = np.repeat(np.arange(start, start + len(rows.y)), rows.counts)
        X[at, rows.feature - base] = rows.value
        start += len(rows.y)
        parts[i] = rows._replace(feature=rows.feature[:0], value=rows.value[:0])
    return X


def _more_ids(ids: list[str] | None, rows: Rows, name: str) -> list[str] | None:
    """Add the items of these rows; None from the first row that names none."""
    if ids is None:
        return None
    for line, comment in zip(rows.lines, rows.comments, strict=True):
        item = item_id(comment)
        if item is None:
            return None
        try:
            ids.append(item.decode())
        except UnicodeDecodeError:
            raise ValueError(f"{name}:{line}: the docid is not UTF-8 text: {show(item)}") from None
    return ids


def _queries(file: _File, name: str, group_sizes: PathLike | Sequence[int] | None) -> NDArray[Any]:
    """The query of each row."""
    queries, codes = file.queries, file.codes
    lines = np.concatenate([rows.lines for rows in file.parts])
    if None in queries:
        if len(queries) > 1:
            without = codes == queries[None]
            line = lines[np.flatnonzero(without != without[0])[0]]
            what = "a qid, but earlier rows have none" if without[0] else "no qid, but earlier rows have one"
            raise ValueError(f"{name}:{line}: the row has {what}")
        if group_sizes is None:
            return np.ones(len(codes), dtype=np.int64)
        sizes = _group_sizes(group_sizes)
        if sum(sizes) != len(codes):
            raise ValueError(f"{name}: the file has {len(codes)} rows, but the group sizes add up to {sum(sizes)}")
        return np.repeat(np.arange(1, len(sizes) + 1), sizes)
    if group_sizes is not None:
        raise ValueError(f"{name}: the rows name their query with qid:, so group_sizes must be left out")
    texts = []
    for qid, code in queries.items():
        try:
            texts.append((qid or b"").decode())
        except UnicodeDecodeError:
            line = lines[np.flatnonzero(codes == code)[0]]
            raise ValueError(f"{name}:{line}: the qid is not UTF-8 text: {show(qid or b'')}") from None
    return qid_array(texts, codes)


def _group_sizes(source: PathLike | Sequence[int]) -> list[int]:
    sizes = []
    if not isinstance(source, str | os.PathLike):
        sizes = [operator.index(size) for size in source]
        if any(size < 0 for size in sizes):
            raise ValueError(f"group_sizes must not be negative, got {min(sizes)}")
        return sizes
    path = os.fsdecode(source)
    for line, words in fields(path):
        if len(words) != 1 or not (words[0].isascii() and words[0].isdigit() and len(words[0]) < 19):
            raise ValueError(f"{path}:{line}: expected the number of rows of a query, got {show(words[0].encode())}")
        sizes.append(int(words[0]))
    return sizes


def _columns(
    parts: list[Rows], name: str, n_features: int | None, zero_based: bool | Literal["auto"], *, dense: bool
) -> tuple[int, int]:
    """The index of the first feature, and the number of features."""
    lowest = min((int(rows.feature.min()) for rows in parts if rows.feature.size), default=1)
    largest = max((int(rows.feature.max()) for rows in parts if rows.feature.size), default=-1)
    if zero_based is False and lowest == 0:
        line = _line_of(parts, 0)
        raise ValueError(f"{name}:{line}: feature index 0, but zero_based=False says that indices count from 1")
    base = 0 if zero_based is True or (zero_based == "auto" and lowest == 0) else 1
    width = largest - base + 1
    if n_features is not None:
        if width > n_features:
            line = _line_of(parts, n_features + base, largest)
            raise ValueError(
                f"{name}:{line}: a feature index is larger than n_features={n_features} allows (indices count from "
                f"{base}; the largest of the file is {largest})"
            )
        return base, n_features
    if largest < 0:
        raise ValueError(f"{name}: no row has a feature; give n_features if that is meant")
    n_rows = sum(len(rows.y) for rows in parts)
    given = n_rows + sum(len(rows.value) for rows in parts)
    if dense and n_rows * width > max(_MOST_CELLS, _MOST_CELLS_A_VALUE * given):
        size = f"{n_rows * width * 8 / 2**30:.1f} GiB"
        raise ValueError(
            f"{name}:{_line_of(parts, largest)}: feature index {largest} makes a dense array of {size} from {given} "
            f"given values; if that is meant, pass n_features={width}, or sparse=True for a sparse one"
        )
    return base, width


def _line_of(parts: list[Rows], low: int, high: int | None = None) -> int:
    """The line of the first feature index between `low` and `high`."""
    for rows in parts:
        matches = np.flatnonzero((rows.feature >= low) & (rows.feature <= (low if high is None else high)))
        if matches.size:
            return int(rows.lines[np.searchsorted(np.cumsum(rows.counts), matches[0], side="right")])
    raise LookupError(f"no feature index in [{low}, {high}]")


def save_letor(data: RankingData, path: PathLike) -> None:
    """Save rows as SVMlight / LETOR text, gzip if the name ends in `.gz`.

    Every number is written so that it reads back as the same float64. All features of dense rows are written, zeros
    too, because some readers take a missing feature for unknown; of sparse rows what is stored, and the last feature in
    the first row. Indices count from 1. The file appears whole or not at all.

    Parameters
    ----------
    data : RankingData
        Queries may be integers or strings without blanks and `#`; strings that are all integers read back as integers.
        `ids` are written as comments `#docid = ...`; `feature_names` have no place in the format.
    path : str or Path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from rankloom import RankingData
    >>> data = RankingData(np.array([[0.5, 0.0]]), np.array([1.0]), np.array(["cats"]), ["a.jpg"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_letor(data, pathlib.Path(folder, "train.txt"))
    ...     print(pathlib.Path(folder, "train.txt").read_text(), end="")
    1 qid:cats 1:0.5 2:0.0 #docid = a.jpg
    """
    data, name = check_data(data, path, "save_letor(data, path)")
    X, y, _ = data
    queries = _spell_queries(data.qid)
    comments = None if data.ids is None else [_comment(item, row) for row, item in enumerate(data.ids)]
    spell = _spell_dense if isinstance(X, np.ndarray) else _spell_sparse
    with atomic_write(name) as file:
        for start in range(0, len(y), 1024):
            text = []
            batch = spell(X, start, min(start + 1024, len(y)))
            for row, (grade, pairs) in enumerate(zip(y[start : start + 1024].tolist(), batch, strict=True), start):
                comment = "" if comments is None else comments[row]
                text.append(f"{repr(grade).removesuffix('.0')} qid:{queries[row]}{pairs}{comment}\n")
            file.write("".join(text).encode())


def _spell_dense(X: Matrix, start: int, stop: int) -> Iterator[str]:
    prefixes = [f" {j}:" for j in range(1, X.shape[1] + 1)]
    for values in X[start:stop].tolist():
        yield "".join([prefix + repr(value) for prefix, value in zip(prefixes, values, strict=True)])


def _spell_sparse(X: Matrix, start: int, stop: int) -> Iterator[str]:
    width = X.shape[1]
    for row in range(start, stop):
        place = slice(X.indptr[row], X.indptr[row + 1])
        pairs = dict(zip(X.indices[place].tolist(), X.data[place].tolist(), strict=True))
        if row == 0:
            pairs.setdefault(width - 1, 0.0)  # tells readers how many features there are
        yield "".join([f" {j + 1}:{value!r}" for j, value in sorted(pairs.items())])


def _spell_queries(qid: NDArray[Any]) -> list[str]:
    values = np.asarray(qid).tolist()
    texts: dict[Any, str] = {}
    for row, value in enumerate(values):
        if value in texts:
            continue
        text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        check_word(text, f"the qid {value!r} of row {row}", "#")
        texts[value] = text
    if len(set(texts.values())) < len(texts):
        raise ValueError("two different queries have the same text, such as 1 and '1'; make all of them one type")
    return [texts[value] for value in values]


def _comment(item: str, row: int) -> str:
    comment = f"docid = {item}"
    encoded = comment.encode("utf-8", "replace")
    read_back = None if b"\n" in encoded or b"\0" in encoded else item_id(encoded)
    if read_back is None or read_back.decode() != item:
        raise ValueError(f"the id {item!r} of row {row} cannot be written in a comment such that it reads back")
    return f" #{comment}"

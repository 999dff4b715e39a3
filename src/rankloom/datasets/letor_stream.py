"""Read LETOR files that do not fit in memory, a few queries at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from rankloom.core import RankingData
from rankloom.datasets._files import PathLike, check_path, read_blocks, show
from rankloom.datasets._svmlight import Rows, csr_rows, parse_careful, parse_fast


def iter_letor(
    path: PathLike,
    *,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    sparse: bool = False,
) -> Iterator[RankingData]:
    """Yield whole queries of a LETOR file, plain or gzip, in pieces of about 4 MiB of text.

    The rows of a query must stand together; a query that comes back later counts as another list. Without `n_features`
    (or with `zero_based="auto"`) the file is read once before, to find the range of feature indices.

    Parameters
    ----------
    path : str or Path
    n_features : number of columns; a larger index is an error.
    zero_based : whether feature indices count from 0; "auto" looks for an index 0.
    sparse : whether `X` is a `scipy.sparse.csr_array`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5\\n0 qid:7 2:0.25\\n1 qid:8 1:3\\n")
    ...     [(len(data), data.X.shape[1]) for data in iter_letor(path)]
    [(2, 2), (1, 2)]
    """
    name = check_path(path, "iter_letor(path)")
    base = 0 if zero_based is True else 1
    if n_features is None or zero_based == "auto":
        low, high = _range(name)
        if zero_based == "auto":
            base = 0 if low == 0 else 1
        n_features = high - base + 1 if n_features is None else n_features
    held: RankingData | None = None
    for rows in _parsed(name):
        data = _data(rows, base, n_features, name, sparse)
        if held is not None:
            data = _joined(held, data)
        # The last query may go on in the next piece.
        last = int(np.flatnonzero(data.qid != data.qid[-1])[-1]) + 1 if (data.qid != data.qid[-1]).any() else 0
        if last:
            yield data.take(slice(0, last))
        held = data.take(slice(last, None))
    if held is None:
        raise ValueError(f"{name}: no rows; the file is empty or holds only comments")
    yield held


def _parsed(name: str) -> Iterator[Rows]:
    for first, block in read_blocks(name):
        rows = parse_fast(block, first) or parse_careful(block, first, name)
        if len(rows.lines):
            yield rows


def _range(name: str) -> tuple[int, int]:
    low, high, empty = 1, -1, True
    for rows in _parsed(name):
        empty = False
        if rows.feature.size:
            low, high = min(low, int(rows.feature.min())), max(high, int(rows.feature.max()))
    if empty:
        raise ValueError(f"{name}: no rows; the file is empty or holds only comments")
    if high < 0:
        raise ValueError(f"{name}: no row has a feature; give n_features if that is meant")
    return low, high


def _data(rows: Rows, base: int, n_features: int, name: str, sparse: bool) -> RankingData:
    column = rows.feature - base
    outside = np.flatnonzero((column < 0) | (column >= n_features))
    if outside.size:
        line = rows.lines[np.searchsorted(np.cumsum(rows.counts), outside[0], side="right")]
        raise ValueError(f"{name}:{line}: feature index {rows.feature[outside[0]]} is outside of {n_features} features")
    if sparse:
        X = csr_rows([rows], base, n_features)
    else:
        X = np.zeros((len(rows.y), n_features))
        X[np.repeat(np.arange(len(rows.y)), rows.counts), column] = rows.value
    qid = np.empty(len(rows.y), dtype=object)
    for i, text in enumerate(rows.qids):
        if text is None:
            raise ValueError(f"{name}:{rows.lines[i]}: the row has no qid, without which lists cannot be told apart")
        try:
            qid[i] = text.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{name}:{rows.lines[i]}: the qid is not UTF-8 text: {show(text)}") from None
    return RankingData(X, rows.y, qid)


def _joined(first: RankingData, second: RankingData) -> RankingData:
    both = [first.X, second.X]
    if isinstance(first.X, np.ndarray):
        X = np.concatenate(both)
    else:
        from scipy.sparse import vstack

        X = vstack(both, format="csr")
    return RankingData(
        X,
        np.concatenate([first.y, second.y]),
        np.concatenate([first.qid, second.qid]),
    )

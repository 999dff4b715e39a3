"""The grammar of SVMlight rows: a fast reader of whole blocks and the careful reader that names the first mistake."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray, Matrix
from rankloom.datasets._files import show

LARGEST_INDEX = 2**31 - 1

# Possessive (++), so that a hostile block cannot make the search go back.
_NUMBER = rb"[+-]?+(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
_IS_NUMBER = re.compile(_NUMBER)
_NUMBERS = re.compile(rb"(?:" + _NUMBER + rb"\s++)*+")
_PAIRS = re.compile(rb"\s*+(?:[0-9]{1,9}+:" + _NUMBER + rb"\s++)*+")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_ITEM = re.compile(rb"\s*docid\s*=\s*")
_NEXT_KEY = re.compile(rb"\s(?:inc|prob)\s*=")


class Rows(NamedTuple):
    """A block of lines: one entry per row (`counts` pairs each), then one entry per pair (`feature`, `value`)."""

    lines: IntArray
    y: FloatArray
    qids: list[bytes | None]
    comments: list[bytes]
    counts: IntArray
    feature: NDArray[np.int32]
    value: FloatArray


class _Raw(NamedTuple):
    lines: list[int]
    labels: list[bytes]
    qids: list[bytes | None]
    pairs: list[bytes]
    comments: list[bytes]


def _split(block: bytes, first: int) -> _Raw:
    raw = _Raw([], [], [], [], [])
    for line, content in enumerate(block.split(b"\n"), first):
        body, _, comment = content.partition(b"#")
        parts = body.split(None, 2)
        if not parts:
            continue
        if len(parts) > 1 and parts[1].startswith(b"qid:"):
            qid, pairs = parts[1][4:], parts[2] if len(parts) > 2 else b""
        else:
            qid, pairs = None, b" ".join(parts[1:])
        raw.lines.append(line)
        raw.labels.append(parts[0])
        raw.qids.append(qid)
        raw.pairs.append(pairs)
        raw.comments.append(comment)
    return raw


def parse_fast(block: bytes, first: int) -> Rows | None:
    """Read a block of lines of which the first has the number `first`; None where anything at all is unusual."""
    raw = _split(block, first)
    if not raw.lines:
        none = np.empty(0, dtype=np.int64)
        return Rows(none, none.astype(np.float64), [], [], none, none.astype(np.int32), none.astype(np.float64))
    labels = b" ".join(raw.labels) + b" "
    text = b"\n".join(raw.pairs) + b"\n"
    if b"" in raw.qids or not _NUMBERS.fullmatch(labels) or not _PAIRS.fullmatch(text):
        return None
    y = np.fromstring(labels, sep=" ")
    counts = np.array([pairs.count(b":") for pairs in raw.pairs], dtype=np.int64)
    table = np.fromstring(text.replace(b":", b" "), sep=" ").reshape(-1, 2) if counts.any() else np.empty((0, 2))
    index, value = table[:, 0].astype(np.int32), np.ascontiguousarray(table[:, 1])
    if not (np.isfinite(y).all() and np.isfinite(value).all()) or _has_duplicates(counts, index):
        return None
    return Rows(np.array(raw.lines, dtype=np.int64), y, raw.qids, raw.comments, counts, index, value)


def csr_rows(parts: list[Rows], base: int, width: int) -> Matrix:
    """The features as a `csr_array`, the first of them with the index `base`; the memory of the parts is given back.

    The order of the values within a row is that of the file until they are sorted at the end.
    """
    from scipy.sparse import csr_array

    counts = np.concatenate([rows.counts for rows in parts])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    kind = np.int32 if max(int(indptr[-1]), width) < 2**31 else np.int64
    indices, data = np.empty(indptr[-1], dtype=kind), np.empty(indptr[-1])
    start = 0
    for i, rows in enumerate(parts):
        place = slice(start, start + len(rows.value))
        indices[place], data[place] = rows.feature - base, rows.value
        start = place.stop
        parts[i] = rows._replace(feature=rows.feature[:0], value=rows.value[:0])
    X = csr_array((data, indices, indptr.astype(kind)), shape=(len(counts), width))
    X.sort_indices()
    return X


def _has_duplicates(counts: IntArray, index: NDArray[np.int32]) -> bool:
    rows = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    keys = (rows << 32) + index
    if (keys[1:] > keys[:-1]).all():
        return False
    keys.sort()
    return bool((keys[1:] == keys[:-1]).any())


def parse_careful(block: bytes, first: int, path: str) -> Rows:
    """Read a block row by row and token by token: the slow twin of `parse_fast`, with an error that names the line."""
    raw = _split(block, first)
    y: list[float] = []
    counts: list[int] = []
    index: list[int] = []
    value: list[float] = []
    for line, label, qid, pairs in zip(raw.lines, raw.labels, raw.qids, raw.pairs, strict=True):
        try:
            y.append(number(label, "label"))
            if qid == b"":
                raise ValueError("'qid:' without a query")
            row = _pairs(pairs)
        except ValueError as error:
            raise ValueError(f"{path}:{line}: {error}") from None
        counts.append(len(row))
        index.extend(row.keys())
        value.extend(row.values())
    return Rows(
        np.array(raw.lines, dtype=np.int64),
        np.array(y, dtype=np.float64),
        raw.qids,
        raw.comments,
        np.array(counts, dtype=np.int64),
        np.array(index, dtype=np.int32),
        np.array(value, dtype=np.float64),
    )


def _pairs(text: bytes) -> dict[int, float]:
    row: dict[int, float] = {}
    for token in text.split():
        name, colon, value = token.partition(b":")
        if not colon:
            raise ValueError(f"bad pair {show(token)}: expected index:value")
        if name == b"qid":
            raise ValueError(f"bad pair {show(token)}: the query stands right after the label, and once")
        if not (name.isdigit() and name.isascii()):
            kind = "is negative" if re.fullmatch(rb"-[0-9]+", name) else "is not a whole number"
            raise ValueError(f"bad pair {show(token)}: the feature index {kind}")
        digits = name.lstrip(b"0") or b"0"
        index = int(digits[:11])
        if index > LARGEST_INDEX:
            raise ValueError(f"bad pair {show(token)}: the feature index is too large")
        if index in row:
            raise ValueError(f"feature index {index} stands twice in the row")
        row[index] = number(value, f"value of feature {index}")
    return row


def number(token: bytes, what: str) -> float:
    """Read a finite decimal number; Python's own `float` would let 1_000 and nan pass."""
    if _IS_NUMBER.fullmatch(token):
        value = float(token)
        if np.isfinite(value):
            return value
        raise ValueError(f"bad {what} {show(token)}: too large for a float")
    if token.lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity"):
        raise ValueError(f"bad {what} {show(token)}: NaN and infinity are not accepted")
    raise ValueError(f"bad {what} {show(token)}: expected a number")


def item_id(comment: bytes) -> bytes | None:
    """Return the item that a LETOR comment `docid = GX000-00 inc = 1 prob = 0.5` names."""
    start = _ITEM.match(comment)
    if start is None:
        return None
    rest = comment[start.end() :]
    end = _NEXT_KEY.search(rest)
    return (rest[: end.start()] if end else rest).strip() or None


def qid_array(texts: Iterable[str], codes: IntArray) -> NDArray[Any]:
    """Return `texts[codes]`, as int64 if all are integers and that keeps different texts different.

    >>> qid_array(["10", "2"], np.array([0, 0, 1]))
    array([10, 10,  2])
    >>> qid_array(["1", "01"], np.array([0, 1])).tolist()
    ['1', '01']
    """
    names: Sequence[str] = list(texts)
    if all(_INTEGER.fullmatch(name) for name in names):
        numbers = [int(name) for name in names]
        if len(set(numbers)) == len(names):
            return np.array(numbers, dtype=np.int64)[codes]
    # A fixed width costs the longest name in every row: a single long one must not multiply the file's size.
    fixed = max(map(len, names), default=0) <= 64
    return np.array(names, dtype=np.str_ if fixed else np.object_)[codes]

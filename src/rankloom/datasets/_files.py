"""Reading and writing files safely: gzip by content, whole lines in blocks, writing that never leaves half a file."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Any

import numpy as np

from rankloom.core import RankingData
from rankloom.groups import canonical_csr, check_finite

PathLike = str | os.PathLike[str]

_BLOCK = 1 << 22
_LONGEST_LINE = 1 << 26
# What people hand over by mistake, by the first bytes.
_KINDS = {
    b"PAR1": "a Parquet file; read it with load_table",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"BZh": "a bzip2 file; unpack it first",
    b"\xfd7zXZ": "an xz file; unpack it first",
    b"\x28\xb5\x2f\xfd": "a zstd file; unpack it first",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}


def check_path(path: Any, call: str) -> str:
    """Return the path as text, or raise a TypeError that shows how to call."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{call}: the path must be a str or a Path, got {type(path).__name__}")
    return os.fsdecode(path)


def check_data(data: Any, path: Any, call: str) -> tuple[RankingData, str]:
    """Return data with finite float64 arrays, and the path; swapped arguments raise a TypeError with the cure."""
    if isinstance(path, RankingData):
        raise TypeError(f"the arguments are swapped: call {call}")
    if not isinstance(data, RankingData):
        raise TypeError(f"{call}: data must be a RankingData(X, y, qid), got {type(data).__name__}")
    name = check_path(path, call)
    sparse = hasattr(data.X, "tocsr")
    X = canonical_csr(data.X, np.float64) if sparse else np.asarray(data.X, dtype=np.float64)
    y = np.asarray(data.y, dtype=np.float64)
    if X.ndim != 2 or y.ndim != 1 or not X.shape[0] == len(y) == len(data.qid):
        raise ValueError(f"X has the shape {X.shape}, but y has {y.size} and qid {len(data.qid)} values")
    if not all(X.shape):
        raise ValueError(f"nothing to write: X has the shape {X.shape}")
    if data.ids is not None and len(data.ids) != len(y):
        raise ValueError(f"there are {len(y)} rows but {len(data.ids)} ids; give one id a row, or ids=None")
    check_finite(X, "X")
    check_finite(y, "y")
    return replace(data, X=X, y=y), name


def check_word(text: str, what: str, forbidden: str = "") -> None:
    """Raise a ValueError for a text that would not read back as one word of a line."""
    encoded = text.encode("utf-8", "replace")
    if encoded.split() != [encoded] or "\0" in text or any(sign in text for sign in forbidden):
        raise ValueError(
            f"{what} cannot be written: it must be one word without blanks{' and ' * bool(forbidden)}{forbidden}"
        )
    if encoded.decode() != text:
        raise ValueError(f"{what} cannot be written as UTF-8")


def show(token: bytes) -> str:
    """Spell a token in an error message: quoted, on one line, not longer than a line."""
    text = token[:40].decode("utf-8", "backslashreplace")
    return repr(text) + ("..." if len(token) > 40 else "")


@contextmanager
def open_binary(path: str) -> Iterator[IO[bytes]]:
    """Open a file for reading; gzip is recognized by its first bytes, not by the name."""
    with open(path, "rb") as file:
        if file.peek(2)[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked  # type: ignore[misc]
        else:
            yield file


def read_blocks(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines, each with the number (from 1) of its first line."""
    line, rest = 1, b""
    with open_binary(path) as stream:
        while True:
            try:
                block = stream.read(_BLOCK)
            except EOFError:
                line += rest.count(b"\n")
                raise ValueError(
                    f"{path}:{line}: the gzip data end early, at or after this line; the file is truncated"
                ) from None
            except (gzip.BadGzipFile, zlib.error) as error:
                raise ValueError(f"{path}:{line}: the gzip data are damaged ({error})") from None
            if not block:
                break
            if line == 1 and not rest:
                for start, kind in _KINDS.items():
                    if block.startswith(start):
                        raise ValueError(f"{path}:1: this is {kind}")
                block = block.removeprefix(b"\xef\xbb\xbf")  # the mark that Windows editors put before UTF-8
            zero = block.find(b"\0")
            if zero >= 0:
                line += (rest + block[:zero]).count(b"\n")
                raise ValueError(f"{path}:{line}: a NUL byte; this is not a text file")
            cut = block.rfind(b"\n") + 1
            if not cut:
                rest += block
                if len(rest) > _LONGEST_LINE:
                    raise ValueError(f"{path}:{line}: the line is longer than {_LONGEST_LINE >> 20} MiB")
                continue
            lines = rest + block[:cut]
            yield line, lines
            line += lines.count(b"\n")
            rest = block[cut:]
    if rest:
        yield line, rest


def fields(path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the words of each line that is not blank."""
    for first, block in read_blocks(path):
        for line, content in enumerate(block.split(b"\n"), first):
            words = content.split()
            if words:
                try:
                    yield line, [word.decode() for word in words]
                except UnicodeDecodeError:
                    raise ValueError(f"{path}:{line}: not UTF-8 text: {show(content)}") from None

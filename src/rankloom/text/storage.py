"""The file of a text index: arrays in .npz, no pickle, checked when it is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._io import atomic_write
from rankloom.text.postings import Ints, Segment
from rankloom.text.tokens import VERSION

FORMAT = 1
_SEGMENT = {"terms": "i4", "starts": "i8", "place_starts": "i8", "rows": "i4", "counts": "i4", "places": "i4"}
_OTHERS = {"versions": "i4", "stamp": "u1", "vocabulary": "u1", "lengths": "i4", "ends": "i4"}


class Stored(NamedTuple):
    """What a file holds; term i of the segment is the i-th of `terms`."""

    terms: list[str]
    segment: Segment
    lengths: Ints
    ends: Ints
    stamp: str


def write(path: str | os.PathLike[str], stored: Stored) -> None:
    """Write a file, whole or not at all."""
    segment = stored.segment
    arrays = {name: getattr(segment, name) for name in _SEGMENT}
    arrays["terms"] = np.arange(len(segment.terms), dtype=np.int32)
    arrays |= {
        "versions": np.array([FORMAT, VERSION], np.int32),
        "stamp": _bytes(stored.stamp),
        "vocabulary": _bytes("\n".join(stored.terms)),
        "lengths": stored.lengths,
        "ends": stored.ends,
    }
    with atomic_write(path) as file:
        np.savez(file, allow_pickle=False, **arrays)


def read(path: str | os.PathLike[str]) -> Stored:
    """Read a file; the checksums of its parts and the sense of its arrays are checked."""
    path = Path(path)
    with open(path, "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return _checked({name: arrays[name] for name in _SEGMENT | _OTHERS})
        except Exception as error:  # damaged files make numpy and zipfile raise almost anything
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise ValueError(
                f"{path.name} is not a text index that this version can read ({reason}); build it again"
            ) from None


def _bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def _checked(arrays: dict[str, NDArray[Any]]) -> Stored:
    for name, kind in (_SEGMENT | _OTHERS).items():
        if arrays[name].dtype != np.dtype(kind) or arrays[name].ndim != 1:
            raise ValueError(f"{name} is an array of another kind")
    if arrays["versions"].tolist() != [FORMAT, VERSION]:
        raise ValueError(f"it has the version {arrays['versions'].tolist()}, not {[FORMAT, VERSION]}")
    segment = Segment(**{name: arrays[name] for name in _SEGMENT})
    vocabulary = arrays["vocabulary"].tobytes().decode()
    stored = Stored(
        terms=vocabulary.split("\n") if vocabulary else [],
        segment=segment,
        lengths=arrays["lengths"],
        ends=arrays["ends"],
        stamp=arrays["stamp"].tobytes().decode(),
    )
    if not len(set(stored.terms)) == len(stored.terms) == len(segment.terms) or "" in stored.terms:
        raise ValueError("its vocabulary does not fit")
    if len(stored.ends) != len(stored.lengths) or not _is_sound(segment, len(stored.lengths)):
        raise ValueError("its arrays do not fit together")
    return stored


def _is_sound(segment: Segment, n_items: int) -> bool:
    """Whether no number points outside of an array."""
    n_terms, n_postings = len(segment.terms), len(segment.rows)
    if len(segment.counts) != n_postings or not len(segment.starts) == len(segment.place_starts) == n_terms + 1:
        return False
    if segment.starts[0] != 0 or segment.starts[-1] != n_postings or not (segment.frequencies > 0).all():
        return False
    place_starts = np.concatenate(([0], np.cumsum(segment.counts, dtype=np.int64)))[segment.starts]
    return bool(
        np.array_equal(segment.terms, np.arange(n_terms))
        and (segment.counts > 0).all()
        and np.array_equal(segment.place_starts, place_starts)
        and place_starts[-1] == len(segment.places)
        and (n_postings == 0 or (segment.rows.min() >= 0 and segment.rows.max() < n_items))
    )

"""Sketches of all items of a large collection on disk; what they are made with, and what is known of searching by them.

All of it is derived from the vectors: whoever indexes learns the directions once, and again when there are many more
items, and appends sketches; whoever builds the neighbor graph learns how many items a search must look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._io import atomic_write
from rankloom.collection._meta import read_fact, write_fact
from rankloom.collection.collection import Collection
from rankloom.collection.item_records import RecordKind, store_records
from rankloom.collection.record_kinds import SOURCE
from rankloom.experts.sketches import RECORD, SketchBasis, learn_basis

LEAST = 10_000  # items below which nothing would be gained
SKETCH_FILE = "sketch.npz"
_SAMPLE = 10_000
_GROWN = 10  # times as many items: the directions are learned anew
_BASIS, _CASCADE = "sketches made with", "cascade"


class LearnedCascade(NamedTuple):
    """How many items a search must look at after the sketches, as learned from searches by example.

    Parameters
    ----------
    version : of the sketches.
    n_items : how many items there were.
    share : of the items that are looked at.
    agreement : the share of the exact top of searches that was found, on searches that it was not learned from.
    weights : of the experts, for which this holds.
    """

    version: str
    n_items: int
    share: float
    agreement: float
    weights: Mapping[str, float]


def sketch_basis(collection: Collection, known: SketchBasis | None = None) -> SketchBasis | None:
    """What the sketches of a collection are made with; None if it has none. One that is known is not read again."""
    state = read_fact(collection, _BASIS)
    if state is None:
        return None
    if known is not None and known.version == state["version"]:
        return known
    try:
        basis = SketchBasis.from_bytes((collection.folder / SKETCH_FILE).read_bytes())
    except Exception:  # a damaged file can fail in any way; it is only derived, and made again by the next index
        return None
    return basis if basis.version == state["version"] else None


def sketch_kind(basis: SketchBasis) -> RecordKind:
    """Sketches as records of items."""

    def compute(vectors: NDArray[Any], first: int) -> NDArray[Any]:
        return basis.sketches(vectors)

    return RecordKind("sketches", SOURCE, RECORD, basis.version, compute)


def store_sketches(collection: Collection) -> None:
    """Learn the directions if it is time to, and bring the sketches up to date."""
    complete = {stored.name for stored in collection.descriptors() if stored.rows >= len(collection)}
    if SOURCE not in complete or len(collection) < LEAST:
        return
    basis, state = sketch_basis(collection), read_fact(collection, _BASIS)
    if basis is None or state is None or len(collection) >= _GROWN * state["items"]:
        basis = _learned(collection)
    store_records(collection, sketch_kind(basis))


def _learned(collection: Collection) -> SketchBasis:
    n_items = len(collection)
    rows = np.sort(np.random.default_rng(0).choice(n_items, min(n_items, _SAMPLE), replace=False))
    basis = learn_basis(collection.vectors(SOURCE)[rows])
    with atomic_write(collection.folder / SKETCH_FILE) as file:
        file.write(basis.to_bytes())
    with collection.transaction() as db:
        write_fact(db, _BASIS, {"version": basis.version, "items": n_items})
    return basis


def learned_cascade(collection: Collection) -> LearnedCascade | None:
    """What was learned last, if it is of the sketches in use."""
    state, made_with = read_fact(collection, _CASCADE), read_fact(collection, _BASIS)
    if state is None or made_with is None or state["version"] != made_with["version"]:
        return None
    return LearnedCascade(**state)


def store_cascade(collection: Collection, learned: LearnedCascade) -> None:
    """Keep what was learned."""
    with collection.transaction() as db:
        write_fact(db, _CASCADE, learned._asdict())

"""The sketches of all items of a large collection, by which it is looked through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.record_kinds import SOURCE
from rankloom.collection.sketches import LearnedCascade, learned_cascade, sketch_basis, sketch_kind
from rankloom.engine.records import ItemRecords
from rankloom.experts import StoredVectors
from rankloom.experts.sketches import SketchBasis, sketch_scores


class Sketches(NamedTuple):
    """Sketches of all items.

    Parameters
    ----------
    basis : what they are made with.
    records : the sketches.
    learned : how many items a search must look at beside them, if that is known.
    """

    basis: SketchBasis
    records: ItemRecords
    learned: LearnedCascade | None

    @classmethod
    def of(cls, collection: Collection, n_items: int, before: Sketches | None) -> Sketches | None:
        """See what there is; records that an earlier snapshot has are used again."""
        basis = sketch_basis(collection, None if before is None else before.basis)
        if basis is None:
            return None
        known = None if before is None else before.records
        return cls(basis, ItemRecords(collection, sketch_kind(basis), n_items, known), learned_cascade(collection))

    def of_picture(self, vectors: Mapping[str, NDArray[Any]]) -> NDArray[np.int8] | None:
        """The sketch of a described picture; None if it was not described so."""
        if SOURCE not in vectors:
            return None
        if isinstance(vectors, StoredVectors):
            return np.asarray(self.records.records[vectors.row])
        return np.asarray(self.basis.sketches(np.asarray(vectors[SOURCE])[None])[0])

    def scores(
        self, wanted: Sequence[NDArray[np.int8]], against: Sequence[NDArray[np.int8]] = ()
    ) -> NDArray[np.float32]:
        """About how similar every item is to some sketches, and how unlike others."""
        return sketch_scores(self.records.records, self.basis.scale, wanted, against)

"""Records of all items, for those who search: of what is on disk, and of items that came later."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.item_records import RecordKind, all_records
from rankloom.core import IntArray


class ItemRecords:
    """The records of all items; read or computed when they are first needed.

    Parameters
    ----------
    collection : whose.
    kind : of which.
    n_items : the items of a snapshot.
    before : of the snapshot before; if of the same kind, its records are used again.
    """

    def __init__(self, collection: Collection, kind: RecordKind, n_items: int, before: ItemRecords | None = None):
        self._collection, self._kind, self._n_items = collection, kind, n_items
        self._version = kind.version_in(collection)
        self._before = before if before is not None and before._version == self._version else None
        self._lock = threading.Lock()
        self._records: NDArray[Any] | None = None

    @property
    def records(self) -> NDArray[Any]:
        """One for each item."""
        with self._lock:
            if self._records is None:
                known = None if self._before is None else self._before._records
                self._records = all_records(self._collection, self._kind, self._n_items, known)
                self._before = None
            return self._records


def taken(values: NDArray[Any], rows: IntArray) -> NDArray[Any]:
    """The values of some rows; of all of them without looking each up.

    >>> taken(np.array([4, 5, 6]), np.array([2, 0])).tolist()
    [6, 4]
    """
    everything = len(rows) == len(values) and bool((rows[1:] > rows[:-1]).all())
    return values if everything else np.asarray(values[rows])

"""Indexes: which items of a collection can be among the best for a query. All of them, or a choice made quickly."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankloom._io import replaced
from rankloom.collection import Collection
from rankloom.core import IntArray
from rankloom.experts.compact import CompactVectors

_FLAT = 20_000  # items up to which all are compared
_BLOCK = 50_000
_GROWN = 1.1  # so many times the items: the file is written anew


class Index(Protocol):
    """Chooses the candidates of a query; what is scored exactly then."""

    def grow(self, vectors: Mapping[str, NDArray[Any] | CompactVectors]) -> None:
        """Take in the items that are new, from the vectors of all items by descriptor."""
        ...

    def candidates(self, examples: Sequence[Mapping[str, NDArray[Any]]], n: int) -> IntArray | None:
        """Row numbers of at least n items for a query given by its described examples; None for all items."""
        ...


class ExactIndex:
    """All items: exact search."""

    def grow(self, vectors: Mapping[str, NDArray[Any] | CompactVectors]) -> None:
        """Nothing to do."""

    def candidates(self, examples: Sequence[Mapping[str, NDArray[Any]]], n: int) -> IntArray | None:
        """None, for all items."""
        return None


class FaissIndex:
    """Candidates by the cosine of one descriptor, found by FAISS (the extra `ann`).

    Up to 20,000 items it compares all of them; beyond, items lie in cells around centers and only the nearest cells
    are looked into. `recall` measures what that costs.

    Parameters
    ----------
    stored : the vectors of the descriptor, one row an item.
    descriptor : its name.
    n_probe : cells that are looked into.

    References
    ----------
    J. Johnson, M. Douze, H. Jégou, Billion-scale similarity search with GPUs, IEEE Transactions on Big Data, 2019.

    Examples
    --------
    >>> rows = np.eye(4, dtype=np.float16)
    >>> FaissIndex(rows, "semantic").candidates([{"semantic": rows[2]}], 1).tolist()
    [2]
    """

    def __init__(self, stored: NDArray[Any] | CompactVectors, descriptor: str = "semantic", *, n_probe: int = 32):
        faiss = _faiss()
        self.descriptor, self.n_probe = descriptor, n_probe
        n, width = stored.shape
        if n <= _FLAT:
            self._index = faiss.IndexFlatIP(width)
        else:
            n_cells = int(4 * np.sqrt(n))
            kind = faiss.ScalarQuantizer.QT_fp16
            centers = faiss.IndexFlatIP(width)
            self._index = faiss.IndexIVFScalarQuantizer(centers, width, n_cells, kind, faiss.METRIC_INNER_PRODUCT)
            sample = np.sort(np.random.default_rng(0).choice(n, min(n, 50 * n_cells), replace=False))
            self._index.train(_unit(stored[sample]))
            self._index.nprobe = n_probe
        self.grow({descriptor: stored})

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def grow(self, vectors: Mapping[str, NDArray[Any] | CompactVectors]) -> None:
        """Take in the rows that are new, from the vectors of all items by descriptor."""
        stored = vectors.get(self.descriptor, np.empty((0, 0)))
        for start in range(len(self), len(stored), _BLOCK):
            self._index.add(_unit(stored[start : min(start + _BLOCK, len(stored))]))

    def candidates(self, examples: Sequence[Mapping[str, NDArray[Any]]], n: int) -> IntArray | None:
        """The n nearest items of every example; None if no example has the descriptor."""
        vectors = [example[self.descriptor] for example in examples if self.descriptor in example]
        if not vectors:
            return None
        if not len(self):
            return np.empty(0, dtype=np.int64)
        nearest = self._index.search(_unit(np.stack(vectors)), min(n, len(self)))[1]
        return np.asarray(np.unique(nearest[nearest >= 0]), dtype=np.int64)

    def recall(self, queries: NDArray[Any], best: NDArray[Any], n: int) -> float:
        """The mean share of the best items of some queries that are among n candidates.

        Parameters
        ----------
        queries : the vectors of the queries by the descriptor.
        best : row numbers of the best items of each query, by exact search with all experts.
        n : how many candidates.
        """
        shares = []
        for vector, wanted in zip(queries, best, strict=True):
            rows = self.candidates([{self.descriptor: vector}], n)
            assert rows is not None
            shares.append(np.isin(wanted, rows).mean())
        return float(np.mean(shares))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, at once or not at all."""
        with replaced(path) as temporary:
            _faiss().write_index(self._index, str(temporary))

    @classmethod
    def load(cls, path: str | os.PathLike[str], descriptor: str = "semantic") -> FaissIndex:
        """Read what `save` wrote."""
        if not Path(path).is_file():
            raise FileNotFoundError(2, "no such file", str(path))
        index = cls.__new__(cls)
        index.descriptor = descriptor
        index._index = _faiss().read_index(str(path))
        index.n_probe = int(getattr(index._index, "nprobe", 0))
        return index


class StoredFaissIndex:
    """A FAISS index that a collection keeps as a file: made by the first search that needs it, then only extended.

    Parameters
    ----------
    collection : whose.
    descriptor : whose vectors candidates are near by.
    """

    def __init__(self, collection: Collection, descriptor: str = "semantic"):
        _faiss()  # without it nothing begins
        self._collection, self.descriptor = collection, descriptor
        self._index: FaissIndex | None = None

    def grow(self, vectors: Mapping[str, NDArray[Any] | CompactVectors]) -> None:
        """Take in the items that are new; make or read the index first."""
        if self.descriptor not in vectors:
            raise ValueError(f"FAISS proposes items by {self.descriptor!r}, which this collection has no vectors of")
        stored = vectors[self.descriptor]
        if self._index is None:
            self._index = self._read(len(stored)) or FaissIndex(stored, self.descriptor)
        before = len(self._index)
        self._index.grow(vectors)
        if not self._file.is_file() or len(self._index) > _GROWN * before:
            self._write()

    def candidates(self, examples: Sequence[Mapping[str, NDArray[Any]]], n: int) -> IntArray | None:
        """The n nearest items of every example; None if no example has the descriptor."""
        return None if self._index is None else self._index.candidates(examples, n)

    @property
    def _file(self) -> Path:
        versions = {stored.name: stored.version for stored in self._collection.descriptors()}
        return self._collection.folder / f"{self.descriptor}-{versions[self.descriptor]}.faiss"

    def _read(self, n_items: int) -> FaissIndex | None:
        """What is stored, if it can be read and is of no other items; it is only derived."""
        try:
            index = FaissIndex.load(self._file, self.descriptor)
        except (OSError, RuntimeError):
            return None
        return index if len(index) <= n_items else None

    def _write(self) -> None:
        if self._index is not None and not self._collection.read_only:
            self._index.save(self._file)


class PgvectorIndex:
    """Candidates by the cosine of one descriptor, found by pgvector in the PostgreSQL that has the tables.

    All servers of a collection share it; the first search makes it, and each takes in the items that are new.

    Parameters
    ----------
    collection : whose tables are in PostgreSQL.
    descriptor : whose vectors candidates are near by.
    """

    def __init__(self, collection: Collection, descriptor: str = "semantic"):
        from rankloom.collection.postgres.vectors import VectorTable

        self._table, self.descriptor = VectorTable(collection, descriptor), descriptor
        self._rows = -1  # that are known to be there

    def grow(self, vectors: Mapping[str, NDArray[Any] | CompactVectors]) -> None:
        """Take in the items that are new; make the table first."""
        stored = vectors[self.descriptor]
        if self._rows < 0:
            self._table.make()
        if self._rows < len(stored):
            self._table.add(stored)
            self._rows = len(stored)

    def candidates(self, examples: Sequence[Mapping[str, NDArray[Any]]], n: int) -> IntArray | None:
        """The n nearest items of every example; None if no example has the descriptor."""
        vectors = [example[self.descriptor] for example in examples if self.descriptor in example]
        if not vectors:
            return None
        return np.unique(np.concatenate([self._table.nearest(vector, n) for vector in vectors]))


INDEXES = ("exact", "cascade", "faiss", "pgvector")


def make_index(name: Index | str | None, collection: Collection) -> Index | str | None:
    """The index of a name; "exact" and "cascade" are built into searching."""
    if isinstance(name, str) and name not in INDEXES:
        raise ValueError(f"unknown index {name!r}; known are {', '.join(INDEXES)}")
    if name == "faiss":
        return StoredFaissIndex(collection)
    return PgvectorIndex(collection) if name == "pgvector" else name


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    vectors = np.ascontiguousarray(rows, dtype=np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1.0), dtype=np.float32)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise ImportError("approximate search needs FAISS; install it with: pip install 'rankloom[ann]'") from None
    return faiss

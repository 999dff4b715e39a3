"""Indexes: which items of a collection can be among the best for a query. All of them, or a choice made quickly."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankloom._io import replaced
from rankloom.core import IntArray

_FLAT = 20_000  # items up to which all are compared
_BLOCK = 50_000


class Index(Protocol):
    """Chooses the candidates of a query; what is scored exactly then."""

    def grow(self, vectors: Mapping[str, NDArray[Any]]) -> None:
        """Take in the items that are new, from the vectors of all items by descriptor."""
        ...

    def candidates(self, examples: Sequence[Mapping[str, NDArray[Any]]], n: int) -> IntArray | None:
        """Row numbers of at least n items for a query given by its described examples; None for all items."""
        ...


class ExactIndex:
    """All items: exact search."""

    def grow(self, vectors: Mapping[str, NDArray[Any]]) -> None:
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

    def __init__(self, stored: NDArray[Any], descriptor: str = "semantic", *, n_probe: int = 32):
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

    def grow(self, vectors: Mapping[str, NDArray[Any]]) -> None:
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

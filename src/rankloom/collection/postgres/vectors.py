"""Vectors of one descriptor in a table that pgvector searches: candidates, which all servers share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection.collection import Collection
from rankloom.collection.postgres.connection import PostgresConnection, driver
from rankloom.core import IntArray

_BLOCK = 1000  # rows that are sent at once
_LOOKED_AT = 1000  # the most that pgvector looks at in one step; it goes on where more are wanted
MOST_COMPONENTS = 4000  # that pgvector can index in half precision


class VectorTable:
    """The vectors of a descriptor as pgvector holds them, in half precision, with an index of their angles (HNSW).

    Parameters
    ----------
    collection : whose tables are in PostgreSQL.
    descriptor : whose vectors.

    References
    ----------
    Y. A. Malkov, D. A. Yashunin, Efficient and robust approximate nearest neighbor search using hierarchical navigable
    small world graphs, IEEE TPAMI 42 (4), 2020.
    """

    def __init__(self, collection: Collection, descriptor: str):
        if not isinstance(collection.db, PostgresConnection):
            raise ValueError(
                f"{collection.folder} has its tables in its folder; pgvector searches those in PostgreSQL: "
                "bring them there with: rankloom copy"
            )
        stored = next((row for row in collection.descriptors() if row.name == descriptor), None)
        if stored is None:
            raise ValueError(f"pgvector proposes items by {descriptor!r}, which this collection has no vectors of")
        if stored.dimension > MOST_COMPONENTS:
            raise ValueError(
                f"pgvector takes at most {MOST_COMPONENTS:,} components, {descriptor} has {stored.dimension:,}"
            )
        self._collection, self._dimension = collection, stored.dimension
        self._name = f"candidates_{descriptor}_{stored.version}".replace(".", "_").replace("-", "_").lower()[:60]

    @property
    def _db(self) -> PostgresConnection:
        db = self._collection.db
        assert isinstance(db, PostgresConnection)
        return db

    def make(self) -> None:
        """Make the table and its index, unless they are there."""
        db, psycopg = self._db, driver()
        if db.execute("SELECT to_regclass(?)", (self._name,)).fetchone() != (None,):
            return
        try:
            db.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        except psycopg.Error as error:
            raise ValueError(
                f"this PostgreSQL has no pgvector ({' '.join(str(error).split())}); install it there, or search with: "
                "--index exact"
            ) from error
        with self._collection.transaction():
            db.execute(
                f'CREATE TABLE IF NOT EXISTS "{self._name}" (row BIGINT PRIMARY KEY, vector halfvec({self._dimension}))'
            )
            db.execute(
                f'CREATE INDEX IF NOT EXISTS "{self._name}_angle" ON "{self._name}"'
                " USING hnsw (vector halfvec_cosine_ops)"
            )

    def __len__(self) -> int:
        """How many rows it has; they came in their order."""
        return int(self._db.execute(f'SELECT coalesce(max(row) + 1, 0) FROM "{self._name}"').fetchone()[0])  # type: ignore[index]

    def add(self, stored: Any) -> None:
        """Take in the rows that are new; other servers may do the same at the same time.

        Parameters
        ----------
        stored : the vectors of all items.
        """
        for start in range(len(self), len(stored), _BLOCK):
            rows = np.asarray(stored[start : min(start + _BLOCK, len(stored))], np.float32)
            with self._collection.transaction() as db:
                db.executemany(
                    f"INSERT INTO {self._name} VALUES (?, ?::halfvec) ON CONFLICT DO NOTHING",
                    [(start + place, _literal(row)) for place, row in enumerate(rows)],
                )

    def nearest(self, vector: NDArray[Any], n: int) -> IntArray:
        """The numbers of the rows with the smallest angles to a vector, the nearest first; about n of them."""
        db = self._db
        db.execute("SELECT set_config('hnsw.ef_search', ?, false), set_config('hnsw.iterative_scan', ?, false)", (
            str(min(max(n, 40), _LOOKED_AT)), "relaxed_order",
        ))  # fmt: skip
        query = f'SELECT row FROM "{self._name}" ORDER BY vector <=> ?::halfvec LIMIT ?'
        rows = db.execute(query, (_literal(np.asarray(vector, np.float32)), n)).fetchall()
        return np.array([row for (row,) in rows], dtype=np.int64)


def _literal(vector: NDArray[np.float32]) -> str:
    """A vector of unit length as pgvector reads it; one of zeros has no direction and stays so."""
    norm = float(np.linalg.norm(vector))
    return "[" + ",".join(f"{value:.6g}" for value in (vector / norm if norm > 0 else vector).tolist()) + "]"

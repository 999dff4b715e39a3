"""Where the tables of a collection are: in its folder, or where the folder or an address says."""

from __future__ import annotations

import os
from pathlib import Path

from rankloom.collection._database import Store, is_database_address
from rankloom.collection._sqlite import SqliteStore
from rankloom.collection.postgres.address import POINTER, VARIABLE, read_pointer


def store_of(name: str | os.PathLike[str], *, create: bool = False) -> Store:
    """The store of a collection, by its folder or by the address of its database.

    Parameters
    ----------
    name : a folder, or an address `postgresql://...`.
    create : whether the collection may be new; RANKLOOM_DATABASE then names the database of its tables, if it is set.
    """
    folder = Path(name)
    if is_database_address(name) or (folder / POINTER).exists() or (create and os.environ.get(VARIABLE)):
        from rankloom.collection.postgres.store import store_for

        store = store_for(name, create=create)
        if store is not None:
            return store
    return SqliteStore(folder.absolute())


def has_own_tables(name: str | os.PathLike[str]) -> bool:
    """Whether the tables of a collection, if there is one, are in its folder."""
    return not is_database_address(name) and read_pointer(Path(name)) is None


def folder_with_tables(name: str | os.PathLike[str]) -> Path:
    """The folder of a collection that has its tables there; an error for one whose tables are in PostgreSQL.

    Those are backed up, repaired and restored by the tools of the database.
    """
    if not has_own_tables(name):
        raise ValueError(
            f"the tables of {name} are in PostgreSQL: back them up and restore them with pg_dump and pg_restore, "
            "or make a copy with: rankloom copy"
        )
    return Path(name).absolute()

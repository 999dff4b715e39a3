"""What the tables of the newest version are, as the database itself tells; and what another database has of them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rankloom.collection._schema import migrate

# Columns whose text is JSON.
_JSON = {
    ("encoders", "settings"), ("qrels", "skipped"), ("shown", "items"), ("queries", "query"), ("scales", "scales"),
    ("checkpoints", "ranker"), ("models", "state"), ("drafts", "teams"), ("concepts", "detector"), ("saved", "query"),
    ("albums", "query"),
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table as the newest version has it.

    Parameters
    ----------
    name : of the table.
    columns, types : their names and declared types.
    required : for each column whether it must have a value.
    json : for each column whether its text is JSON.
    key : the columns of the primary key.
    numbered : whether the key is the number of the row.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    required: tuple[bool, ...]
    json: tuple[bool, ...]
    key: tuple[str, ...]
    numbered: bool

    @property
    def select(self) -> str:
        """All columns, in their order."""
        return f"SELECT {', '.join(map(quoted, self.columns))} FROM {self.name}"

    @property
    def insert(self) -> str:
        """A row whose key is not there yet."""
        names = ", ".join(map(quoted, self.columns))
        return f"INSERT OR IGNORE INTO {self.name} ({names}) VALUES ({', '.join('?' * len(self.columns))})"


def quoted(column: str) -> str:
    """The name of a column, as SQL takes it whatever word it is."""
    return f'"{column}"'


def new_database(path: Path | str = ":memory:") -> sqlite3.Connection:
    """A database with all tables, and nothing in them."""
    db = sqlite3.connect(path, isolation_level=None)
    migrate(db)
    return db


@cache
def tables() -> dict[str, Table]:
    """All tables of the newest version, by name."""
    db = new_database()
    try:
        names = db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        return {name: _table(db, name) for (name,) in names}
    finally:
        db.close()


def _table(db: sqlite3.Connection, name: str) -> Table:
    columns = db.execute(f"PRAGMA table_info({name})").fetchall()
    keyed = sorted((place, column, kind) for _, column, kind, _, _, place in columns if place)
    return Table(
        name,
        tuple(column for _, column, *_ in columns),
        tuple(kind for _, _, kind, *_ in columns),
        tuple(bool(required or place) for *_, required, _, place in columns),
        tuple((name, column) in _JSON for _, column, *_ in columns),
        tuple(column for _, column, _ in keyed),
        [kind for _, _, kind in keyed] == ["INTEGER"],
    )


@cache
def _triggers() -> dict[str, str]:
    """All triggers of the newest version: their text by name."""
    db = new_database()
    try:
        return _triggers_of(db)
    finally:
        db.close()


def _triggers_of(db: sqlite3.Connection) -> dict[str, str]:
    return dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall())


def lacking(db: sqlite3.Connection) -> list[str]:
    """The tables, columns and triggers that a database of the newest version should have and has not."""
    present, triggers = _columns(db), _triggers_of(db)
    missing = [f"the table {name}" for name in tables() if name not in present]
    for name, table in tables().items():
        if name in present:
            missing += [f"the column {name}.{column}" for column in table.columns if column not in present[name]]
    return missing + [f"the trigger {name}" for name, text in _triggers().items() if triggers.get(name) != text]


def unknown(db: sqlite3.Connection) -> list[str]:
    """Tables and columns that this version does not know: those of a newer one."""
    names = {name: set(table.columns) for name, table in tables().items()}
    present = _columns(db)
    return [name for name in present if name not in names] + [
        f"{name}.{column}" for name in present if name in names for column in present[name] - names[name]
    ]


def _columns(db: sqlite3.Connection) -> dict[str, set[str]]:
    query = (
        "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c"
        " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
    )
    columns: dict[str, set[str]] = {}
    for table, column in db.execute(query).fetchall():
        columns.setdefault(table, set()).add(column)
    return columns

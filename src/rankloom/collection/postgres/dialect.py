"""Statements as SQLite takes them, written as PostgreSQL takes them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rankloom.collection._tables import tables

# Texts, quoted names, comments, words and the signs that mean something else to the driver.
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|--[^\n]*|[A-Za-z_][A-Za-z_0-9]*|\?|%""")
_INSERT = re.compile(
    r"\s*INSERT(?P<way>\s+OR\s+(?:REPLACE|IGNORE))?\s+INTO\s+(?P<table>\w+)\s*(?:\((?P<columns>[^)]*)\))?",
    re.IGNORECASE,
)
# `user` alone is who is connected; a function of this name takes objects only.
_WORDS = {"user": '"user"', "json_each": "json_values"}
_BEGIN = {
    # One writer at a time, as in SQLite: who sees a number has seen all that were given before it.
    "BEGIN IMMEDIATE": "BEGIN; SELECT pg_advisory_xact_lock({lock})",
    "BEGIN": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
}


class Statement(NamedTuple):
    """A statement for the driver, and whether it returns the number of a row that it adds."""

    sql: str
    numbers: bool = False


@lru_cache(maxsize=1024)
def translated(sql: str, lock: int = 0) -> Statement:
    """A statement in the words of PostgreSQL.

    Parameters
    ----------
    sql : as SQLite takes it.
    lock : the number of the lock that writers of this collection take.

    Examples
    --------
    >>> translated("INSERT OR IGNORE INTO hidden VALUES (?, ?)").sql
    'INSERT INTO hidden VALUES (%s, %s) ON CONFLICT DO NOTHING'
    >>> translated("SELECT user FROM qrels WHERE qid = '50%'").sql
    'SELECT "user" FROM qrels WHERE qid = \\'50%%\\''
    """
    if (begin := _BEGIN.get(sql.strip())) is not None:
        return Statement(begin.format(lock=lock))
    insert = _INSERT.match(sql)
    if insert is None or insert["table"] not in tables():
        return Statement(_TOKEN.sub(_word, sql))
    return _inserted(sql, insert)


def _word(match: re.Match[str]) -> str:
    word = match[0]
    if word == "?":
        return "%s"
    if word[0] in "'\"-%":
        return word.replace("%", "%%")
    return _WORDS.get(word, word)


def _inserted(sql: str, insert: re.Match[str]) -> Statement:
    """A statement that adds rows: what happens to those whose key is there, and the number of a new one."""
    table = tables()[insert["table"]]
    columns = (
        table.columns if insert["columns"] is None else [name.strip(' "') for name in insert["columns"].split(",")]
    )
    way = (insert["way"] or "").split()[-1:]
    plain = _TOKEN.sub(_word, re.sub(r"INSERT\s+OR\s+\w+", "INSERT", sql, count=1, flags=re.IGNORECASE)).rstrip()
    if way == ["IGNORE"]:
        return Statement(f"{plain} ON CONFLICT DO NOTHING")
    if way == ["REPLACE"]:
        changed = ", ".join(f'"{name}" = excluded."{name}"' for name in columns if name not in table.key)
        key = ", ".join(f'"{name}"' for name in table.key)
        return Statement(f"{plain} ON CONFLICT ({key}) DO {f'UPDATE SET {changed}' if changed else 'NOTHING'}")
    if table.numbered and insert["columns"] is not None and table.key[0] not in columns:
        return Statement(f'{plain} RETURNING "{table.key[0]}"', numbers=True)
    return Statement(plain)

"""Words of a query that were read in pictures or heard in videos: a hit says where it is from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from rankloom.collection.collection import Collection
from rankloom.text.query import TextQuery, parse_query
from rankloom.text.tokens import fold, place_terms

READ_SOURCES = ("ocr", "speech", "people")
_LONGEST = 4_000  # characters of a text that are looked at
_AROUND = 6  # words that are shown on each side


class MatchedText(NamedTuple):
    """A text that has words of a query: its source, and the words around the first."""

    source: str
    text: str


def matched_texts(collection: Collection, ids: Iterable[int], words: str) -> dict[int, MatchedText]:
    """For items in which words of a query were read or heard: the text that has most of them.

    Parameters
    ----------
    collection : of which.
    ids : the items.
    words : of the query.
    """
    query = parse_query(words)
    if not query.has_evidence:
        return {}
    rows = collection.db.execute(
        "SELECT item, source, substr(text, 1, ?) FROM texts"
        " WHERE item IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        " AND source IN (SELECT value FROM json_each(?)) ORDER BY number",
        (_LONGEST, json.dumps([*ids]), json.dumps(READ_SOURCES)),
    )
    best: dict[int, tuple[int, MatchedText]] = {}
    for item, source, text in rows.fetchall():
        count = len(_matched(query, text))
        if count > best.get(item, (0, None))[0]:
            best[item] = count, MatchedText(source, _around(query, text))
    return {item: matched for item, (_, matched) in best.items()}


def _matched(query: TextQuery, text: str) -> set[str]:
    """The terms and beginnings of a query that a text has."""
    wanted = {*query.words, *(term for phrase in query.phrases for term in phrase.terms)}
    matched = wanted.intersection(place_terms(text).terms)
    if query.prefixes:
        words = fold(text).split()
        matched.update(f"{prefix}*" for prefix in query.prefixes if any(word.startswith(prefix) for word in words))
    return matched


def _around(query: TextQuery, text: str) -> str:
    """The words around the first that matches.

    >>> _around(parse_query("fox"), "one two three four five six seven eight the Fox, and so on")
    '… four five six seven eight the Fox, and so on'
    """
    words = text.split()
    first = next((place for place, word in enumerate(words) if _matched(query, word)), 0)
    start, end = max(0, first - _AROUND), min(len(words), first + _AROUND + 1)
    return ("… " if start else "") + " ".join(words[start:end]) + (" …" if end < len(words) else "")

"""What a collection adds to the map from words to looks: learned from its captions and from marks of searches by words.

It is derived from texts and the log of marks, as all that is learned: the same captions and active marks give the same
numbers, whatever was undone in between.
"""

from __future__ import annotations

import io
import json
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._io import atomic_write
from rankloom.collection.collection import Collection
from rankloom.collection.look_files import SOURCE, all_looks
from rankloom.collection.marks import asked
from rankloom.collection.query import Query
from rankloom.experts.contrast import LEAST_PAIRS, refine
from rankloom.experts.looks import STEPS, word_map
from rankloom.text import wanted_words
from rankloom.text.sentences import SentenceEncoder, sentence_encoder

MOST_PAIRS = 3000  # captions that are learned from; a sample of more
_SOURCES = ("caption", "sidecar", "embedded")  # texts that people wrote about what is seen
_FILE = "words.npz"
_KEY = "refined map"
_GROWN = 1.1  # captions must be so many times those before
_FRESH_MARKS = 20


class WordPair(NamedTuple):
    """A text and an item that fits it."""

    item: int
    text: str


class RefinedMap(NamedTuple):
    """A correction of the map of sentences, and what tells it from others."""

    version: str
    correction: NDArray[np.float32] | None


def refined_map(collection: Collection) -> RefinedMap:
    """What was learned last for the map in use; no correction if there is none."""
    state = _state(collection)
    if state.get("map") != word_map().version or not state.get("version"):
        return RefinedMap("", None)
    try:
        with np.load(collection.folder / _FILE, allow_pickle=False) as stored:
            if str(stored["version"]) == state["version"]:
                return RefinedMap(state["version"], stored["correction"].astype(np.float32))
    except (OSError, ValueError, KeyError):
        pass  # not there, damaged, or of another run: it is only derived, and made again by the next index
    return RefinedMap("", None)


def store_refined_map(collection: Collection) -> None:
    """Learn from captions and marks, if there are many that it does not know, or if some that it knows are gone."""
    complete = {stored.name for stored in collection.descriptors() if stored.rows >= len(collection)}
    if SOURCE not in complete or not SentenceEncoder.available():
        return
    captions, marked = caption_pairs(collection), mark_pairs(collection)
    if not _outdated(_state(collection), len(captions), marked):
        return
    pairs = _sample(captions) + marked
    correction = None
    if len(pairs) >= LEAST_PAIRS:
        items = sorted({pair.item for pair in pairs})
        row = {item: at for at, item in enumerate(items)}
        looks = all_looks(collection, len(collection))[np.array(items) - 1]
        sentences = sentence_encoder().encode([pair.text for pair in pairs])
        rows = np.array([row[pair.item] for pair in pairs])
        refined = refine(word_map(), np.asarray(looks["map"] / np.float32(STEPS), np.float32), sentences, rows)
        correction = None if refined is None else refined.correction
    _store(collection, correction, len(captions), marked)


def _store(
    collection: Collection, correction: NDArray[np.float32] | None, n_captions: int, marked: list[WordPair]
) -> None:
    version = ""
    if correction is not None:
        half = correction.astype(np.float16)
        version = sha256(half.tobytes()).hexdigest()[:12]
        data = io.BytesIO()
        np.savez_compressed(data, version=np.array(version), correction=half)
        with atomic_write(collection.folder / _FILE) as file:
            file.write(data.getvalue())
    state = {"map": word_map().version, "version": version, "captions": n_captions, "marks": [*map(list, marked)]}
    with collection.transaction() as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_KEY, json.dumps(state)))
        db.execute("UPDATE counters SET value = value + 1 WHERE name = 'contents'")  # searches see it


def _outdated(state: dict[str, Any], n_captions: int, marked: list[WordPair]) -> bool:
    known = {WordPair(*pair) for pair in state.get("marks", ())}
    if state.get("map") != word_map().version:
        return n_captions + len(marked) >= LEAST_PAIRS
    before = state.get("captions", 0)
    changed = n_captions > _GROWN * before + LEAST_PAIRS or n_captions < before / _GROWN
    return changed or len({*marked} - known) >= _FRESH_MARKS or bool(known - {*marked})


def caption_pairs(collection: Collection) -> list[WordPair]:
    """What people wrote about items that are there."""
    query = (
        "SELECT DISTINCT item, text FROM texts JOIN items ON items.id = texts.item"
        " WHERE source IN (SELECT value FROM json_each(?)) AND items.hash IN (SELECT hash FROM files)"
        " ORDER BY item, text"
    )
    return [WordPair(*row) for row in collection.db.execute(query, (json.dumps(_SOURCES),)).fetchall()]


def mark_pairs(collection: Collection) -> list[WordPair]:
    """The words of searches by words alone, with the items last marked right; of very many the latest."""
    query = (
        "SELECT qid, item, grade, max(id) AS last FROM qrels WHERE undone IS NULL AND over IS NULL"
        " GROUP BY qid, item, user ORDER BY last DESC LIMIT ?"
    )
    pairs: set[WordPair] = set()
    texts: dict[str, str] = {}
    for qid, item, grade, _ in collection.db.execute(query, (MOST_PAIRS,)).fetchall():
        if grade > 0:
            if qid not in texts:
                texts[qid] = _words_alone(asked(collection, qid))
            pairs.add(WordPair(item, texts[qid]))
    return sorted(pair for pair in pairs if pair.text)


def _words_alone(query: Query | None) -> str:
    """The words of a query that has nothing else."""
    return "" if query is None or query.examples or query.concept is not None else wanted_words(query.text)


def _sample(pairs: list[WordPair]) -> list[WordPair]:
    """At most MOST_PAIRS of them, the same ones for the same pairs."""
    if len(pairs) <= MOST_PAIRS:
        return pairs
    chosen = np.random.default_rng(0).choice(len(pairs), MOST_PAIRS, replace=False)
    return [pairs[number] for number in np.sort(chosen).tolist()]


def _state(collection: Collection) -> dict[str, Any]:
    row = collection.db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    return dict(json.loads(row[0])) if row else {}

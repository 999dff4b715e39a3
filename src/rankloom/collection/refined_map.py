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
from rankloom.collection._meta import read_fact, write_fact
from rankloom.collection.collection import Collection
from rankloom.collection.item_records import RecordKind, all_records, store_records
from rankloom.collection.marks import asked
from rankloom.collection.query import Query
from rankloom.collection.record_kinds import SOURCE, looks_kind
from rankloom.experts.looks import STEPS, word_map
from rankloom.experts.nearness import TextBank, nearness
from rankloom.experts.refining import LEAST_PAIRS, Refined, refine
from rankloom.text import wanted_words
from rankloom.text.sentences import SentenceEncoder, sentence_encoder

MOST_PAIRS = 3000  # captions that are learned from; a sample of more
_SOURCES = ("owner", "caption", "sidecar", "embedded")  # texts that people wrote about what is seen
_FILE = "words.npz"
_KEY = "refined map"
_METHOD = "2"  # another learns anew
_GROWN = 1.1  # captions must be so many times those before
_FRESH_MARKS = 20


class WordPair(NamedTuple):
    """A text and an item that fits it."""

    item: int
    text: str


class RefinedMap(NamedTuple):
    """What was learned, and what tells it from others: a correction of the map of sentences, and captions that say how
    near pictures usually are, each of an item."""

    version: str
    correction: NDArray[np.float32] | None
    bank: TextBank | None


_NOTHING = RefinedMap("", None, None)


def refined_map(collection: Collection) -> RefinedMap:
    """What was learned last for the map in use; nothing if there is none."""
    state = read_fact(collection, _KEY) or {}
    if state.get("map") != _basis() or not state.get("version"):
        return _NOTHING
    try:
        with np.load(collection.folder / _FILE, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        if str(arrays["version"]) != state["version"]:
            return _NOTHING
        correction = arrays["correction"].astype(np.float32) if "correction" in arrays else None
        bank = None
        if "texts" in arrays:
            texts = arrays["texts"].astype(np.float32) / np.float32(STEPS)
            bank = TextBank(texts, arrays["items"].astype(np.int64), float(arrays["usual"]))
        return RefinedMap(state["version"], correction, bank)
    except Exception:  # a damaged file can fail in any way; it is only derived, and made again by the next index
        return _NOTHING


def nearness_kind(refined: RefinedMap) -> RecordKind | None:
    """How near pictures are to the captions of what was learned; None if it has none."""
    bank = refined.bank
    if bank is None:
        return None

    def compute(vectors: NDArray[Any], first: int) -> NDArray[Any]:
        vectors = np.asarray(vectors, np.float32)
        pictures = np.where(vectors.any(axis=1, keepdims=True), word_map().pictured(vectors), np.float32(0))
        return nearness(pictures, np.arange(first + 1, first + 1 + len(vectors)), bank.texts, bank.pictures)

    return RecordKind("nearness", SOURCE, np.dtype("<f4"), f"{word_map().version}-{refined.version}", compute)


def store_nearness(collection: Collection) -> None:
    """Bring the records of how near pictures are to captions up to date."""
    kind = nearness_kind(refined_map(collection))
    if kind is not None:
        store_records(collection, kind)


def store_refined_map(collection: Collection) -> None:
    """Learn from captions and marks, if there are many that it does not know, or if some that it knows are gone."""
    complete = {stored.name for stored in collection.descriptors() if stored.rows >= len(collection)}
    if SOURCE not in complete or not SentenceEncoder.available():
        return
    captions, marked = caption_pairs(collection), mark_pairs(collection)
    if not _outdated((read_fact(collection, _KEY) or {}), len(captions), marked):
        return
    sample = _sample(captions)
    pairs = sample + marked
    refined = None
    if len(pairs) >= LEAST_PAIRS:
        items, rows = np.unique([pair.item for pair in pairs], return_inverse=True)
        looks = all_records(collection, looks_kind(), len(collection))[items - 1]
        pictures = np.asarray(looks["map"] / np.float32(STEPS), np.float32)
        sentences = sentence_encoder().encode([pair.text for pair in pairs])
        distinct = np.unique([pair.text for pair in sample], return_index=True)[1] if sample else np.zeros(0, np.int64)
        refined = refine(word_map(), pictures, sentences, rows, np.sort(distinct))
        if refined is not None and refined.bank is not None:
            refined = refined._replace(bank=refined.bank._replace(pictures=items[refined.bank.pictures]))
    _store(collection, refined, len(captions), marked)


def _store(collection: Collection, refined: Refined | None, n_captions: int, marked: list[WordPair]) -> None:
    version = ""
    arrays: dict[str, NDArray[Any]] = {}
    if refined is not None and refined.correction is not None:
        arrays["correction"] = refined.correction.astype(np.float16)
    if refined is not None and refined.bank is not None:
        arrays["texts"] = np.clip(np.rint(STEPS * refined.bank.texts), -127, 127).astype(np.int8)
        arrays["items"] = refined.bank.pictures.astype(np.int64)
        arrays["usual"] = np.array(refined.bank.usual)
    if arrays:
        version = sha256(b"".join(array.tobytes() for array in arrays.values())).hexdigest()[:12]
        data = io.BytesIO()
        np.savez_compressed(data, version=np.array(version), **arrays)  # type: ignore[arg-type]
        with atomic_write(collection.folder / _FILE) as file:
            file.write(data.getvalue())
    state = {"map": _basis(), "version": version, "captions": n_captions, "marks": [*map(list, marked)]}
    with collection.transaction() as db:
        write_fact(db, _KEY, state)


def _outdated(state: dict[str, Any], n_captions: int, marked: list[WordPair]) -> bool:
    known = {WordPair(*pair) for pair in state.get("marks", ())}
    if state.get("map") != _basis():
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
        "SELECT qid, item, grade FROM qrels WHERE id IN ("
        " SELECT max(id) FROM qrels WHERE undone IS NULL AND over IS NULL GROUP BY qid, item, user"
        ") ORDER BY id DESC LIMIT ?"
    )
    pairs: set[WordPair] = set()
    texts: dict[str, str] = {}
    for qid, item, grade in collection.db.execute(query, (MOST_PAIRS,)).fetchall():
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


def _basis() -> str:
    """What is learned depends on these, beside captions and marks."""
    return f"{word_map().version}-{_METHOD}"

"""The inverted indexes of the texts of a collection: words of people, and automatic tags."""

from __future__ import annotations

import os
from typing import NamedTuple

from rankloom.collection.collection import Collection
from rankloom.collection.contents import State, StoredText, state_of, texts_after
from rankloom.text import TextIndex


class TextIndexes(NamedTuple):
    """The index of people's words, and of automatic tags."""

    text: TextIndex
    tags: TextIndex


_FILES = ("texts.index", "tags.index")


def text_indexes(collection: Collection, state: State) -> TextIndexes:
    """The indexes for a state of the collection: from disk if those are of this state, else built from the database."""
    loaded = _load(collection, state)
    return _build(collection, state) if loaded is None else loaded


def grown_indexes(collection: Collection, before: TextIndexes, then: State, state: State) -> TextIndexes | None:
    """Copies of earlier indexes with the texts that came since; None if texts were taken away meanwhile."""
    fresh = texts_after(collection, then.last_text)
    if len(fresh) != state.n_texts - then.n_texts:
        return None
    grown = TextIndexes(before.text.copy(), before.tags.copy())
    for index, texts in zip(grown, _by_kind(fresh), strict=True):
        index.add(texts, state.n_items)
    return grown


def save_text_indexes(collection: Collection) -> None:
    """Bring the files up to date, if the texts have changed."""
    state = state_of(collection)
    if _load(collection, state) is None and os.access(collection.folder, os.W_OK):
        for name, index in zip(_FILES, _build(collection, state), strict=True):
            index.save(collection.folder / name, _stamp(state))


def _stamp(state: State) -> str:
    return f"{state.n_items} {state.n_texts} {state.last_text}"


def _load(collection: Collection, state: State) -> TextIndexes | None:
    indexes = []
    for name in _FILES:
        try:
            index = TextIndex.load(collection.folder / name)
        except (OSError, ValueError):
            return None  # not there yet, or damaged
        if index.stamp != _stamp(state):
            return None
        indexes.append(index)
    return TextIndexes(*indexes)


def _build(collection: Collection, state: State) -> TextIndexes:
    return TextIndexes(*(TextIndex.build(texts, state.n_items) for texts in _by_kind(texts_after(collection, 0))))


def _by_kind(texts: list[StoredText]) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """The words of people, and the tags."""
    people = [(text.item, text.text) for text in texts if text.source != "tag"]
    return people, [(text.item, text.text) for text in texts if text.source == "tag"]

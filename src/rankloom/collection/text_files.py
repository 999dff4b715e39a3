"""The inverted indexes of the texts of a collection: words of people, and automatic tags."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from rankloom.collection._texts import OWN_SOURCES
from rankloom.collection.collection import Collection
from rankloom.collection.contents import State, StoredText, state_of, texts_after, texts_of_owner, texts_up_to
from rankloom.text import TextIndex


class TextIndexes(NamedTuple):
    """The index of people's words, and of automatic tags; and the texts that the owner wrote, which change one by one:
    by number the item of each."""

    text: TextIndex
    tags: TextIndex
    owned: Mapping[int, int]

    @property
    def both(self) -> tuple[TextIndex, TextIndex]:
        """The two indexes."""
        return self.text, self.tags


_FILES = ("texts.index", "tags.index")


def text_indexes(collection: Collection, state: State) -> TextIndexes:
    """The indexes for a state of the collection: from disk if those are of this state, else built from the database."""
    loaded = _load(collection, state)
    return _build(collection, state) if loaded is None else loaded


def grown_indexes(collection: Collection, before: TextIndexes, then: State, state: State) -> TextIndexes | None:
    """Copies of earlier indexes with what came since, and with what the owner changed; None if other texts were taken
    away meanwhile."""
    fresh = texts_after(collection, then.last_text)
    n_gone = len(fresh) - (state.n_texts - then.n_texts)
    owned, changed = before.owned, set[int]()
    if n_gone or any(text.source in OWN_SOURCES for text in fresh):
        owned = texts_of_owner(collection)
        gone = before.owned.keys() - owned.keys()
        if len(gone) != n_gone:
            return None
        changed = {before.owned[number] for number in gone}
    grown = TextIndexes(before.text.copy(), before.tags.copy(), owned)
    if changed:
        grown.text.remove(changed)
        fresh = [*(text for text in texts_up_to(collection, then.last_text, changed) if text.source != "tag"), *fresh]
    for index, texts in zip(grown.both, _by_kind(fresh), strict=True):
        index.add(texts, state.n_items)
    return grown


def save_text_indexes(collection: Collection) -> None:
    """Bring the files up to date, if the texts have changed."""
    state = state_of(collection)
    if _load(collection, state) is None and os.access(collection.folder, os.W_OK):
        for name, index in zip(_FILES, _build(collection, state).both, strict=True):
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
    return TextIndexes(indexes[0], indexes[1], texts_of_owner(collection))


def _build(collection: Collection, state: State) -> TextIndexes:
    people, tags = (TextIndex.build(texts, state.n_items) for texts in _by_kind(texts_after(collection, 0)))
    return TextIndexes(people, tags, texts_of_owner(collection))


def _by_kind(texts: list[StoredText]) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """The words of people, and the tags."""
    people = [(text.item, text.text) for text in texts if text.source != "tag"]
    return people, [(text.item, text.text) for text in texts if text.source == "tag"]

"""What a search box offers while somebody types: words of the collection, and names of what there is in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from rankloom.collection.albums import albums
from rankloom.collection.concepts import stored_concepts
from rankloom.collection.contents import counters
from rankloom.collection.lagging import Lagging
from rankloom.collection.organizing import tag_counts
from rankloom.collection.people import named_people
from rankloom.collection.vocabulary import CollectionWords
from rankloom.server.context import Context
from rankloom.text.vocabulary import PrefixIndex, found_words

WORDS, NAMES = 6, 3  # suggestions of each kind
SHORTEST_NAMED = 3  # letters of a last word by which a name is found
Kind = Literal["word", "tag", "person", "concept", "folder", "album", "saved"]


class Suggestion(BaseModel):
    """What may be meant: a word, or something that has a name.

    `items` is how many have it, of a word how often it occurs; `id` is of an album, `query` of a saved search.
    """

    kind: Kind
    text: str
    items: int | None = None
    id: int | None = None
    query: dict[str, Any] | None = None


class _Names(NamedTuple):
    """The names of a kind: by how they begin, and what is known of each."""

    prefixes: PrefixIndex
    known: Mapping[str, Suggestion]

    @classmethod
    def of(cls, found: list[Suggestion]) -> _Names:
        known = {suggestion.text: suggestion for suggestion in found}
        return cls(PrefixIndex({text: float(one.items or 0) for text, one in known.items()}), known)


class Suggestions:
    """Offers what begins as somebody types. Names are read again when they have changed.

    Parameters
    ----------
    context : of the server.
    words : of the collection.
    """

    def __init__(self, context: Context, words: CollectionWords):
        self._context, self._words = context, words
        self._tagged = Lagging(lambda: _Names.of(self._tags()))
        self._known_people = Lagging(lambda: _Names.of(self._people()))
        self._trained = Lagging(lambda: _Names.of(self._concepts()))
        self._listed = Lagging(lambda: _Names.of(self._folders()))
        self._collected = Lagging(lambda: _Names.of(self._albums()))

    def starting(self, typed: str, user: str) -> list[Suggestion]:
        """What begins with the last word that was typed, and names that begin with all of it."""
        last = [*found_words(typed)][-1:]
        word = last[0].group() if last and last[0].end() == len(typed) else ""
        vocabulary = self._words.current()
        suggestions = [
            Suggestion(kind="word", text=text, items=vocabulary.count(text))
            for text in vocabulary.starting(word, WORDS)
        ]
        asked = typed.strip().lstrip('-"').strip()
        for names in self._all_names(user):
            texts = names.prefixes.starting(asked, NAMES)
            if not texts and len(word) >= SHORTEST_NAMED:
                texts = names.prefixes.starting(word, NAMES)
            suggestions += [names.known[text] for text in texts]
        return suggestions

    def _all_names(self, user: str) -> list[_Names]:
        now = counters(self._context.collection)
        return [
            self._tagged.current(now.contents), self._known_people.current(now.contents),
            self._trained.current(now.contents), self._listed.current((now.files, now.contents)),
            self._collected.current((now.organizing, now.contents)), _Names.of(self._saved(user)),
        ]  # fmt: skip

    def _tags(self) -> list[Suggestion]:
        return [Suggestion(kind="tag", text=tag, items=size) for tag, size in tag_counts(self._context.collection)]

    def _people(self) -> list[Suggestion]:
        found = named_people(self._context.collection)
        return [Suggestion(kind="person", text=name, items=items) for name, items in found.items()]

    def _concepts(self) -> list[Suggestion]:
        return [Suggestion(kind="concept", text=concept.name) for concept in stored_concepts(self._context.collection)]

    def _folders(self) -> list[Suggestion]:
        return [Suggestion(kind="folder", text=label) for label in self._context.folders()]

    def _albums(self) -> list[Suggestion]:
        found = albums(self._context.collection)
        return [Suggestion(kind="album", text=album.name, items=album.size, id=album.id) for album in found]

    def _saved(self, user: str) -> list[Suggestion]:
        return [
            Suggestion(kind="saved", text=search.name, query=self._context.query_json(search.query))
            for search in self._context.engine.saved(user)
        ]

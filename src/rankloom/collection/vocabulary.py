"""The words that the texts of a collection have, as people wrote them: to suggest them, and to correct others."""

from __future__ import annotations

from collections.abc import Iterator

from rankloom.collection.collection import Collection
from rankloom.collection.contents import counters
from rankloom.collection.lagging import Lagging
from rankloom.text.vocabulary import Vocabulary

MOST_TEXTS = 1_000_000  # that are looked at
_OTHERS = "('name', 'folder', 'people')"  # of files, and of people, who have names and not words


class CollectionWords:
    """The vocabulary of a collection, read when it is first asked for (seconds for 100,000 items), and kept.

    Parameters
    ----------
    collection : whose texts.
    """

    def __init__(self, collection: Collection):
        self._collection = collection
        self._words = Lagging(lambda: Vocabulary.of(self._texts()))

    def current(self) -> Vocabulary:
        """The words now, or of some moments ago."""
        return self._words.current(counters(self._collection).contents)

    def _texts(self) -> Iterator[str]:
        query = f"SELECT text FROM texts WHERE source NOT IN {_OTHERS} ORDER BY number LIMIT ?"
        for (text,) in self._collection.db.execute(query, (MOST_TEXTS,)):
            yield text

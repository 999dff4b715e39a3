"""The words that the texts of a collection have, as people wrote them: to suggest them, and to correct others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from time import monotonic

from rankloom.collection.collection import Collection
from rankloom.collection.contents import counters
from rankloom.text.vocabulary import Vocabulary

MOST_TEXTS = 1_000_000  # that are looked at
SHARE = 0.05  # of the time that may go into reading words again while texts come and go
_OTHERS = "('name', 'folder', 'people')"  # of files, and of people, who have names and not words


class CollectionWords:
    """The vocabulary of a collection, read when it is first asked for, and again when texts have changed.

    Reading it takes about a second for 100,000 items; where texts change all the time, as while files are indexed, it
    is read so seldom that it takes a small share of the time, and lags behind meanwhile.

    Parameters
    ----------
    collection : whose texts.
    """

    def __init__(self, collection: Collection):
        self._collection = collection
        self._lock = threading.Lock()
        self._read: tuple[int, Vocabulary] | None = None
        self._fresh_until = 0.0

    def current(self) -> Vocabulary:
        """The words now, or of some moments ago."""
        state, read = counters(self._collection).contents, self._read
        if read is not None and (read[0] == state or monotonic() < self._fresh_until or self._lock.locked()):
            return read[1]
        with self._lock:
            if self._read is None or self._read[0] != state:
                began = monotonic()
                self._read = (state, Vocabulary.of(self._texts()))
                now = monotonic()
                self._fresh_until = now + (now - began) / SHARE
            return self._read[1]

    def _texts(self) -> Iterator[str]:
        query = f"SELECT text FROM texts WHERE source NOT IN {_OTHERS} ORDER BY number LIMIT ?"
        for (text,) in self._collection.db.execute(query, (MOST_TEXTS,)):
            yield text

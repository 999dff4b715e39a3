"""Searches to try first: words that some but not most items have, and pictures to start from."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from rankloom.collection.overview import pictures_of, sample_texts, text_count
from rankloom.collection.query import Query
from rankloom.engine import Engine, SearchOptions

WORDS, TRIED = 8, 40  # words that are shown, and that are looked at for them
TEXTS = 200_000  # texts that are looked at
PICTURES = 4
# Too common to be a good first search.
_COMMON = """
    about above after again also another been before being between came come could does down each favourite from
    have here image images into just like looks more most much near other over photo photograph photos picture
    pictures same seen shot show showing shows some something taken than that their them then there these they thing
    things this those time under very view walk was went were what when where which while with would your
"""
COMMON = frozenset(_COMMON.split())


class Starters:
    """The searches to try first, made again when items or texts were added or removed."""

    def __init__(self, engine: Engine):
        self._engine, self._collection = engine, engine.collection
        self._made: tuple[tuple[int, int], dict[str, Any]] = ((-1, -1), {})

    def current(self) -> dict[str, Any]:
        """Words, each with the picture it finds first; and items that are pictures."""
        state = (len(self._collection), text_count(self._collection))
        if self._made[0] != state:
            self._made = (state, self._make())
        return self._made[1]

    def _make(self) -> dict[str, Any]:
        words: list[dict[str, Any]] = []
        used: set[int] = set()
        for word, ids in sorted(self._hits().items(), key=lambda pair: -self._alikeness(pair[1])):
            if not used.intersection(ids):
                used.update(ids)
                words.append({"text": word, "item": ids[0]})
            if len(words) == WORDS:
                break
        pictures = [item for item in pictures_of(self._collection) if item not in used]
        step = max(1, len(pictures) // PICTURES)
        return {"words": words, "items": pictures[step // 2 :: step][:PICTURES]}

    def _frequent(self) -> list[str]:
        """Words of people, then of programs, the most frequent first."""
        counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}  # of people, of programs
        for source, text in sample_texts(self._collection, TEXTS):
            words = {word.strip(".,:;!?\"'()[]").lower() for word in text.split()}
            good = (word for word in words if len(word) > 3 and word.isalpha() and word not in COMMON)
            counts[source != "tag"].update(good)
        most = max(3, max(len(self._collection), 1) // 4)
        return [word for kind in counts.values() for word, count in kind.most_common(100) if 2 <= count <= most]

    def _hits(self) -> dict[str, list[int]]:
        """The first items that each of the words finds."""
        options = SearchOptions(diffusion=False)
        hits = {
            word: [hit.id for hit in self._engine.search(Query(word), 6, options)] for word in self._frequent()[:TRIED]
        }
        return {word: ids for word, ids in hits.items() if len(ids) > 1}

    def _alikeness(self, ids: list[int]) -> float:
        """How much items look alike: a word that stands for something to see is a better start than "colours"."""
        if not any(descriptor.name == "semantic" for descriptor in self._collection.descriptors()):
            return 0.0
        vectors = np.asarray(self._collection.vectors("semantic")[np.array(ids) - 1], dtype=np.float32)
        return float(np.mean((vectors @ vectors.T)[np.triu_indices(len(ids), 1)]))

"""An inverted index of the texts of items, scored with BM25."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from math import log
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rankloom.text import storage
from rankloom.text.postings import Ints, Longs, Occurrences, Segment, TermNumbers, Tokens
from rankloom.text.query import TextQuery, parse_query
from rankloom.text.stemming import stem
from rankloom.text.tokens import Phrase, place_terms

K1 = 1.2
B = 0.75
_ALL = 2**31
MOST_EXPANSIONS = 256  # words of a prefix that count, the most frequent first

Flags = NDArray[np.bool_]
Scores = NDArray[np.float32]
_T = TypeVar("_T", bound=np.generic)
_Part = tuple[str, list[Occurrences]]  # a label, and an entry a segment


@dataclass(frozen=True, eq=False)
class _State:
    """What the index knows at a moment; a change makes a new one, so that searches meanwhile are not disturbed.

    `segments` share no item. `lengths` is the number of places of each item, `ends` where its next text may start.
    N, n_t and the mean length are those of the first `counted` items.
    """

    segments: tuple[Segment, ...]
    lengths: Ints
    ends: Ints
    counted: int

    @cached_property
    def n_texts(self) -> int:
        return int(np.count_nonzero(self.lengths[: self.counted]))

    @cached_property
    def norms(self) -> Scores:
        """k1 (1 - b + b |p| / mean length), an entry per item."""
        mean = float(self.lengths[: self.counted].sum(dtype=np.int64)) / max(self.n_texts, 1)
        return (K1 * (1.0 - B) + self.lengths * (K1 * B / max(mean, 1.0))).astype(np.float32)

    def grown(self, n_items: int) -> _State:
        more = n_items - len(self.lengths)
        if more <= 0:
            return self
        return replace(self, lengths=np.pad(self.lengths, (0, more)), ends=np.pad(self.ends, (0, more)))


class TextIndex:
    r"""The texts of items, found by their words.

    The score of an item \(p\) is the sum over the words, prefixes and phrases \(t\) of the query of

    .. math:: \log\Bigl(1 + \frac{N - n_t + 1/2}{n_t + 1/2}\Bigr)\;
              \frac{(k_1 + 1) f_{tp}}{f_{tp} + k_1 (1 - b + b\,|p| / \overline{|p|})},\qquad k_1 = 1.2,\ b = 0.75

    with \(f_{tp}\) how often the texts of \(p\) have \(t\), \(n_t\) the number of items that have it, \(N\) the number
    of items with text, and \(|p|\) the length of all texts of \(p\). It is 0 for an item without evidence, for one that
    lacks a phrase of the query, and for one that has a minus word. A prefix counts as one word: its frequency is the
    sum over the words that start so (at most 256, the most frequent), and \(n_t\) the number of items with any of them.
    A phrase counts as one word too; it is never found across two texts.

    Row i of what is returned belongs to item i + 1, as in a collection. Postings hold frequencies and not finished
    contributions: adding a text changes \(N\), \(n_t\) and the mean length, and with them every contribution; so an
    index that was changed equals one built anew, bit by bit, and a change costs no pass over all postings. New texts go
    to a small segment; segments of like size are merged. One thread may change an index while others search it.

    References
    ----------
    S. Robertson, H. Zaragoza. The probabilistic relevance framework: BM25 and beyond. Foundations and Trends in
    Information Retrieval 3(4), 2009, section 3.4; the idf with 1 + is Lucene's, which is never negative.

    Examples
    --------
    >>> index = TextIndex.build([(1, "A red flower"), (2, "Two dogs on a beach"), (4, "Red sun over the beach")])
    >>> [round(float(score), 2) for score in index.scores("red beach")]
    [0.54, 0.44, 0.0, 0.88]
    >>> [round(float(score), 2) for score in index.scores('"red sun" -dog')]
    [0.0, 0.0, 0.0, 0.92]
    >>> [(part, round(score, 2)) for part, score in index.explain("red bea*", 4)]
    [('red', 0.44), ('bea*', 0.44)]
    >>> index.remove([4])
    >>> index.scores("sun").tolist()
    [0.0, 0.0, 0.0, 0.0]
    """

    def __init__(self) -> None:
        self._vocabulary = TermNumbers()
        self._state = _State((), np.empty(0, np.int32), np.empty(0, np.int32), _ALL)
        self.stamp = ""

    @classmethod
    def build(cls, pairs: Iterable[tuple[int, str]], n_items: int = 0, counted: int | None = None) -> TextIndex:
        """Index pairs of an item (from 1) and a text; an item may have several texts."""
        index = cls()
        index.add(pairs, n_items)
        index.count(counted)
        return index

    def copy(self) -> TextIndex:
        """An index that may be changed while this one stays as it is; they share what both know."""
        index = TextIndex()
        index._vocabulary, index._state, index.stamp = self._vocabulary, self._state, self.stamp
        return index

    def count(self, items: int | None) -> None:
        r"""Take \(N\), \(n_t\) and the mean length from the first items alone; None for all.

        Items that come later are then scored by the words that were rare before, and change no score of the others.
        """
        self._state = replace(self._state, counted=_ALL if items is None else items)

    @property
    def n_items(self) -> int:
        """The largest item number that it knows."""
        return len(self._state.lengths)

    @property
    def nbytes(self) -> int:
        """The memory of its arrays, without the vocabulary."""
        state = self._state
        return sum(segment.nbytes for segment in state.segments) + int(state.lengths.nbytes + state.ends.nbytes)

    def __len__(self) -> int:
        """The number of items with text."""
        return int(np.count_nonzero(self._state.lengths))

    # Changing --------------------------------------------------------------------------------------------------------

    def add(self, pairs: Iterable[tuple[int, str]], n_items: int = 0) -> None:
        """Add texts to items, new ones or such as have texts already."""
        state = self._state
        terms, rows, places = array("i"), array("i"), array("i")
        added: dict[int, int] = {}
        ends: dict[int, int] = {}
        number = self._vocabulary.number
        for item, text in pairs:
            row = int(item) - 1
            if not 0 <= row < 2**31 - 2:
                raise ValueError(f"items are numbered from 1, got {item}")
            placed = place_terms(text)
            if not placed.terms:
                continue
            end = ends.get(row)
            if end is None:
                end = int(state.ends[row]) if row < len(state.ends) else 0
            terms.extend(map(number, placed.terms))
            rows.extend(repeat(row, len(placed.terms)))
            places.extend([end + position for position in placed.places] if end else placed.places)
            added[row] = added.get(row, 0) + placed.length
            ends[row] = end + placed.length + 1  # a place is left out, so that no phrase crosses two texts
        state = state.grown(max(n_items, max(added, default=-1) + 1))
        if added:
            changed = np.fromiter(added, np.int64, len(added))
            lengths, all_ends = state.lengths.copy(), state.ends.copy()
            lengths[changed] += np.fromiter(added.values(), np.int32, len(added))
            all_ends[changed] = np.fromiter(ends.values(), np.int32, len(ends))
            fresh = Tokens(*(np.frombuffer(column, np.int32) for column in (terms, rows, places)))
            segments, moved = _taken(state, changed)
            tokens = Tokens(*(np.concatenate(part) for part in zip(*moved, fresh, strict=True)))
            state = _State(_settled([*segments, Segment.from_tokens(tokens)]), lengths, all_ends, state.counted)
        self._state = state

    def remove(self, items: Iterable[int]) -> None:
        """Remove all texts of these items; those without text are passed over."""
        state = self._state
        rows = np.fromiter(items, np.int64) - 1
        rows = rows[(rows >= 0) & (rows < len(state.lengths))]
        segments, _ = _taken(state, rows)
        lengths, ends = state.lengths.copy(), state.ends.copy()
        lengths[rows] = ends[rows] = 0
        self._state = _State(_settled(segments), lengths, ends, state.counted)

    # Searching -------------------------------------------------------------------------------------------------------

    def has(self, term: str) -> bool:
        """Whether an item has a term, as `tokenize` makes it of a word."""
        number = self._vocabulary.numbers.get(term)
        return number is not None and any(len(segment.occurrences(number).rows) for segment in self._state.segments)

    def scores(self, query: str | TextQuery, n_items: int | None = None) -> Scores:
        """BM25 of every item, or of the first `n_items`; 0 is no evidence."""
        query, state = _parsed(query), self._state
        scores = np.zeros(len(state.lengths), np.float32)
        parts = self._parts(state, query)
        for _, occurrences in parts:
            weight = _weight(state, occurrences)
            for rows, counts in occurrences:
                scores[rows] = scores.take(rows) + _contributions(weight, counts, state.norms.take(rows))
        if query.phrases or query.minus or query.minus_prefixes:
            scores[~self._matches(state, query, parts)] = 0.0
        return _sized(scores, n_items)

    def having(self, query: str | TextQuery, n_items: int | None = None) -> list[Flags]:
        """Which items have each word, each prefix and each phrase of a query, in this order; minus words do not matter.

        >>> index = TextIndex.build([(1, "A red flower"), (2, "Two dogs on a beach")])
        >>> [flags.tolist() for flags in index.having("red bus dog*")]
        [[True, False], [False, False], [False, True]]
        """
        query, state = _parsed(query), self._state
        parts = dict(self._parts(state, TextQuery(words=query.words)))
        places = [parts.get(word, []) for word in query.words]
        places += [part for _, part in self._parts(state, replace(query, words=()))]
        return [_sized(_flags(part, len(state.lengths)), n_items) for part in places]

    def matches(self, query: str | TextQuery, n_items: int | None = None) -> Flags:
        """Whether an item has every phrase of a query and no minus word; plain words and prefixes do not matter."""
        query, state = _parsed(query), self._state
        parts = self._parts(state, TextQuery(phrases=query.phrases))
        matches = _sized(self._matches(state, query, parts), n_items)
        if not query.phrases:
            matches[len(state.lengths) :] = True
        return matches

    def excluded(self, query: str | TextQuery, n_items: int | None = None) -> Flags:
        """Whether an item has a minus word of a query."""
        return _sized(self._excluded(self._state, _parsed(query)), n_items)

    def explain(self, query: str | TextQuery, item: int) -> list[tuple[str, float]]:
        """What each word, prefix and phrase that an item has contributes to its score."""
        query, state, row = _parsed(query), self._state, item - 1
        parts = self._parts(state, query)
        if not 0 <= row < len(state.lengths) or not self._matches(state, query, parts)[row]:
            return []
        contributions = []
        for label, occurrences in parts:
            for rows, counts in occurrences:
                at = int(np.searchsorted(rows, row))
                if at < len(rows) and rows[at] == row:
                    part = _contributions(_weight(state, occurrences), counts[at : at + 1], state.norms[row : row + 1])
                    contributions.append((label, float(part[0])))
        return contributions

    def _parts(self, state: _State, query: TextQuery) -> list[_Part]:
        """What scores, and where it is: words, prefixes, then phrases."""
        parts: list[_Part] = []
        for word in query.words:
            number = self._vocabulary.numbers.get(word)
            if number is not None:
                parts.append((word, [segment.occurrences(number) for segment in state.segments]))
        parts += [(f"{prefix}*", self._prefix(state, prefix, MOST_EXPANSIONS)) for prefix in query.prefixes]
        parts += [(f'"{" ".join(phrase.terms)}"', self._phrase(state, phrase)) for phrase in query.phrases]
        return parts

    def _prefix(self, state: _State, prefix: str, most: int | None = None) -> list[Occurrences]:
        numbers = self._vocabulary.starting(prefix)
        stemmed = self._vocabulary.numbers.get(stem(prefix))  # horse* means horses, whose term is hors
        if stemmed is not None and stemmed not in numbers:
            numbers.append(stemmed)
        if most is not None and len(numbers) > most:
            frequencies = _frequencies(state, numbers)
            numbers = [numbers[i] for i in np.argsort(-frequencies, kind="stable")[:most]]
        return [segment.group(numbers) for segment in state.segments]

    def _phrase(self, state: _State, phrase: Phrase) -> list[Occurrences]:
        numbers = [self._vocabulary.numbers.get(term, -1) for term in phrase.terms]
        if -1 in numbers:
            return []
        return [segment.phrase(numbers, phrase.offsets) for segment in state.segments]

    def _matches(self, state: _State, query: TextQuery, parts: Sequence[_Part]) -> Flags:
        matches = ~self._excluded(state, query)
        for _, occurrences in parts[len(parts) - len(query.phrases) :]:
            matches &= _flags(occurrences, len(state.lengths))
        return matches

    def _excluded(self, state: _State, query: TextQuery) -> Flags:
        unwanted = [occurrences for phrase in query.minus for occurrences in self._phrase(state, phrase)]
        unwanted += [occurrences for prefix in query.minus_prefixes for occurrences in self._prefix(state, prefix)]
        return _flags(unwanted, len(state.lengths))

    # On disk ---------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], stamp: str = "") -> None:
        """Write it to a file, whole or not at all. `stamp` may say which texts it was made from."""
        state = self._state
        segment = _merged(state.segments)
        terms = [self._vocabulary.terms[number] for number in segment.terms]
        storage.write(path, storage.Stored(terms, segment, state.lengths, state.ends, stamp))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TextIndex:
        """Read what `save` wrote; its `stamp` is kept. A damaged file is a ValueError: build the index again."""
        stored = storage.read(path)
        index = cls()
        index._vocabulary = TermNumbers(stored.terms)
        index._state = _State((stored.segment,), stored.lengths, stored.ends, _ALL)
        index.stamp = stored.stamp
        return index


def _parsed(query: str | TextQuery) -> TextQuery:
    return parse_query(query) if isinstance(query, str) else query


def _weight(state: _State, occurrences: Sequence[Occurrences]) -> np.float32:
    """(k1 + 1) times the inverse document frequency."""
    n = sum(int(np.searchsorted(part.rows, state.counted)) for part in occurrences)
    return np.float32((K1 + 1.0) * log(1.0 + (state.n_texts - n + 0.5) / (n + 0.5)))


def _contributions(weight: np.float32, counts: Ints, norms: Scores) -> Scores:
    frequencies = counts.astype(np.float32)
    norms = norms + frequencies
    frequencies *= weight
    frequencies /= norms
    return frequencies


def _frequencies(state: _State, numbers: Sequence[int]) -> Longs:
    """How many of the counted items have each term."""
    frequencies = [
        sum(int(np.searchsorted(segment.occurrences(number).rows, state.counted)) for segment in state.segments)
        for number in numbers
    ]
    return np.array(frequencies, dtype=np.int64)


def _flags(occurrences: Iterable[Occurrences], n: int) -> Flags:
    flags = np.zeros(n, bool)
    for part in occurrences:
        flags[part.rows] = True
    return flags


def _sized(values: NDArray[_T], n_items: int | None) -> NDArray[_T]:
    if n_items is None or n_items == len(values):
        return values
    return np.pad(values, (0, max(n_items - len(values), 0)))[:n_items]


def _taken(state: _State, rows: Longs) -> tuple[list[Segment], list[Tokens]]:
    """The segments without these rows, and the occurrences that were in them."""
    chosen = np.zeros(len(state.lengths), bool)
    chosen[rows] = state.lengths[rows] > 0
    if not chosen.any():
        return list(state.segments), []
    segments, taken = [], []
    for segment in state.segments:
        tokens = segment.tokens(chosen)
        if len(tokens.terms):
            taken.append(tokens)
            segment = segment.only(~chosen)
        segments.append(segment)
    return segments, taken


def _settled(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Merge the smallest until each has at least twice the postings of the next: few segments, seldom merged."""
    by_size = sorted((segment for segment in segments if len(segment.rows)), key=lambda segment: -len(segment.rows))
    at = len(by_size) - 1
    while at > 0:
        at -= 1
        if len(by_size[at].rows) < 2 * len(by_size[at + 1].rows):
            by_size[at:] = [Segment.merged(by_size[at:])]
    return tuple(by_size)


def _merged(segments: Sequence[Segment]) -> Segment:
    return Segment.merged(segments) if segments else Segment.from_tokens(Tokens(*(np.empty(0, np.int32),) * 3))

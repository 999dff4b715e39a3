"""Numbers of terms, and postings: for every term the rows that have it, how often, and where."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class TermNumbers:
    """Terms and their numbers, in the order in which they came; it only grows."""

    def __init__(self, terms: Iterable[str] = ()):
        self.terms = list(terms)
        self.numbers = {term: number for number, term in enumerate(self.terms)}
        self._sorted: list[str] = []

    def number(self, term: str) -> int:
        """The number of a term, a new one if need be."""
        number = self.numbers.get(term)
        if number is None:
            number = self.numbers[term] = len(self.terms)
            self.terms.append(term)  # after its number, which a search in another thread may ask for
        return number

    def starting(self, prefix: str) -> list[int]:
        """The numbers of the terms that start so, in their alphabetical order."""
        ordered = self._sorted
        if len(ordered) != len(self.terms):
            ordered = self._sorted = sorted(ordered + self.terms[len(ordered) :])
        first = bisect_left(ordered, prefix)
        end = bisect_left(ordered, prefix + chr(0x10FFFF), lo=first)
        return [self.numbers[term] for term in ordered[first:end]]


class Tokens(NamedTuple):
    """One entry per occurrence: the number of the term, the row of the item, the place in its texts."""

    terms: Ints
    rows: Ints
    places: Ints


class Occurrences(NamedTuple):
    """Distinct rows, ascending, and how often each has what was asked for."""

    rows: Ints
    counts: Ints


@dataclass(frozen=True, eq=False)
class Segment:
    """The postings of some items in compressed rows: 8 bytes per posting, and 4 per occurrence.

    Parameters
    ----------
    terms : the numbers of its terms, ascending.
    starts : where the postings of each term start, and the end of the last.
    place_starts : the same for the places.
    rows, counts : postings: the row, item - 1, ascending within a term; how often it has the term.
    places : of all occurrences, ascending within a posting.
    """

    terms: Ints
    starts: Longs
    place_starts: Longs
    rows: Ints
    counts: Ints
    places: Ints

    @classmethod
    def from_tokens(cls, tokens: Tokens) -> Segment:
        """Sort occurrences; those of a row must come by ascending place."""
        keys = (tokens.terms.astype(np.int64) << 32) | tokens.rows
        order = np.argsort(keys, kind="stable")  # of parts that are in order already it is a merge
        keys = keys[order]
        posting_starts = _run_starts(keys)
        posting_keys = keys[posting_starts[:-1]]
        posting_terms = (posting_keys >> 32).astype(np.int32)
        starts = _run_starts(posting_terms)
        return cls(
            terms=posting_terms[starts[:-1]],
            starts=starts,
            place_starts=posting_starts[starts],
            rows=(posting_keys & 0xFFFFFFFF).astype(np.int32),
            counts=np.diff(posting_starts).astype(np.int32),
            places=tokens.places[order],
        )

    @classmethod
    def merged(cls, segments: Sequence[Segment]) -> Segment:
        """One segment of several that share no row."""
        if len(segments) == 1:
            return segments[0]
        parts = zip(*(segment.tokens() for segment in segments), strict=True)
        return cls.from_tokens(Tokens(*(np.concatenate(part) for part in parts)))

    @property
    def frequencies(self) -> Longs:
        """How many rows have each of its terms."""
        return np.diff(self.starts)

    @property
    def nbytes(self) -> int:
        """The memory of its arrays."""
        return sum(int(getattr(self, field.name).nbytes) for field in fields(self))

    def tokens(self, chosen: NDArray[np.bool_] | None = None) -> Tokens:
        """The occurrences in all rows, or in those that are chosen by a flag per row."""
        terms = np.repeat(self.terms, self.frequencies)
        if chosen is None:
            return Tokens(np.repeat(terms, self.counts), np.repeat(self.rows, self.counts), self.places)
        keep = chosen[self.rows]
        counts = self.counts[keep]
        places = self.places[np.repeat(keep, self.counts)]
        return Tokens(np.repeat(terms[keep], counts), np.repeat(self.rows[keep], counts), places)

    def only(self, chosen: NDArray[np.bool_]) -> Segment:
        """The postings of the rows that are chosen by a flag per row."""
        keep = chosen[self.rows]
        starts = np.concatenate(([0], np.cumsum(keep)))[self.starts]
        places_until = np.concatenate(([0], np.cumsum(np.where(keep, self.counts, 0), dtype=np.int64)))
        left = np.flatnonzero(np.diff(starts))
        return Segment(
            terms=self.terms[left],
            starts=np.append(starts[left], starts[-1:]),
            place_starts=np.append(places_until[self.starts[left]], places_until[-1:]),
            rows=self.rows[keep],
            counts=self.counts[keep],
            places=self.places[np.repeat(keep, self.counts)],
        )

    def occurrences(self, term: int) -> Occurrences:
        """The postings of a term."""
        at = self._at(term)
        span = slice(0) if at is None else slice(self.starts[at], self.starts[at + 1])
        return Occurrences(self.rows[span], self.counts[span])

    def group(self, terms: Sequence[int]) -> Occurrences:
        """The postings of several terms as if they were one."""
        parts = [self.occurrences(term) for term in terms]
        if len(parts) == 1:
            return parts[0]
        rows = np.concatenate([self.rows[:0], *(part.rows for part in parts)])
        counts = np.concatenate([self.counts[:0], *(part.counts for part in parts)])
        totals = np.bincount(rows, counts)
        rows = np.flatnonzero(totals).astype(np.int32)
        return Occurrences(rows, totals[rows].astype(np.int32))

    def phrase(self, terms: Sequence[int], offsets: Sequence[int]) -> Occurrences:
        """Where terms stand at these distances from each other."""
        if len(terms) == 1:
            return self.occurrences(terms[0])
        pairs = sorted(zip(terms, offsets, strict=True), key=lambda pair: len(self.occurrences(pair[0]).rows))
        starts_at = self._placed(*pairs[0])
        for pair in pairs[1:]:
            if not len(starts_at):
                break
            others = self._placed(*pair)
            at = np.minimum(np.searchsorted(others, starts_at), max(len(others) - 1, 0))
            starts_at = starts_at[others[at] == starts_at] if len(others) else others
        starts = _run_starts(rows := (starts_at >> 32).astype(np.int32))
        return Occurrences(rows[starts[:-1]], np.diff(starts).astype(np.int32))

    def _placed(self, term: int, offset: int) -> Longs:
        """A number per occurrence, ascending: the row times 2^32 plus where its phrase would start."""
        at = self._at(term)
        if at is None:
            return np.empty(0, np.int64)
        span = slice(self.starts[at], self.starts[at + 1])
        places = self.places[self.place_starts[at] : self.place_starts[at + 1]].astype(np.int64) - offset
        keys = np.repeat(self.rows[span].astype(np.int64) << 32, self.counts[span]) + places
        return np.asarray(keys[places >= 0])

    def _at(self, term: int) -> int | None:
        at = int(np.searchsorted(self.terms, term))
        return at if at < len(self.terms) and self.terms[at] == term else None


def _run_starts(values: NDArray[Any]) -> Longs:
    """Where runs of equal values start, and the end of the last."""
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    starts = np.concatenate(([0], changes)) if len(values) else np.empty(0, np.int64)
    return np.append(starts, len(values)).astype(np.int64)

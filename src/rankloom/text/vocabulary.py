"""The terms of an index and their numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

__all__ = ["TermNumbers"]


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

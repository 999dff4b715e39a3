"""What a search returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

from rankloom.collection import Item
from rankloom.engine.explanation import Explanation


class SearchHit(NamedTuple):
    """A result: rank, item, file, score; times of a shot; what each part added; the grade given to it in this search;
    its near duplicates that were left out; which of two models chose it; when it was taken; whether its texts or tags
    have words of the query, which is None without words; whether other marks of this search contradict its own."""

    rank: int
    id: int
    path: str
    score: float
    start: float | None = None
    end: float | None = None
    why: Explanation | None = None
    mark: float | None = None
    duplicates: tuple[int, ...] = ()
    team: int | None = None
    taken: str | None = None
    literal: bool | None = None
    contradicted: bool = False

    @classmethod
    def of(cls, rank: int, item: Item, score: float) -> SearchHit:
        """An item at a rank; the rest is added by `_replace`."""
        return cls(rank, item.id, item.path, score, item.start, item.end, taken=item.taken)


@dataclass(frozen=True)
class Results(Sequence[SearchHit]):
    """The hits of a search, best first.

    Parameters
    ----------
    hits : the hits.
    total : how many items match at all.
    cutoff : the rank after which the rest is probably not what was looked for; None where nothing can be said.
    diffused : whether neighbors counted.
    marks : how many marks of this query counted.
    session : the number of the interleaving session whose results these are.
    learning : whether there are marks that the weights do not know yet.
    likely : about how many of them are what was looked for; None where nothing can be said.
    literal : how many of the matching items have words of the query in their texts or tags; None without words.
    in_texts : how many have all words of the query in their texts; None without words.
    in_tags : how many more have them with their automatic tags; None without words.
    contradicted : how many marks of this query the others contradict.
    bordered : whether something says where right and wrong meet, so that items can be ordered by doubt.
    """

    hits: tuple[SearchHit, ...]
    total: int = 0
    cutoff: int | None = None
    diffused: bool = False
    marks: int = 0
    session: int | None = None
    learning: bool = False
    literal: int | None = None
    in_texts: int | None = None
    in_tags: int | None = None
    likely: int | None = None
    contradicted: int = 0
    bordered: bool = False

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> SearchHit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[SearchHit, ...]: ...
    def __getitem__(self, place: int | slice) -> SearchHit | tuple[SearchHit, ...]:
        return self.hits[place]

    def __iter__(self) -> Iterator[SearchHit]:
        return iter(self.hits)

    def __eq__(self, other: object) -> bool:
        return self.hits == tuple(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

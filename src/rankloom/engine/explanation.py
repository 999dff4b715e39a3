"""What explains a score: typed parts that sum to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, overload

__all__ = ["CONCEPT", "FACES", "TAGS", "TEXT", "Explanation", "Kind", "Part", "expert_part"]

# The experts that are not a descriptor and a distance: columns of phi by name, concepts by their prefix.
TEXT, TAGS, FACES, CONCEPT = "text.bm25", "tags.bm25", "faces", "concept."

Kind = Literal["expert", "text", "concept", "neighbour", "mark", "example", "method", "other"]


class Part(NamedTuple):
    """A part of a score: what it is, its name, what it adds, and the item that it is about, if any."""

    kind: Kind
    name: str
    value: float
    item: int | None = None


def expert_part(name: str, value: float) -> Part:
    """What an expert adds.

    >>> expert_part("gist.l2", 0.5).kind, expert_part("concept.boat", 0.1).kind, expert_part(TEXT, 0.2).kind
    ('expert', 'concept', 'text')
    """
    kind: Kind = "text" if name in (TEXT, TAGS) else "concept" if name.startswith(CONCEPT) else "expert"
    return Part(kind, name, value)


class Explanation(Sequence[Part]):
    """The parts of a score, or of the difference of two."""

    def __init__(self, parts: Iterable[Part] = ()):
        self._parts = tuple(parts)

    @property
    def total(self) -> float:
        """The score."""
        return sum(part.value for part in self._parts)

    def by_name(self) -> dict[str, float]:
        """What each part adds, by its name."""
        return {part.name: part.value for part in self._parts}

    def largest(self) -> Explanation:
        """The same parts, the largest first."""
        return Explanation(sorted(self._parts, key=lambda part: -abs(part.value)))

    def minus(self, other: Explanation) -> Explanation:
        """The differences of the parts, the largest first; they sum to the difference of the scores."""
        theirs = {part.name: part for part in other}
        parts = [
            part._replace(value=part.value - theirs.pop(part.name, part._replace(value=0.0)).value) for part in self
        ]
        return Explanation([*parts, *(part._replace(value=-part.value) for part in theirs.values())]).largest()

    def __len__(self) -> int:
        return len(self._parts)

    @overload
    def __getitem__(self, place: int) -> Part: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Part, ...]: ...
    def __getitem__(self, place: int | slice) -> Part | tuple[Part, ...]:
        return self._parts[place]

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def __eq__(self, other: object) -> bool:
        return self._parts == tuple(other) if isinstance(other, Explanation) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Explanation({[*self._parts]!r})"

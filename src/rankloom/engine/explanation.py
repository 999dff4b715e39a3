"""What explains a score: typed parts that sum to it."""

from __future__ import annotations

from typing import Literal, NamedTuple

# The experts that are not a descriptor and a distance: columns of phi by name, concepts by their prefix.
TEXT, TAGS, FACES, CONCEPT = "text.bm25", "tags.bm25", "faces", "concept."
# Words against what pictures show: by the learned map, by the names of likely classes, and by colors.
MAP, NAMES, COLORS = "words.map", "words.classes", "words.colors"
WORDS = (TEXT, TAGS, MAP, NAMES, COLORS)

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
    kind: Kind = "text" if name in WORDS else "concept" if name.startswith(CONCEPT) else "expert"
    return Part(kind, name, value)


class Explanation(tuple[Part, ...]):
    """The parts of a score, or of the difference of two."""

    @property
    def total(self) -> float:
        """The score."""
        return sum(part.value for part in self)

    def by_name(self) -> dict[str, float]:
        """What each part adds, by its name."""
        return {part.name: part.value for part in self}

    def largest(self) -> Explanation:
        """The same parts, the largest first."""
        return Explanation(sorted(self, key=lambda part: -abs(part.value)))

    def minus(self, other: Explanation) -> Explanation:
        """The differences of the parts, the largest first; they sum to the difference of the scores."""
        differences = {part.name: part for part in self}
        for part in other:
            ours = differences.get(part.name, part._replace(value=0.0))
            differences[part.name] = ours._replace(value=ours.value - part.value)
        return Explanation(differences.values()).largest()

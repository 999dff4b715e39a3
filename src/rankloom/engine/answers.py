"""How a search is answered: scores of the experts, of marks and of neighbours, and what each of them added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from rankloom.collection.query import Query
from rankloom.core import FloatArray
from rankloom.engine.relevance import ALPHA, Spread
from rankloom.engine.scorers import Scorer
from rankloom.engine.snapshot import CONCEPT, FACES, TAGS, TEXT
from rankloom.features import Features
from rankloom.reranking.methods import RERANKERS

if TYPE_CHECKING:
    from rankloom.engine.following import Told
    from rankloom.engine.view import View

__all__ = ["Answer", "Followed", "Found", "Kind", "Ranking", "kind_of"]

Kind = Literal["expert", "text", "concept", "neighbour", "mark", "example", "method", "other"]
_CONSTANT, _ALL_MARKS, _PREFERRED, _RIGHT, _WRONG = (
    "nearer than the rest", "all marks", "preferred", "marked right", "marked wrong",
)  # fmt: skip
_ITEM = re.compile(r"(neighbour|like item|unlike item) ([0-9]+)")
_EXAMPLES = ("like the examples", "unlike the examples")


class Found(NamedTuple):
    """A result: place, item, file, score; times of a shot; what each part added; the grade given to it in this search;
    its near duplicates that were left out; which of two models chose it; when it was taken."""

    rank: int
    id: int
    path: str
    score: float
    start: float | None = None
    end: float | None = None
    why: dict[str, float] | None = None
    mark: float | None = None
    duplicates: tuple[int, ...] = ()
    team: int | None = None
    taken: str | None = None


@dataclass(frozen=True)
class Answer(Sequence[Found]):
    """The results of a search, best first.

    Parameters
    ----------
    found : the results.
    total : how many items match at all.
    cutoff : the rank after which the rest is probably not what was looked for; None where nothing can be said.
    diffused : whether neighbours counted.
    marks : how many marks of this query were followed.
    draft : the number of the comparison of two models whose results these are.
    """

    found: tuple[Found, ...]
    total: int = 0
    cutoff: int | None = None
    diffused: bool = False
    marks: int = 0
    draft: int | None = None

    def __len__(self) -> int:
        return len(self.found)

    @overload
    def __getitem__(self, place: int) -> Found: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Found, ...]: ...
    def __getitem__(self, place: int | slice) -> Found | tuple[Found, ...]:
        return self.found[place]

    def __iter__(self) -> Iterator[Found]:
        return iter(self.found)

    def __eq__(self, other: object) -> bool:
        return self.found == tuple(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Followed:
    r"""A score that follows marks: \(\beta_q b(p) + \sum_j \beta_j K(p, j) + \beta_0\).

    Parameters
    ----------
    items : the marked items j; 0 for the examples of the query.
    targets : 1 for right, -1 for wrong.
    columns : K, the similarities of all items to each marked one, one row a marked item.
    coefficients : of the query, of each marked item, and the constant.
    """

    items: tuple[int, ...]
    targets: tuple[float, ...]
    columns: NDArray[np.float32]
    coefficients: FloatArray

    def scores(self, base: FloatArray) -> FloatArray:
        """The scores of all items, from those of the query alone."""
        return np.asarray(
            self.coefficients[0] * base + self.coefficients[1:-1] @ self.columns + self.coefficients[-1],
            dtype=np.float64,
        )


@dataclass(frozen=True, eq=False)
class Ranking:
    """All scores of a search and what they are made of.

    Parameters
    ----------
    view, query, told : the items and weights that it saw, what was asked, and what the user had said.
    phi, scorer : the experts and what combines them.
    base : the scores of the experts.
    scored : which items were scored: all of them, unless an approximate index made a choice.
    followed : the marks, if any.
    scores : base, or what follows the marks.
    spread : what neighbours added, if they count.
    operator : the matrix of the graph.
    offsets : what puts marked items at the ends of the list.
    """

    view: View
    query: Query
    phi: Features
    scorer: Scorer
    base: FloatArray
    scored: NDArray[np.bool_]
    told: Told
    followed: Followed | None
    scores: FloatArray
    spread: Spread | None
    operator: Any
    offsets: Mapping[int, float]

    @property
    def total(self) -> FloatArray:
        """The final score of every item."""
        total = self.scores.copy() if self.spread is None else self.spread.total.copy()
        for row, offset in self.offsets.items():
            total[row] += offset
        return total

    def why(self, row: int) -> dict[str, float]:
        """What each expert, marked item and neighbour added; it sums to the score."""
        factor, constant = 1.0, 0.0
        if self.spread is not None:
            inside = bool(self.spread.inside[row])
            factor = self.spread.own + self.spread.share * inside
            constant = -self.spread.share * self.spread.floor * inside
        through = factor * (1.0 if self.followed is None else float(self.followed.coefficients[0]))
        why = {name: through * value for name, value in self.scorer.parts(self.phi, row).items() if through}
        if self.followed is not None:
            # Beside what it adds to an average item, so that only what tells items apart shows.
            means = self.followed.columns.mean(axis=1, dtype=np.float64)
            for place, (item, target) in enumerate(zip(self.followed.items, self.followed.targets, strict=True)):
                what = f"item {item}" if item else "the examples"
                coefficient = factor * float(self.followed.coefficients[place + 1])
                added = coefficient * (float(self.followed.columns[place, row]) - means[place])
                why[f"{'like' if target > 0 else 'unlike'} {what}"] = added
                constant += coefficient * means[place]
            constant += factor * float(self.followed.coefficients[-1])
        if constant:
            why[_CONSTANT if self.followed is None else _ALL_MARKS] = constant
        if self.spread is not None:
            neighbours = self.operator[[row]].tocoo()
            for column, value in zip(neighbours.coords[1].tolist(), neighbours.data.tolist(), strict=True):
                added = ALPHA * value * float(self.spread.f[column])
                if added:
                    why[f"neighbour {column + 1}"] = added
        if row in self.offsets:
            grade = self.told.grades.get(row + 1)
            name = _PREFERRED if grade is None else _RIGHT if grade > 0 else _WRONG
            why[name] = self.offsets[row]
        return why


def kind_of(name: str) -> tuple[Kind, int | None]:
    """What a part of an explanation is, and the item it is about.

    >>> kind_of("gist.l2"), kind_of("neighbour 17"), kind_of("like the examples"), kind_of("preferred")
    (('expert', None), ('neighbour', 17), ('example', None), ('mark', None))
    """
    if about := _ITEM.fullmatch(name):
        return ("neighbour" if about[1] == "neighbour" else "mark"), int(about[2])
    kinds: dict[str, Kind] = {
        TEXT: "text", TAGS: "text", FACES: "expert", **dict.fromkeys(_EXAMPLES, "example"),
        **dict.fromkeys((_ALL_MARKS, _PREFERRED, _RIGHT, _WRONG), "mark"), **dict.fromkeys(RERANKERS, "method"),
    }  # fmt: skip
    if name in kinds:
        return kinds[name], None
    return ("concept" if name.startswith(CONCEPT) else "expert" if "." in name else "other"), None

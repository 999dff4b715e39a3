"""All scores of a search: of the experts, of relevance feedback and of diffusion; and what each of them added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray
from rankloom.engine.diffusion import ALPHA, Diffused
from rankloom.engine.encoding import EncodedQuery
from rankloom.engine.explanation import FACES, TAGS, TEXT, Explanation, Part
from rankloom.engine.feedback import FeedbackModel, Judgements
from rankloom.engine.scorers import Scorer
from rankloom.engine.scoring import BaseScores
from rankloom.engine.view import View
from rankloom.text import parse_query


@dataclass(frozen=True, eq=False)
class Ranking:
    """All scores of a search and what they are made of.

    Parameters
    ----------
    view, encoded, judgements : the items and weights that it saw, what was asked, and what the user had said.
    eligible : which items there are, without those that have a minus word or do not pass the filters.
    scorer, base : what combines the experts, and what they say.
    feedback : what follows the marks, if there are any.
    scores : those of the experts, or what follows the marks.
    diffused : the scores after diffusion, if neighbors count.
    offsets : by row, what puts marked items at the ends of the list.
    """

    view: View
    encoded: EncodedQuery
    judgements: Judgements
    eligible: NDArray[np.bool_]
    scorer: Scorer
    base: BaseScores
    feedback: FeedbackModel | None
    scores: FloatArray
    diffused: Diffused | None
    offsets: Mapping[int, float]

    @property
    def total(self) -> FloatArray:
        """The final score of every item."""
        total = self.unmoved.copy()
        for row, offset in self.offsets.items():
            total[row] += offset
        return total

    @property
    def unmoved(self) -> FloatArray:
        """The score of every item before marks put it at an end of the list."""
        return self.scores if self.diffused is None else self.diffused.total

    @property
    def contradicted(self) -> frozenset[int]:
        """The marked items of which the other marks say otherwise; they have no place at an end of the list."""
        return frozenset() if self.feedback is None else self.feedback.contradicted

    @property
    def complete(self) -> bool:
        """Whether all items that may be hits were scored, or all that an index of the user's choice proposed."""
        return not self.base.by_sketches or not np.any(self.eligible & ~self.base.scored)

    @property
    def by_words_alone(self) -> bool:
        """Whether nothing but words says what is looked for."""
        query = self.encoded.query
        return not query.examples and query.concept is None and self.feedback is None

    def why(self, row: int) -> Explanation:
        """What each expert, marked item and neighbor added; it sums to the score."""
        factor, constant = 1.0, 0.0
        if self.diffused is not None:
            inside = bool(self.diffused.inside[row])
            factor = self.diffused.own + self.diffused.share * inside
            constant = -self.diffused.share * self.diffused.floor * inside
        through = factor * (1.0 if self.feedback is None else float(self.feedback.coefficients[0]))
        parts: list[Part] = []
        if through:
            parts += [part._replace(value=through * part.value) for part in self.scorer.parts(self.base.phi, row)]
        if self.feedback is not None:
            marks, from_marks = _mark_parts(self.feedback, row, factor)
            parts += marks
            constant += from_marks
        if constant:
            by_marks = self.feedback is not None
            parts.append(
                Part("mark", "all marks", constant) if by_marks else Part("other", "nearer than the rest", constant)
            )
        if self.diffused is not None:
            parts += _neighbor_parts(self.diffused, row)
        if row in self.offsets:
            grade = None if row + 1 in self.contradicted else self.judgements.grades.get(row + 1)
            name = "preferred" if grade is None else "marked right" if grade > 0 else "marked wrong"
            parts.append(Part("mark", name, self.offsets[row]))
        return Explanation(parts)

    def allowed(self, words_reach_all: bool) -> NDArray[np.bool_]:
        """Which items may be hits.

        Parameters
        ----------
        words_reach_all : whether words are compared with what every picture shows; otherwise, or where a phrase is
            asked for, items that have none of the words are no hits of a query of words alone.
        """
        allowed = self.eligible & self.base.scored
        if self.by_words_alone and not words_reach_all:
            allowed &= self._has_any(TEXT, TAGS, FACES)
        elif self.by_words_alone and parse_query(self.encoded.query.text).phrases:
            allowed &= self.literal
        return allowed

    @cached_property
    def literal(self) -> NDArray[np.bool_]:
        """Which items have words of the query in their texts or tags; the others only look like it."""
        return self._has_any(TEXT, TAGS)

    @cached_property
    def n_with_words(self) -> tuple[int, int]:
        """How many of the items that may be hits have all words of the query in their texts; and how many more have
        them in their texts and automatic tags."""
        snapshot, text = self.view.snapshot, self.encoded.query.text
        texts, tags = (index.having(text, snapshot.n_items) for index in snapshot.texts.both)
        if not texts:
            return 0, 0
        written = np.all([self.eligible, *texts], axis=0)
        either = [by_text | by_tag for by_text, by_tag in zip(texts, tags, strict=True)]
        return int(written.sum()), int((np.all([self.eligible, *either], axis=0) & ~written).sum())

    def _has_any(self, *names: str) -> NDArray[np.bool_]:
        phi = self.base.phi
        return np.asarray(np.any([phi.column(phi.names.index(name)) != 0 for name in names], axis=0))


def _mark_parts(feedback: FeedbackModel, row: int, factor: float) -> tuple[list[Part], float]:
    """What each marked item adds beside what it adds to an average item, so that only what tells items apart shows;
    and the sum of the latter."""
    means = feedback.columns.mean(axis=1, dtype=np.float64)
    parts, constant = [], factor * float(feedback.coefficients[-1])
    column = feedback.column_of(row)
    for place, (item, target) in enumerate(zip(feedback.items, feedback.targets, strict=True)):
        coefficient = factor * float(feedback.coefficients[place + 1])
        value = coefficient * (float(feedback.columns[place, column]) - means[place])
        like = "like" if target > 0 else "unlike"
        parts.append(
            Part("mark", f"{like} item {item}", value, item) if item else Part("example", f"{like} the examples", value)
        )
        constant += coefficient * means[place]
    return parts, constant


def _neighbor_parts(diffused: Diffused, row: int) -> Iterator[Part]:
    neighbors = diffused.operator[[row]].tocoo()
    for column, weight in zip(neighbors.coords[1].tolist(), neighbors.data.tolist(), strict=True):
        value = ALPHA * weight * float(diffused.f[column])
        if value:
            yield Part("neighbour", f"neighbour {column + 1}", value, column + 1)

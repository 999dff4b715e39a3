"""What one search sees: the items and the weights of one moment, however long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankloom.collection.query import Query
from rankloom.engine.explanation import CONCEPT
from rankloom.engine.scorers import RankerScorer, Scorer, WeightScorer
from rankloom.engine.snapshot import Snapshot
from rankloom.text.tokens import fold

SAME_WEIGHTS = 0.98  # cosine between weights above which they are near


@dataclass(frozen=True, eq=False)
class View:
    """A snapshot of the items, and what ranks them.

    Parameters
    ----------
    snapshot : the items.
    weights : of the experts, learned or set by hand.
    start : of the experts, before the first mark.
    model : the number of the model in use.
    scorer : of that model, if it is not linear.
    learning : whether there are marks or undos that the weights do not know yet.
    """

    snapshot: Snapshot
    weights: Mapping[str, float]
    start: Mapping[str, float]
    model: int | None = None
    scorer: RankerScorer | None = None
    learning: bool = False

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Equal keys rank alike."""
        return (self.snapshot.content, self.model, tuple(self.weights.items()))

    def scorer_for(self, query: Query) -> Scorer:
        """What ranks a query: the model in use, or the weights; with the concept that the query asks for."""
        if self.scorer is None:
            return WeightScorer({**self.weights, **_concept_weights(query, self.snapshot)})
        return for_query(self.scorer, query, self.snapshot)

    @cached_property
    def kernel(self) -> dict[str, float]:
        """Weights of the similarity between items in relevance feedback: those of the start that are not negative.

        A mark changes the learned weights, but not these: similarities to marked items are computed once.
        """
        return self._visual({name: max(weight, 0.0) for name, weight in self.start.items()})

    @cached_property
    def fused(self) -> dict[str, float]:
        """Weights of the similarity behind the neighbor graph: those of the start, sizes with the sum 1.

        Not the learned ones: a graph that had followed the marks would not forget those that were undone.
        """
        return self._visual(self.start)

    def _visual(self, weights: Mapping[str, float]) -> dict[str, float]:
        names = [expert.name for expert in self.snapshot.experts]
        visual = {name: weights[name] for name in names if weights.get(name, 0.0)} or dict.fromkeys(names, 1.0)
        total = sum(abs(weight) for weight in visual.values()) or 1.0
        return {name: weight / total for name, weight in visual.items()}


def near_weights(ours: Mapping[str, float], theirs: Mapping[str, float]) -> bool:
    """Whether weights have not moved far: what was made for the ones still holds for the others."""
    names = sorted({*ours, *theirs})
    a, b = (np.array([weights.get(name, 0.0) for name in names]) for weights in (ours, theirs))
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return size > 0 and float(a @ b) / size > SAME_WEIGHTS


def for_query(scorer: RankerScorer, query: Query, snapshot: Snapshot) -> RankerScorer:
    """The scorer of a model together with the concepts that a query asks for."""
    return replace(scorer, kept={**scorer.kept, **_concept_weights(query, snapshot)})


def _concept_weights(query: Query, snapshot: Snapshot) -> dict[str, float]:
    """The concept that a query names as such, or whose name its words are."""
    words = fold(query.text).split()
    named = [name for name in snapshot.concepts if words and fold(name).split() == words]
    asked = named if query.concept is None else [query.concept]
    return {f"{CONCEPT}{name}": 1.0 for name in asked}

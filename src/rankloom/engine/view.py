"""What one search sees: the items and the weights of one moment, however long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rankloom.collection.query import Query
from rankloom.engine.models import linear_weights
from rankloom.engine.scorers import RankerScorer, Scorer, WeightScorer
from rankloom.engine.snapshot import CONCEPT, Snapshot

__all__ = ["View", "for_query"]


@dataclass(frozen=True, eq=False)
class View:
    """A snapshot of the items, and what ranks them.

    Parameters
    ----------
    snapshot : the items.
    weights : of the experts, learned or set by hand.
    start : of the experts, before the first mark.
    model : the number of the model in use, and its scorer if it is not linear.
    """

    snapshot: Snapshot
    weights: Mapping[str, float]
    start: Mapping[str, float]
    model: tuple[int | None, RankerScorer | None]

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Equal keys rank alike."""
        return (id(self.snapshot), self.model[0], tuple(self.weights.items()))

    def scorer(self, query: Query) -> Scorer:
        """What ranks a query: the model in use, or the weights; with the concept that the query asks for."""
        model = self.model[1]
        if model is None or linear_weights(model) is not None:
            return WeightScorer({**self.weights, **_asked(query)})
        return for_query(model, query)

    @cached_property
    def kernel(self) -> dict[str, float]:
        """Weights of the similarity between items that marks are followed by: those of the start that are not negative.

        A mark changes the learned weights, but not these: similarities to marked items are computed once.
        """
        return self._visual({name: max(weight, 0.0) for name, weight in self.start.items()})

    @cached_property
    def fused(self) -> dict[str, float]:
        """Weights of the similarity behind the neighbour graph: those of the start, sizes with the sum 1.

        Not the learned ones: a graph that had followed the marks would not forget those that were taken back.
        """
        return self._visual(self.start)

    def _visual(self, weights: Mapping[str, float]) -> dict[str, float]:
        names = [expert.name for expert in self.snapshot.experts]
        found = {name: weights[name] for name in names if weights.get(name, 0.0)} or dict.fromkeys(names, 1.0)
        total = sum(abs(weight) for weight in found.values()) or 1.0
        return {name: weight / total for name, weight in found.items()}


def for_query(model: RankerScorer, query: Query) -> RankerScorer:
    """A model together with the concept that a query asks for."""
    return replace(model, kept={**model.kept, **_asked(query)})


def _asked(query: Query) -> dict[str, float]:
    return {} if query.concept is None else {f"{CONCEPT}{query.concept}": 1.0}

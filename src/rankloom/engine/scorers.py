"""What ranks the items of a search by phi: weights, or any ranker. Both say what each expert adds.

The rankers, which take long to import, are left alone until there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rankloom.core import FloatArray, IntArray
from rankloom.engine.explanation import Part, expert_part
from rankloom.features import Features

if TYPE_CHECKING:
    from rankloom.rankers import Ranker


class Scorer(Protocol):
    """Scores rows of phi; parts of a score sum to it."""

    def scores(self, phi: Features, rows: IntArray | None = None) -> FloatArray:
        """A score for every row, or for some."""
        ...

    def parts(self, phi: Features, row: int) -> list[Part]:
        """What each expert adds to the score of a row."""
        ...


@dataclass(frozen=True)
class WeightScorer:
    """The weighted sum of the experts."""

    weights: Mapping[str, float]

    def scores(self, phi: Features, rows: IntArray | None = None) -> FloatArray:
        """A score for every row, or for some; only experts with a weight are asked."""
        total = np.zeros(len(phi) if rows is None else len(rows))
        part = np.empty_like(total)  # columns are long, and new memory costs more than the product
        for place, name in enumerate(phi.names):
            weight = self.weights.get(name, 0.0)
            if weight != 0 and not phi.is_nothing(place):
                column = phi.whole_column(place) if rows is None else phi.column(place, rows)
                total += np.multiply(weight, column, out=part)
        return total

    def parts(self, phi: Features, row: int) -> list[Part]:
        """What each expert adds to the score of a row."""
        values = {
            name: self.weights[name] * float(phi.column(place, [row])[0])
            for place, name in enumerate(phi.names)
            if self.weights.get(name, 0.0) != 0
        }
        return [expert_part(name, value) for name, value in values.items() if value != 0]


def linear_weights(scorer: Scorer) -> Mapping[str, float] | None:
    """The weights of the experts, if a score is their weighted sum."""
    if isinstance(scorer, WeightScorer):
        return scorer.weights
    return scorer.linear_weights if isinstance(scorer, RankerScorer) else None


@dataclass(frozen=True)
class RankerScorer:
    r"""Any ranker: \(s f(\phi) + \sum_e w_e \phi_e\), the sum over experts of which its data said nothing.

    Parameters
    ----------
    ranker : what was fitted.
    names : the columns that it was fitted on.
    scale : s, which gives its scores the spread that those of the weights had.
    kept : the weights of the other experts.
    """

    ranker: Ranker
    names: tuple[str, ...]
    scale: float
    kept: Mapping[str, float]

    def scores(self, phi: Features, rows: IntArray | None = None) -> FloatArray:
        """A score for every row, or for some."""
        return self.scale * self.ranker.predict(self._columns(phi, rows)) + WeightScorer(self.kept).scores(phi, rows)

    def parts(self, phi: Features, row: int) -> list[Part]:
        """What each expert adds to the score of a row.

        Where the score is no sum over experts, it is taken apart by setting one expert after the other to 0; what is
        left is the part "start".
        """
        from rankloom.rankers import AdditiveRanker

        columns = self._columns(phi, np.array([row]))
        values = np.array([float(columns.column(place)[0]) for place in range(len(self.names))])
        added: dict[str, float] = {}
        start = 0.0
        if isinstance(self.ranker, AdditiveRanker):
            for j in self.ranker.used_features.tolist():
                added[self.names[j]] = self.scale * float(self.ranker.contribution(j, values[[j]])[0])
        else:
            steps = np.tril(np.ones((len(values) + 1, len(values))), -1) * values
            scores = self.scale * self.ranker.predict(steps)
            added = dict(zip(self.names, np.diff(scores).tolist(), strict=True))
            start = float(scores[0])
        for part in WeightScorer(self.kept).parts(phi, row):
            added[part.name] = added.get(part.name, 0.0) + part.value
        parts = [expert_part(name, value) for name, value in added.items()]
        return [part for part in (*parts, Part("other", "start", start)) if part.value != 0]

    def _columns(self, phi: Features, rows: IntArray | None) -> Features:
        place = {name: at for at, name in enumerate(phi.names)}
        missing = [name for name in self.names if name not in place]
        if missing:
            raise ValueError(
                f"the model in use was trained with the expert {missing[0]!r}, which the collection no longer has; "
                "run 'rankloom train' again, or 'rankloom models rollback'"
            )
        wanted = phi if rows is None else phi.take(rows)
        columns = {name: partial(wanted.column, place[name]) for name in self.names}
        return Features(columns, n_rows=len(wanted))

    @property
    def linear_weights(self) -> dict[str, float] | None:
        """The weights of the experts, if the ranker is linear."""
        from rankloom.rankers import LinearRanker

        if not isinstance(self.ranker, LinearRanker):
            return None
        coef = self.scale * self.ranker.coef_
        return {**self.kept, **dict(zip(self.names, coef.tolist(), strict=True))}

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        from rankloom.rankers import ranker_to_json

        ranker = ranker_to_json(self.ranker)
        return {"ranker": ranker, "names": [*self.names], "scale": self.scale, "kept": dict(self.kept)}

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> RankerScorer:
        """Read what `to_json` wrote."""
        from rankloom.rankers import ranker_from_json

        return cls(ranker_from_json(state["ranker"]), tuple(state["names"]), state["scale"], state["kept"])

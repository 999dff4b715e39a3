"""The cascade detector: small machines on single descriptors, boosted, asked only as long as an item may matter."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rankloom.concepts._calibration import Sigmoid, fit_sigmoid
from rankloom.concepts._examples import TrainingExamples, Vectors, folds
from rankloom.concepts._json import pack, unpack
from rankloom.concepts.bagging import BaggedSVMs, BaseModel
from rankloom.core import FloatArray, IntArray
from rankloom.features import Features
from rankloom.rankers import RankBoost, Ranker, SoftCascade, ranker_from_json, ranker_to_json

LEAST_POSITIVES = 5  # each fold of the stacking leaves 3 to train a machine on
LEAST_FOR_CUTS = 20  # a third of them judges the cut-offs that the others place
BUDGET = 0.02
_ROUNDS, _FOLDS = 100, 3
_BLOCK = 4096


class CascadeDetector(NamedTuple):
    """The ranker, and by column number the machines that it asks."""

    machines: dict[int, BaseModel]
    ranker: Ranker

    def features(self, vectors: Vectors, rows: IntArray) -> Features:
        """The outputs of the machines, one per column, computed when they are asked for."""
        for machine in self.machines.values():
            width = vectors[machine.descriptor].shape[1]
            if width != machine.support.shape[1]:
                raise ValueError(
                    f"vectors of {machine.descriptor!r} have {width} components, the concept was trained on "
                    f"{machine.support.shape[1]}; train it again"
                )
        columns = [
            partial(_score, self.machines[j], vectors, rows) if j in self.machines else _never
            for j in range(self.ranker.n_features_in_)
        ]
        names = [self.machines[j].descriptor if j in self.machines else "not used" for j in range(len(columns))]
        return Features(columns, n_rows=len(rows), names=names)

    def values(self, features: Features) -> FloatArray:
        """The scores of the ranker."""
        return self.ranker.predict(features)

    def to_state(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        machines = [
            {"column": j, **machine._asdict(), "support": pack(machine.support), "weights": pack(machine.weights)}
            for j, machine in self.machines.items()
        ]
        return {"machines": machines, "ranker": ranker_to_json(self.ranker)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> CascadeDetector:
        """The detector of `to_state`."""
        machines = {}
        for entry in state["machines"]:
            fields = {**entry, "support": unpack(entry["support"]), "weights": unpack(entry["weights"])}
            column = int(fields.pop("column"))
            machines[column] = BaseModel(**fields)
        return cls(machines, ranker_from_json(state["ranker"]))


def fit_cascade(
    examples: TrainingExamples, seed: int, progress: Any
) -> tuple[CascadeDetector, Sigmoid, FloatArray, list[str]]:
    """Train a detector; return it with its sigmoid, scores of held-out examples, and what was done."""
    y, n_positive = examples.y, int(examples.y.sum())
    least = min(n_positive, len(y) - n_positive)
    if least < LEAST_POSITIVES:
        raise ValueError(
            f"method='cascade' needs at least {LEAST_POSITIVES} positive and negative examples, of one kind are "
            f"{least}; mark more items or use method='linear'"
        )
    parts = folds(y, _FOLDS, seed)
    total = (len(parts) + 1) * BaggedSVMs().per_descriptor * len(examples.vectors)
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        progress(done, total)

    # Machines are too sure of items that they were trained on: boosting sees what machines of other folds say.
    outputs = [
        np.asarray(_train(examples.take(train), seed, step).features(examples.take(test).vectors))
        for train, test in parts
    ]
    X = np.empty((len(y), outputs[0].shape[1]))
    for (_, test), values in zip(parts, outputs, strict=True):
        X[test] = values
    machines = _train(examples, seed, step).models_
    boost, ranker, said = _boost(X, y, seed)
    held = np.empty(len(y))
    for train, test in parts:
        held[test] = RankBoost(_ROUNDS, "feature").fit(X[train], y[train], _one_query(train)).predict(X[test])
    sigmoid, _ = fit_sigmoid(ranker.predict(X), y)
    asked = {j: machines[j] for j in sorted(boost.used_features.tolist())}
    of = len({machine.descriptor for machine in machines})
    said.insert(0, f"{len(asked)} of {len(machines)} machines, of {of} descriptors, are asked")
    return CascadeDetector(asked, ranker), sigmoid, held, said


def _one_query(rows: Any) -> IntArray:
    """The qid of rows that are all of one query: a concept is one."""
    return np.zeros(len(rows), dtype=np.int64)


def _train(examples: TrainingExamples, seed: int, step: Any) -> BaggedSVMs:
    least = int(min(examples.y.sum(), (~examples.y).sum()))
    return BaggedSVMs(n_folds=min(3, least), random_state=seed).fit(examples.vectors, examples.y, progress=step)


def _boost(X: FloatArray, y: Any, seed: int) -> tuple[Any, Ranker, list[str]]:
    """The boosted ranker, the same with cut-offs where there are examples to place them by, and a sentence about it."""
    boost = RankBoost(_ROUNDS, "feature")
    if y.sum() < LEAST_FOR_CUTS:
        boost.fit(X, y, _one_query(y))
        few = f"no cut-offs: fewer than {LEAST_FOR_CUTS} positive examples, all of them teach the ranker"
        return boost, boost, [few]
    # Every machine costs the same here. With costs by the size of a machine up to twice as many were asked
    # (Caltech-101, 20 and 24 examples, 15 classes); AP went either way.
    cascade = SoftCascade(boost, BUDGET, random_state=seed).fit(X, y, _one_query(y))
    cost = cascade.curve_[cascade.chosen_].cost
    said = [f"cut-offs by the examples: {cost:.1f} machines an item, for {BUDGET:.0%} of AP@100"]
    return cascade.ranker_, cascade, said


def _score(machine: BaseModel, vectors: Vectors, rows: IntArray, places: IntArray) -> FloatArray:
    stored = vectors[machine.descriptor]
    values = np.empty(len(places))
    for start in range(0, len(places), _BLOCK):
        block = rows[places[start : start + _BLOCK]]
        values[start : start + _BLOCK] = machine.score(np.asarray(stored[block], dtype=np.float64))
    return values


def _never(places: IntArray) -> FloatArray:
    raise ValueError("the ranker of this concept asks for a machine that was not kept; train it again")

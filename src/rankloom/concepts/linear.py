"""The linear detector: logistic regression on vectors of unit length."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rankloom.concepts._calibration import Sigmoid, fit_sigmoid
from rankloom.concepts._examples import TrainingExamples, Vectors, folds
from rankloom.concepts._json import pack, unpack
from rankloom.core import FloatArray, IntArray
from rankloom.features import Features

CS = (0.1, 1.0, 10.0, 100.0)  # of which one is chosen by cross-validation
PREFERRED = "semantic"
_FOLDS = 5
_BLOCK = 1024  # rows in double precision at a time


class LinearDetector(NamedTuple):
    """One weight a component of some descriptors, whose vectors are brought to unit length."""

    weights: dict[str, FloatArray]
    intercept: float

    def features(self, vectors: Vectors, rows: IntArray) -> Features:
        """The decision value of each row, as the only column."""
        chosen = {}
        for name, weight in self.weights.items():
            chosen[name] = vectors[name]
            if chosen[name].shape[1] != len(weight):
                raise ValueError(
                    f"vectors of {name!r} have {chosen[name].shape[1]} components, the concept was trained on "
                    f"{len(weight)}; train it again"
                )
        return Features({"decision": partial(self._decide, chosen, rows)}, n_rows=len(rows))

    def values(self, features: Features) -> FloatArray:
        """The decision values."""
        return features.column(0)

    def _decide(self, vectors: Vectors, rows: IntArray, places: IntArray) -> FloatArray:
        values = np.full(len(places), self.intercept)
        for start in range(0, len(places), _BLOCK):
            block = slice(start, start + _BLOCK)
            for name, weight in self.weights.items():
                X = np.asarray(vectors[name][rows[places[block]]], dtype=np.float64)
                # Not a product of BLAS, whose rounding depends on the rows beside.
                values[block] += np.einsum("ij,j->i", X, weight) / _lengths(X)
        return values

    def to_state(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"weights": {name: pack(weight) for name, weight in self.weights.items()}, "intercept": self.intercept}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LinearDetector:
        """The detector of `to_state`."""
        weights = {name: unpack(packed) for name, packed in state["weights"].items()}
        return cls(weights, float(state["intercept"]))


def fit_linear(
    examples: TrainingExamples, seed: int, progress: Any
) -> tuple[LinearDetector, Sigmoid, FloatArray, list[str]]:
    """Train a detector; return it with its sigmoid, decision values of held-out examples, and what was done."""
    from sklearn.linear_model import LogisticRegression

    names = [PREFERRED] if PREFERRED in examples.vectors else [*examples.vectors]
    share = 1.0 / np.sqrt(len(names))
    X = np.concatenate([_unit(examples.vectors[name]) for name in names], axis=1) * share
    y = examples.y
    parts = folds(y, _FOLDS, seed)
    cost = np.where(y, 0.5 / y.sum(), 0.5 / (~y).sum())
    losses, held = [], []
    for number, C in enumerate(CS):
        values = np.empty(len(y))
        for train, test in parts:
            machine = LogisticRegression(C=C, class_weight="balanced", max_iter=5000).fit(X[train], y[train])
            values[test] = machine.decision_function(X[test])
        held.append(values)
        losses.append(float(cost @ np.logaddexp(0.0, np.where(y, -values, values))))
        progress(number + 1, len(CS))
    best = int(np.argmin(losses))
    final = LogisticRegression(C=CS[best], class_weight="balanced", max_iter=5000).fit(X, y)
    ends = np.cumsum([examples.vectors[name].shape[1] for name in names])[:-1]
    weights = dict(zip(names, np.split(final.coef_[0] * share, ends), strict=True))
    sigmoid, good = fit_sigmoid(held[best], y)
    said = [f"C = {CS[best]:g} by {len(parts)} folds, on {', '.join(names)}"]
    if not good:
        said.append("held-out examples are not told apart: the probabilities are not calibrated")
    return LinearDetector(weights, float(final.intercept_[0])), sigmoid, held[best], said


def _unit(X: FloatArray) -> FloatArray:
    return np.asarray(X / _lengths(X)[:, None])


def _lengths(X: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(np.sqrt(np.einsum("ij,ij->i", X, X)), 1e-12))

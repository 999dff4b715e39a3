"""A concept: training, scores, ranking, and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from rankloom.concepts._calibration import Sigmoid
from rankloom.concepts._examples import Vectors, collect, n_items, row_numbers
from rankloom.concepts.cascade import CascadeDetector, fit_cascade
from rankloom.concepts.linear import LinearDetector, fit_linear
from rankloom.core import FloatArray, IntArray
from rankloom.evaluation.metrics import evaluate
from rankloom.groups import check_count

_FORMAT, _VERSION = "rankloom-concept", 1

# How to train a detector, and what reads it back.
METHODS: dict[str, tuple[Callable[..., Any], type[LinearDetector] | type[CascadeDetector]]] = {
    "linear": (fit_linear, LinearDetector),
    "cascade": (fit_cascade, CascadeDetector),
}


class ConceptQuality(NamedTuple):
    """How well examples are ranked by detectors that had not seen them: average precision, area under the curve.

    `positives` and `negatives` are their numbers; chance is an AP of their share, and an AUC of 0.5. Negative examples
    that were sampled may show the concept, and then both are lower than they should be.
    """

    ap: float
    auc: float
    positives: int
    negatives: int


class Ranked(NamedTuple):
    """The best items of a concept: their rows, their scores, and how many outputs of weak models that took."""

    rows: IntArray
    scores: FloatArray
    n_evaluations: int


@dataclass(frozen=True, eq=False)
class Concept:
    """A detector of what the examples have in common; `train_concept` makes it.

    Attributes
    ----------
    name : what it is called.
    method : "linear" or "cascade".
    quality : AP and AUC of the examples, cross-validated.
    report : what was done in training, a sentence per line.
    """

    name: str
    method: str
    quality: ConceptQuality
    report: str
    detector: LinearDetector | CascadeDetector
    sigmoid: Sigmoid

    @property
    def descriptors(self) -> list[str]:
        """The descriptors that it needs."""
        if isinstance(self.detector, LinearDetector):
            return [*self.detector.weights]
        return [*dict.fromkeys(machine.descriptor for machine in self.detector.machines.values())]

    def scores(self, vectors: Vectors, rows: ArrayLike | None = None) -> FloatArray:
        """A score in [0, 1] for each item: of "linear" the probability of the concept, of "cascade" squashed.

        Parameters
        ----------
        vectors : the vectors of all items by descriptor; of more descriptors than are needed, too.
        rows : which items; all unless given.
        """
        values, _ = self._values(vectors, self._rows(vectors, rows))
        return self.sigmoid(values)

    def rank(self, vectors: Vectors, k: int, rows: ArrayLike | None = None) -> Ranked:
        """The k items of the highest scores, from the best; of equal ones the lower row comes first.

        Parameters
        ----------
        vectors : as for `scores`.
        k : how many; fewer where there are fewer items.
        rows : among which items; all unless given.
        """
        check_count("k", k)
        among = self._rows(vectors, rows)
        values, n_evaluations = self._values(vectors, among)
        best = np.lexsort((among, -values))[:k]  # by values: far out, probabilities are rounded to 1
        return Ranked(among[best], self.sigmoid(values[best]), n_evaluations)

    def _rows(self, vectors: Vectors, rows: ArrayLike | None) -> IntArray:
        missing = [name for name in self.descriptors if name not in vectors]
        if missing:
            raise ValueError(
                f"the concept {self.name!r} needs vectors of {missing[0]!r}; compute that descriptor first"
            )
        n = n_items({name: vectors[name] for name in self.descriptors})
        return np.arange(n) if rows is None else row_numbers(rows, n, "rows")

    def _values(self, vectors: Vectors, rows: IntArray) -> tuple[FloatArray, int]:
        lazy = self.detector.features(vectors, rows)
        return self.detector.values(lazy), lazy.n_evaluations

    def to_json(self) -> str:
        """All of it as JSON; `Concept.from_json` reads it, and gives the same scores to the last bit."""
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "name": self.name,
            "method": self.method,
            "quality": self.quality._asdict(),
            "report": self.report,
            "sigmoid": list(self.sigmoid),
            "detector": self.detector.to_state(),
        }
        return json.dumps(document, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Concept:
        """The concept that `to_json` wrote."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError:
            raise ValueError("this is not a saved concept: it is not JSON") from None
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise ValueError(f'this is not a saved concept: no "format": "{_FORMAT}" in it')
        version = document.get("version")
        if not isinstance(version, int) or version > _VERSION:
            raise ValueError(f"the concept has format version {version}, this Rankloom reads up to {_VERSION}; upgrade")
        try:
            return cls(
                str(document["name"]),
                document["method"],
                ConceptQuality(**document["quality"]),
                str(document["report"]),
                METHODS[document["method"]][1].from_state(document["detector"]),
                Sigmoid(*map(float, document["sigmoid"])),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is not a complete saved concept: {error}") from None


def train_concept(
    name: str,
    vectors: Vectors,
    positive: ArrayLike,
    negative: ArrayLike | None = None,
    *,
    method: str = "linear",
    random_state: Any = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Concept:
    r"""Train a detector of a concept from examples among the items of a collection.

    "linear" is a logistic regression with balanced classes on the vectors of the semantic descriptor, brought to unit
    length (of all descriptors, where there is none), and

    $$ P(\text{concept} \mid x) = \sigma(a (w \cdot x / \lVert x \rVert + w_0) + b) $$

    with a and b by Platt's method on held-out folds, so that probabilities hold for the given share of positives.
    "cascade" is for concepts that no single descriptor shows: bagged machines on every descriptor, `RankBoost` over
    their held-out outputs, and from 20 positive examples on a `SoftCascade` that asks most machines of few items only.

    Parameters
    ----------
    name : what the concept is called.
    vectors : for each descriptor an array with one row per item, of all items of the collection.
    positive : the rows of items that show the concept, 2 at least ("cascade": 5).
    negative : the rows of items that do not. None takes 200 items without a mark, or 5 a positive example if more.
    method : "linear" or "cascade".
    random_state : which items are sampled, and how they are divided into folds and bags.
    progress : called with the steps done and their number.

    References
    ----------
    J. Platt, Probabilistic outputs for support vector machines, 1999. M. Merler, R. Yan, J. Smith, Imbalanced RankBoost
    for efficiently ranking large-scale image/video collections, CVPR 2009, section 5.1. D. Wolpert, Stacked
    generalization, 1992. C. Elkan, K. Noto, Learning classifiers from only positive and unlabeled data, KDD 2008.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shown = np.arange(1000) < 50
    >>> vectors = {"semantic": (rng.normal(size=(1000, 32)) + 1.5 * shown[:, None]).astype(np.float16)}
    >>> concept = train_concept("sail", vectors, range(10), random_state=0)
    >>> concept.quality.auc > 0.95, sorted(concept.rank(vectors, 3).rows.tolist())[-1] < 50
    (True, True)
    >>> bool((Concept.from_json(concept.to_json()).scores(vectors) == concept.scores(vectors)).all())
    True
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"a concept needs a name, got {name!r}")
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; known are {', '.join(METHODS)}")
    random = check_random_state(random_state)
    examples = collect(vectors, positive, negative, random)
    detector, sigmoid, held, said = METHODS[method][0](examples, int(random.randint(2**31)), progress)
    quality = _quality(examples.y, held)
    others = "items without a mark, taken for negative" if examples.n_sampled else "negative"
    first = f"{method}: {quality.positives} positive examples, {quality.negatives} {others}"
    last = f"held-out examples: AP {quality.ap:.3f}, AUC {quality.auc:.3f}"
    return Concept(name, method, quality, "\n".join([first, *said, last]), detector, sigmoid)


def _quality(y: NDArray[np.bool_], held: FloatArray) -> ConceptQuality:
    """AP and AUC of decision values by detectors that had not seen the examples."""
    ap = evaluate(y.astype(np.float64), held, None, ["AP"])["AP"]
    return ConceptQuality(float(ap), float(roc_auc_score(y, held)), int(y.sum()), int((~y).sum()))

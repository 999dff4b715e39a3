"""Training from parts: value, gradient and Hessian are sums over queries, wherever the rows of the queries are held.

A `Parts` holds the parts and computes with each where it is; the solvers are those of a single machine, which see one
risk. What a risk of some queries has to know of all of them is gathered first (`Common`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankloom.core import FloatArray, IntArray, RankingData
from rankloom.groups import Preferences
from rankloom.rankers._feature_size import largest_values
from rankloom.rankers._risk_types import LinearRisk, Risk
from rankloom.rankers._risks import QuadraticPairs, sampled_queries
from rankloom.rankers.base import Problem, warn_nothing_to_learn

_BYTES = 8  # of a float64: so many passes find a median among all rows


class Parts(Protocol):
    """Parts of the rows, each with whole queries, and what is computed where they are held."""

    def call(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """`function(part, *args)` of every part, in their order."""

    def total(self, function: Callable[..., tuple[Any, ...]], *args: Any) -> tuple[Any, ...]:
        """The sums of the numbers or arrays that `function(part, *args)` gives, each part counted once."""

    def derive(self, function: Callable[..., Any], *args: Any, each: Sequence[Any] | None = None) -> Parts:
        """What `function(part, *args)` gives, which stays where it is; `each` has one more argument for every part."""


class Taught(NamedTuple):
    """A problem, its preferences, and the numbers of the rows that stand in them, in their order."""

    problem: Problem
    prefs: Preferences
    rows: IntArray


class Common(NamedTuple):
    """What all parts have in common: the range of the grades that teach, and one shift of all rows, where there is."""

    grades: tuple[float, float] | None = None
    shift: FloatArray | None = None


class Survey(NamedTuple):
    """What is asked of a part before its risk is made; `grades` is the range of those that teach, if any do."""

    n_queries: int
    largest: FloatArray
    grades: tuple[float, float] | None


class SumRanker(Protocol):
    """A ranker whose objective is a sum over queries: what its parts compute, and what is done with the sums."""

    n_features_in_: int
    n_queries_: int

    def _check_parameters(self) -> None: ...

    def _check_sizes(self, rows: Any) -> None: ...

    def _taught(self, problem: Problem) -> Taught: ...

    def _common(self, taught: Parts, surveys: Sequence[Survey]) -> Common: ...

    def _risk(self, taught: Taught, common: Common | None = None) -> Risk: ...

    def _learn(self, risk: Any) -> None: ...

    def _learn_nothing(self) -> None: ...


def fit_parts(ranker: SumRanker, data: Parts) -> None:
    """Fit a ranker to parts that are `RankingData`, as `ranker.fit` does to all rows at once.

    The weights are those of a single machine up to the rounding of sums, which Newton's steps do not enlarge.

    Parameters
    ----------
    ranker : a `MarginRanker`, or a `ListNet` or `RankNet` with linear scores.
    data : the parts; all rows of a query are in one of them.
    """
    ranker._check_parameters()
    taught = data.derive(_taught, ranker)
    surveys: list[Survey] = taught.call(_survey)
    largest = np.max([survey.largest for survey in surveys], axis=0)
    ranker.n_features_in_ = len(largest)
    ranker._check_sizes(largest[None, :])
    if any(survey.grades is not None for survey in surveys):
        common = ranker._common(taught, surveys)
        risks = taught.derive(_risk_part, ranker, common)
        del taught  # rows that the risks have copied need not be kept twice
        ranker._learn(SummedRisk(risks))
    else:
        warn_nothing_to_learn("all weights are 0")
        ranker._learn_nothing()
    ranker.n_queries_ = sum(survey.n_queries for survey in surveys)


def _taught(data: RankingData, ranker: Any) -> Taught:
    rows = clone(ranker)._check_rows(data.X, reset=True)
    taught: Taught = ranker._taught(ranker._problem(rows, data.y, data.qid))
    return taught


def _survey(taught: Taught) -> Survey:
    grades = taught.problem.y[taught.rows]
    span = (float(grades.min()), float(grades.max())) if len(grades) else None
    return Survey(len(taught.problem.groups), largest_values(taught.problem.X), span)


class Traits(NamedTuple):
    """What solvers ask about a risk before its first value."""

    n_weights: int
    has_hessian: bool
    compact: bool
    sampled: bool  # whether it is minimised beginning with a sample of the queries


class RiskPart:
    """The risk of some queries, where their rows are held; None where none of them teaches.

    The solvers ask for value and Hessian at the same weights, and the risks know them again by identity: so equal
    weights that come one after another are made the same array.
    """

    def __init__(self, risk: Any, queries: NDArray[Any]):
        self.risk, self.queries = risk, queries
        self._w: FloatArray | None = None
        self._products: tuple[Any, Any] = (None, None)

    def __sizeof__(self) -> int:
        """The bytes of its arrays: what it costs to move it elsewhere."""
        held = [*vars(self.risk).values()] if self.risk is not None else []
        held = [getattr(value, "X", value) for value in held]  # compact rows are an object around an array
        return sum(value.nbytes for value in held if isinstance(value, np.ndarray)) + self.queries.nbytes

    def at(self, w: FloatArray) -> FloatArray:
        """These weights, as the array that they were before if they are the same."""
        if self._w is None or not np.array_equal(self._w, w):
            self._w = w
            self._products = (None, None)
        return self._w

    def smoothed(self, width: float | None) -> Any:
        """The risk, with a hinge that is rounded over a width if one is given."""
        return self.risk if width is None else self.risk.smoothed(width)

    def products(self, width: float | None, w: FloatArray) -> Any:
        """The Hessian by products, kept while width and weights stay."""
        w = self.at(w)
        if self._products[0] != width or self._products[1] is None:
            self._products = (width, self.smoothed(width).hessian(w))
        return self._products[1]


def _risk_part(taught: Taught, ranker: Any, common: Common) -> RiskPart:
    if not len(taught.rows):
        return RiskPart(None, np.empty(0))
    codes = taught.prefs.query[np.flatnonzero(np.diff(taught.prefs.query, prepend=-1))]
    keys = taught.problem.groups.keys
    return RiskPart(ranker._risk(taught, common), np.array([keys[code] for code in codes]))


def _traits(part: RiskPart) -> Traits | None:
    risk = part.risk
    if risk is None:
        return None
    return Traits(risk.n_weights, risk.has_hessian, risk.compact, isinstance(risk, QuadraticPairs))


def _value_gradient(part: RiskPart, width: float | None, w: FloatArray) -> tuple[Any, ...]:
    """Value and gradient; of a smoothed hinge also its sharp parts."""
    if part.risk is None:
        return 0.0, np.zeros_like(w), 0.0, 0.0
    risk, w = part.smoothed(width), part.at(w)
    value, gradient = risk.value_gradient(w)
    return (value, gradient, *((0.0, 0.0) if width is None else risk.sharp_parts(w)))


def _hessian(part: RiskPart, width: float | None, w: FloatArray) -> tuple[Any, ...]:
    if part.risk is None:
        return (np.zeros((len(w), len(w))),)
    return (part.smoothed(width).hessian(part.at(w)),)


def _product(part: RiskPart, width: float | None, w: FloatArray, v: FloatArray) -> tuple[Any, ...]:
    return (np.zeros_like(v) if part.risk is None else part.products(width, w) @ v,)


def _diagonal(part: RiskPart, width: float | None, w: FloatArray) -> tuple[Any, ...]:
    return (np.zeros_like(w) if part.risk is None else part.products(width, w).diagonal(),)


def _sizes(part: RiskPart) -> tuple[NDArray[Any], IntArray]:
    """The queries of a part that teach, and how many rows each has."""
    if part.risk is None:
        return part.queries, np.empty(0, dtype=np.int64)
    return part.queries, np.diff(part.risk.starts, append=len(part.risk.weight))


def _of_queries(part: RiskPart, numbers: IntArray) -> RiskPart:
    return RiskPart(part.risk.of_queries(numbers) if len(numbers) else None, part.queries[numbers])


def _pair_weight(part: RiskPart) -> tuple[float]:
    return (0.0 if part.risk is None else float(part.risk.pair_weight.sum()),)


class SummedRisk:
    """The sum of the risks of parts, as the solvers see a risk.

    Parameters
    ----------
    parts : of which each is a `RiskPart`.
    width : over which a hinge is rounded, if it is.
    traits : of the risks; without them they are asked for.
    """

    chunks: list[slice] | None = None  # the Hessian of compact rows is never formed

    def __init__(self, parts: Parts, width: float | None = None, traits: Traits | None = None):
        known: Traits = next(filter(None, parts.call(_traits))) if traits is None else traits
        self._parts, self._width, self._traits = parts, width, known
        self.n_weights, self.has_hessian, self.compact = known.n_weights, known.has_hessian, known.compact
        self._sharp = (0.0, 0.0)

    def value_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The risk and its gradient."""
        value, gradient, *sharp = self._parts.total(_value_gradient, self._width, w)
        self._sharp = (float(sharp[0]), float(sharp[1]))
        return float(value), gradient

    def sharp_parts(self, w: FloatArray) -> tuple[float, float]:
        """The risk of the hinge itself, and the sum of the slopes -L', of the last `value_gradient(w)`."""
        return self._sharp

    def hessian(self, w: FloatArray) -> Any:
        """The second derivatives; by products where the parts have them so."""
        if self.compact:
            return _SummedProducts(self._parts, self._width, w)
        return self._parts.total(_hessian, self._width, w)[0]

    def smoothed(self, width: float) -> SummedRisk:
        """The same risk with a smoothed hinge."""
        return SummedRisk(self._parts, width, self._traits)

    def sample(self) -> tuple[LinearRisk, float] | None:
        """The queries that a single machine would begin with, and their share of the weight of all pairs."""
        if not self._traits.sampled:
            return None
        sizes = self._parts.call(_sizes)
        lengths = np.concatenate([of_queries for _, of_queries in sizes])
        part = np.repeat(np.arange(len(sizes)), [len(of_queries) for _, of_queries in sizes])
        number = np.concatenate([np.arange(len(of_queries)) for _, of_queries in sizes])
        order = np.argsort(np.concatenate([queries for queries, _ in sizes if len(queries)]), kind="stable")
        chosen = sampled_queries(lengths[order], self.n_weights)
        if chosen is None:
            return None
        rows = order[chosen]
        each = [np.sort(number[rows][part[rows] == place]) for place in range(len(sizes))]
        sample = self._parts.derive(_of_queries, each=each)
        share = sample.total(_pair_weight)[0] / self._parts.total(_pair_weight)[0]
        return SummedRisk(sample, self._width, self._traits), float(share)


class _SummedProducts:
    """The Hessian of a summed risk at some weights, by products."""

    def __init__(self, parts: Parts, width: float | None, w: FloatArray):
        self._parts, self._width, self._w = parts, width, w

    def __matmul__(self, v: FloatArray) -> FloatArray:
        return np.asarray(self._parts.total(_product, self._width, self._w, v)[0])

    def diagonal(self) -> FloatArray:
        """A bound of the diagonal, up to a factor."""
        return np.asarray(self._parts.total(_diagonal, self._width, self._w)[0])


def total_medians(taught: Parts, n_features: int) -> FloatArray:
    """The weighted lower median of each feature over the rows of all parts, exactly: byte by byte from the highest.

    Each row weighs as often as it stands in a pair, as in `median_shift`.
    """
    prefix = np.zeros(n_features, dtype=np.uint64)
    below = np.zeros(n_features)
    half: FloatArray | None = None
    for place in range(_BYTES):
        (weights,) = taught.total(_byte_weights, prefix, place)
        if half is None:
            half = 0.5 * weights.sum(axis=1) * (1.0 - 1e-12)  # an exact half must not be missed by rounding
        reached = below[:, None] + np.cumsum(weights, axis=1)
        chosen = np.where((reached >= half[:, None]).any(axis=1), np.argmax(reached >= half[:, None], axis=1), 255)
        columns = np.arange(n_features)
        below = reached[columns, chosen] - weights[columns, chosen]
        prefix = (prefix << np.uint64(8)) | chosen.astype(np.uint64)
    return _floats(prefix)


def _byte_weights(taught: Taught, prefix: NDArray[np.uint64], place: int) -> tuple[FloatArray]:
    """The weight of the rows of each feature by one byte of its value, of those whose bytes before are the prefix."""
    prefs = taught.prefs
    weight = prefs.weight * (prefs.lower + prefs.higher) * prefs.scale
    weights = np.zeros((len(prefix), 256))
    shift = np.uint64(8 * (_BYTES - 1 - place))
    for column in range(len(prefix)) if len(weight) else ():
        keys = _sortable(taught.problem.X[taught.rows, column])
        rows = slice(None) if place == 0 else keys >> (shift + np.uint64(8)) == prefix[column]
        values = ((keys[rows] >> shift) & np.uint64(255)).astype(np.int64)
        weights[column] = np.bincount(values, weight[rows], minlength=256)
    return (weights,)


_SIGN = np.uint64(1 << 63)


def _sortable(values: FloatArray) -> NDArray[np.uint64]:
    """Whole numbers in the order of the values; 0 and -0 are the same."""
    bits = np.add(values, 0.0, dtype=np.float64).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _floats(keys: NDArray[np.uint64]) -> FloatArray:
    """The values of sortable numbers."""
    return np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float64)

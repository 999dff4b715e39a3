"""Weak detectors of a concept: support vector machines, each of one descriptor and a small balanced bag of items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankloom.core import FloatArray, IntArray
from rankloom.features import Features

_BLOCK = 4096  # rows scored at a time: the kernel matrix of a block stays small


class BaseModel(NamedTuple):
    r"""A support vector machine with an RBF kernel and scores \(\sigma(2 \sum_i a_i k(x, s_i) + 2 b)\), in (0, 1).

    `auc` is that of the held-out folds within its bag, with the chosen `C` and `gamma`.
    """

    descriptor: str
    support: FloatArray
    weights: FloatArray
    intercept: float
    gamma: float
    C: float
    auc: float

    def score(self, X: FloatArray) -> FloatArray:
        """The scores of descriptor vectors."""
        scores = np.empty(len(X))
        for start in range(0, len(X), _BLOCK):
            kernel = np.exp(-self.gamma * _squared_distances(X[start : start + _BLOCK], self.support))
            scores[start : start + _BLOCK] = kernel @ self.weights + self.intercept
        return np.asarray(1.0 / (1.0 + np.exp(-2.0 * scores)))


class BaggedSVMs(BaseEstimator):  # type: ignore[misc]
    r"""The base models that boosting combines: for every descriptor a few RBF machines on balanced bags.

    A bag holds as many relevant as other items, drawn without replacement. `C` and `gamma` of each machine are those of
    the best area under the curve in cross-validation within its bag. Scores lie in (0, 1), as the bounds of boosting
    need them (docs/papers.md, B3): 0.88 and 0.12 at the margins.

    Parameters
    ----------
    per_descriptor : how many machines each descriptor gets.
    bag_size : items of a bag at most, half of them relevant.
    n_folds : folds of the cross-validation.
    C : the values to choose from.
    gamma : the values to choose from, over the median squared distance of the bag.
    n_jobs : worker processes; -1 for one per core.
    random_state : which items go into the bags.

    Attributes
    ----------
    models_ : the machines, in the order of the descriptors.

    References
    ----------
    M. Merler, R. Yan, J. Smith, Imbalanced RankBoost for efficiently ranking large-scale image/video collections, CVPR
    2009, section 5.1: 200 machines of 100 descriptors, bags of at most 800 items, 3 folds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) < 40
    >>> described = {"colour": rng.normal(size=(300, 8)) + y[:, None], "shape": rng.normal(size=(300, 5)) + y[:, None]}
    >>> bagged = BaggedSVMs(per_descriptor=1).fit(described, y)
    >>> lazy = bagged.features(described)
    >>> lazy.names, lazy.shape, bool(lazy.column(0, [0]) > lazy.column(0, [299]))
    (['colour 1', 'shape 1'], (300, 2), True)
    >>> lazy.n_evaluations
    2
    """

    def __init__(
        self,
        per_descriptor: int = 2,
        bag_size: int = 800,
        *,
        n_folds: int = 3,
        C: tuple[float, ...] = (0.3, 1.0, 10.0),
        gamma: tuple[float, ...] = (0.3, 1.0, 3.0),
        n_jobs: int = 1,
        random_state: Any = 0,
    ):
        self.per_descriptor = per_descriptor
        self.bag_size = bag_size
        self.n_folds = n_folds
        self.C = C
        self.gamma = gamma
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, described: Mapping[str, ArrayLike], y: ArrayLike, *, progress: Callable[[], None] = lambda: None
    ) -> Self:
        """Train all machines.

        Parameters
        ----------
        described : for each descriptor an array with one vector per item.
        y : whether each item shows the concept (above 0) or not.
        progress : called after each machine.
        """
        from joblib import Parallel, delayed, parallel_config

        relevant = np.asarray(y) > 0
        vectors = _check_described(described)
        n_items = len(next(iter(vectors.values())))
        if relevant.shape != (n_items,):
            raise ValueError(f"y has the shape {relevant.shape} but there are {n_items} items")
        least = min(relevant.sum(), n_items - relevant.sum())
        if least < self.n_folds:
            raise ValueError(f"{self.n_folds} folds need as many relevant and other items; of one kind are {least}")
        random = check_random_state(self.random_state)
        tasks = []
        for name in vectors:
            for _ in range(self.per_descriptor):
                bag = _draw(relevant, self.bag_size, random)
                tasks.append((name, vectors[name][bag], relevant[bag], int(random.randint(2**31))))
        self.models_: list[BaseModel] = []
        with parallel_config("loky", inner_max_num_threads=1):
            run = Parallel(n_jobs=self.n_jobs, return_as="generator")
            for model in run(delayed(_train)(*task, self.C, self.gamma, self.n_folds) for task in tasks):
                self.models_.append(model)
                progress()
        return self

    def features(self, described: Mapping[str, ArrayLike]) -> Features:
        """The scores of all machines for the items of these vectors, computed when they are asked for."""
        check_is_fitted(self)
        vectors = _check_described(described)
        numbers: dict[str, int] = {}
        columns: dict[str, Callable[[IntArray], FloatArray]] = {}
        for model in self.models_:
            if model.descriptor not in vectors:
                raise ValueError(f"there are no vectors of the descriptor {model.descriptor!r}")
            stored = vectors[model.descriptor]
            if stored.shape[1] != model.support.shape[1]:
                raise ValueError(
                    f"vectors of {model.descriptor!r} have {stored.shape[1]} components, the machines were trained on "
                    f"{model.support.shape[1]}"
                )
            numbers[model.descriptor] = numbers.get(model.descriptor, 0) + 1
            columns[f"{model.descriptor} {numbers[model.descriptor]}"] = partial(_score, model, stored)
        return Features(columns, n_rows=len(next(iter(vectors.values()))))


def _score(model: BaseModel, vectors: FloatArray, rows: IntArray) -> FloatArray:
    return model.score(vectors[rows])


def _check_described(described: Mapping[str, ArrayLike]) -> dict[str, FloatArray]:
    if not described:
        raise ValueError("there is no descriptor: give a mapping from names to arrays of vectors")
    vectors = {name: np.asarray(values, dtype=np.float64) for name, values in described.items()}
    lengths = {len(values) for values in vectors.values() if values.ndim == 2}
    if any(values.ndim != 2 for values in vectors.values()) or len(lengths) != 1:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in vectors.items())
        raise ValueError(f"every descriptor needs one vector an item; got {shapes}")
    for name, values in vectors.items():
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if bad.size:
            raise ValueError(f"the vectors of {name!r} contain NaN or infinity in row {bad[0]}")
    return vectors


def _draw(relevant: Any, size: int, random: np.random.RandomState) -> IntArray:
    """A bag with as many relevant as other items."""
    sides = [np.flatnonzero(relevant), np.flatnonzero(~relevant)]
    count = min(size // 2, *(len(side) for side in sides))
    return np.concatenate([random.choice(side, count, replace=False) for side in sides])


def _squared_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * A @ B.T
    return np.asarray(np.maximum(squares, 0.0))


def _train(
    name: str, X: FloatArray, y: Any, seed: int, Cs: tuple[float, ...], gammas: tuple[float, ...], n_folds: int
) -> BaseModel:
    """Choose C and gamma by cross-validation, then train on the whole bag. Distances are computed once."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import SVC

    squared = _squared_distances(X, X)
    scale = float(np.median(squared[np.triu_indices(len(X), 1)])) or 1.0
    folds = [*StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y)]
    best: tuple[float, float, float] | None = None
    for factor in gammas:
        kernel = np.exp(-factor / scale * squared)
        for C in Cs:
            values = np.empty(len(X))
            for train, test in folds:
                machine = SVC(C=C, kernel="precomputed").fit(kernel[np.ix_(train, train)], y[train])
                values[test] = machine.decision_function(kernel[np.ix_(test, train)])
            auc = float(roc_auc_score(y, values))
            if best is None or auc > best[0]:
                best = auc, C, factor / scale
    assert best is not None
    auc, C, gamma = best
    machine = SVC(C=C, kernel="precomputed").fit(np.exp(-gamma * squared), y)
    return BaseModel(name, X[machine.support_], machine.dual_coef_[0], float(machine.intercept_[0]), gamma, C, auc)

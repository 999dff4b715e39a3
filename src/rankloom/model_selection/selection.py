"""Choose a ranker's parameters on held-out queries, and compare rankers over folds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, product
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory, Parallel, delayed
from sklearn.utils.validation import check_memory

from rankloom.core import FloatArray, RankingData
from rankloom.datasets import load
from rankloom.evaluation.metrics import Comparison, Policy, evaluate, evaluate_queries, parse_metric
from rankloom.evaluation.significance import compare_values
from rankloom.model_selection.splitters import QueryKFold
from rankloom.rankers import Ranker, make_ranker

Grid = Mapping[str, Sequence[Any]]

_NU: Grid = {"nu": (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)}
# What is searched where nothing else is asked for, by short name.
GRIDS: dict[str, Grid] = {
    "lr": _NU,
    "rlr": _NU,
    "frlr": _NU,
    "ranksvm": _NU,
    "opar1": {"C": (0.001, 0.01, 0.1, 1.0)},
    "opar2": {"C": (0.001, 0.01, 0.1, 1.0)},
    "ogdr": {"eta": (0.001, 0.01, 0.1, 1.0)},
    "arow": {"r": (0.1, 1.0, 10.0, 100.0)},
    "listnet": {"nu": (0.001, 0.01, 0.1, 1.0, 10.0)},
    "ranknet": _NU,
    "rankboost": {"n_rounds": (25, 50, 100, 200, 400)},
    "car": {"gamma": (0.0, 0.1, 0.3, 1.0, 3.0, 10.0), "C": (0.1, 1.0, 10.0)},
    "irankboost": {"lam": (0.01, 0.1, 1.0)},
}


def default_grid(name: str, given: Mapping[str, Any]) -> Grid:
    """The grid of a ranker without the parameters that are given."""
    return {key: values for key, values in GRIDS.get(name, {}).items() if key not in given}


@dataclass(frozen=True)
class Selection:
    """The ranker that did best on held-out queries, its parameters, and the value of every try."""

    ranker: Ranker
    params: dict[str, Any]
    value: float
    tries: tuple[tuple[dict[str, Any], float], ...]


def select(
    make: Callable[..., Ranker],
    grid: Grid,
    train: RankingData,
    validation: RankingData,
    metric: str = "AP",
    policy: str | Policy = "trec",
) -> Selection:
    """Fit a ranker for every point of a grid and keep the one that is best on validation queries; ties keep the first.

    Parameters
    ----------
    make : makes a ranker of parameters: a class, or `functools.partial(make_ranker, "rlr")`.
    grid : values to try, by parameter. An empty grid fits once.
    train, validation : the data.
    metric, policy : what is compared.

    Examples
    --------
    >>> from rankloom.datasets import make_ranking
    >>> from rankloom.rankers import RankingLogisticRegression
    >>> data = make_ranking(random_state=0)
    >>> train, validation = data.take(data.qid <= 70), data.take(data.qid > 70)
    >>> len(select(RankingLogisticRegression, {"nu": [0.1, 1, 10]}, train, validation).tries)
    3
    """
    return select_fitted(lambda ranker: ranker.fit(*train), make, grid, validation, metric, policy)


def select_fitted(
    fit: Callable[[Ranker], Ranker],
    make: Callable[..., Ranker],
    grid: Grid,
    validation: RankingData,
    metric: str = "AP",
    policy: str | Policy = "trec",
) -> Selection:
    """The same where training data are not at hand: `fit` fits a ranker to them, and returns it."""
    sign = -1.0 if parse_metric(metric).name == "swaps" else 1.0
    best: Selection | None = None
    tries: list[tuple[dict[str, Any], float]] = []
    for point in product(*grid.values()):
        params = dict(zip(grid, point, strict=True))
        ranker = fit(make(**params))
        scores = ranker.predict(validation.X, qid=validation.qid)
        value = evaluate(validation.y, scores, validation.qid, [metric], policy)[metric]
        tries.append((params, value))
        if best is None or sign * value > sign * best.value:
            best = Selection(ranker, params, value, ())
    if best is None:
        raise ValueError(f"the grid {dict(grid)!r} has no point: give each parameter at least one value")
    return Selection(best.ranker, best.params, best.value, tuple(tries))


@dataclass(frozen=True)
class Fold:
    """Training, validation and test part of one fold."""

    name: str
    train: RankingData
    validation: RankingData
    test: RankingData


def make_fold(name: str, train: RankingData, validation: RankingData, test: RankingData) -> Fold:
    """A fold whose parts have the same number of features: sparse text files may end at different ones."""
    width = max(part.X.shape[1] for part in (train, validation, test))
    return Fold(name, train.widened(width), validation.widened(width), test.widened(width))


def query_folds(data: RankingData, n_folds: int = 5, random_state: Any = 0) -> Iterator[Fold]:
    """Rotate parts of the queries as LETOR does: one part for the test, the next for validation, the rest to train."""
    if n_folds < 3:
        raise ValueError(f"at least 3 folds are needed (training, validation, test), got {n_folds}")
    splitter = QueryKFold(n_folds, shuffle=True, random_state=random_state)
    parts = [test for _, test in splitter.split(data.X, qid=data.qid)]
    for i in range(n_folds):
        j = (i + 1) % n_folds
        rest = np.concatenate([part for k, part in enumerate(parts) if k not in (i, j)])
        yield Fold(f"fold {i + 1}", data.take(np.sort(rest)), data.take(parts[j]), data.take(parts[i]))


def read_folds(folder: str | os.PathLike[str]) -> list[Fold]:
    """Read LETOR's folders: each sub-folder with files `train.*`, `vali.*` (or `valid*.*`) and `test.*` is a fold."""
    folds = []
    for subfolder in sorted(path for path in Path(folder).iterdir() if path.is_dir()):
        parts = [_part(subfolder, stem) for stem in ("train", "vali", "test")]
        if all(part is None for part in parts):
            continue
        missing = [stem for stem, part in zip(("train", "vali", "test"), parts, strict=True) if part is None]
        if missing:
            raise ValueError(f"{subfolder} has no file {missing[0]}.txt (or .txt.gz, .parquet, .csv)")
        folds.append(make_fold(subfolder.name, *(load(part) for part in parts if part is not None)))
    if not folds:
        raise ValueError(f"{folder} has no fold: expected folders such as Fold1 with train.txt, vali.txt and test.txt")
    return folds


def _part(folder: Path, stem: str) -> Path | None:
    files = sorted(path for path in folder.iterdir() if path.name.lower().startswith(stem) and path.is_file())
    if len(files) > 1:
        raise ValueError(f"{folder} has several files for {stem}: {', '.join(path.name for path in files)}")
    return files[0] if files else None


@dataclass
class FoldResults:
    """What `compare_folds` found: values of every test query, and parameters and time of every fold."""

    metrics: tuple[str, ...]
    n_queries: list[int] = field(default_factory=list)
    values: dict[str, dict[str, list[FloatArray]]] = field(default_factory=dict)
    params: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def mean(self, ranker: str, metric: str) -> float:
        """The mean over folds of the mean over their queries, as LETOR's tables have it."""
        return float(np.mean([np.nanmean(values) for values in self.values[ranker][metric]]))

    def comparison(self, metric: str, **options: Any) -> Comparison:
        """Intervals and paired tests over the test queries of all folds together."""
        pooled = {ranker: np.concatenate(values[metric]) for ranker, values in self.values.items()}
        return compare_values(pooled, metric, higher_is_better=parse_metric(metric).name != "swaps", **options)


def compare_folds(
    folds: Iterable[Fold],
    rankers: Mapping[str, Mapping[str, Any]],
    metrics: Sequence[str] = ("AP", "nDCG@10"),
    policy: str | Policy = "trec",
    *,
    n_jobs: int = 1,
    memory: str | Memory | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> FoldResults:
    """Fit rankers on each fold, choose their parameters on its validation part by the first metric, and test them.

    Parameters
    ----------
    folds : the data; they are gone through once, so a generator need not hold them all.
    rankers : fixed parameters by short name (`{"rlr": {}, "ranksvm": {"nu": 1.0}}`); the rest of `GRIDS` is searched.
    metrics, policy : what is measured.
    n_jobs : processes; each does a ranker on a fold.
    memory : a folder, or joblib's memory of one, where each of these is kept by its data and parameters.
    progress : called with a text before each fit, or when it is handed to a process.
    """
    results = FoldResults(tuple(metrics))
    tested_once = check_memory(memory).cache(_tested)

    def tasks() -> Iterator[Any]:
        for fold in folds:
            results.n_queries.append(len(np.unique(fold.test.qid)))
            for name, fixed in rankers.items():
                progress(f"{fold.name}: {name}")
                yield delayed(tested_once)(fold, name, dict(fixed), tuple(metrics), policy)

    for name, tested in zip(cycle(rankers), Parallel(n_jobs=n_jobs, return_as="generator")(tasks()), strict=False):
        results.seconds.setdefault(name, []).append(tested.seconds)
        results.params.setdefault(name, []).append(tested.params)
        for metric, values in tested.values.items():
            results.values.setdefault(name, {}).setdefault(metric, []).append(values)
    if not results.values:
        raise ValueError("there is no fold to compare on")
    return results


class _Tested(NamedTuple):
    """A ranker on a fold: its parameters, the seconds that choosing them took, and each metric of the test queries."""

    params: dict[str, Any]
    seconds: float
    values: dict[str, FloatArray]


def _tested(fold: Fold, name: str, fixed: Mapping[str, Any], metrics: tuple[str, ...], policy: str | Policy) -> _Tested:
    began = perf_counter()
    make = partial(make_ranker, name, **fixed)
    chosen = select(make, default_grid(name, fixed), fold.train, fold.validation, metrics[0], policy)
    seconds = perf_counter() - began
    scores = chosen.ranker.predict(fold.test.X, qid=fold.test.qid)
    values = evaluate_queries(fold.test.y, scores, fold.test.qid, list(metrics), policy).values
    return _Tested({**fixed, **chosen.params}, seconds, dict(values))

"""Content-aware ranking against text ranking and visual reranking, on pictures with noisy text.

Reference: B. Geng, L. Yang and X.-S. Hua, Learning to rank with graph consistency (content-aware ranking), 2009,
section 6: figures 3, 4 and 6, table 1. The images of the paper, from a commercial search engine, are not public; here
they are those of Flickr8k. The report shows which of the paper's findings appear.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory, Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_memory
from threadpoolctl import threadpool_limits

from rankloom.core import FloatArray, IntArray, RankingData
from rankloom.evaluation.metrics import Policy, evaluate, evaluate_queries
from rankloom.experiments.papers.content_aware_report import DEPTHS, METHODS, CarReport, Setting, SettingResult
from rankloom.experiments.papers.flickr8k import Flickr8k, Task, caption_task, principal_components, word_task
from rankloom.experiments.papers.flickr8k_text import BM25
from rankloom.groups import group_rows
from rankloom.model_selection.selection import select
from rankloom.rankers import ContentAwareRanker, ListNet, RankBoost, RankSVM
from rankloom.rankers.boost import select_features
from rankloom.rankers.content_aware import select_content_aware
from rankloom.reranking.graph import Graph, knn_graph
from rankloom.reranking.methods import bayesian_rerank, pseudo_relevance_feedback, smooth_scores, visual_rank

N_SELECTED = 164  # text features that boosting chooses, as in the paper
SELECTED = f"words, {N_SELECTED} features"
TASKS: dict[str, Callable[[Flickr8k, np.random.RandomState], Task]] = {
    "words": word_task,
    "captions": caption_task,
    SELECTED: partial(word_task, n_selected=N_SELECTED),
}
GAMMAS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
CS = (0.001, 0.01, 0.1, 1.0)
_NUS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
N_NEIGHBORS = 10
METRIC = "nDCG@10"  # what parameters are chosen by
POLICY = Policy(gain="exponential", ties="average")  # eq. 20

_RERANKERS: dict[str, dict[str, Sequence[Any]]] = {
    "VR": {"damping": (0.0, 0.1, 0.3, 0.5, 0.7, 0.85)},
    "BR": {"strength": (30.0, 10.0, 3.0, 1.0, 0.3, 0.1), "distance": ("preference", "point")},
    "PRF": {"weight": (0.0, 0.3, 0.6), "n_examples": (5, 20)},
    "smooth": {"gamma": (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)},
}


class Split(NamedTuple):
    """Queries to train on, to choose the parameters of rankers and of rerankers by, and to test on."""

    train: list[str]
    validation_a: list[str]
    validation_b: list[str]
    test: list[str]


def split_queries(queries: Sequence[str], n_train: int, n_validation: int, random: np.random.RandomState) -> Split:
    """Split queries at random; what is left after training and the two validation parts is the test part."""
    needed = n_train + 2 * n_validation
    if len(queries) <= needed:
        raise ValueError(f"{needed} queries to train and validate leave none of {len(queries)} to test on")
    order = [queries[i] for i in random.permutation(len(queries))]
    ends = np.cumsum([n_train, n_validation, n_validation])
    return Split(order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] : ends[2]], order[ends[2] :])


def run(
    source: Flickr8k,
    vectors: Mapping[str, FloatArray],
    *,
    tasks: Sequence[str] = ("words", "captions"),
    n_runs: int = 4,
    n_train: Sequence[int] = (50, 100),
    n_validation: int = 50,
    n_queries: int | None = 400,
    n_jobs: int = 1,
    memory: str | Memory | None = None,
    random_state: Any = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> CarReport:
    """Measure all methods. Every run draws the text of each picture and the parts of the queries anew.

    Parameters
    ----------
    source : the pictures and captions.
    vectors : visual vectors of the pictures, by the name of the graph that they make.
    tasks : names of `TASKS`.
    n_runs : runs with different texts and splits.
    n_train : numbers of training queries; the fewer are among the more, and validation and test parts are the same.
    n_validation : queries of each validation part.
    n_queries : at most so many queries in all, drawn at random; None takes all.
    n_jobs : processes; each does a run of a task.
    memory : a folder, or joblib's memory of one, where each run is kept by what it depends on.
    random_state : seed.
    progress : called with a text before the first run and after each.
    """
    seeds = check_random_state(random_state).randint(2**31, size=n_runs)
    counts = _QueryCounts(tuple(n_train), n_validation, n_queries)
    with threadpool_limits(1):  # as below
        small = {name: principal_components(rows) for name, rows in vectors.items()}
    once = check_memory(memory).cache(_run_task)
    work = (delayed(once)(source, vectors, small, task, int(seed), counts) for task, seed in product(tasks, seeds))
    raw: dict[Setting, list[_Tested]] = {}
    progress("run 1")
    for number, tested in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(work), 2):
        for setting, values in tested.items():
            raw.setdefault(setting, []).append(values)
        progress(f"run {number}" if number <= len(tasks) * n_runs else "tests")
    return CarReport(n_runs, {setting: _joined(tested) for setting, tested in raw.items()})


class _QueryCounts(NamedTuple):
    """How many queries train, validate, and take part at all."""

    n_train: tuple[int, ...]
    n_validation: int
    n_queries: int | None


def _run_task(
    source: Flickr8k,
    vectors: Mapping[str, FloatArray],
    small: Mapping[str, FloatArray],
    task_name: str,
    seed: int,
    counts: _QueryCounts,
) -> dict[Setting, _Tested]:
    """All settings of a task with the texts and the split of one seed."""
    random = np.random.RandomState(seed)
    tested = {}
    with threadpool_limits(1):  # matrices of a list are small: threads would only wait for each other
        task = TASKS[task_name](source, random)
        queries = sorted(set(task.data.qid))
        if counts.n_queries is not None:
            queries = [queries[i] for i in random.permutation(len(queries))[: counts.n_queries]]
        split = split_queries(queries, max(counts.n_train), counts.n_validation, random)
        graphs = {name: _graphs(task, rows, set(queries)) for name, rows in small.items()}
        for size in counts.n_train:
            fold = _Fold(task, split._replace(train=split.train[:size]))
            text = _text_rankers(fold)
            for name in vectors:
                pictures = _VisualData(graphs[name], small[name], vectors[name])
                tested[Setting(task_name, name, size)] = _test(fold, text, pictures)
    return tested


class _Fold:
    """A task with its parts; features are standardised by the training part, and chosen on it where they are many."""

    def __init__(self, task: Task, split: Split):
        self.task = task
        qid = task.data.qid
        self.parts = {name: np.flatnonzero(np.isin(qid, queries)) for name, queries in split._asdict().items()}
        X = task.data.X
        mean, spread = X[self.parts["train"]].mean(axis=0), X[self.parts["train"]].std(axis=0)
        self.data = RankingData((X - mean) / np.where(spread > 1e-12, spread, 1.0), task.data.y, qid)
        if task.n_selected is not None:
            chosen = _chosen_features(self.part("train"), task.n_selected)
            self.data = RankingData(self.data.X[:, chosen], task.data.y, qid)

    def part(self, name: str, extra: FloatArray | None = None) -> RankingData:
        """The rows of a part, with the visual vectors of their pictures if these are given."""
        rows = self.parts[name]
        data = self.data.take(rows)
        if extra is None:
            return data
        return RankingData(np.hstack([data.X, extra[self.task.image[rows]]]), data.y, data.qid)


def _chosen_features(train: RankingData, n: int) -> IntArray:
    """The features that boosting takes first, at most so many: of features that say the same it takes one."""
    booster = RankBoost(n_rounds=4 * n).fit(train.X, train.y, qid=train.qid)
    return select_features(booster, min(n, len(booster.used_features)))


class _VisualData(NamedTuple):
    """The graph of each query, the vectors behind it, and those with all components."""

    graphs: dict[str, Graph]
    small: FloatArray
    full: FloatArray


class _Tested(NamedTuple):
    """nDCG of each test query by method and by gamma, and the parameters chosen."""

    queries: list[str]
    values: dict[str, FloatArray]
    by_gamma: dict[float, FloatArray]
    params: dict[str, dict[str, Any]]


class _Text(NamedTuple):
    """Scores of all rows by a text ranker, its parameters, and its value on validation part A."""

    scores: FloatArray
    params: dict[str, Any]
    value: float


def _graphs(task: Task, vectors: FloatArray, queries: set[str]) -> dict[str, Graph]:
    groups = group_rows(task.data.qid, len(task.data))
    return {
        str(query): knn_graph(vectors[task.image[rows]], N_NEIGHBORS)
        for query, rows in zip(groups.keys, groups, strict=True)
        if query in queries
    }


def _text_rankers(fold: _Fold) -> dict[str, _Text]:
    """The rankers that see text alone, with parameters by validation part A."""
    train, held = fold.part("train"), fold.part("validation_a")
    rankers = {"BM25": _Text(fold.task.data.X[:, BM25], {}, 0.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # far ends of a grid, which are not chosen
        for name, make in (("RankSVM", partial(RankSVM, normalize="query")), ("ListNet", ListNet)):
            chosen = select(make, {"nu": _NUS}, train, held, METRIC)
            rankers[name] = _Text(chosen.ranker.predict(fold.data.X), chosen.params, chosen.value)
        plain = select_content_aware(train, held, gammas=(0.0,), Cs=CS, metric=METRIC, tol=1e-6)
    value = max(value for *_, value in plain.tries)
    rankers["CAR0"] = _Text(plain.ranker.predict(fold.data.X), {"C": plain.ranker.C}, value)
    return rankers


def _test(fold: _Fold, text: Mapping[str, _Text], pictures: _VisualData) -> _Tested:
    """Choose what is left to choose, and measure all methods on the test part."""
    values: dict[str, FloatArray] = {}
    params: dict[str, dict[str, Any]] = {}
    queries: list[str] = []
    test = fold.parts["test"]

    def measure(scores: FloatArray) -> FloatArray:
        names = [f"nDCG@{depth}" for depth in DEPTHS]
        measured = evaluate_queries(fold.data.y[test], scores, fold.data.qid[test], names, POLICY)
        queries[:] = list(map(str, measured.qids))
        return np.column_stack([measured.values[name] for name in names])

    for name, (scores, chosen, _) in text.items():
        values[name], params[name] = measure(scores[test]), chosen
        for how, grid in _RERANKERS.items():
            method = f"{name}-{how}"
            params[method] = _choose_reranker(fold, scores, pictures, how, grid)
            values[method] = measure(_reranked(fold, "test", scores, pictures, how, params[method]))
    by_gamma = {0.0: values["CAR0"]}
    best = text["CAR0"].value
    values["CAR"], params["CAR"] = values["CAR0"], {"gamma": 0.0, **params["CAR0"]}
    part = fold.part("test", pictures.small)
    for gamma in GAMMAS[1:]:
        ranker, value = _content_aware(fold, pictures, gamma)
        by_gamma[gamma] = measure(ranker.predict(part.X, part.qid))
        if value > best:
            best, values["CAR"], params["CAR"] = value, by_gamma[gamma], {"gamma": gamma, "C": ranker.C}
    return _Tested(queries, values, by_gamma, params)


def _content_aware(fold: _Fold, pictures: _VisualData, gamma: float) -> tuple[ContentAwareRanker, float]:
    """Content-aware ranking with this gamma and the best C on validation part A, and its value there."""
    visual = slice(fold.data.X.shape[1], None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        chosen = select_content_aware(
            fold.part("train", pictures.small),
            fold.part("validation_a", pictures.small),
            gammas=(gamma,),
            Cs=CS,
            metric=METRIC,
            visual=visual,
            n_neighbors=N_NEIGHBORS,
            tol=1e-6,
        )
    return chosen.ranker, max(value for *_, value in chosen.tries)


def _choose_reranker(
    fold: _Fold, scores: FloatArray, pictures: _VisualData, how: str, grid: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    """The parameters that are best on validation part B; ties keep the first, which changes least."""
    rows = fold.parts["validation_b"]
    best: tuple[float, dict[str, Any]] = (-np.inf, {})
    for point in product(*grid.values()):
        params = dict(zip(grid, point, strict=True))
        reranked = _reranked(fold, "validation_b", scores, pictures, how, params)
        value = evaluate(fold.data.y[rows], reranked, fold.data.qid[rows], [METRIC])[METRIC]
        if value > best[0]:
            best = value, params
    return best[1]


_FUNCTIONS: dict[str, Callable[..., FloatArray]] = {"VR": visual_rank, "BR": bayesian_rerank, "smooth": smooth_scores}


def _reranked(
    fold: _Fold, part: str, scores: FloatArray, pictures: _VisualData, how: str, params: Mapping[str, Any]
) -> FloatArray:
    """Scores of the rows of a part, reranked list by list."""
    rows = fold.parts[part]
    groups = group_rows(fold.data.qid[rows], len(rows))
    reranked = np.empty(len(rows))
    for query, members in zip(groups.keys, groups, strict=True):
        text = scores[rows[members]]
        if how == "PRF":
            vectors = pictures.full[fold.task.image[rows[members]]]
            reranked[members] = pseudo_relevance_feedback(text, vectors, **params)
        else:
            reranked[members] = _FUNCTIONS[how](text, pictures.graphs[str(query)], **params)
    return reranked


def _joined(tested: Sequence[_Tested]) -> SettingResult:
    """The mean of each query over the runs that tested it: queries, not runs, are what tests compare."""
    queries = sorted({query for run in tested for query in run.queries})
    number = {query: i for i, query in enumerate(queries)}
    rows_of = [[number[query] for query in run.queries] for run in tested]
    counts = np.zeros(len(queries))
    for rows in rows_of:
        counts[rows] += 1

    def mean(values: Sequence[FloatArray]) -> FloatArray:
        total: NDArray[np.float64] = np.zeros((len(queries), len(DEPTHS)))
        for rows, of_run in zip(rows_of, values, strict=True):
            total[rows] += of_run
        return total / counts[:, None]

    return SettingResult(
        queries,
        {method: mean([run.values[method] for run in tested]) for method in METHODS},
        {gamma: mean([run.by_gamma[gamma] for run in tested]) for gamma in GAMMAS},
        {method: [run.params[method] for run in tested] for method in METHODS},
    )

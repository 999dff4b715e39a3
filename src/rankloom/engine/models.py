"""Training models from the marks: every training is a version, judged on marks that it had not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.marks import asked, mark_pages
from rankloom.collection.models import Model, add_model, model_state
from rankloom.core import FloatArray, RankingData
from rankloom.engine.online_weights import Phi, sampled_negatives
from rankloom.engine.scorers import RankerScorer, Scorer
from rankloom.features import Features
from rankloom.groups import group_rows

if TYPE_CHECKING:
    from rankloom.evaluation import Comparison
    from rankloom.rankers import Ranker

METRIC = "AP"
FOLDS = 5


def load_scorer(collection: Collection, number: int) -> RankerScorer:
    """The scorer of a version."""
    return RankerScorer.from_json(model_state(collection, number))


def judged_rows(collection: Collection, phi: Phi) -> RankingData:
    """All active marks as rows of phi: one query a question and user, skipped items as wrong ones.

    An item that is preferred to another makes a query of two rows. For each right item, sampled negatives are taken for
    wrong: marks are of the best results, and what tells these apart must not make the rest come up.

    Parameters
    ----------
    collection : whose marks.
    phi : the experts.
    """
    X, y, qid, ids = [], [], [], []
    for (name, user), grades in _grades(collection, phi).items():
        grades = {item: grade for item, grade in grades.items() if item <= phi.n_items}
        query = asked(collection, name) if len(set(grades.values())) > 1 else None
        rows = None if query is None else phi.rows(query, np.array([*grades]) - 1)
        if rows is None:
            continue
        X.append(rows)
        y += [*grades.values()]
        qid += [f"{name}\t{user}"] * len(grades)
        ids += [str(item) for item in grades]
    if not X:
        raise ValueError("there is nothing to learn from: mark results of a query as right and others as wrong first")
    return RankingData(np.concatenate(X), np.array(y), np.array(qid), ids, phi.names)


def _grades(collection: Collection, phi: Phi) -> dict[tuple[str, str], dict[int, float]]:
    """The grades of items by query and user; a preference is a query of its own."""
    grades: dict[tuple[str, str], dict[int, float]] = {}
    for mark in chain.from_iterable(mark_pages(collection)):
        if mark.over is not None:
            grades[mark.qid, f"{mark.user} {mark.id}"] = {mark.item: 1.0, mark.over: 0.0}
            continue
        of_query = grades.setdefault((mark.qid, mark.user), {})
        for item in mark.skipped:  # a grade of its own, earlier or later, takes the place of this
            of_query.setdefault(item, 0.0)
        of_query[mark.item] = mark.grade
        if mark.grade > 0:
            for item in sampled_negatives(mark, phi.n_sampled):
                of_query.setdefault(item, 0.0)
    return grades


def train_model(
    collection: Collection,
    data: RankingData,
    used: Scorer,
    start: Mapping[str, float],
    ranker: str = "rlr",
    params: Mapping[str, Any] | None = None,
) -> Model:
    """Fit a ranker on all marks, judge it on marks of queries left out, and keep it as a version.

    It is put in use unless it is worse there than what was in use.

    Parameters
    ----------
    collection : where to.
    data : the marks, from `judged_rows`.
    used : what ranks now.
    start : the weights of experts of which the marks say nothing.
    ranker, params : a short name of `RANKERS` and its parameters.
    """
    began = perf_counter()
    names = list(data.feature_names or ())
    differs = np.ptp(data.X, axis=0) > 0  # an expert that is the same everywhere was not judged
    if not differs.any():
        raise ValueError("no expert tells the marked items apart: there is nothing to learn from")
    unjudged = [name for name, judged in zip(names, differs, strict=True) if not judged]
    kept = {name: start[name] for name in unjudged if start.get(name)}
    X = data.X[:, differs]
    scores = {
        "new": _held_out_scores(RankingData(X, data.y, data.qid), ranker, params),
        "used": used.scores(Features(data.X, names=names)),
    }
    comparison = _compared(data, scores)
    final = _fitted(ranker, params, X, data.y, data.qid)
    spread = float(np.std(final.predict(X, data.qid)))
    scale = float(np.std(scores["used"])) / spread if spread > 0 else 1.0
    scorer = RankerScorer(final, tuple(name for name in names if name not in unjudged), scale, kept)
    (pair,), (low, high) = comparison.pairs, comparison.intervals["new"]
    judged = {
        "metric": METRIC, "value": comparison.means["new"], "low": low, "high": high, "gain": pair.difference,
        "gain_low": pair.interval[0], "gain_high": pair.interval[1], "seconds": perf_counter() - began,
    }  # fmt: skip
    return add_model(collection, ranker, scorer.to_json(), judged, accepted=bool(pair.difference >= 0))


def _held_out_scores(data: RankingData, ranker: str, params: Mapping[str, Any] | None) -> FloatArray:
    """Scores of all rows, each by a ranker that was fitted on other queries."""
    groups = group_rows(data.qid, len(data))
    if len(groups) < FOLDS:
        raise ValueError(
            f"marks of {len(groups)} queries are too few to judge a model: mark results of at least {FOLDS} queries"
        )
    fold = np.random.default_rng(0).permutation(len(groups)) % FOLDS
    scores = np.zeros(len(data))
    for number in range(FOLDS):
        held: NDArray[np.bool_] = fold[groups.codes] == number
        fitted = _fitted(ranker, params, data.X[~held], data.y[~held], data.qid[~held])
        scores[held] = fitted.predict(data.X[held], data.qid[held])
    return scores


def _fitted(name: str, params: Mapping[str, Any] | None, X: FloatArray, y: FloatArray, qid: Any) -> Ranker:
    from rankloom.rankers import make_ranker

    return make_ranker(name, **(params or {})).fit(X, y, qid=qid)


def compare_scorers(data: RankingData, scorers: Mapping[str, Scorer]) -> Comparison:
    """AP of every query by each of some scorers, with paired tests."""
    phi = Features(data.X, names=list(data.feature_names or ()))
    return _compared(data, {name: scorer.scores(phi) for name, scorer in scorers.items()})


def _compared(data: RankingData, scores: Mapping[str, FloatArray]) -> Comparison:
    from rankloom.evaluation import compare_values, evaluate

    groups = group_rows(data.qid, len(data))
    values = {
        name: [evaluate(data.y[rows], of_all[rows], None, [METRIC])[METRIC] for rows in groups]
        for name, of_all in scores.items()
    }
    return compare_values(values, METRIC)


def linear_ranker(names: Sequence[str], weights: Sequence[float]) -> Ranker:
    """Weights as a ranker that can be saved."""
    from rankloom.rankers import OnlinePassiveAggressiveRanker

    ranker = OnlinePassiveAggressiveRanker(init=np.array(weights, dtype=np.float64))
    ranker.partial_fit_triplets(np.zeros((1, len(names))), np.empty((0, 2), dtype=np.int64))  # nothing to learn yet
    ranker.feature_names_in_ = np.array(names, dtype=object)
    return ranker

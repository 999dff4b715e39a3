"""Models: every training is a version with its data, its worth on marks that it had not seen, and its cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from rankloom.collection import Collection
from rankloom.collection.marks import asked, mark_pages, now
from rankloom.core import FloatArray, RankingData
from rankloom.engine.library import Phi, drawn
from rankloom.engine.scorers import RankerScorer, Scorer
from rankloom.evaluation.metrics import evaluate
from rankloom.evaluation.significance import Comparison, compare_values
from rankloom.features import Features
from rankloom.groups import group_rows
from rankloom.rankers import LinearRanker, OnlinePassiveAggressiveRanker, Ranker, make_ranker

__all__ = ["Model", "judged", "list_models", "load_scorer", "model_in_use", "roll_back", "train_model", "use_model"]

METRIC = "AP"
FOLDS = 5


class Model(NamedTuple):
    """A version. `value` is its mean AP on the marks of queries that it had not seen, with a 95% interval; `gain` is
    the difference to what was in use, on the same queries."""

    id: int
    at: str
    ranker: str
    first_mark: int | None
    last_mark: int | None
    n_marks: int
    metric: str
    value: float | None
    low: float | None
    high: float | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    seconds: float
    status: str


def judged(collection: Collection, phi: Phi) -> RankingData:
    """All marks that stand as rows of phi: one query a question and user, skipped items as wrong ones.

    An item that is preferred to another makes a query of two rows. For each right item, some others drawn by lot are
    taken for wrong: marks are of the best results, and what tells these apart must not make the rest come up.

    Parameters
    ----------
    collection : whose marks.
    phi : the experts.
    """
    grades: dict[tuple[str, str], dict[int, float]] = {}
    for mark in chain.from_iterable(mark_pages(collection)):
        if mark.over is not None:
            grades[mark.qid, f"{mark.user} {mark.id}"] = {mark.item: 1.0, mark.over: 0.0}
            continue
        mine = grades.setdefault((mark.qid, mark.user), {})
        for item in mark.skipped:  # a grade of its own, earlier or later, takes the place of this
            mine.setdefault(item, 0.0)
        mine[mark.item] = mark.grade
        if mark.grade > 0:
            for item in drawn(mark, phi.n_sampled):
                mine.setdefault(item, 0.0)
    X, y, qid, ids = [], [], [], []
    for (name, user), items in grades.items():
        items = {item: grade for item, grade in items.items() if item <= phi.n_items}
        query = asked(collection, name) if len(set(items.values())) > 1 else None
        rows = None if query is None else phi.rows(query, np.array([*items]) - 1)
        if rows is None:
            continue
        X.append(rows)
        y += [*items.values()]
        qid += [f"{name}\t{user}"] * len(items)
        ids += [str(item) for item in items]
    if not X:
        raise ValueError("there is nothing to learn from: mark results of a query as right and others as wrong first")
    return RankingData(np.concatenate(X), np.array(y), np.array(qid), ids, phi.names)


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
    data : the marks, from `judged`.
    used : what ranks now.
    start : the weights of experts of which the marks say nothing.
    ranker, params : a short name of `RANKERS` and its parameters.
    """
    began = perf_counter()
    names = list(data.feature_names or ())
    said = np.ptp(data.X, axis=0) > 0  # an expert that is the same everywhere was not judged
    if not said.any():
        raise ValueError("no expert tells the marked items apart: there is nothing to learn from")
    kept = {name: start[name] for name, there in zip(names, said, strict=True) if not there and start.get(name)}
    chosen = [name for name, there in zip(names, said, strict=True) if there]
    groups = group_rows(data.qid, len(data))
    if len(groups) < FOLDS:
        raise ValueError(
            f"marks of {len(groups)} queries are too few to judge a model: mark results of at least {FOLDS} queries"
        )
    X = data.X[:, said]
    before = used.scores(Features(data.X, names=names))
    fold = np.random.default_rng(0).permutation(len(groups)) % FOLDS
    scores = np.zeros(len(data))
    for number in range(FOLDS):
        test = fold[groups.codes] == number
        fitted = _fitted(ranker, params, X[~test], data.y[~test], data.qid[~test])
        scores[test] = fitted.predict(X[test], data.qid[test])
    found = _compared(data, {"new": scores, "used": before})
    pair = found.pairs[0]
    final = _fitted(ranker, params, X, data.y, data.qid)
    own = final.predict(X, data.qid)
    spread = float(np.std(own))
    scorer = RankerScorer(final, tuple(chosen), float(np.std(before)) / spread if spread > 0 else 1.0, kept)
    good = pair.difference >= 0
    at = now()
    with collection.transaction() as db:
        first, last, count = db.execute("SELECT min(id), max(id), count(*) FROM qrels WHERE undone IS NULL").fetchone()
        low, high = found.intervals["new"]
        row = (at, ranker, json.dumps(scorer.to_json()), first, last, count, METRIC, found.means["new"], low, high,
               pair.difference, *pair.interval, perf_counter() - began, "accepted" if good else "refused")  # fmt: skip
        cursor = db.execute(f"INSERT INTO models ({_COLUMNS}) VALUES ({', '.join('?' * len(row))})", row)
        number = int(cursor.lastrowid or 0)
        if good:
            db.execute("INSERT INTO uses (model, at) VALUES (?, ?)", (number, at))
    return next(one for one in list_models(collection) if one.id == number)


def compare_scorers(data: RankingData, scorers: Mapping[str, Scorer]) -> Comparison:
    """AP of every query by each of some scorers, with paired tests."""
    phi = Features(data.X, names=list(data.feature_names or ()))
    return _compared(data, {name: scorer.scores(phi) for name, scorer in scorers.items()})


def _compared(data: RankingData, scores: Mapping[str, FloatArray]) -> Comparison:
    groups = group_rows(data.qid, len(data))
    values = {
        name: [evaluate(data.y[rows], some[rows], None, [METRIC])[METRIC] for rows in groups]
        for name, some in scores.items()
    }
    return compare_values(values, METRIC)


def linear_ranker(names: Sequence[str], weights: Sequence[float]) -> Ranker:
    """Weights as a ranker that can be saved."""
    ranker = OnlinePassiveAggressiveRanker(init=np.array(weights, dtype=np.float64))
    ranker.partial_fit_triplets(np.zeros((1, len(names))), np.empty((0, 2), dtype=np.int64))  # nothing to learn yet
    ranker.feature_names_in_ = np.array(names, dtype=object)
    return ranker


def _fitted(name: str, params: Mapping[str, Any] | None, X: FloatArray, y: FloatArray, qid: Any) -> Ranker:
    return make_ranker(name, **(params or {})).fit(X, y, qid=qid)


_COLUMNS = (
    "at, ranker, state, first_mark, last_mark, n_marks, metric, value, low, high, gain, gain_low, gain_high, seconds, "
    "status"
)


def list_models(collection: Collection) -> list[Model]:
    """All versions, oldest first; the status says which is in use, and which were refused."""
    used = model_in_use(collection)
    columns = _COLUMNS.replace(" state,", "")
    rows = collection.db.execute(f"SELECT id, {columns} FROM models ORDER BY id").fetchall()
    return [Model(*row)._replace(status="in use") if row[0] == used else Model(*row) for row in rows]


def model_in_use(collection: Collection) -> int | None:
    """The version in use; None for the weights that follow every mark from the start."""
    row = collection.db.execute("SELECT model FROM uses ORDER BY id DESC LIMIT 1").fetchone()
    return None if row is None else row[0]


def use_model(collection: Collection, number: int | None) -> None:
    """Put a version in use; None goes back to the weights that follow every mark."""
    if number is not None and number not in {one.id for one in list_models(collection)}:
        raise ValueError(f"there is no model {number}; 'rankloom models list' shows them")
    with collection.transaction() as db:
        db.execute("INSERT INTO uses (model, at) VALUES (?, ?)", (number, now()))


def roll_back(collection: Collection) -> int | None:
    """Return to what was in use before; returns its number."""
    with collection.transaction() as db:
        row = db.execute("SELECT id FROM uses ORDER BY id DESC LIMIT 1").fetchone()
        if row is None:
            raise ValueError("no model was ever put in use: there is nothing to go back to")
        db.execute("DELETE FROM uses WHERE id = ?", row)
    return model_in_use(collection)


def last_mark(collection: Collection, number: int | None) -> int:
    """The last mark that a version has learned from."""
    row = collection.db.execute("SELECT last_mark FROM models WHERE id = ?", (number,)).fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


def load_scorer(collection: Collection, number: int) -> RankerScorer:
    """The scorer of a version."""
    row = collection.db.execute("SELECT state FROM models WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise ValueError(f"there is no model {number}; 'rankloom models list' shows them")
    return RankerScorer.from_json(json.loads(row[0]))


def linear_weights(scorer: RankerScorer) -> dict[str, float] | None:
    """The weights of a version, if it is linear."""
    if not isinstance(scorer.ranker, LinearRanker):
        return None
    coef = scorer.scale * scorer.ranker.coef_
    return {**scorer.kept, **dict(zip(scorer.names, coef.tolist(), strict=True))}

"""The cascade of a large collection: sketches say which items all experts look at.

As in paper 3 the cheap comes first and most items are left out early, by a cut-off that is learned: so many items are
kept that nearly all of the exact top of searches by example was among them. It is checked on other searches.

References
----------
M. Merler, R. Yan, J. R. Smith. Imbalanced RankBoost for efficiently ranking large-scale image/video collections. CVPR
2009.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._sizes import EXACT_SEARCH
from rankloom.collection import Collection
from rankloom.collection.sketches import LearnedCascade, store_cascade
from rankloom.core import FloatArray, IntArray
from rankloom.engine.encoding import EncodedQuery
from rankloom.engine.feedback import Judgements, fit_feedback
from rankloom.engine.neighbors import best_rows
from rankloom.engine.sketches import Sketches
from rankloom.engine.snapshot import Snapshot
from rankloom.engine.view import View, near_weights
from rankloom.experts.sketches import sketch_scores

LARGE = EXACT_SEARCH  # items beyond which searches do not look at all of them, unless asked to
REFERENCE = 1000  # items, evenly spread, that are always looked at: they say what is usual
_TOP = 100  # of a search, which is to be found
_WANTED = 0.998  # share of it on the searches that are learned from
_QUERIES = 72  # searches by example; two of three to learn from
_SPARE = 1.5  # so many times the items that these needed
_LESS_SURE = 3  # times as many where words count too, for what looks less alike may be the better hit
_MOST = 0.2  # share of the items that may be looked at; where more are needed, all are
_PROBES = 3  # latest items marked right that say where to look; more of them do so together
_FINER = 4  # times as many are compared with all marks, of which the best are looked at
_MARKS = 30  # latest marks that they are compared with
_SLOPE = 500  # nearest items by which sketches and experts are compared


class Candidates(NamedTuple):
    """The rows that experts look at, in ascending order, and whether sketches chose them."""

    rows: IntArray
    by_sketches: bool


class _Probes(NamedTuple):
    """The sketches of what is wanted, and of what is not."""

    wanted: list[NDArray[np.int8]]
    against: list[NDArray[np.int8]]


def ready(snapshot: Snapshot, weights: Mapping[str, float]) -> LearnedCascade | None:
    """What was learned of searches with such weights; None if nothing was, or if nothing is gained."""
    learned = _known(snapshot, weights)
    return learned if learned is not None and learned.share <= _MOST else None


def _known(snapshot: Snapshot, weights: Mapping[str, float]) -> LearnedCascade | None:
    """What was learned with such weights and about as many items."""
    learned = None if snapshot.sketches is None else snapshot.sketches.learned
    if learned is None or snapshot.n_items > 2 * learned.n_items:
        return None
    return learned if near_weights(visual_weights(snapshot, weights), learned.weights) else None


def visual_weights(snapshot: Snapshot, weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of the experts that compare pictures."""
    return {expert.name: weights[expert.name] for expert in snapshot.experts if weights.get(expert.name, 0.0)}


def guided(encoded: EncodedQuery, judgements: Judgements) -> bool:
    """Whether something shows where to look: examples, or marks."""
    return bool(encoded.query.examples or judgements.grades)


def candidates(
    snapshot: Snapshot,
    learned: LearnedCascade,
    encoded: EncodedQuery,
    judgements: Judgements,
    allowed: NDArray[np.bool_],
    rest: FloatArray | None,
    visual: Callable[[IntArray], FloatArray],
) -> Candidates | None:
    """The items that all experts look at; None if the query shows nothing that has a sketch.

    Parameters
    ----------
    snapshot : the items.
    learned : how many are looked at.
    encoded, judgements : what is asked for, and which items were marked.
    allowed : which items may be hits.
    rest : what the experts that do not compare pictures say of every item; None where they say nothing.
    visual : what the others say of some rows.
    """
    probes = _probes(snapshot, encoded, judgements)
    if probes is None:
        return None
    spread = np.flatnonzero(snapshot.present)
    spread = spread[:: max(1, len(spread) // REFERENCE)]
    rows = np.flatnonzero(allowed)
    n = _looked_at(snapshot, learned)
    n *= 1 if rest is None else _LESS_SURE
    if len(rows) > n:
        assert snapshot.sketches is not None
        scores: NDArray[Any] = snapshot.sketches.scores(*probes)
        if rest is not None:
            scores = rest + _slope(scores, spread, visual) * scores
        nearest = best_rows(scores, rows, n)
        if judgements.n_marks:  # what the marks say by sketches alone is not sure enough: both choose
            finer = together(snapshot.n_items, best_rows(scores, rows, _FINER * n), judgements.all_rows)
            scores = _following(snapshot.sketches, encoded, judgements, scores, finer)
            nearest = np.concatenate([nearest, best_rows(scores, finer[allowed[finer]], n)])
        rows = nearest
    return Candidates(together(snapshot.n_items, rows, spread), by_sketches=True)


class SketchQuestion(NamedTuple):
    """Which rows are looked at, wherever they lie; it is small, and can be sent.

    Parameters
    ----------
    version : of the basis of the sketches.
    scale : of their distances.
    wanted, against : the sketches of examples.
    n : how many rows of each part; those of the whole are among them.
    """

    version: str
    scale: float
    wanted: list[NDArray[np.int8]]
    against: list[NDArray[np.int8]]
    n: int

    def nearest(self, sketches: NDArray[np.int8], rows: IntArray) -> IntArray:
        """Those of some rows, in ascending order, that are looked at."""
        if len(rows) <= self.n:
            return rows
        return np.sort(best_rows(sketch_scores(sketches, self.scale, self.wanted, self.against), rows, self.n))


def sketch_question(snapshot: Snapshot, learned: LearnedCascade, encoded: EncodedQuery) -> SketchQuestion | None:
    """What sketches are asked by a query without marks; None if it shows nothing that has a sketch."""
    probes = _probes(snapshot, encoded, Judgements({}, []))
    if probes is None or snapshot.sketches is None:
        return None
    basis = snapshot.sketches.basis
    return SketchQuestion(basis.version, basis.scale, *probes, _looked_at(snapshot, learned))


def _looked_at(snapshot: Snapshot, learned: LearnedCascade) -> int:
    """How many items all experts look at."""
    return max(REFERENCE, int(np.ceil(_share(learned) * snapshot.n_items)))


def _share(learned: LearnedCascade) -> float:
    return min(1.0, _SPARE * learned.share)


def _probes(snapshot: Snapshot, encoded: EncodedQuery, judgements: Judgements) -> _Probes | None:
    sketches = snapshot.sketches
    assert sketches is not None
    probes = _Probes([], [])
    for example in encoded.examples:
        sketch = sketches.of_picture(example.vectors)
        if sketch is not None:
            (probes.wanted if example.weight > 0 else probes.against).append(sketch)
    right = sketches.records.records[judgements.rows(right=True)]
    probes.wanted.extend(right[-_PROBES:])
    if len(right) > _PROBES:
        probes.wanted.append(np.rint(right.mean(axis=0)).astype(np.int8))
    return probes if probes.wanted or probes.against else None


def _following(
    sketches: Sketches, encoded: EncodedQuery, judgements: Judgements, scores: NDArray[Any], rows: IntArray
) -> FloatArray:
    """The scores of some rows as the marks will change them, by sketches instead of all experts."""
    known = sketches.records.records[rows]

    def similarity(sketch: NDArray[np.int8]) -> NDArray[np.float32]:
        return sketch_scores(known, sketches.basis.scale, [sketch], [])

    def columns(items: list[int]) -> list[NDArray[np.float32]]:
        return [similarity(sketches.records.records[item - 1]) for item in items]

    examples = (sketches.of_picture(example.vectors) for example in encoded.examples if example.weight > 0)
    near = [similarity(sketch) for sketch in examples if sketch is not None]
    example = np.asarray(np.mean(near, axis=0), np.float32) if near else None
    model = fit_feedback(judgements, np.asarray(scores, np.float64), columns, example, most=_MARKS, rows=rows)
    return model.scores(np.asarray(scores, np.float64))


def _slope(scores: NDArray[np.float32], spread: IntArray, visual: Callable[[IntArray], FloatArray]) -> float:
    """How much the experts say more where the score of sketches is higher by 1."""
    rows = together(len(scores), spread, best_rows(scores, np.arange(len(scores)), _SLOPE))
    x, y = scores[rows].astype(np.float64), visual(rows)
    x -= x.mean()
    return max(0.0, float(x @ (y - y.mean())) / (float(x @ x) or 1.0))


def learn(
    snapshot: Snapshot, weights: Mapping[str, float], progress: Callable[[int, int, str], None]
) -> LearnedCascade | None:
    """Learn how many items must be looked at; None if there are no sketches, or too few items.

    Parameters
    ----------
    snapshot : the items.
    weights : of the experts.
    progress : called with the number of searches done, of all, and a text.
    """
    rows = np.flatnonzero(snapshot.present)
    if snapshot.sketches is None or len(rows) < 10 * _TOP:
        return None
    visual = visual_weights(snapshot, weights)
    chosen = np.random.default_rng(0).choice(rows, _QUERIES, replace=False).tolist()
    places = []
    for done, query in enumerate(chosen, 1):
        exact = snapshot.similarity(snapshot.vectors_of(query), visual)
        scores = snapshot.sketches.scores([snapshot.sketches.records.records[query]])
        top = best_rows(exact, rows, _TOP)
        places.append(np.searchsorted(np.sort(-scores[rows]), -scores[top], side="right"))
        progress(done, _QUERIES, "cascade")
    learned, held_out = np.concatenate([*places[::3], *places[1::3]]), np.concatenate(places[2::3])
    share = float(np.quantile(learned, _WANTED, method="higher")) / len(rows)
    found = LearnedCascade(snapshot.sketches.basis.version, snapshot.n_items, share, 0.0, visual)
    looked_at = max(REFERENCE, _share(found) * len(rows))
    return found._replace(agreement=float(np.mean(held_out <= looked_at)))


def bring_up_to_date(collection: Collection, view: View, progress: Callable[[int, int, str], None]) -> None:
    """Learn again how many items must be looked at, if the weights have moved or items have come."""
    if _known(view.snapshot, view.weights) is None and not collection.read_only:
        learned = learn(view.snapshot, view.weights, progress)
        if learned is not None:
            store_cascade(collection, learned)


def together(n_items: int, *parts: IntArray) -> IntArray:
    """The rows of several parts, in ascending order.

    >>> together(9, np.array([7, 2]), np.array([2, 5])).tolist()
    [2, 5, 7]
    """
    inside = np.zeros(n_items, dtype=bool)
    for rows in parts:
        inside[rows] = True
    return np.flatnonzero(inside)

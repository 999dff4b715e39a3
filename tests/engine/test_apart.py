"""Rows that are compared in parts have the scores of one pass over all of them, to the last bit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rankloom.collection.query import Example, Query
from rankloom.engine import Engine, SearchOptions
from rankloom.engine.apart import RowQuestion, best_of, merged
from rankloom.experts import EncodedExample
from rankloom.experts.compact import CompactVectors
from rankloom.experts.distances import DISTANCES
from tests.archives import like

EXPERTS_ALONE = SearchOptions(feedback=False, diffusion=False)


def _rows(n, seed=0):
    rng = np.random.default_rng(seed)
    vectors = {"a": rng.random((n, 300)), "b": rng.random((n, 37)) - 0.5}
    vectors["a"][n // 2 :] = vectors["a"][: n // 2]  # ties
    vectors["b"][n // 2 :] = vectors["b"][: n // 2]
    return {name: CompactVectors.of(rows) for name, rows in vectors.items()}


def _question(stored, weights, *, fused, through_distances):
    examples = [
        EncodedExample({name: vectors[row] for name, vectors in stored.items()}, w) for row, w in enumerate(weights)
    ]
    names = [f"{name}.{distance}" for name in stored for distance in DISTANCES]
    rng = np.random.default_rng(5)
    scales = {name: {distance: float(rng.random() + 0.5) for distance in DISTANCES} for name in stored}
    return RowQuestion(
        examples, dict(zip(names, rng.normal(size=8).tolist(), strict=True)), scales, fused, through_distances
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weights", "fused", "through_distances"),
    [([1.0], True, True), ([1.0], True, False), ([1.0, 0.5, -1.0], False, True)],
)
def test_parts_have_the_scores_of_the_whole(weights, fused, through_distances):
    n = 1502
    stored, rng = _rows(n), np.random.default_rng(1)
    question = _question(stored, weights, fused=fused, through_distances=through_distances)
    added, eligible = [rng.random(n), rng.random(n).round(1)], rng.random(n) < 0.9
    added = [np.concatenate([column[: n // 2]] * 2) for column in added]
    whole = question.scores(stored, added)
    allowed = np.flatnonzero(eligible)
    expected = allowed[np.lexsort((allowed, -whole[allowed]))]
    for n_parts in (1, 2, 5, 64):
        ends = [n * part // n_parts for part in range(n_parts + 1)]
        found = []
        for begin, end in pairwise(ends):
            rows = {name: vectors.take(slice(begin, end)) for name, vectors in stored.items()}
            part = [column[begin:end] for column in added], np.packbits(eligible[begin:end])
            best = best_of(question, rows, part, n)
            found.append(best._replace(rows=best.rows + begin))
        together = merged(found, n)
        assert together.rows.tolist() == expected.tolist()
        assert together.scores.tobytes() == whole[expected].tobytes()
    assert len(np.unique(whole[expected])) < 0.8 * len(expected)  # there were ties


def test_a_query_taken_apart_has_the_scores_of_the_engine(original):
    engine = Engine(original)
    queries = [like(3), like(3, 8), like(5, text="red boat"), like(5, 20, text="boat -house")]
    queries.append(Query("", (Example(item=3), Example(item=9, weight=-1.0))))
    for query in queries:
        apart = engine.apart(query)
        scores = apart.question.scores(apart.snapshot.vectors, apart.added)
        ranking = engine.rank(query, EXPERTS_ALONE)
        assert scores.tobytes() == ranking.total.tobytes()
        assert np.array_equal(apart.eligible, ranking.eligible)


def test_what_cannot_be_taken_apart_is_refused(original):
    with pytest.raises(ValueError, match="words alone are searched without shards"):
        Engine(original).apart(Query("boat"))

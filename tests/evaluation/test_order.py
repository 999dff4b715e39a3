"""Arguments in the wrong order are refused, unusual ones in the right order are not."""

from itertools import permutations

import numpy as np
import pytest

from rankloom import compare, evaluate
from rankloom.datasets import make_ranking
from rankloom.evaluation.metrics import evaluate_queries

RIGHT = (0, 1, 2)
IDS = {
    "from 1": lambda number: number + 1,
    "from 0": lambda number: number,
    "of LETOR": lambda number: 10_000 + 7 * number,
    "floats": lambda number: number + 1.0,
    "texts": lambda number: np.char.add("q", number.astype(str)),
    "digits": lambda number: (10_000 + number).astype(str),
    "objects": lambda number: np.array([f"query {each}" for each in number], dtype=object),
}
SCORES = {
    "normal": lambda random, n: random.normal(size=n),
    "positive": lambda random, n: random.gamma(2.0, size=n),
    "rounded": lambda random, n: random.normal(size=n).round(2),
    "probabilities": lambda random, n: random.random(n).astype(np.float32),
}


def judged(seed, ids="from 1", scores="normal", *, shuffled=False, levels=3):
    """Grades, scores and query ids like those of MQ2008: some 20 rows per query, most of them of grade 0."""
    random = np.random.default_rng(seed)
    sizes = random.integers(6, 40, size=random.integers(12, 60))
    number = np.repeat(np.arange(len(sizes)), sizes)
    y = random.choice(levels, size=len(number), p=[0.7, *[0.3 / (levels - 1)] * (levels - 1)])
    rows = random.permutation(len(number)) if shuffled else np.arange(len(number))
    return y[rows], SCORES[scores](random, len(number)), IDS[ids](number)[rows]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("ids", IDS)
def test_every_other_order_is_refused(ids, scores, shuffled):
    for seed in range(5):
        arguments = judged(seed, ids, scores, shuffled=shuffled, levels=(2, 3, 5)[seed % 3])
        for order in permutations(RIGHT):
            given = [arguments[place] for place in order]
            if order == RIGHT:
                assert 0 < evaluate(*given)["AP"] < 1
                continue
            with pytest.raises(ValueError, match=r"order is evaluate\(y, scores, qid, metrics\)") as error:
                evaluate(*given)
            assert "\n" not in str(error.value)
            with pytest.raises(ValueError, match=r"order is evaluate_queries\(y, scores, qid, metrics\)"):
                evaluate_queries(*given, "AP")


def test_grades_and_scores_without_qid():
    y, scores, _ = judged(0)
    assert 0 < evaluate(y, scores)["AP"] < 1
    with pytest.raises(ValueError, match="wrong order: y has"):
        evaluate(scores, y)


@pytest.mark.parametrize("ids", IDS)
def test_compare(ids):
    y, scores, qid = judged(3, ids)
    assert compare({"one": scores, "two": -scores}, y, qid).n_queries == len(np.unique(qid))
    for given in (({"one": scores}, qid, y), ({"one": y}, scores, qid), ({"one": qid}, y, scores), (y, scores, qid)):
        with pytest.raises(ValueError, match=r"order is compare\(scores, y, qid, metric\)"):
            compare(*given)


def test_scores_of_a_tree_have_few_values():
    y, scores, qid = judged(1)
    few = np.digitize(scores, np.linspace(-2, 2, 12)) / 7 + 0.01
    assert 0 < evaluate(y, few, qid)["AP"] < 1
    for given in ((y, qid, few), (qid, y, few), (qid, few, y), (few, qid, y)):
        with pytest.raises(ValueError, match="order"):
            evaluate(*given)


def legitimate(random):
    """Unusual grades, scores and query ids that are in the right order."""
    n = 400
    normal, number = random.normal(size=n), np.repeat(np.arange(20), 20)
    y = random.choice(3, size=n, p=[0.7, 0.2, 0.1])
    mixed = random.permutation(number)
    within = np.tile(np.arange(20), 20)
    yield "real grades", random.random(n), normal, number
    yield "real grades of both signs", random.normal(size=n), normal, number
    yield "real grades, places as scores", random.normal(size=n), -within, number
    yield "real grades, equal scores", random.random(n), np.zeros(n), number
    yield "half grades", y / 2, normal, number
    yield "gains", np.exp2(y) - 1, normal, mixed
    yield "grades of both signs", np.where(y > 0, 1, -1), normal, number
    yield "ratings", random.integers(1, 6, n), normal, mixed
    yield "ratings to 100", random.integers(0, 101, n), normal, mixed
    yield "ratings to 100 of few users", random.integers(1, 101, n), normal, mixed % 5
    yield "clicks", random.geometric(0.02, n) - 1, normal, mixed % 5
    yield "clicks on one query more than on the others", random.geometric(0.02, n) - 1, normal, np.minimum(number, 2)
    yield "whole scores", y, np.round(10 * normal), number
    yield "the order of rows as scores", y, np.arange(n)[::-1], number
    yield "votes as scores", y, random.integers(0, 5, n), mixed
    yield "sorted by grade", np.sort(y)[::-1], normal, mixed
    yield "sorted by grade, two queries", np.sort(y), normal, mixed % 2
    yield "one query", y, normal, None
    yield "one query by name", y, normal, ["a"] * n
    yield "one item in most queries", y, normal, np.where(np.arange(n) < 250, np.arange(n), 250 + number)
    yield "ids with decimals", y, normal, 1 + number % 7 + 0.1 * (number // 7)
    yield "ids with decimals, rows mixed", y, normal, 1 + mixed % 7 + 0.1 * (mixed // 7)
    yield "dates", y, normal, np.datetime64("2024-01-01") + number
    yield "tuples", y, normal, [(int(each), "a") for each in number]
    yield "every grade the same", np.ones(n), normal, number
    yield "all alike", np.zeros(n), np.zeros(n), np.zeros(n)
    yield "truth as scores", y, y, number
    yield "booleans", y > 0, normal, number
    yield "a handful", y[:4], normal[:4], [1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(10))
def test_unusual_arguments_in_the_right_order_are_taken(seed):
    for what, y, scores, qid in legitimate(np.random.default_rng(seed)):
        for policy in ("trec", "sklearn"):
            values = evaluate(y, scores, qid, ["AP", "nDCG@10", "tau"], policy)
            assert len(values) == 3, what


@pytest.mark.parametrize("grades", [2, 5])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("string_qid", [False, True])
def test_generated_problems(grades, shuffle, string_qid):
    data = make_ranking(15, 12, grades=grades, shuffle=shuffle, string_qid=string_qid, random_state=grades)
    scores = data.X @ np.linspace(-1, 1, data.X.shape[1])
    for order in permutations(RIGHT):
        given = [(data.y, scores, data.qid)[place] for place in order]
        if order == RIGHT:
            evaluate(*given)
        else:
            with pytest.raises(ValueError, match="order"):
                evaluate(*given)

"""Texts of trees that were damaged or made to hurt never reach LightGBM's parser."""

import random
import re
import subprocess
import sys

import numpy as np
import pytest

from rankloom.datasets import make_ranking
from rankloom.rankers import LambdaMART
from rankloom.rankers._tree_text import checked_text

lightgbm = pytest.importorskip("lightgbm")

N_FEATURES = 5
NUMBERS = ("-1", "0", "1", "2147483647", "-2147483648", "99999999999999999999", "1e308", "1e999", "nan", "inf", "", "x")
KEYS = (
    "num_leaves",
    "num_cat",
    "split_feature",
    "threshold",
    "decision_type",
    "left_child",
    "right_child",
    "leaf_value",
)


def fitted(**options):
    data = make_ranking(n_queries=12, n_items=20, n_features=N_FEATURES, n_informative=3)
    X = data.X.copy()
    X[:, 0] = np.round(X[:, 0]) % 7
    return LambdaMART(4, 6, **options).fit(X, data.y, qid=data.qid), X


def changed(text, key, value, tree=1):
    """The text with another value of a key of one tree."""
    before, part, after = text.partition(f"\nTree={tree}\n")
    return before + part + re.sub(rf"^{key}=.*$", f"{key}={value}", after, count=1, flags=re.MULTILINE)


@pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
def test_scores_are_those_of_the_whole_text(objective):
    ranker, X = fitted(options={"objective": objective})
    probe = np.vstack([X, 3 * X + 0.1, np.zeros((1, N_FEATURES))])
    expected = lightgbm.Booster(model_str=ranker.model_).predict(probe)
    np.testing.assert_array_equal(ranker.predict(probe), expected)


@pytest.mark.filterwarnings("ignore:categorical_feature keyword")
def test_categorical_splits_are_read():
    ranker, X = fitted(options={"categorical_feature": "0", "min_data_per_group": 5, "cat_smooth": 1})
    assert "num_cat=1" in ranker.model_
    expected = lightgbm.Booster(model_str=ranker.model_).predict(X)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    number = re.search(r"Tree=(\d+)\nnum_leaves=\d+\nnum_cat=[1-9]", ranker.model_)[1]
    for key, value in (
        ("cat_boundaries", "0 99"),
        ("cat_boundaries", "1 2"),
        ("cat_threshold", "-1"),
        ("num_cat", "9"),
    ):
        with pytest.raises(ValueError, match="damaged"):
            checked_text(changed(ranker.model_, key, value, int(number)), N_FEATURES)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("num_leaves", "2000000000", "num_leaves of tree 1 is not between 1 and 131072"),
        ("num_leaves", "3", "has 6 values, expected 3"),
        ("num_leaves", "-4", "num_leaves of tree 1"),
        ("split_feature", "0 0 0 0 5", "split_feature of tree 1 is not between 0 and 4"),
        ("split_feature", "0 0 0", "split_feature of tree 1 has 3 values, expected 5"),
        ("threshold", "1 2 3 4 1e999", "threshold of tree 1 is beyond 1e+300"),
        ("threshold", "1 2 3 4 nan", "threshold of tree 1 has the value 'nan'"),
        ("leaf_value", "1 2 3 4 5 inf", "leaf_value of tree 1 has the value 'inf'"),
        ("decision_type", "2 2 2 2 99", "decision_type of tree 1 is not between 0 and 15"),
        ("decision_type", "3 2 2 2 2", "cat_boundaries of tree 1 has 0 values"),
        ("left_child", "0 0 0 0 0", "the nodes of tree 1 do not form a tree"),
        ("left_child", "1 2 3 4 99", "left_child of tree 1 is not between -6 and 4"),
        ("is_linear", "1", "tree 1 has linear leaves"),
        ("shrinkage", "1\nnum_leaves=9", "tree 1 has 'num_leaves' twice"),
    ],
)
def test_a_damaged_tree_is_refused(key, value, message):
    ranker, X = fitted()
    ranker.model_ = changed(ranker.model_, key, value)
    with pytest.raises(ValueError, match=re.escape(message)):
        ranker.predict(X)


def test_two_nodes_that_are_each_other_s_child_are_refused():
    ranker, _ = fitted()
    text = changed(ranker.model_, "left_child", "-1 2 1 -2 -3")  # a walk from 1 to 2 and back would never end
    with pytest.raises(ValueError, match="do not form a tree"):
        checked_text(changed(text, "right_child", "3 -4 -5 4 -6"), N_FEATURES)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_feature_idx=4", "max_feature_idx=1000000000", "max_feature_idx is 1000000000, expected 4"),
        ("num_class=1", "num_class=1000000", "num_class"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=0", "num_tree_per_iteration is 0"),
        ("objective=lambdarank", "objective=multiclass num_class:100000", "its objective is"),
        ("Tree=2", "Tree=7", "tree 2 is numbered '7'"),
        ("end of trees", "end", "no end"),
        ("tree_sizes=", "tree_sizes=1 ", "the sizes of 5 trees, and 4 trees"),
    ],
)
def test_a_damaged_header_is_refused(old, new, message):
    ranker, X = fitted()
    ranker.model_ = ranker.model_.replace(old, new, 1)
    with pytest.raises(ValueError, match=message):
        ranker.predict(X)


@pytest.mark.parametrize("options", [{"objective": "multiclass"}, {"linear_tree": True}])
def test_options_that_could_not_be_read_back_are_refused(options):
    with pytest.raises(ValueError, match="options may choose the objective lambdarank or rank_xendcg and no linear"):
        fitted(options=options)


def mutated(text, rng):
    """The text with one to three damages."""
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(6)
        if kind == 0:
            text = changed(
                text, rng.choice(KEYS), " ".join(rng.choices(NUMBERS, k=rng.randint(0, 7))), rng.randrange(4)
            )
        elif kind == 1:  # one number of one line
            spans = [match.span() for match in re.finditer(r"-?[0-9.e+-]+", text.partition("end of trees")[0])]
            a, b = rng.choice(spans)
            text = text[:a] + rng.choice((*NUMBERS, str(rng.randint(-6, 6)))) + text[b:]
        elif kind == 2:
            a = rng.randrange(len(text))
            text = text[:a] + text[a + rng.randint(1, 400) :]
        elif kind == 3:
            a = rng.randrange(len(text))
            text = text[:a] + chr(rng.choice((0, 10, 32, 61, 255, rng.randrange(32, 127)))) + text[a + 1 :]
        elif kind == 4:
            lines = text.split("\n")
            a, b = rng.randrange(30), rng.randrange(30)
            lines[a], lines[b] = lines[b], lines[a]
            text = "\n".join(lines)
        elif kind == 5:
            text = text.replace("".join(rng.choices("0123456789", k=1)), rng.choice(NUMBERS), 1)
    return text


def survive(n, seed):
    """Predict by damaged texts: what is accepted must give finite scores. Printed are how many were."""
    ranker, X = fitted()
    rng, sound, accepted = random.Random(seed), ranker.model_, 0
    for _ in range(n):
        ranker.model_ = mutated(sound, rng)
        try:
            scores = ranker.predict(X)
        except ValueError as error:
            if "damaged" not in str(error):
                raise
            continue
        assert np.isfinite(scores).all()
        accepted += ranker.model_ != sound
    print(accepted)


@pytest.mark.slow
def test_no_damaged_text_crashes_or_hangs_the_parser():
    # In another process: a crash of LightGBM would end this one without a word.
    code = "from tests.rankers.test_tree_text import survive; survive(1500, 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert 0 < int(done.stdout.split()[-1]) < 1500

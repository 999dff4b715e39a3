"""Suggested ends of lists in labeled collections: true where they are suggested, and not made up."""

import numpy as np

from rankloom.experiments import LabeledCollection, judge_cutoff, search_lists
from rankloom.experts.compact import CompactVectors


def labeled(spread, size=60, classes=4):
    random = np.random.default_rng(1)
    labels = np.repeat(np.arange(classes), size)
    vectors = random.normal(size=(classes, 8))[labels] + random.normal(scale=spread, size=(len(labels), 8))
    return LabeledCollection({"any": CompactVectors.of(vectors)}, labels)


def test_large_classes_end_where_they_end():
    data = labeled(0.2)
    found = judge_cutoff(search_lists(data, np.ones(4), n_queries=20))
    assert found.share > 0.8
    assert found.after < 0.1
    assert found.recall > 0.9


def test_no_end_is_made_up_in_a_cloud():
    found = judge_cutoff(search_lists(labeled(5.0), np.ones(4), n_queries=20))
    assert found.share <= 0.1

"""LightGBM's text of trees, checked line by line before its parser, which trusts every number, may read it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from rankloom.core import FloatArray, IntArray

OBJECTIVES = ("lambdarank", "rank_xendcg")
MOST_LEAVES = 131_072  # LightGBM's own limit of num_leaves
MOST_TREES = 100_000
MOST_CHARACTERS = 1 << 30
LARGEST = 1e300
_CATEGORICAL = 1  # the bit of decision_type
_INTEGER = re.compile(r"-?[0-9]{1,10}")
_NUMBER = re.compile(r"-?[0-9]{1,25}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,3})?")


def checked_text(text: str, n_features: int) -> str:
    """The part of a model's text that scores need, with its numbers as they are written; a ValueError if it is bad.

    Parameters
    ----------
    text : what LightGBM's `model_to_string` gave.
    n_features : the number of columns that it is to score.
    """
    if len(text) > MOST_CHARACTERS:
        raise _bad(f"its text has {len(text):,} characters, at most {MOST_CHARACTERS:,} are read")
    before, end, _ = text.partition("\nend of trees\n")
    header, *trees = re.split(r"^Tree=", before, flags=re.MULTILINE)
    if not end or not 0 < len(trees) <= MOST_TREES:
        raise _bad(f"it has {len(trees):,} trees{'' if end else ' and no end'}, from 1 to {MOST_TREES:,} are read")
    objective = _checked_header(_fields(header, "the header"), n_features, len(trees))
    names = " ".join(f"Column_{j}" for j in range(n_features))
    infos = " ".join(["none"] * n_features)
    lines = [
        *("tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0"),
        *(f"max_feature_idx={n_features - 1}", f"objective={objective}"),
        *(f"feature_names={names}", f"feature_infos={infos}", ""),
    ]
    for number, tree in enumerate(trees):
        lines += [f"Tree={number}", *_checked_tree(tree, number, n_features), "", ""]
    return "\n".join([*lines, "end of trees", ""])


def _bad(reason: str) -> ValueError:
    return ValueError(f"the saved trees of this LambdaMART are damaged: {reason}; fit the ranker again")


def _fields(text: str, where: str) -> dict[str, str]:
    """The lines `key=value`; others, such as the word "tree", have no value."""
    fields: dict[str, str] = {}
    for line in text.split("\n"):
        key, _, value = line.strip().partition("=")
        if key and key in fields:
            raise _bad(f"{where} has {key[:40]!r} twice")
        fields[key] = value
    return fields


def _checked_header(fields: dict[str, str], n_features: int, n_trees: int) -> str:
    for key, expected in (
        ("num_class", "1"),
        ("num_tree_per_iteration", "1"),
        ("max_feature_idx", str(n_features - 1)),
    ):
        if fields.get(key) != expected:
            raise _bad(f"{key} is {fields.get(key, 'absent')[:40]}, expected {expected}")
    sizes = len(fields.get("tree_sizes", "").split())
    if sizes != n_trees:
        raise _bad(f"it has the sizes of {sizes} trees, and {n_trees} trees")
    objective = fields.get("objective", "")
    if objective not in OBJECTIVES:
        raise _bad(f"its objective is {objective[:40]!r}, known are {', '.join(OBJECTIVES)}")
    return objective


def _checked_tree(text: str, number: int, n_features: int) -> Iterator[str]:
    """The lines of a tree that scores need."""
    where = f"tree {number}"
    first, _, rest = text.partition("\n")
    if first.strip() != str(number):
        raise _bad(f"{where} is numbered {first.strip()[:40]!r}")
    tree = _Tree(_fields(rest, where), where)
    n_leaves, n_categories = tree.count("num_leaves", 1, MOST_LEAVES), tree.count("num_cat", 0, MOST_LEAVES)
    if tree.fields.get("is_linear", "0") != "0":
        raise _bad(f"{where} has linear leaves, which are not read")
    tree.numbers("leaf_value", n_leaves)
    kept = ["num_leaves", "num_cat", "leaf_value"]
    if n_leaves > 1:
        n_nodes = n_leaves - 1
        tree.integers("split_feature", n_nodes, 0, n_features - 1)
        decisions = tree.integers("decision_type", n_nodes, 0, 15)
        thresholds = tree.numbers("threshold", n_nodes)
        left = tree.integers("left_child", n_nodes, -n_leaves, n_nodes - 1)
        right = tree.integers("right_child", n_nodes, -n_leaves, n_nodes - 1)
        _check_topology(left, right, where)
        kept += ["split_feature", "threshold", "decision_type", "left_child", "right_child"]
        if n_categories or (decisions & _CATEGORICAL).any():
            _check_categories(tree, n_categories, thresholds[(decisions & _CATEGORICAL) > 0])
            kept += ["cat_boundaries", "cat_threshold"]
    elif n_categories:
        raise _bad(f"{where} has categories but no split")
    return (f"{key}={tree.fields[key]}" for key in kept)


def _check_topology(left: IntArray, right: IntArray, where: str) -> None:
    """Each node but the root, and each leaf (-1 the first), is the child of one node, and comes after it."""
    n_nodes = len(left)
    children = np.concatenate([left, right])
    once = np.array_equal(np.sort(children), np.delete(np.arange(-n_nodes - 1, n_nodes), n_nodes + 1))
    parents = np.concatenate([np.arange(n_nodes)] * 2)
    if not once or ((children >= 0) & (children <= parents)).any():
        raise _bad(f"the nodes of {where} do not form a tree")


def _check_categories(tree: _Tree, n_categories: int, thresholds: FloatArray) -> None:
    """A categorical split names a set of categories, which is a range of words of bits."""
    bounds = tree.integers("cat_boundaries", n_categories + 1, 0, MOST_LEAVES * 32)
    if bounds[0] != 0 or (np.diff(bounds) < 0).any():
        raise _bad(f"cat_boundaries of {tree.where} do not rise from 0")
    tree.integers("cat_threshold", int(bounds[-1]), 0, 2**32 - 1)
    if not np.isin(thresholds, np.arange(n_categories)).all():
        raise _bad(f"{tree.where} splits by a set of categories that it does not have")


class _Tree:
    """The fields of a tree, checked as they are read."""

    def __init__(self, fields: dict[str, str], where: str):
        self.fields, self.where = fields, where

    def count(self, key: str, least: int, most: int) -> int:
        """A whole number."""
        return int(self.integers(key, 1, least, most)[0])

    def integers(self, key: str, length: int, least: int, most: int) -> IntArray:
        """Whole numbers within bounds."""
        values = np.array([int(token) for token in self._tokens(key, length, _INTEGER)], dtype=np.int64)
        if length and not (least <= values.min() and values.max() <= most):
            raise _bad(f"{key} of {self.where} is not between {least} and {most}")
        return values

    def numbers(self, key: str, length: int) -> FloatArray:
        """Finite numbers, of which a sum over all trees is one too."""
        values = np.array([float(token) for token in self._tokens(key, length, _NUMBER)], dtype=np.float64)
        if not (np.abs(values) <= LARGEST).all():
            raise _bad(f"{key} of {self.where} is beyond {LARGEST:g}")
        return values

    def _tokens(self, key: str, length: int, pattern: re.Pattern[str]) -> list[str]:
        tokens = self.fields.get(key, "").split(" ") if self.fields.get(key) else []
        if len(tokens) != length:
            raise _bad(f"{key} of {self.where} has {len(tokens)} values, expected {length}")
        for token in tokens:
            if not pattern.fullmatch(token):
                raise _bad(f"{key} of {self.where} has the value {token[:40]!r}")
        return tokens

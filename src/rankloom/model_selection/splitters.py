"""Splitters for scikit-learn's cross-validation and searches that keep each query whole."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from rankloom.core import IntArray
from rankloom.groups import Groups, group_rows


class _QuerySplitter(BaseCrossValidator):  # type: ignore[misc]
    """Splits that keep each query whole. `qid` comes by scikit-learn's metadata routing, or as its `groups`."""

    __metadata_request__split = {"qid": True}  # noqa: RUF012

    def _queries(self, X: Any, groups: Any, qid: Any) -> Groups:
        queries = qid if qid is not None else groups
        if queries is None:
            raise ValueError(
                f"{type(self).__name__} needs the query of each row: pass params={{'qid': qid}} with "
                "sklearn.set_config(enable_metadata_routing=True), or groups=qid"
            )
        if qid is None:
            warnings.warn(
                "queries came as groups, which scikit-learn gives to the splitter only: the ranker sees all rows as "
                "one query unless it gets qid too; set_config(enable_metadata_routing=True) and params={'qid': qid} "
                "do both",
                UserWarning,
                stacklevel=3,
            )
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        return group_rows(queries, n_rows)

    def split(self, X: Any, y: Any = None, groups: Any = None, qid: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield (training rows, test rows)."""
        grouped = self._queries(X, groups, qid)
        for test in self._test_queries(len(grouped)):
            in_test = np.zeros(len(grouped), dtype=bool)
            in_test[test] = True
            mask = in_test[grouped.codes]
            yield np.flatnonzero(~mask), np.flatnonzero(mask)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, qid: Any = None) -> int:
        """Return the number of splits."""
        return int(self.n_splits)

    @abstractmethod
    def _test_queries(self, n_queries: int) -> Iterator[IntArray]:
        """The queries of each test part."""


class QueryKFold(_QuerySplitter):
    """K folds by query: the rows of a query are never divided.

    Parameters
    ----------
    n_splits : number of folds.
    shuffle : whether queries are shuffled before they are dealt out.
    random_state : seed of the shuffle.

    Examples
    --------
    >>> [test.tolist() for _, test in QueryKFold(2).split([[0]] * 5, qid=[7, 8, 7, 9, 8])]
    [[0, 1, 2, 4], [3]]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None):
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def _test_queries(self, n_queries: int) -> Iterator[IntArray]:
        if not 2 <= self.n_splits <= n_queries:
            raise ValueError(f"n_splits={self.n_splits} folds cannot be made of {n_queries} queries")
        order = np.arange(n_queries)
        if self.shuffle:
            check_random_state(self.random_state).shuffle(order)
        yield from np.array_split(order, self.n_splits)


class QueryShuffleSplit(_QuerySplitter):
    """Random splits by query, each with a share `test_size` of the queries held out."""

    def __init__(self, n_splits: int = 10, *, test_size: float = 0.2, random_state: Any = None):
        self.n_splits = n_splits
        self.test_size = test_size
        self.random_state = random_state

    def _test_queries(self, n_queries: int) -> Iterator[IntArray]:
        n_test = round(self.test_size * n_queries)
        if not 0 < n_test < n_queries:
            raise ValueError(f"test_size={self.test_size} of {n_queries} queries leaves an empty part")
        random = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            yield random.permutation(n_queries)[:n_test]

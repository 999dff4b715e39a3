"""LambdaMART on a cluster, by LightGBM's own Dask trainer."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from rankloom.cluster.connecting import ClusterError
from rankloom.cluster.data import ClusterData
from rankloom.cluster.parts import DaskParts
from rankloom.core import FloatArray, IntArray, RankingData
from rankloom.rankers import LambdaMART
from rankloom.rankers._feature_size import largest_values
from rankloom.rankers.base import warn_nothing_to_learn
from rankloom.rankers.lambdamart import graded_lists, label_gains, lightgbm_module, model_text

TIME_OUT = 5  # minutes that LightGBM waits for a worker, one of which may be lost


class _Lists(NamedTuple):
    """The rows of a part as LightGBM takes them: features, labels, and the lengths of the lists."""

    X: FloatArray
    labels: IntArray
    lengths: NDArray[np.int64]


def fit_trees(ranker: LambdaMART, data: ClusterData) -> None:
    """Fit the trees to all parts. They are not those of a single machine: the bins of features are others.

    A worker that is lost during the training ends it with a ClusterError; nothing else is lost.
    """
    ranker._check_parameters()
    lightgbm_module()
    surveys = data.parts.call(_survey, ranker)
    ranker._check_sizes(np.max([largest for _, largest in surveys], axis=0)[None, :])
    ranker.n_features_in_ = len(data.feature_names)
    grades = np.unique(np.concatenate([grades for grades, _ in surveys]))
    if len(grades):
        random = check_random_state(ranker.random_state)
        seeds = [int(seed) for seed in random.randint(2**31, size=len(surveys))]
        lists = data.parts.derive(_lists, ranker, grades, each=seeds)
        taught = [future for future, (own, _) in zip(lists.futures, surveys, strict=True) if len(own)]
        ranker.model_ = _train(ranker, DaskParts(lists.client, taught), ranker._options(label_gains(grades), random))
    else:
        warn_nothing_to_learn()
        ranker.model_ = ""
    ranker.n_queries_ = data.n_queries


def _survey(data: RankingData, ranker: LambdaMART) -> tuple[FloatArray, FloatArray]:
    """The grades that teach, and the largest value of each feature."""
    rows = clone(ranker)._check_rows(data.X, reset=True)
    lists = graded_lists(ranker._problem(rows, data.y, data.qid))
    return np.unique(data.y[lists.rows]), largest_values(rows)


def _lists(data: RankingData, seed: int, ranker: LambdaMART, grades: FloatArray) -> _Lists:
    problem = ranker._problem(data.X, data.y, data.qid)
    lists = graded_lists(problem)
    rows, labels, lengths = lists.cut(problem, grades, ranker.max_list, np.random.RandomState(seed))
    return _Lists(problem.X[rows], labels, np.array(lengths, dtype=np.int64))


def _train(ranker: LambdaMART, lists: DaskParts, options: dict[str, Any]) -> str:
    import dask
    import dask.array

    shapes = lists.call(_shape)
    columns = []
    for place, depth in ((0, 2), (1, 1), (2, 1)):
        arrays = [
            dask.array.from_delayed(
                dask.delayed(future)[place], shape=shape[place], dtype=np.float64 if place == 0 else np.int64
            )
            for future, shape in zip(lists.futures, shapes, strict=True)
        ]
        columns.append(dask.array.concatenate(arrays) if depth else arrays[0])
    del options["num_threads"]  # as many as each worker has
    options["time_out"] = TIME_OUT
    model = lightgbm_module().DaskLGBMRanker(client=lists.client, n_estimators=ranker.n_estimators, **options)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LightGBM warns of every parameter that its trainer sets itself
            model.fit(columns[0], columns[1], group=columns[2])
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ClusterError(f"LightGBM ended with: {reason}; run it again with the workers that are left") from error
    return model_text(model.booster_)


def _shape(lists: _Lists) -> tuple[tuple[int, ...], ...]:
    return lists.X.shape, lists.labels.shape, lists.lengths.shape

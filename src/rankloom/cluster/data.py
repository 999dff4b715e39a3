"""Parquet files as parts of a cluster: each on one worker, with all rows of its queries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.cluster.parts import DaskParts
from rankloom.core import RankingData
from rankloom.datasets.patterns import check_same_features, matching_files
from rankloom.datasets.tables import parquet_queries, read_parquet

Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class ClusterData(NamedTuple):
    """Graded rows on the workers of a cluster.

    Parameters
    ----------
    parts : of which each is a `RankingData` with all rows of its queries.
    n_rows, n_queries : of all parts.
    feature_names : the columns.
    regrouped : whether queries were spread over several files, so that rows had to be exchanged between workers.
    """

    parts: DaskParts
    n_rows: int
    n_queries: int
    feature_names: list[str]
    regrouped: bool

    @classmethod
    def read(cls, source: Source, client: Any) -> ClusterData:
        """Load Parquet files on the workers of a cluster, a file a part.

        Where the rows of a query are in several files, the rows are first exchanged between the workers, so that every
        query is in one part.

        Parameters
        ----------
        source : a path, a folder, a pattern such as `s3://bucket/train-*.parquet`, or several of them. Workers must
            see the paths as they are.
        client : of the cluster.
        """
        files = matching_files(source)
        wrong = next((file for file in files if not file.lower().endswith(".parquet")), None)
        if wrong is not None:
            raise ValueError(f"{wrong}: a cluster reads Parquet files; rankloom.datasets.save writes them")
        contents: list[tuple[list[str], NDArray[Any], int]] = DaskParts(client, files).call(parquet_queries)
        names = contents[0][0]
        for file, (features, queries, _) in zip(files, contents, strict=True):
            check_same_features(file, features, files[0], names)
            if queries.dtype.kind != contents[0][1].dtype.kind:
                raise ValueError(f"{file}: its queries are not of the same kind as those of {files[0]}")
        distinct = np.unique(np.concatenate([queries for _, queries, _ in contents]))
        regrouped = len(distinct) < sum(len(queries) for _, queries, _ in contents)
        loaded = DaskParts(client, files).derive(read_parquet)
        parts = _regrouped(loaded, names, contents[0][1].dtype.kind) if regrouped else loaded
        return cls(parts, sum(rows for *_, rows in contents), len(distinct), names, regrouped)


def _regrouped(loaded: DaskParts, names: list[str], kind: str) -> DaskParts:
    """The same rows, exchanged by Dask's shuffle so that those of a query are together."""
    import dask
    import dask.dataframe

    none = np.zeros(0, np.int64 if kind == "i" else np.str_)
    meta = _frame(RankingData(np.zeros((0, len(names))), np.zeros(0), none))
    frames = loaded.derive(_frame)
    with dask.config.set({"dataframe.convert-string": False}):
        table = dask.dataframe.from_delayed([dask.delayed(future) for future in frames.futures], meta=meta)
        shuffled = table.shuffle("qid", npartitions=len(loaded))
        futures = loaded.client.compute(shuffled.to_delayed())
    filled = DaskParts(loaded.client, futures)
    sizes = filled.call(len)
    kept = [future for future, rows in zip(filled.futures, sizes, strict=True) if rows]
    return DaskParts(loaded.client, kept).derive(_ranking_data)


def _frame(data: RankingData) -> Any:
    import pandas

    numbers = data.qid.dtype.kind in "iu"
    qid = data.qid.astype(np.int64) if numbers else pandas.array(data.qid.tolist(), dtype="string[pyarrow]")
    return pandas.DataFrame({"qid": qid, "y": data.y, **{f"x{j}": column for j, column in enumerate(data.X.T)}})


def _ranking_data(frame: Any) -> RankingData:
    qid = np.array(frame["qid"].tolist())
    values = np.ascontiguousarray(frame.iloc[:, 2:].to_numpy(np.float64))
    return RankingData(values, frame["y"].to_numpy(np.float64), qid)

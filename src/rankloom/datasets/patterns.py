"""Data in several files: those that match a pattern, are in a folder, or have an address such as `s3://...`."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence

import numpy as np

from rankloom._addresses import is_address, local_path, matching_addresses
from rankloom.core import RankingData
from rankloom.datasets.tables import load, read_parquet


def is_pattern(path: str) -> bool:
    """Whether a path names several files, or one elsewhere, so that `load` alone cannot read it."""
    return is_address(path) or glob.has_magic(path) or os.path.isdir(path)


def matching_files(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files of a pattern, a folder (its Parquet files), or of several of these, sorted within each.

    A pattern that nothing matches is a FileNotFoundError.
    """
    if not isinstance(source, str | os.PathLike):
        return [file for part in source for file in matching_files(part)]
    pattern = local_path(source)
    if not is_address(pattern):
        if os.path.isdir(pattern):
            pattern = os.path.join(glob.escape(pattern), "*.parquet")
        files = sorted(glob.glob(pattern, recursive=True)) if glob.has_magic(pattern) else [pattern]
    else:
        pattern = f"{pattern}*.parquet" if pattern.endswith("/") else pattern
        files = matching_addresses(pattern) if glob.has_magic(pattern) else [pattern]
    if not files:
        raise FileNotFoundError(2, "no file matches", pattern)
    return files


def load_files(source: str | os.PathLike[str] | Sequence[str], *, sparse: bool = False) -> RankingData:
    """Load all files of a pattern as one: their rows one after another; they have the same columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rankloom.datasets import make_ranking, save
    >>> data = make_ranking(4, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(2):
    ...         save(data.take(data.qid % 2 == part), pathlib.Path(folder, f"part-{part}.parquet"))
    ...     len(load_files(f"{folder}/*.parquet")) == len(data)
    True
    """
    files = matching_files(source)
    parts = [read_parquet(file) if is_address(file) else load(file, sparse=sparse) for file in files]
    first = parts[0]
    if len(parts) == 1:
        return first
    if sparse:
        raise ValueError("several files are read dense; give one file with --sparse")
    for file, part in zip(files, parts, strict=True):
        check_same_features(file, part.feature_names, files[0], first.feature_names)
    width = max(part.X.shape[1] for part in parts)
    parts = [part.widened(width) for part in parts]
    ids = None if any(part.ids is None for part in parts) else [item for part in parts for item in part.ids or ()]
    return RankingData(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.qid for part in parts]),
        ids,
        first.feature_names,
    )


def check_same_features(file: str, names: Sequence[str] | None, first: str, expected: Sequence[str] | None) -> None:
    """Refuse a file whose features are others than those of the first, or in another order."""
    if names is None or expected is None or list(names) == list(expected):
        return
    missing = [name for name in expected if name not in names] or [name for name in names if name not in expected]
    what = f"{missing[0]!r} is in one only" if missing else "they are in another order"
    raise ValueError(f"{file} has other feature columns than {first}: {what}")

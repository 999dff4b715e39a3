"""Labelled folders of pictures as data for benchmarks: described once, split into parts."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rankloom.bagging import BaggedSVMs
from rankloom.bench.cascade import Concept
from rankloom.collection import Collection, index
from rankloom.core import RankingData
from rankloom.descriptors import CLASSICAL

__all__ = ["concepts_of", "described_folder", "read_labels"]

Described = tuple[dict[str, NDArray[Any]], NDArray[Any]]


def read_labels(folder: str | os.PathLike[str]) -> dict[str, str]:
    """The class of each picture: by `labels.csv` (columns path and class or label), else by the folder it lies in."""
    root = Path(folder)
    table = root / "labels.csv"
    if not table.is_file():
        found = {str(path): path.parent.name for path in root.rglob("*") if path.is_file() and path.parent != root}
        if not found:
            raise ValueError(f"{folder} has neither a labels.csv nor folders that name classes")
        return found
    with open(table, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        column = next((name for name in ("class", "label") if name in (rows.fieldnames or ())), None)
        if column is None or "path" not in (rows.fieldnames or ()):
            raise ValueError(f"{table} needs the columns path and class; it has {', '.join(rows.fieldnames or ())}")
        return {str(root / row["path"]): row[column] for row in rows}


def described_folder(
    folder: str | os.PathLike[str],
    collection: str | os.PathLike[str],
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> Described:
    """The classical vectors and the class of each labelled picture; the collection keeps the work."""
    labels = {os.path.abspath(path): label for path, label in read_labels(folder).items()}
    with Collection(collection, create=True) as opened:
        index(opened, [folder], preset="full", progress=progress)
        items = [item for item in opened.items() if os.path.abspath(item.path) in labels]
        if not items:
            raise ValueError(f"none of the pictures in {folder} has a label")
        rows = np.array([item.id - 1 for item in items])
        vectors = {name: np.asarray(opened.vectors(name)[rows], dtype=np.float64) for name in CLASSICAL}
    return vectors, np.array([labels[os.path.abspath(item.path)] for item in items])


def concepts_of(
    described: Described,
    n_concepts: int,
    *,
    n_jobs: int = 1,
    random_state: Any = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> Iterator[Concept]:
    """Concepts whose weak models are machines on single descriptors (section 5.1 of the paper).

    Half of the pictures train the machines, a fifth boosts and places cut-offs, the rest is for the test. The fifth is
    small, so it does both; every part has its share of each class. `progress` is called after each machine.
    """
    vectors, labels = described
    random = check_random_state(random_state)
    names, counts = np.unique(labels, return_counts=True)
    parts = np.empty(len(labels), dtype=np.int64)
    for name in names:
        mine = random.permutation(np.flatnonzero(labels == name))
        parts[mine] = np.searchsorted([0.5, 0.7], (np.arange(len(mine)) + 0.5) / len(mine))
    chosen = names[np.argsort(-counts, kind="stable")][:n_concepts]
    done = 0
    total = len(chosen) * len(vectors) * BaggedSVMs().per_descriptor

    def trained(name: str) -> None:
        nonlocal done
        done += 1
        progress(done, total, f"{name}: machines")

    for name in chosen.tolist():
        y = (labels == name).astype(np.float64)
        learn, boost, test = ({key: found[parts == part] for key, found in vectors.items()} for part in range(3))
        bagged = BaggedSVMs(n_jobs=n_jobs, random_state=random.randint(2**31)).fit(
            learn, y[parts == 0], progress=partial(trained, name)
        )
        X = np.asarray(bagged.features(boost))
        held = RankingData(X, y[parts == 1], np.zeros(len(X)))
        yield Concept(name, held, held, partial(bagged.features, test), y[parts == 2])

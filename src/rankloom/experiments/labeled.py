"""A labeled collection in memory: every item may be a query, items of its class are relevant."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection, index
from rankloom.collection.damage import DATABASE
from rankloom.collection.taught_weights import teacher_of
from rankloom.core import FloatArray, IntArray, RankingData, listed
from rankloom.descriptors import PRESETS
from rankloom.engine.diffusion import diffuse_scores
from rankloom.engine.neighbors import NeighborGraph
from rankloom.experiments.graphs import neighbor_graphs
from rankloom.experts import Expert, experts_of, measure_scales
from rankloom.experts.compact import CompactVectors
from rankloom.experts.distances import DISTANCES, Weighted, add_similarities, all_distances_of
from rankloom.experts.starting_weights import TEACHER, prior_weights
from rankloom.experts.teaching import LEAST, sampled_rows, taught_weights

DIFFUSION = " + neighbours"  # in the name of a method, after diffusion of its scores


class Teacher(NamedTuple):
    """A sample of the rows, and what the semantic network says of each."""

    rows: IntArray
    vectors: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LabeledCollection:
    """Items that are queries, and answers to them.

    Parameters
    ----------
    vectors : by descriptor, as they are stored.
    labels : the class of each item.
    known_scales : of the distances, if they need not be measured.
    teacher : what teaches starting weights where the semantic descriptor is not among the others.
    """

    vectors: Mapping[str, CompactVectors]
    labels: NDArray[Any]
    known_scales: Mapping[str, FloatArray] | None = None
    teacher: Teacher | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def only(self, descriptors: Iterable[str]) -> Self:
        """The same items by some descriptors; the semantic one, left out, still teaches the others."""
        teacher = self.teacher
        if TEACHER in self.vectors:
            rows = sampled_rows(np.ones(len(self), dtype=bool))
            teacher = Teacher(rows, self.vectors[TEACHER][rows])
        return replace(self, vectors={name: self.vectors[name] for name in sorted(descriptors)}, teacher=teacher)

    @cached_property
    def scales(self) -> Mapping[str, FloatArray]:
        """The scale of each distance by descriptor."""
        if self.known_scales is not None:
            return self.known_scales
        everything = np.ones(len(self), dtype=bool)
        scales = {name: measure_scales(stored, everything) for name, stored in self.vectors.items()}
        return {name: np.array([scales[name][distance] for distance in DISTANCES]) for name in scales}

    @cached_property
    def experts(self) -> list[Expert]:
        """The experts, in the order of the columns of phi."""
        return experts_of(self.vectors)

    @cached_property
    def start(self) -> FloatArray:
        """The weights that a new collection would start with."""
        if TEACHER in self.vectors or self.teacher is None or len(self.teacher.rows) < LEAST:
            weights = prior_weights(self.vectors)
        else:
            scales = {name: dict(zip(DISTANCES, values.tolist(), strict=True)) for name, values in self.scales.items()}
            weights = taught_weights(self.vectors, scales, *self.teacher)
        return np.array([weights.get(expert.name, 0.0) for expert in self.experts])

    def phi(self, row: int, rows: IntArray | None = None) -> NDArray[np.float32]:
        """What each expert says of each item, or of some rows, with one item as the query."""
        return self.phi_of({name: stored[row] for name, stored in self.vectors.items()}, rows)

    def phi_of(self, query: Mapping[str, NDArray[np.float32]], rows: IntArray | None = None) -> NDArray[np.float32]:
        """The same with the vectors of any query, by descriptor."""
        described = [(query[name], stored) for name, stored in self.vectors.items()]
        parts = [
            np.exp(-distances / self.scales[name].astype(np.float32))
            for name, distances in zip(self.vectors, all_distances_of(described, rows), strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def similarity(self, row: int, weights: FloatArray) -> NDArray[np.float32]:
        """The weighted similarity of all items to one."""
        total = np.zeros(len(self), dtype=np.float32)
        by_descriptor = weights.reshape(len(self.vectors), len(DISTANCES)).astype(np.float32)
        for by_distance, (name, stored) in zip(by_descriptor, self.vectors.items(), strict=True):
            if by_distance.any():
                described = Weighted(stored[row], stored, by_distance, self.scales[name].astype(np.float32))
                add_similarities(total, described)
        return total

    def neighbors(self, weights: FloatArray, k: int = 10) -> NeighborGraph:
        """The neighbor graph under these weights."""
        return neighbor_graphs(self, [weights], k)[0]

    def relevant(self, row: int) -> NDArray[np.bool_]:
        """Which items answer a query; the query itself does not count."""
        relevant: NDArray[np.bool_] = self.labels == self.labels[row]
        relevant[row] = False
        return relevant

    def queries(self, n: int, random_state: int = 0) -> IntArray:
        """A random choice of items that can be queries: another item is of their class."""
        _, codes, counts = np.unique(self.labels, return_inverse=True, return_counts=True)
        usable = np.flatnonzero(counts[codes] > 1)
        if not len(usable):
            raise ValueError("no class has two items: there is nothing to look for")
        chosen = np.random.default_rng(random_state).choice(usable, min(n, len(usable)), replace=False)
        return np.asarray(np.sort(chosen), dtype=np.int64)

    def lists(self, queries: IntArray) -> RankingData:
        """phi (single precision: it is large) and grades of all other items for each query, which its row names."""
        others = (np.flatnonzero(np.arange(len(self)) != query) for query in queries.tolist())
        return self._graded(zip(queries.tolist(), others, strict=True))

    def sampled(
        self,
        queries: IntArray,
        others: int,
        random: np.random.Generator,
        progress: Callable[[int], None] = lambda done: None,
    ) -> RankingData:
        """The same of all relevant items of each query, and of some others; `progress` hears of queries done."""
        chosen = []
        for query in queries.tolist():
            relevant = self.relevant(query)
            rest = np.flatnonzero(~relevant)
            rest = rest[rest != query]
            some = random.choice(rest, min(others, len(rest)), replace=False)
            chosen.append((query, np.concatenate([np.flatnonzero(relevant), some])))
        return self._graded(chosen, progress, np.float64)

    def _graded(
        self,
        chosen: Iterable[tuple[int, IntArray]],
        progress: Callable[[int], None] = lambda done: None,
        precision: type[np.floating[Any]] = np.float32,
    ) -> RankingData:
        X, y, qid = [], [], []
        for number, (query, rows) in enumerate(chosen):
            progress(number)
            X.append(self.phi(query, rows).astype(precision, copy=False))
            y.append(self.relevant(query)[rows].astype(np.float64))
            qid.append(np.full(len(rows), query))
        return RankingData(np.concatenate(X), np.concatenate(y), np.concatenate(qid))


class CollectionDiffusion:
    """Lets items of a labeled collection lend their scores to their neighbors, as the engine does.

    Parameters
    ----------
    neighbors : its neighbor graph.
    """

    def __init__(self, neighbors: NeighborGraph):
        self._neighbors = neighbors
        self._operator = neighbors.operator()
        self._everything = np.ones(len(neighbors), dtype=bool)

    def __call__(self, scores: FloatArray, *, barred: IntArray | None = None, judged: bool = False) -> FloatArray:
        """The scores after diffusion; `barred` rows lend nothing, `judged` says that the scores follow marks."""
        diffused = diffuse_scores(
            scores, self._neighbors, self._operator, self._everything, barred=barred, judged=judged
        )
        return diffused.total


def load_labeled(
    folder: str | os.PathLike[str],
    labels: str | os.PathLike[str] | None = None,
    column: str = "class",
    *,
    preset: str | None = None,
    work: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> LabeledCollection:
    """The labeled items of a collection, or of a folder of pictures, which is indexed first.

    Parameters
    ----------
    folder : a collection, or pictures.
    labels : a CSV file as for `read_labels`; for a folder of pictures its `labels.csv`, or its folders, unless given.
    column : the column of the labels with the class.
    preset : which descriptors; all that the collection has unless given ("full" for pictures).
    work : where the collection of a folder of pictures is made; needed for one.
    progress : called with the number of files done, of all, and a text.
    """
    if preset is not None and preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}; known are {', '.join(PRESETS)}")
    classes = read_labels(folder if labels is None else labels, column)
    made = os.path.isfile(os.path.join(folder, DATABASE))
    if not made and work is None:
        raise ValueError(f"{folder} is not a collection; index it first, or say where to keep the work")
    with Collection(folder if made or work is None else work, create=not made) as collection:
        if not made:
            index(collection, [folder], preset=preset or "full", ocr=False, speech=False, progress=progress)
        stored = {descriptor.name for descriptor in collection.descriptors()}
        names = sorted(stored if preset is None else PRESETS[preset])
        for name in names:
            if name not in stored:
                raise ValueError(f"the collection has no vectors of {name!r}; run: rankloom index --preset {preset}")
        items = [(item.id - 1, classes[item.path]) for item in collection.items() if item.path in classes]
        if not items:
            raise ValueError(f"none of the files of {folder} is in {labels or 'its labels'}")
        rows = np.array([row for row, _ in items])
        vectors = {name: collection.vectors(name).take(rows) for name in names}
        teacher = None if TEACHER in names else _teacher(collection, rows)
    return LabeledCollection(vectors, np.array([label for _, label in items]), teacher=teacher)


def _teacher(collection: Collection, rows: IntArray) -> Teacher:
    """What teaches the experts of some rows of a collection."""
    known, vectors = teacher_of(collection, rows[sampled_rows(np.ones(len(rows), dtype=bool))])
    return Teacher(np.searchsorted(rows, known), vectors)


def load_unlabeled(
    folder: str | os.PathLike[str],
    work: str | os.PathLike[str],
    descriptors: Iterable[str],
    *,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> LabeledCollection:
    """All items of a folder of pictures by some descriptors, without classes; it is indexed where it was not yet.

    Parameters
    ----------
    folder : pictures, or a collection.
    work : where the collection of a folder of pictures is made, or was made before.
    descriptors : which.
    progress : called with the number of files done, of all, and a text.
    """
    made = os.path.isfile(os.path.join(folder, DATABASE))
    with Collection(folder if made else work, create=not made) as collection:
        if not made:
            index(collection, [folder], preset="full", ocr=False, speech=False, progress=progress)
        rows = np.array([item.id - 1 for item in collection.items()])
        vectors = {name: collection.vectors(name).take(rows) for name in sorted(descriptors)}
    return LabeledCollection(vectors, np.zeros(len(rows)))


def read_labels(source: str | os.PathLike[str], column: str = "class") -> dict[str, str]:
    """The class of each file, by its absolute path.

    Parameters
    ----------
    source : a CSV file with the columns path, relative to its own folder, and `column` (or label); or a folder that has
        a `labels.csv`, or folders that name the classes.
    column : the column with the class.
    """
    root = Path(os.path.abspath(source))
    table = root / "labels.csv" if root.is_dir() else root
    if root.is_dir() and not table.is_file():
        classes = {str(path): path.parent.name for path in root.rglob("*") if path.is_file() and path.parent != root}
        if not classes:
            raise ValueError(f"{source} has neither a labels.csv nor folders that name classes")
        return classes
    with open(table, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        columns = rows.fieldnames or ()
        chosen = "label" if column == "class" and column not in columns else column
        if chosen not in columns or "path" not in columns:
            raise ValueError(f"{table} needs the columns path and {column}; it has {listed(columns)}")
        return {os.path.normpath(table.parent / row["path"]): row[chosen] for row in rows}


def average_precision(scores: FloatArray, relevant: NDArray[np.bool_], query: int) -> float:
    """AP of a whole list without the query itself; ties by row number."""
    order = np.lexsort((np.arange(len(scores)), -scores))
    hits = relevant[order[order != query]]
    ranks = np.flatnonzero(hits) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else 0.0

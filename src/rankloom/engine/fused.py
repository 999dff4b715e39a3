"""The weighted similarity of stored rows to a picture: what all experts say of them, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.core import IntArray
from rankloom.experts.compact import CompactVectors
from rankloom.experts.distances import DISTANCES, Weighted, add_similarities, add_similarities_of

Numbers = tuple[NDArray[np.float32], NDArray[np.float32]]  # a weight and a scale for each distance


def scale_arrays(scales: Mapping[str, Mapping[str, float]], names: Iterable[str]) -> dict[str, NDArray[np.float32]]:
    """The scale of each distance in the order of `DISTANCES`, by descriptor."""
    return {name: np.array([scales[name][distance] for distance in DISTANCES], np.float32) for name in names}


def weight_numbers(
    weights: Mapping[str, float], scales: Mapping[str, NDArray[np.float32]]
) -> Iterator[tuple[str, Numbers]]:
    """The weight and the scale of each distance, of the descriptors that have a weight, in the order of the scales."""
    for name, of_descriptor in scales.items():
        of_distances = [weights.get(f"{name}.{distance}", 0.0) for distance in DISTANCES]
        if any(of_distances):
            yield name, (np.array(of_distances, np.float32), of_descriptor)


def fused_similarity(
    n_rows: int,
    stored: Mapping[str, CompactVectors],
    vectors: Mapping[str, NDArray[Any]],
    numbers: Iterable[tuple[str, Numbers]],
    rows: IntArray | None = None,
    distances: Mapping[str, NDArray[np.float32]] | None = None,
) -> NDArray[np.float32]:
    """The weighted similarity of stored rows to a described picture; each descriptor is read once.

    Parameters
    ----------
    n_rows : how many rows.
    stored : their vectors by descriptor.
    vectors : the picture.
    numbers : what `weight_numbers` gives.
    rows : which of the stored rows, unless all.
    distances : all distances of all rows by descriptor, where they are at hand; nothing is read then.
    """
    total = np.zeros(n_rows, dtype=np.float32)
    described = []
    for name, of_distances in numbers:
        if name not in vectors:
            continue
        if distances is not None:
            add_similarities_of(total, distances[name], *of_distances)
        else:
            described.append(Weighted(vectors[name], stored[name], *of_distances))
    if described:
        add_similarities(total, *described, rows=rows)
    return total

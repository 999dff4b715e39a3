r"""Sketches of semantic vectors: few bytes an item, by which millions of items are looked through.

The squared distance of two pictures by the semantic descriptor is close to that of the roots of their vectors along the
directions in which a collection varies most. A component of a sketch is one of these, as a whole number.

References
----------
I. T. Jolliffe. Principal Component Analysis. Springer 2002.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.experts.looks import rooted
from rankloom.experts.threads import in_threads

DIMENSION = 128
RECORD = np.dtype((np.int8, DIMENSION))
_LARGEST = 127
_CUT = 0.9995  # of all components are not cut


@dataclass(frozen=True, eq=False)
class SketchBasis:
    """What sketches are made with.

    Parameters
    ----------
    mean : of the roots of vectors.
    directions : array of shape (components of a vector, DIMENSION).
    scale : the median squared distance between sketches.
    """

    mean: NDArray[np.float32]
    directions: NDArray[np.float32]
    scale: float

    @cached_property
    def version(self) -> str:
        """Changes with the numbers."""
        numbers = (self.mean, self.directions, np.array(self.scale))
        return sha256(b"".join(array.tobytes() for array in numbers)).hexdigest()[:12]

    def sketches(self, vectors: NDArray[Any]) -> NDArray[np.int8]:
        """The sketches of some vectors."""
        components = (rooted(vectors) - self.mean) @ self.directions
        return np.asarray(np.clip(np.rint(components), -_LARGEST, _LARGEST), np.int8)

    def to_bytes(self) -> bytes:
        """As a file of NumPy."""
        file = io.BytesIO()
        np.savez(file, mean=self.mean, directions=self.directions, scale=np.array(self.scale))
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> SketchBasis:
        """Read what `to_bytes` wrote."""
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            return cls(stored["mean"], stored["directions"], float(stored["scale"]))


def learn_basis(vectors: NDArray[Any]) -> SketchBasis:
    """The directions in which the roots of vectors vary most, scaled so that few components need to be cut.

    Parameters
    ----------
    vectors : a sample, at least as many as a sketch has components.
    """
    roots = rooted(vectors)
    mean = roots.mean(axis=0)
    centered = roots - mean
    from scipy.sparse.linalg import eigsh  # of so many directions few are wanted

    width = roots.shape[1]
    _, directions = eigsh(centered.T @ centered, DIMENSION, v0=np.ones(width, np.float32))
    directions = directions[:, ::-1]
    largest = float(np.quantile(np.abs(centered @ directions), _CUT)) or 1.0
    basis = SketchBasis(mean, np.ascontiguousarray(directions * (_LARGEST / largest), np.float32), 1.0)
    sketches = basis.sketches(vectors).astype(np.float32)
    scale = float(np.median(((sketches - np.roll(sketches, len(sketches) // 2, axis=0)) ** 2).sum(axis=1)))
    return replace(basis, scale=scale or 1.0)


def sketch_scores(
    sketches: NDArray[np.int8], scale: float, wanted: Sequence[NDArray[np.int8]], against: Sequence[NDArray[np.int8]]
) -> NDArray[np.float32]:
    r"""About how similar every item is to what is wanted, and how unlike what is not.

    A similarity is \(e^{-d^2 / s}\), and several are combined as experts combine examples: the mean of the best and the
    mean one, less half of the same for what is not wanted.

    Parameters
    ----------
    sketches : of all items.
    scale : s.
    wanted, against : the sketches of examples.
    """
    from rankloom.experts._look_kernels import nearness

    scores = np.empty(len(sketches), dtype=np.float32)
    probes = np.array([*wanted, *against], dtype=np.int16).reshape(-1, DIMENSION)
    kernel = partial(nearness, sketches, probes, len(wanted), np.float32(scale), scores)
    in_threads([kernel], len(sketches), probes.size)
    return scores

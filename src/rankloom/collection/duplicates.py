"""Near duplicates: the same picture in another size or encoding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankloom.collection.collection import Collection

_BLOCK = 4_000_000  # pairs compared at a time
PLAIN = 4.0  # levels of 255 by which a picture varies at least
SAME = 0.99  # the least correlation of thumbnails of one picture


def near_pairs(hashes: NDArray[np.uint64], most: int = 3) -> NDArray[np.int64]:
    """All pairs of 64-bit hashes that differ in at most so many bits.

    Cut into `most + 1` bands, two such hashes agree in at least one, so only those with an equal band are compared.

    >>> near_pairs(np.array([0b1011, 0b1000, 2**60, 0b1010], dtype=np.uint64), 2).tolist()
    [[0, 1], [0, 3], [1, 2], [1, 3]]
    """
    if not 0 <= most < 32:
        raise ValueError(f"most must be from 0 to 31 bits, got {most!r}")
    bits = 64 // (most + 1)
    blocks = [np.empty((0, 2), dtype=np.int64)]
    for band in range(most + 1):
        keys = (hashes >> np.uint64(band * bits)) & np.uint64((1 << bits) - 1)
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=~keys[order[:1]]) != 0)
        for group in np.split(order, starts[1:]):
            blocks += _compared(hashes, group, most)
    pairs = np.sort(np.concatenate(blocks), axis=1)
    return np.unique(pairs, axis=0) if len(pairs) else pairs


def _compared(hashes: NDArray[np.uint64], group: NDArray[np.int64], most: int) -> list[NDArray[np.int64]]:
    pairs = []
    step = max(1, _BLOCK // max(len(group), 1))
    for start in range(0, len(group) - 1, step):
        rows = group[start : start + step]
        differing = (hashes[rows, None] ^ hashes[None, group]).view(np.uint8).reshape(len(rows), len(group), 8)
        near = np.unpackbits(differing, axis=2).sum(axis=2) <= most
        near &= np.arange(start, start + len(rows))[:, None] < np.arange(len(group))
        first, second = np.nonzero(near)
        pairs.append(np.stack([rows[first], group[second]], axis=1))
    return pairs


def same_looks(thumbnails: Sequence[bytes], least: float = SAME) -> bool:
    """Whether two small pictures are the same but for their size: the correlation of their colors, at 32 x 32."""
    import cv2  # not before: a search needs none

    first, second = (cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) for data in thumbnails)
    if first is None or second is None:
        return False
    small = [cv2.resize(image, (32, 32), interpolation=cv2.INTER_AREA).reshape(-1, 3) for image in (first, second)]
    if min(float(image.std(axis=0).max()) for image in small) < PLAIN:
        return False  # a surface of one color is like every other of it
    return float(np.corrcoef([image.ravel() for image in small])[0, 1]) >= least


def duplicate_groups(collection: Collection, *, bits: int = 3, similarity: float = 0.95) -> list[list[int]]:
    """Groups of items that show the same picture, each with at least two; ids in the order in which they came.

    Equal files are one item with several paths and need no group. Two items belong together if their perceptual hashes
    differ in at most `bits` bits and, where the collection has the semantic descriptor, its cosine is at least
    `similarity`, as plain drawings may share a hash; or, as the network sees small copies in another way, if their
    thumbnails correlate.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    query = "SELECT id, phash FROM items WHERE hash IN (SELECT hash FROM files) ORDER BY id"
    rows = collection.db.execute(query).fetchall()
    if len(rows) < 2:
        return []
    ids = np.array([row[0] for row in rows])
    pairs = near_pairs(np.array([row[1] for row in rows], dtype=np.int64).view(np.uint64), bits)
    if any(descriptor.name == "semantic" for descriptor in collection.descriptors()) and len(pairs):
        vectors = collection.vectors("semantic")
        first, second = (np.asarray(vectors[ids[pairs[:, side]] - 1], dtype=np.float32) for side in (0, 1))
        near = (first * second).sum(axis=1) >= similarity
        for place in np.flatnonzero(~near):
            near[place] = same_looks([collection.thumbnail(int(ids[row])) for row in pairs[place]])
        pairs = pairs[near]
    joined = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(ids), len(ids)))
    _, label = connected_components(joined, directed=False)
    order = np.argsort(label, kind="stable")
    groups = np.split(ids[order], np.flatnonzero(np.diff(label[order])) + 1)
    return sorted(group.tolist() for group in groups if len(group) > 1)

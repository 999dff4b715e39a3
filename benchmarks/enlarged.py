"""Collections of any size whose descriptions are made from real ones: mixtures of two items, perturbed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rankloom._io import make_folder
from rankloom.collection import Collection
from rankloom.collection._files import vector_file
from rankloom.collection.collection import THUMBNAILS, StoredDescriptor
from rankloom.descriptors import PRESETS
from rankloom.experts.compact import CompactVectors

BLOCK = 20_000
NOISE = 0.2  # relative size of the perturbation of a component
_TABLE = 257  # rows of noise, which are used again and again


def enlarge(source: Path, target: Path, n_items: int, preset: str = "fast") -> None:
    """Make a collection of `n_items`; the first are those of the source, the others look like two of them."""
    make_folder(target / "vectors")
    with Collection(source) as small, Collection(target, create=True) as large:
        kept = [descriptor for descriptor in small.descriptors() if descriptor.name in PRESETS[preset]]
        for descriptor in kept:
            _write_vectors(small, target, descriptor, n_items)
        shutil.copy(small.folder / THUMBNAILS, target / THUMBNAILS)
        _write_rows(small, large, kept, n_items)


def parents(n_source: int, n_items: int) -> np.ndarray:
    """The item of the source that each item has most of."""
    return np.concatenate([first for first, _, _, _ in _mixtures(n_source, n_items)])


def _write_vectors(small: Collection, target: Path, descriptor: StoredDescriptor, n_items: int) -> None:
    rows = np.asarray(small.vectors(descriptor.name), np.float32)
    noise = np.random.default_rng(1).normal(1.0, NOISE, (_TABLE, descriptor.dimension)).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1)
    unit = bool(np.allclose(lengths[lengths > 0], 1.0, atol=0.01))
    with open(target / vector_file(descriptor.name, descriptor.version), "wb") as file:
        for first, second, share, at in _mixtures(len(rows), n_items):
            mixed = share * rows[first] + (1 - share) * rows[second]
            new = (first != second)[:, None]
            mixed = np.where(new, mixed * noise[at % _TABLE], mixed)
            if unit:
                mixed /= np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-6)
            file.write(CompactVectors.of(mixed).rows.tobytes())


def _mixtures(n: int, n_items: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Blocks of items: the two rows that each is made of, the share of the first, and a number for its noise."""
    rng = np.random.default_rng(0)
    for begin in range(0, n_items, BLOCK):
        size = min(BLOCK, n_items - begin)
        first, second = rng.integers(0, n, (2, size))
        share = rng.uniform(0.5, 0.8, (size, 1)).astype(np.float32)
        at = rng.integers(0, 2**31, size)
        itself = np.arange(begin, begin + size)
        original = itself < n
        first[original] = second[original] = itself[original]
        yield first, second, share, at


def _write_rows(small: Collection, large: Collection, kept: list[StoredDescriptor], n_items: int) -> None:
    shapes = small.db.execute(
        "SELECT width, height, taken, faces, phash, thumb_start, thumb_bytes FROM items WHERE shot IS NULL"
    ).fetchall()
    texts = small.db.execute("SELECT source, text FROM texts WHERE path != ''").fetchall()
    numbers = range(1, n_items + 1)
    with large.transaction() as db:
        db.executemany("INSERT INTO contents VALUES (?, 'picture', 0)", ((f"{n:016x}",) for n in numbers))
        db.executemany("INSERT INTO files VALUES (?, ?, 0, 0)", ((f"/many/{n:07}.jpg", f"{n:016x}") for n in numbers))
        db.executemany(
            "INSERT INTO items VALUES (?, ?, NULL, NULL, NULL, ?, ?, ?, ?, ?, ?, ?)",
            ((n, f"{n:016x}", *shapes[n % len(shapes)]) for n in numbers),
        )
        db.executemany(
            "INSERT INTO texts (item, path, source, text) VALUES (?, ?, ?, ?)",
            ((n, f"/many/{n:07}.jpg", *texts[n % len(texts)]) for n in numbers),
        )
        db.executemany(
            "INSERT INTO descriptors VALUES (?, ?, ?, ?, ?)", [(*descriptor[:4], n_items) for descriptor in kept]
        )

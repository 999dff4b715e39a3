"""Files that only grow: vectors and thumbnails. What counts as written is what the database says."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import numpy as np

from rankloom._io import make_folder, sync_folder
from rankloom.experts.compact import CompactVectors, row_bytes

FACE_VECTORS = np.dtype("<f2")  # of the known faces


class AppendFile:
    """A file to which blocks are appended at a known place; what a crash left beyond it is overwritten."""

    def __init__(self, path: Path):
        make_folder(path.parent)
        fresh = not path.exists()
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if fresh:  # or its name may be lost with the power, after rows were counted that it holds
            sync_folder(path.parent)

    def write(self, start: int, data: bytes) -> int:
        """Write a block and return its checksum. It is on disk after `sync`."""
        done = 0
        while done < len(data):
            done += os.pwrite(self._handle, data[done:], start + done)
        return zlib.crc32(data)

    def sync(self) -> None:
        """Wait until all blocks are on disk."""
        os.fsync(self._handle)

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)


def vector_file(name: str, version: str) -> str:
    """The name of the file of vectors of a descriptor, inside the collection."""
    return f"vectors/{name}-{version}.codes"


def mapped(path: Path, rows: int, dimension: int) -> CompactVectors:
    """The committed vectors, memory-mapped: one row an item."""
    shape = rows, row_bytes(dimension)
    if rows == 0:
        return CompactVectors(np.zeros(shape, np.uint8))
    if not path.is_file() or path.stat().st_size < rows * shape[1]:
        raise ValueError(f"{path.name} is shorter than its {rows:,} vectors; compute them again with: rankloom repair")
    # As a plain array: slices of a memmap cost more, and it stays mapped.
    return CompactVectors(np.asarray(np.memmap(path, np.uint8, mode="r", shape=shape)))

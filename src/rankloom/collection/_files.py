"""Files that only grow: vectors and thumbnails. What counts as written is what the database says."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom._io import make_folder, sync_folder

STORED = np.dtype("<f2")  # two bytes a component


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
    return f"vectors/{name}-{version}.f16"


def mapped(path: Path, rows: int, dimension: int) -> NDArray[Any]:
    """The committed vectors, memory-mapped: one row an item."""
    if rows == 0:
        return np.zeros((0, dimension), STORED)
    needed = rows * dimension * STORED.itemsize
    if not path.is_file() or path.stat().st_size < needed:
        raise ValueError(f"{path.name} is shorter than its {rows:,} vectors; compute them again with: rankloom repair")
    return np.memmap(path, STORED, mode="r", shape=(rows, dimension))

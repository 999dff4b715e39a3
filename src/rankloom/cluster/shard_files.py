"""Shards: the vectors of a stretch of a collection's items, as folders that can be copied to other machines.

A folder of shards holds one folder each, with a file of vectors for every descriptor and `shard.json`, which says whose
they are and what the files' checksums must be.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._io import atomic_write, make_folder
from rankloom.collection.identity import items_fingerprint
from rankloom.engine import Engine
from rankloom.engine.sketches import Sketches
from rankloom.experts.compact import CompactVectors, row_bytes
from rankloom.experts.sketches import DIMENSION

_FORMAT = 1
_HEADER = "shard.json"
_BLOCK_BYTES = 1 << 23


class ShardError(ValueError):
    """A shard that cannot be used, with the reason in one line."""


@dataclass(frozen=True)
class StoredDescriptor:
    """The vectors of a descriptor in a shard: its version, its components, and the checksum (SHA-256) of the file."""

    version: str
    dimension: int
    sha256: str


@dataclass(frozen=True)
class StoredSketches:
    """The sketches of a shard: the version of what they are made with, and the checksum (SHA-256) of the file."""

    version: str
    sha256: str


class OpenShard(NamedTuple):
    """The vectors of a shard by descriptor, and its sketches, if it has any; memory-mapped."""

    vectors: Mapping[str, CompactVectors]
    sketches: NDArray[np.int8] | None


@dataclass(frozen=True)
class Shard:
    """What a shard holds: the items from begin + 1 to end.

    Parameters
    ----------
    collection : what stands for the items of the collection when the shards were made.
    n_items : how many items these were.
    number, of : from 1 on, and how many shards there are.
    descriptors : what is known of each of them, in the order in which the collection has them.
    sketches : what is known of its sketches, if the collection had any.
    """

    collection: str
    n_items: int
    number: int
    of: int
    descriptors: dict[str, StoredDescriptor]
    sketches: StoredSketches | None = None

    @property
    def begin(self) -> int:
        """The first row."""
        return self.n_items * (self.number - 1) // self.of

    @property
    def end(self) -> int:
        """The row after the last."""
        return self.n_items * self.number // self.of

    @property
    def name(self) -> str:
        """That of its folder."""
        return f"shard-{self.number}-of-{self.of}"

    @property
    def cut(self) -> tuple[str, int, int]:
        """What shards that were made together share."""
        return self.collection, self.n_items, self.of


def make_shards(engine: Engine, folder: str | os.PathLike[str], n_shards: int) -> list[Shard]:
    """Cut the vectors of a collection into shards of equally many items, one folder each.

    Parameters
    ----------
    engine : of the collection.
    folder : where they are written; it must be empty, or not be there.
    n_shards : how many.
    """
    target, snapshot = Path(folder), engine.snapshot()
    if not 1 <= n_shards <= snapshot.n_items:
        raise ValueError(f"{snapshot.n_items:,} items cannot be cut into {n_shards:,} shards")
    if not snapshot.vectors:
        raise ValueError("the collection has no vectors: run 'rankloom index' first")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is not empty: give a new folder, and delete the old shards when it is in use")
    collection = items_fingerprint(engine.collection, snapshot.n_items)
    versions = {name: version for name, version, _ in snapshot.state.descriptors}
    shards = []
    for number in range(1, n_shards + 1):
        place = Shard(collection, snapshot.n_items, number, n_shards, {})
        make_folder(target / place.name)
        descriptors = {
            name: StoredDescriptor(
                versions[name], vectors.shape[1], _copied(vectors, place, _file(target, place, name))
            )
            for name, vectors in snapshot.vectors.items()
        }
        shard = Shard(*place.cut[:2], number, n_shards, descriptors, _copied_sketches(snapshot.sketches, target, place))
        with atomic_write(target / shard.name / _HEADER) as file:  # the last: without it, there is no shard
            file.write(json.dumps({"format": _FORMAT, **asdict(shard)}, indent=1).encode())
        shards.append(shard)
    return shards


def _sketch_file(folder: str | os.PathLike[str], shard: Shard) -> Path:
    return Path(folder) / shard.name / "sketches.bin"


def _file(folder: str | os.PathLike[str], shard: Shard, descriptor: str) -> Path:
    return Path(folder) / shard.name / f"{descriptor}.vec"


def _copied(vectors: CompactVectors, shard: Shard, path: Path) -> str:
    """Write the rows of a shard; returns their checksum."""
    checksum = hashlib.sha256()
    step = max(1, _BLOCK_BYTES // row_bytes(vectors.shape[1]))
    with atomic_write(path) as file:
        for begin in range(shard.begin, shard.end, step):
            block = np.ascontiguousarray(vectors.rows[begin : min(begin + step, shard.end)]).tobytes()
            checksum.update(block)
            file.write(block)
    return checksum.hexdigest()


def _copied_sketches(sketches: Sketches | None, folder: Path, shard: Shard) -> StoredSketches | None:
    """Write the sketches of a shard, where the collection has them."""
    if sketches is None:
        return None
    data = np.ascontiguousarray(sketches.records.records[shard.begin : shard.end]).tobytes()
    with atomic_write(_sketch_file(folder, shard)) as file:
        file.write(data)
    return StoredSketches(sketches.basis.version, hashlib.sha256(data).hexdigest())


def shards_in(folder: str) -> list[Shard]:
    """The shards in a folder, by their headers; nothing is checked, and none is there if the folder is not."""
    shards = []
    for path in sorted(Path(folder).glob(f"shard-*-of-*/{_HEADER}")):
        try:
            record = json.loads(path.read_bytes())
            if record.pop("format") != _FORMAT:
                continue
            descriptors = {name: StoredDescriptor(**known) for name, known in record.pop("descriptors").items()}
            sketches = record.pop("sketches", None)
            shard = Shard(**record, descriptors=descriptors, sketches=sketches and StoredSketches(**sketches))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            continue  # a damaged header: this shard is not here
        if path.parent.name == shard.name:
            shards.append(shard)
    return shards


_opened: dict[str, tuple[Any, OpenShard]] = {}
_opening = Lock()


def open_shard(folder: str, shard: Shard) -> OpenShard:
    """The vectors and sketches of a shard, memory-mapped.

    Files are compared with their checksums once, and when they have changed.

    Parameters
    ----------
    folder : that holds the shards.
    shard : which.
    """
    place = os.path.abspath(os.path.join(folder, shard.name))
    with _opening:
        try:
            files = [_file(folder, shard, name) for name in shard.descriptors]
            files += [_sketch_file(folder, shard)] if shard.sketches is not None else []
            state = shard, [_stamp(path) for path in files]
            known = _opened.get(place)
            if known is None or known[0] != state:
                _opened.pop(place, None)
                vectors = {name: _checked(folder, shard, name) for name in shard.descriptors}
                known = state, OpenShard(vectors, _checked_sketches(folder, shard))
                _opened[place] = known
        except OSError as error:
            raise ShardError(f"{shard.name}: {error.strerror or error}") from None
        return known[1]


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _checked(folder: str, shard: Shard, descriptor: str) -> CompactVectors:
    path, stored = _file(folder, shard, descriptor), shard.descriptors[descriptor]
    _compare(path, stored.sha256, shard)
    shape = shard.end - shard.begin, row_bytes(stored.dimension)
    return CompactVectors(np.memmap(path, np.uint8, "r", shape=shape))


def _checked_sketches(folder: str, shard: Shard) -> NDArray[np.int8] | None:
    if shard.sketches is None:
        return None
    path = _sketch_file(folder, shard)
    _compare(path, shard.sketches.sha256, shard)
    return np.memmap(path, np.int8, "r", shape=(shard.end - shard.begin, DIMENSION))


def _compare(path: Path, expected: str, shard: Shard) -> None:
    """Raise an error if a file is not as it was written."""
    with path.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    if checksum != expected:
        raise ShardError(f"{shard.name}: {path.name} is damaged; copy the shard again")

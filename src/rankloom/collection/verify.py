"""verify: the database and every checksum of a collection."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rankloom.collection._checks import THUMBNAILS
from rankloom.collection._files import vector_file
from rankloom.collection._recompute import DamagedBlock, unknown_items
from rankloom.collection.backup import backups
from rankloom.collection.collection import Collection
from rankloom.collection.damage import DamagedCollection
from rankloom.collection.item_records import record_files
from rankloom.experts.compact import CompactVectors, row_bytes

_ROWS = 10_000  # that are read at once
Progress = Callable[[int, int, str], None]


def _silent(done: int, total: int, text: str) -> None:
    pass


@dataclass
class VerifyReport:
    """What was checked, what was wrong, and what could be repaired."""

    blocks: int = 0
    bytes: int = 0
    problems: list[str] = field(default_factory=list)
    repaired: int = 0
    lost: int = 0  # vectors and thumbnails that need a file which is not there any more

    @property
    def sound(self) -> bool:
        """Whether nothing was wrong, or all of it is repaired."""
        return len(self.problems) == self.repaired


def verify(
    collection: Collection, *, repair: bool = False, workers: int | None = None, progress: Progress = _silent
) -> VerifyReport:
    """Check the database and every block of vectors and thumbnails; on request compute damaged ones again.

    A damaged database is repaired by `rankloom.collection.repair`, while nobody has the collection open.

    Parameters
    ----------
    collection : what to check.
    repair : describe the files of damaged blocks again and write what they hold.
    workers : processes for that; None for one a core.
    progress : called with the number of blocks checked, of all, and the file of the last.
    """
    report = VerifyReport()
    for problem in collection.store.problems(collection.db):
        report.problems.append(f"{problem}; rankloom repair saves what can be read")
    for stored in collection.descriptors():
        if stored.rows < len(collection):
            report.problems.append(
                f"{stored.name} has {stored.rows:,} of {len(collection):,} vectors; rankloom index computes the others"
            )
    unknown = unknown_items(collection)
    if unknown:
        report.problems.append(f"{len(unknown):,} items lack their description; rankloom repair describes them again")
    blocks = [*damaged_blocks(collection, report, progress=progress)]
    if repair and blocks:
        from rankloom.collection.repair import compute_again

        count = os.cpu_count() or 1 if workers is None else workers
        with collection.indexing():
            report.lost = compute_again(collection, blocks, count)
        report.repaired += len(blocks)
    return report


def verify_folder(folder: str | os.PathLike[str]) -> VerifyReport:
    """Check a collection that may be too damaged to be opened.

    Parameters
    ----------
    folder : where it is.
    """
    try:
        with Collection(folder) as collection:
            return verify(collection)
    except DamagedCollection as error:
        copies = backups(Path(folder).absolute())
        newest = f"the newest backup is of {copies[0].at:%Y-%m-%d %H:%M} UTC" if copies else "there is no backup"
        return VerifyReport(problems=[f"{error}; {newest}"])


def refuse_damaged(collection: Collection) -> None:
    """Raise an error if a file of vectors or thumbnails is shorter than what it holds, or has a hole: before it grows.

    Only blocks that reach beyond the end or into a hole are read; `verify` reads all.
    """
    whole = {file: _without_holes(collection.folder / file) for file in _known_files(collection)}
    report = VerifyReport()
    if any(damaged_blocks(collection, report, whole)):
        what = report.problems[0].split(";")[0]
        folder = collection.folder
        raise DamagedCollection(f"{folder}: {what}; compute it again with: rankloom repair -c {folder}")


def _known_files(collection: Collection) -> set[str]:
    """The files that are in use."""
    return {vector_file(stored.name, stored.version) for stored in collection.descriptors()} | {THUMBNAILS}


def _without_holes(path: Path) -> int:
    """How many bytes of a file are there, up to the first hole."""
    try:
        with open(path, "rb") as file:
            return os.lseek(file.fileno(), 0, os.SEEK_HOLE)
    except OSError:  # it is not there, or empty
        return 0


def damaged_blocks(
    collection: Collection,
    report: VerifyReport,
    whole: Mapping[str, int] | None = None,
    *,
    progress: Progress = _silent,
) -> Iterator[DamagedBlock]:
    """Every block whose bytes do not have their checksum; what is seen goes into the report.

    Parameters
    ----------
    collection : of which.
    report : gets what is wrong.
    whole : only these files, and so many of their first bytes need not be checked; None checks all.
    progress : called after each block.
    """
    known, records = _known_files(collection), record_files(collection)
    widths = {vector_file(row.name, row.version): row_bytes(row.dimension) for row in collection.descriptors()}
    query = "SELECT file, start, bytes, crc FROM blocks ORDER BY file, start"
    rows = collection.db.execute(query).fetchall()
    for number, (file, start, size, crc) in enumerate(rows):
        progress(number, len(rows), file)
        if whole is not None and (file not in whole or start + size <= whole[file]):
            continue
        report.blocks += 1
        report.bytes += size
        data = _read(collection.folder / file, start, size)
        if len(data) != size or zlib.crc32(data) != crc or not _sound(data, widths.get(file)):
            why = "is too short" if len(data) != size else "has other content"
            cure = "computes it again" if file in {*known, *records} else "forgets it: no descriptor needs it"
            report.problems.append(f"{file} {why} at byte {start:,}; rankloom repair {cure}")
            yield file, start, size


def _sound(data: bytes, width: int | None) -> bool:
    """Whether vectors of so many bytes are numbers; None for what is no vectors."""
    import numpy as np

    if width is None or len(data) % width:
        return width is None
    return bool(CompactVectors(np.frombuffer(data, np.uint8).reshape(-1, width)).sound().all())


def unsound_vectors(collection: Collection) -> str | None:
    """What to say if there are vectors with components that are no numbers, which searches cannot use; else None."""
    import numpy as np

    for stored in collection.descriptors():
        vectors = collection.vectors(stored.name)
        for first in range(0, len(vectors), _ROWS):
            wrong = np.flatnonzero(~vectors.take(slice(first, first + _ROWS)).sound())
            if len(wrong):
                return (
                    f"the vector of {stored.name} of item {first + wrong[0] + 1:,} is damaged (not a number); "
                    f"compute it again with: rankloom repair -c {collection.folder}"
                )
    return None


def _read(path: Path, start: int, size: int) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(start)
            return file.read(size)
    except FileNotFoundError:
        return b""

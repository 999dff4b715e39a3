"""Archives of many files, sent while they are made: memory holds a piece of one file, however many there are."""

from __future__ import annotations

import os
import stat
import threading
import time
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, NamedTuple

from rankloom.server.errors import Refused

PIECE = 1 << 18  # bytes
MOST_STREAMS = 4
_OLDEST = 1980, 1, 1, 0, 0, 0  # the first date that an archive can hold


class Entry(NamedTuple):
    """A file of an archive: its name, and what opens it; None if it is not there."""

    name: str
    open: Callable[[], BinaryIO | None]


class _Sink:
    """Keeps what an archive wrote until it is sent."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits elsewhere."""

    def take(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


class Streams:
    """How many archives are sent at once; more are told to wait."""

    def __init__(self, most: int = MOST_STREAMS):
        self._free = threading.BoundedSemaphore(most)

    def zipped(self, entries: Iterable[Entry]) -> Iterator[bytes]:
        """An archive in pieces; what is not there any more is named in a text at its end.

        Pictures and videos are compressed already, so that they are stored as they are.
        """
        if not self._free.acquire(blocking=False):
            raise Refused(503, "other downloads are under way; try again when one has ended", retry_after=10)
        sink = _Sink()
        # A client may go before the first piece: then nothing but the end of the sink tells of it.
        return _pieces(entries, sink, weakref.finalize(sink, self._free.release))


def _pieces(entries: Iterable[Entry], sink: _Sink, release: Callable[[], object]) -> Iterator[bytes]:
    missing = []
    try:
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:  # type: ignore[call-overload]
            names = _Names()
            for entry in entries:
                file = entry.open()
                if file is None:
                    missing.append(entry.name)
                    continue
                with file:
                    yield from _stored(archive, sink, names.free(entry.name), file)
            if missing:
                lines = "".join(f"{name}\n" for name in missing)
                archive.writestr(names.free("missing.txt"), f"These files are gone or were changed:\n{lines}")
        yield sink.take()
    finally:
        release()


def _stored(archive: zipfile.ZipFile, sink: _Sink, name: str, file: BinaryIO) -> Iterator[bytes]:
    info = zipfile.ZipInfo(name, max(_OLDEST, _changed(file)))
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    with archive.open(info, "w", force_zip64=True) as target:
        while piece := file.read(PIECE):
            target.write(piece)
            yield sink.take()


def _changed(file: BinaryIO) -> tuple[int, int, int, int, int, int]:
    """When a file was changed; of one that is only in memory, now."""
    try:
        seconds = os.fstat(file.fileno()).st_mtime
    except OSError:
        seconds = time.time()
    return time.localtime(seconds)[:6]


class _Names:
    """Names of an archive, each once."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}  # with the number of the last one that would have had it

    def free(self, name: str) -> str:
        first = wanted = name.encode("utf-8", "replace").decode().replace("\\", "_")
        stem, ending = os.path.splitext(wanted)
        number = self._used.get(first.casefold(), 1)
        while wanted.casefold() in self._used:
            number += 1
            wanted = f"{stem} ({number}){ending}"
        self._used[wanted.casefold()] = 1
        self._used[first.casefold()] = number
        return wanted

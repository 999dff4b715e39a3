"""Files of items, which are served only while they are what was indexed, and where it was indexed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import BinaryIO

from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from rankloom.collection.overview import IndexedFile

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe in its place must not hold us


def open_indexed(indexed: IndexedFile, roots: Iterable[str]) -> BinaryIO | None:
    """The open file; None if it has another size or time than it had, or lies outside the indexed folders now.

    What is checked is what was opened: no link that is put in its place meanwhile is followed.

    Parameters
    ----------
    indexed : the file as it was.
    roots : the folders and files that were indexed.
    """
    real = os.path.realpath(indexed.path)
    for root in map(os.path.realpath, roots):
        if real == root or real.startswith(root.rstrip(os.sep) + os.sep):
            break
    else:
        return None
    try:
        handle = _open_below(root, real)
    except OSError:
        return None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or (status.st_size, status.st_mtime_ns) != indexed[1:]:
        os.close(handle)
        return None
    return open(handle, "rb")


def _open_below(root: str, path: str) -> int:
    """Open a file part by part from a root on; a part that has become a link is an error."""
    if path == root:
        return os.open(root, _FILE)
    *folders, name = os.path.relpath(path, root).split(os.sep)
    at = os.open(root, _FOLDER)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, _FILE, dir_fd=at)
    finally:
        os.close(at)


class OpenedFileResponse(FileResponse):
    """A file that is open already, or one part of it; several parts at once cost much and no browser asks for them.

    Parameters
    ----------
    file : is closed at the end.
    options : those of a response with a file.
    """

    max_ranges = 1

    def __init__(self, file: BinaryIO, **options: object):
        self._file = file
        status = os.fstat(file.fileno())
        super().__init__(f"/dev/fd/{file.fileno()}", stat_result=status, **options)  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        with self._file:
            await super().__call__(scope, receive, send)

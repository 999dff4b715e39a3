"""Files of items, which are read only while they are what was indexed, and where it was indexed."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from typing import BinaryIO, NamedTuple

from rankloom._addresses import is_address, open_address, remote_file
from rankloom.collection.collection import Collection
from rankloom.collection.overview import IndexedFile, files_of, indexed_roots

GONE = "its file is gone, or not as it was indexed; bring the collection up to date: rankloom index"
FETCHED_BYTES = 256 << 20
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe in its place must not hold us


def open_indexed(indexed: IndexedFile, roots: Iterable[str]) -> BinaryIO | None:
    """The open file; None if it has another size or time than it had, or lies outside the indexed folders now.

    What is checked is what was opened: no link that is put in its place meanwhile is followed. A file with an address
    is fetched into a temporary file, up to 256 MiB; a larger one is None.

    Parameters
    ----------
    indexed : the file as it was.
    roots : the folders and files that were indexed.
    """
    if is_address(indexed.path):
        return _fetched(indexed) if indexed.size <= FETCHED_BYTES and is_there(indexed, roots) else None
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


def is_there(indexed: IndexedFile, roots: Iterable[str]) -> bool:
    """Whether a file is as it was indexed, and where; one with an address is asked for, but not fetched."""
    if not is_address(indexed.path):
        opened = open_indexed(indexed, roots)
        if opened is not None:
            opened.close()
        return opened is not None
    if not any(indexed.path == root or indexed.path.startswith(f"{root}/") for root in roots):
        return False
    try:
        return remote_file(indexed.path)[1:] == indexed[1:]
    except (OSError, ImportError, ValueError):
        return False


def _fetched(indexed: IndexedFile) -> BinaryIO | None:
    file = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        with open_address(indexed.path) as remote:
            shutil.copyfileobj(remote, file)
    except OSError:
        file.close()
        return None
    file.seek(0)
    return file


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


class Original(NamedTuple):
    """An open file of an item, and where it lies."""

    path: str
    file: BinaryIO


def open_original(collection: Collection, item: int) -> Original | None:
    """The first file of an item that is as it was indexed; None if none is."""
    roots = indexed_roots(collection)
    for indexed in files_of(collection, item):
        if (file := open_indexed(indexed, roots)) is not None:
            return Original(indexed.path, file)
    return None

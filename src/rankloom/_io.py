"""Files that are there whole or not at all: written by a temporary name, on disk before they get their own."""

from __future__ import annotations

import gzip
import os
import platform
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name in the folder of `path`; what was written there then takes its place.

    Readers see the old file or the new one, whole, also after the power has failed. After an error the old one stays.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {os.fspath(path)}: the folder {target.parent} does not exist")
    temporary = target.parent / f".{_host()}-{os.getpid()}-{secrets.token_hex(8)}.tmp"
    try:
        yield temporary
        sync(temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Delete what processes of this machine that were killed left in a folder in the middle of writing."""
    for path in Path(folder).glob(f".{_host()}-*.tmp*"):
        process = path.name.split("-")[1]
        if process.isdigit() and not _runs(int(process)):
            path.unlink(missing_ok=True)


def _host() -> str:
    """A short name of this machine: a shared folder may hold files of others."""
    return f"{zlib.crc32(os.fsencode(platform.node())):08x}"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # of another user
    return True


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a file to write to; it takes the place of `path` when all is written.

    A name that ends in `.gz` is compressed, without a time stamp, so that equal data make equal files.
    """
    with replaced(path) as temporary, open(temporary, "xb") as file:
        if os.fspath(path).endswith(".gz"):
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield file


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: str | os.PathLike[str]) -> None:
    """Make a folder and those above it, unless they are there; their names are on disk when this returns."""
    path = Path(folder)
    missing = [place for place in (path, *path.parents) if not place.is_dir()]
    path.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync_folder(place.parent)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Wait until the names in a folder are on disk."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        sync(folder)

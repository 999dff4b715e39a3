"""Files that are there whole or not at all: written by a temporary name, on disk before they get their own."""

from __future__ import annotations

import gzip
import os
import secrets
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
    temporary = target.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        yield temporary
        sync(temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


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


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Wait until the names in a folder are on disk."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        sync(folder)

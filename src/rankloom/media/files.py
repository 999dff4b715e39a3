"""Find the pictures and videos under folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from rankloom.media.errors import reason

Kind = Literal["picture", "video"]

PICTURES = frozenset(
    (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".heic", ".heif")
)
# Not .ts: more often a program than a video.
VIDEOS = frozenset(
    (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".wmv", ".flv", ".mts", ".m2ts", ".3gp", ".ogv")
)


class MediaFile(NamedTuple):
    """A file and what it should be by its name."""

    path: Path
    kind: Kind


def _ignore(path: Path, why: str) -> None:
    """Report nothing."""


def kind_of(path: str | os.PathLike[str]) -> Kind | None:
    """Whether a file is a picture or a video by its name, or None.

    >>> kind_of("a/b.JPG"), kind_of("b.mkv"), kind_of("b.txt")
    ('picture', 'video', None)
    """
    extension = os.path.splitext(path)[1].lower()
    return "picture" if extension in PICTURES else "video" if extension in VIDEOS else None


def find_files(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str], on_error: Callable[[Path, str], None] = _ignore
) -> Iterator[MediaFile]:
    """Yield the pictures and videos among files and under folders, by name within each folder, each once.

    Hidden files and folders are skipped unless they are named in `paths`. Links are followed; a folder that is reached
    again, also in a circle, is not entered again. Files are found one by one, so memory does not grow with the archive.

    Parameters
    ----------
    paths : files and folders
    on_error : called with the path and the reason for everything that cannot be read; the search goes on

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.png", "a.jpg", ".hidden.jpg", "notes.txt"):
    ...         Path(folder, name).touch()
    ...     [(file.path.name, file.kind) for file in find_files(folder)]
    [('a.jpg', 'picture'), ('b.png', 'picture')]
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    entered: set[tuple[int, int]] = set()
    named: set[str] = set()
    for path in map(Path, paths):
        try:
            is_folder, is_file = path.is_dir(), path.is_file()
            path.stat()
        except (OSError, ValueError) as error:
            on_error(path, reason(error))
            continue
        kind = kind_of(path)
        if is_folder:
            yield from (file for file in _walk(path, entered, on_error) if os.path.abspath(file.path) not in named)
        elif not is_file or kind is None:
            on_error(path, "not a picture or a video by its name")
        elif os.path.abspath(path) not in named and (path.name.startswith(".") or _inode(path.parent) not in entered):
            named.add(os.path.abspath(path))
            yield MediaFile(path, kind)


def _inode(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _walk(top: Path, entered: set[tuple[int, int]], on_error: Callable[[Path, str], None]) -> Iterator[MediaFile]:
    """Depth first, without recursion: a hostile archive may be nested deeper than Python's stack."""
    todo: list[Path | MediaFile] = [top]
    while todo:
        path = todo.pop()
        if isinstance(path, MediaFile):
            yield path
            continue
        try:
            inode = _inode(path)
            if inode in entered:
                continue
            entered.add(inode)
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            on_error(path, reason(error))
            continue
        todo.extend(reversed([wanted for entry in entries if (wanted := _wanted(entry, on_error)) is not None]))


def _wanted(entry: os.DirEntry[str], on_error: Callable[[Path, str], None]) -> Path | MediaFile | None:
    """The entry of a folder as something to enter or to yield, or None."""
    if entry.name.startswith("."):
        return None
    try:
        if entry.is_dir():
            return Path(entry.path)
        kind = kind_of(entry.name)
        if kind is None:
            return None
        if entry.is_file():  # neither a pipe nor a device, which might never end
            return MediaFile(Path(entry.path), kind)
        on_error(Path(entry.path), "a link to nothing" if entry.is_symlink() else "not a regular file")
    except OSError as error:
        on_error(Path(entry.path), reason(error))
    return None

"""Looking through folders and addresses: which files are new or changed, and which are gone."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rankloom._addresses import RemoteFile, address_exists, find_addresses, is_address, local_path
from rankloom.collection.collection import Collection
from rankloom.collection.overview import indexed_roots
from rankloom.media import find_files, kind_of
from rankloom.media.errors import reason

LOOKS = 500  # files that are looked at between two words on it
_BESIDE = (".txt", ".json", ".srt", ".vtt")  # what texts and subtitles are read from

Unreadable = Callable[[str, str], None]


class FoundFile(NamedTuple):
    """A picture or video, the folder that is indexed, how it is now, and what is beside it (of addresses only)."""

    path: str
    root: str | None
    size: int
    mtime_ns: int
    beside: tuple[str, ...] = ()


@dataclass
class Scan:
    """What is to be done: files to read, files that are gone; how many are as they were, and what cannot be told."""

    tasks: list[FoundFile] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    unchanged: int = 0
    away: list[tuple[str, int]] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)


def roots_of(collection: Collection, paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The folders, files and addresses to look at, absolute; they are remembered."""
    known = indexed_roots(collection)
    given = list(dict.fromkeys(map(_absolute, paths)))
    roots = given or known
    if not roots:
        raise ValueError("nothing to index: name a folder or a file")
    for root in given:
        if not (address_exists(root) if is_address(root) else os.path.exists(root)):
            raise FileNotFoundError(2, "no such file or folder", root)
    merged = [*known, *(root for root in roots if root not in known)]
    if merged != known:
        with collection.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('roots', ?)", (json.dumps(merged),))
    return roots


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.fspath(path).rstrip("/") if is_address(path) else os.path.abspath(local_path(path))


def placed(path: str, base: str) -> str:
    """A path that may be relative to a base, which may be an address."""
    if is_address(path):
        return path
    return f"{base.rstrip('/')}/{path}" if is_address(base) else os.path.abspath(os.path.join(base, path))


def scan(
    collection: Collection,
    roots: list[str],
    leave: Container[str],
    looking: Callable[[str], None],
    *,
    retry: bool,
    forget_missing: bool,
) -> Scan:
    """Compare the files under the roots with those of the collection. One that is as it was costs one look.

    Parameters
    ----------
    collection : what is known.
    roots : where to look.
    leave : paths of files to leave as they are.
    looking : called now and then with how far it is.
    retry : whether files count as new that could not be read before.
    forget_missing : whether files of roots that are empty or not there are gone.
    """
    db, result = collection.db, Scan()
    known = {path: (size, time) for path, size, time in db.execute("SELECT path, size, mtime_ns FROM files")}
    failed = {path: (size, time) for path, size, time in db.execute("SELECT path, size, mtime_ns FROM errors")}
    seen: set[str] = set()

    def unreadable(path: str, why: str) -> None:
        result.unreadable.append((path, why))

    for root in roots:
        for path, look in _listed(root, collection.folder, unreadable):
            if path in seen:
                continue
            seen.add(path)
            if len(seen) % LOOKS == 1:
                looking(f"looking through folders: {len(seen) - 1:,} files")
            if path in leave:
                continue
            if not _is_text(path):
                unreadable(ascii(path), "its name is not Unicode text; rename it")
                continue
            file = look()
            if file is None:
                continue  # gone between the listing and now
            stamp = (file.size, file.mtime_ns)
            if known.get(path) == stamp or (failed.get(path) == stamp and not retry):
                result.unchanged += 1
            else:
                result.tasks.append(file)
    blocked = [path for path, _ in result.unreadable]
    gone = [
        path for path in (*known, *failed) if path not in seen and _under(path, roots) and not _under(path, blocked)
    ]
    if not forget_missing:
        for root in roots:
            files = [path for path in gone if _under(path, [root])]
            if files and not any(_under(path, [root]) for path in seen):
                result.away.append((root, len(files)))
    away = [root for root, _ in result.away]
    result.gone = [path for path in gone if not _under(path, away)]
    return result


_Listed = Iterator[tuple[str, Callable[[], FoundFile | None]]]


def _listed(root: str, inside: Path, unreadable: Unreadable) -> _Listed:
    """The paths of the pictures and videos under a root, each with a function that looks at it."""
    if is_address(root):
        try:
            files = [*find_addresses(root)]
        except FileNotFoundError:
            return
        except OSError as error:
            unreadable(root, reason(error))
            return
        yield from ((file.path, partial(_as_listed, file)) for file in remote_media(root, files))
        return
    if not os.path.exists(root):
        return
    folder = root if os.path.isdir(root) else None
    for found in find_files([root], on_error=lambda path, why: unreadable(str(path), why)):
        path = os.path.abspath(found.path)
        if inside not in Path(path).parents:
            yield path, partial(_looked_at, path, folder)


def _as_listed(file: FoundFile) -> FoundFile:
    return file


def _looked_at(path: str, folder: str | None) -> FoundFile | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return FoundFile(path, folder, status.st_size, status.st_mtime_ns)


def remote_media(root: str, files: Iterable[RemoteFile]) -> list[FoundFile]:
    """The pictures and videos among the files under an address, without hidden ones, each with what is beside it.

    >>> names = ["s3://b/x/a.jpg", "s3://b/x/a.jpg.txt", "s3://b/x/.b.jpg", "s3://b/x/ab.txt"]
    >>> [(file.path, file.beside) for file in remote_media("s3://b/x", [RemoteFile(name, 1, 2) for name in names])]
    [('s3://b/x/a.jpg', ('s3://b/x/a.jpg.txt',))]
    """
    files = [file for file in files if not _hidden(file.path, root)]
    beside = sorted((_key(file.path), file.path) for file in files if file.path.lower().endswith(_BESIDE))
    found = []
    for file in files:
        if kind_of(file.path) is None:
            continue
        stem = _key(os.path.splitext(file.path)[0]) + "."
        first, last = bisect_left(beside, (stem,)), bisect_left(beside, (stem[:-1] + "/",))  # "/" follows "."
        folder = None if file.path == root else root
        found.append(
            FoundFile(*file[:1], folder, file.size, file.mtime_ns, tuple(path for _, path in beside[first:last]))
        )
    return found


def _key(path: str) -> str:
    """A path whose name is in lower case: subtitles belong to a film whatever their case is."""
    folder, name = os.path.split(path)
    return f"{folder}/{name.lower()}"


def _hidden(path: str, root: str) -> bool:
    return any(part.startswith(".") for part in path[len(root) :].split("/"))


def _is_text(path: str) -> bool:
    """Whether a name can be stored: those that are not valid UTF-8 hold signs that no text has."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _under(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)

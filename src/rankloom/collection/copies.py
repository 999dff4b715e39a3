"""Files that show the same, side by side: the best of each group is proposed, the others may go to the system's bin."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Literal, NamedTuple

from rankloom.collection.albums import add_to_album, albums_of
from rankloom.collection.collection import Collection
from rankloom.collection.describing import read_content
from rankloom.collection.duplicates import duplicate_groups
from rankloom.collection.indexing import forget_files
from rankloom.collection.organizing import MOST_TAGS, Notes, change_tags, notes_of, rate, set_caption

Kind = Literal["equal", "resized", "re-encoded"]
Reason = Literal["pixels", "bytes", "older", "name"]


class CopiedFile(NamedTuple):
    """A file of a group, as it was indexed; `key` stands for its path where that is not told."""

    path: str
    key: str
    item: int
    hash: str
    width: int
    height: int
    bytes: int
    mtime_ns: int


class CopyGroup(NamedTuple):
    """Files that show the same, the best first; `why` is what it has more of than the next one.

    Parameters
    ----------
    kind : "equal" if the bytes are the same; "resized" if pictures have other numbers of pixels, "re-encoded" if not.
    why : "pixels", "bytes" of the file, that it is "older"; of files that are equal in all that, the "name".
    files : in the order in which they are proposed to be kept.
    """

    kind: Kind
    why: Reason
    files: tuple[CopiedFile, ...]


class Choice(NamedTuple):
    """The file of a group to keep, and those to move to the bin, by their paths."""

    keep: str
    trash: tuple[str, ...]


class Moved(NamedTuple):
    """What was done: paths that were moved, paths that were not with the reason, items that gave their notes away."""

    moved: list[str]
    left: list[tuple[str, str]]
    handed: int


def copy_groups(collection: Collection, *, bits: int = 3) -> list[CopyGroup]:
    """All groups of equal files and of pictures that are near duplicates, those that would free most bytes first."""
    rows = collection.db.execute(
        "SELECT files.path, items.id, files.hash, items.width, items.height, files.size, files.mtime_ns, items.shot"
        " FROM files JOIN items ON items.id = (SELECT min(id) FROM items AS first WHERE first.hash = files.hash)"
        " ORDER BY files.path"
    ).fetchall()
    by_hash: dict[str, list[CopiedFile]] = {}
    pictures: dict[int, str] = {}
    for path, item, digest, width, height, size, mtime_ns, shot in rows:
        file = CopiedFile(path, key_of(path), item, digest, width, height, size, mtime_ns)
        by_hash.setdefault(digest, []).append(file)
        if shot is None:
            pictures[item] = digest
    groups, grouped = [], set[str]()
    for ids in duplicate_groups(collection, bits=bits):
        hashes = [pictures[item] for item in ids if item in pictures]  # shots of videos are no files of their own
        if len(hashes) > 1:
            grouped.update(hashes)
            groups.append(_group([file for digest in hashes for file in by_hash[digest]]))
    groups += [_group(files) for digest, files in by_hash.items() if len(files) > 1 and digest not in grouped]
    return sorted(groups, key=lambda group: (-sum(file.bytes for file in group.files[1:]), group.files[0].path))


def key_of(path: str) -> str:
    """What stands for a path.

    >>> len(key_of("a/b.jpg"))
    24
    """
    return blake2b(path.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _group(files: Iterable[CopiedFile]) -> CopyGroup:
    ranked = sorted(files, key=lambda file: (*_merits(file), len(file.path), file.path))
    first, second = _merits(ranked[0]), _merits(ranked[1])
    reasons: tuple[Reason, ...] = ("pixels", "bytes", "older")
    ahead = (reason for reason, one, other in zip(reasons, first, second, strict=True) if one < other)
    if len({file.hash for file in ranked}) == 1:
        kind: Kind = "equal"
    else:
        kind = "resized" if len({(file.width, file.height) for file in ranked}) > 1 else "re-encoded"
    return CopyGroup(kind, next(ahead, "name"), tuple(ranked))


def _merits(file: CopiedFile) -> tuple[int, int, int]:
    """Less is better: most pixels, then the largest file, then the oldest."""
    return -file.width * file.height, -file.bytes, file.mtime_ns


def move_to_bin(path: str) -> None:
    """Move a file to the bin of the system; an OSError if there is none for its volume, and the file stays."""
    from send2trash import send2trash

    send2trash(path)
    if os.path.lexists(path):
        raise OSError("the system did not move it")


def trash_copies(
    collection: Collection, choices: Sequence[Choice], move: Callable[[str], None] = move_to_bin, *, bits: int = 3
) -> Moved:
    """Move copies to the bin; the collection follows, as after indexing.

    Only files of one group that are as they were indexed are moved, and only while the one that is kept is there and
    as it was; of equal files the bytes are compared once more. An item without a file gives its caption, tags, stars
    and albums to the kept one, where that has none. Its marks stay with it: they go on teaching, and come back with it.

    Parameters
    ----------
    collection : whose files these are.
    choices : what to keep and what to move; a ValueError, before anything is moved, if a file is in no such group.
    move : moves one file to the bin, or raises an OSError.
    bits : how far perceptual hashes may differ.
    """
    groups = copy_groups(collection, bits=bits)
    known = {file.path: (place, file) for place, group in enumerate(groups) for file in group.files}
    for choice in choices:
        _check(choice, known)
    kept = {choice.keep for choice in choices}
    moved: list[str] = []
    left: list[tuple[str, str]] = []
    heirs: list[tuple[int, int]] = []
    with collection.indexing():
        for choice in choices:
            keep = known[choice.keep][1]
            for path in choice.trash:
                file = known[path][1]
                problem = _problem(keep, file) if path not in kept else "another choice keeps it"
                try:
                    if problem is None:
                        move(path)
                except OSError as error:
                    problem = f"it could not be moved to the bin, and stays: {error.strerror or error}"
                if problem is not None:
                    left.append((path, problem))
                    continue
                moved.append(path)
                heirs.append((file.item, keep.item))
                forget_files(collection, [path])
    return Moved(moved, left, hand_over(collection, heirs))


def _check(choice: Choice, known: dict[str, tuple[int, CopiedFile]]) -> None:
    for path in (choice.keep, *choice.trash):
        if path not in known:
            raise ValueError(f"{os.path.basename(path)} is no copy any more; look at the duplicates again")
    if any(known[path][0] != known[choice.keep][0] for path in choice.trash):
        raise ValueError("what is kept and what is moved must show the same; look at the duplicates again")
    if choice.keep in choice.trash or len(set(choice.trash)) != len(choice.trash):
        raise ValueError("a file is either kept or moved, and named once")


def _problem(keep: CopiedFile, file: CopiedFile) -> str | None:
    """Why a file must not be moved."""
    if not _as_indexed(keep):
        return "the file to keep is gone or has changed since it was indexed"
    if not _as_indexed(file):
        return "it is gone or has changed since it was indexed"
    with suppress(OSError):
        if os.path.samefile(keep.path, file.path):
            return "it is the same file as the one that is kept, under another name"
    if file.hash == keep.hash and not (_hash(keep) == _hash(file) == file.hash):
        return "its bytes are not those of the file that is kept"
    return None


def _as_indexed(file: CopiedFile) -> bool:
    try:
        status = os.stat(file.path)
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (file.bytes, file.mtime_ns)


def _hash(file: CopiedFile) -> str | None:
    try:
        return read_content(file.path).hash
    except OSError:
        return None


def hand_over(collection: Collection, heirs: Sequence[tuple[int, int]]) -> int:
    """Give what the owner said of items that have no file any more to others; returns how many items gave something."""
    items = collection.items([item for item, _ in heirs])
    gone = {item.id for item in items if not item.paths}
    handed = 0
    for item, heir in dict.fromkeys(heirs):
        if item != heir and item in gone:
            handed += _hand(collection, item, heir)
    return handed


def _hand(collection: Collection, item: int, heir: int) -> bool:
    notes = notes_of(collection, [item, heir])
    given, own = notes.get(item, Notes()), notes.get(heir, Notes())
    if given.caption and not own.caption:
        set_caption(collection, heir, given.caption)
    known = {tag.casefold() for tag in own.tags}
    fresh = [tag for tag in given.tags if tag.casefold() not in known][: MOST_TAGS - len(own.tags)]
    if fresh:
        change_tags(collection, [heir], add=fresh)
    if given.stars and not own.stars:
        rate(collection, [heir], given.stars)
    members = {album for album, _ in albums_of(collection, heir)}
    albums = [album for album, _ in albums_of(collection, item) if album not in members]
    for album in albums:
        add_to_album(collection, album, [heir])
    return bool((given.caption and not own.caption) or fresh or (given.stars and not own.stars) or albums)

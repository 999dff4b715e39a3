"""index: bring a collection up to date with the files under some folders."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from rankloom._io import remove_leftovers
from rankloom.collection._backfill import backfill
from rankloom.collection._pool import run_in_order
from rankloom.collection._positions import look_for_positions
from rankloom.collection._readings import reread as read_again
from rankloom.collection._texts import shared_texts
from rankloom.collection._writer import Writer
from rankloom.collection.collection import Collection
from rankloom.collection.damage import clear_workplaces
from rankloom.collection.derived import store_derived, store_learned
from rankloom.collection.describing import DescribedFile, DescriberSettings, describe_file, prepare_worker
from rankloom.collection.overview import indexed_roots
from rankloom.collection.people import group_faces
from rankloom.collection.readers import (
    OCR,
    READERS,
    SPEECH,
    absent_readers,
    choose_readers,
    unread_count,
)  # fmt: skip
from rankloom.collection.settings import settings_for
from rankloom.collection.verify import refuse_damaged
from rankloom.media import find_files, kind_of, read_captions

LOOKS = 500  # files that are looked at between two words on it
PATIENCE_SECONDS = 20.0  # files that are described wait for an earlier one, so that the same files get the same numbers


@dataclass(frozen=True)
class Captions:
    """A table of captions: a CSV or TSV file and the names of its columns."""

    file: str
    path_column: str = "path"
    text_column: str = "caption"


@dataclass
class IndexReport:
    """What a run of `index` did, in numbers of files.

    `unreadable` are paths that could not be looked at, and `warnings` files that were described, but not with all their
    texts; both with the reason. `reread` are files that were only read again, `unread` those that were described
    without a reader that is there now, and `absent` what cannot be read as it is not installed. `away` are folders that
    are empty or not there, though files of them are known: a drive that is not mounted looks so. These files are kept;
    how many they are stands beside the folder. `video_seconds` is how long the videos are that were described, and
    `video_work` how long workers were at them.
    """

    unchanged: int = 0
    stored: int = 0
    followed: int = 0
    removed: int = 0
    failed: int = 0
    items: int = 0
    captions: int = 0
    reread: int = 0
    unread: int = 0
    absent: list[str] = field(default_factory=list)
    away: list[tuple[str, int]] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    video_seconds: float = 0.0
    video_work: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True)
class _Task:
    path: str
    root: str | None


def index(
    collection: Collection,
    paths: Sequence[str | os.PathLike[str]] = (),
    *,
    preset: str | None = None,
    descriptors: Sequence[str] = (),
    captions: Captions | None = None,
    workers: int | None = None,
    retry: bool = False,
    forget_missing: bool = False,
    ocr: bool | None = None,
    speech: bool | None = None,
    reread: bool = False,
    leave: Container[str] = frozenset(),
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> IndexReport:
    """Add new files, follow changed, renamed and deleted ones, leave the others alone.

    Parameters
    ----------
    collection : where to.
    paths : files and folders. Without any, those of earlier runs.
    preset : the descriptors to compute, by a name of `PRESETS`. Without one those that the collection has, or "fast".
    descriptors : descriptors to compute in addition.
    captions : texts for the files, from a table.
    workers : processes; None for one a core, 0 for none.
    retry : read files again that could not be read before.
    forget_missing : take the files of folders that are empty or not there for deleted.
    ocr, speech : whether text in pictures and speech in videos are read, from now on; at first they are where the
        extras are installed.
    reread : read these, and the places of faces, also from files that were described without.
    leave : absolute paths of files to leave as they are for now, such as those that are being written.
    progress : called with the number of files done, of all to do, and a text.
    """
    began, report = perf_counter(), IndexReport()
    wanted = {} if captions is None else _read_captions(captions)  # first: a wrong column should show at once
    with collection.indexing():
        _clean(collection.folder)
        refuse_damaged(collection)
        choose_readers(collection, {OCR: ocr, SPEECH: speech})
        roots = _roots(collection, paths)
        count = os.cpu_count() or 1 if workers is None else workers
        looking = partial(progress, 0, 0)
        tasks, gone = _scan(collection, roots, report, leave, looking, retry=retry, forget_missing=forget_missing)
        settings = settings_for(collection, preset, descriptors, [task.path for task in tasks], count)
        backfill(collection, settings, count, progress)
        forget_files(collection, gone)
        report.removed = len(gone)
        _describe(collection, tasks, settings, count, report, progress)
        look_for_positions(collection, count, progress)
        if reread:
            report.reread = read_again(
                collection, settings, count, progress, lambda path, line: report.warnings.append((path, line))
            )
        report.unread, report.absent = unread_count(collection, settings.readers), absent_readers(collection)
        group_faces(collection)
        if captions is not None:
            report.captions = _store_captions(collection, wanted, [os.path.dirname(captions.file), *roots], report)
        store_derived(collection)
        store_learned(collection)
    report.seconds = perf_counter() - began
    return report


def _clean(folder: Path) -> None:
    """Delete what runs that were killed left in the middle of writing; nobody repairs a collection that is open."""
    clear_workplaces(folder)
    for place in (folder, *(folder / "encoders").glob("*")):
        remove_leftovers(place)


def _roots(collection: Collection, paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The folders and files to look at, absolute; they are remembered."""
    known = indexed_roots(collection)
    roots = list(dict.fromkeys(os.path.abspath(path) for path in paths)) or known
    if not roots:
        raise ValueError("nothing to index: name a folder or a file")
    for root in (os.path.abspath(path) for path in paths):
        if not os.path.exists(root):
            raise FileNotFoundError(2, "no such file or folder", root)
    merged = [*known, *(root for root in roots if root not in known)]
    if merged != known:
        with collection.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('roots', ?)", (json.dumps(merged),))
    return roots


def _scan(
    collection: Collection,
    roots: list[str],
    report: IndexReport,
    leave: Container[str],
    looking: Callable[[str], None],
    *,
    retry: bool,
    forget_missing: bool,
) -> tuple[list[_Task], list[str]]:
    """Files to read, and files that are gone. A file whose size and time are as they were costs one stat."""
    db = collection.db
    known = {path: (size, time) for path, size, time in db.execute("SELECT path, size, mtime_ns FROM files")}
    failed = {path: (size, time) for path, size, time in db.execute("SELECT path, size, mtime_ns FROM errors")}
    seen: set[str] = set()
    tasks = []
    inside = collection.folder

    def unreadable(path: Path, why: str) -> None:
        report.unreadable.append((str(path), why))

    for root in roots:
        folder = root if os.path.isdir(root) else None
        for file in find_files([root], on_error=unreadable) if os.path.exists(root) else ():
            path = os.path.abspath(file.path)
            if path in seen or inside in Path(path).parents:
                continue
            seen.add(path)
            if len(seen) % LOOKS == 1:
                looking(f"looking through folders: {len(seen) - 1:,} files")
            if path in leave:
                continue
            if not _is_text(path):
                unreadable(Path(ascii(path)), "its name is not Unicode text; rename it")
                continue
            try:
                status = os.stat(path)
            except OSError:
                continue  # gone between the listing and now
            stamp = (status.st_size, status.st_mtime_ns)
            if known.get(path) == stamp or (failed.get(path) == stamp and not retry):
                report.unchanged += 1
            else:
                tasks.append(_Task(path, folder))
    blocked = [path for path, _ in report.unreadable]
    gone = [
        path for path in (*known, *failed) if path not in seen and _under(path, roots) and not _under(path, blocked)
    ]
    if not forget_missing:
        for root in roots:
            files = [path for path in gone if _under(path, [root])]
            if files and not any(_under(path, [root]) for path in seen):
                report.away.append((root, len(files)))
    away = [root for root, _ in report.away]
    return tasks, [path for path in gone if not _under(path, away)]


def _is_text(path: str) -> bool:
    """Whether a name can be stored: those that are not valid UTF-8 hold signs that no text has."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _under(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)


def forget_files(collection: Collection, gone: list[str]) -> None:
    """Take deleted files out. Their items stay, hidden, with their vectors and marks: the content may come back."""
    if gone:
        with collection.transaction() as db:
            for table in ("files", "errors", "texts"):
                db.executemany(f"DELETE FROM {table} WHERE path = ?", [(path,) for path in gone])


def _describe(
    collection: Collection,
    tasks: list[_Task],
    settings: DescriberSettings,
    workers: int,
    report: IndexReport,
    progress: Callable[[int, int, str], None],
) -> None:
    if not tasks:
        return

    def with_known() -> Iterator[tuple[str, str | None, tuple[str, ...]]]:
        for task in tasks:
            try:
                size = os.stat(task.path).st_size
            except OSError:
                size = -1
            same = collection.db.execute("SELECT hash FROM contents WHERE bytes = ?", (size,)).fetchall()
            yield task.path, task.root, tuple(digest for (digest,) in same)

    writer = Writer(collection)
    results = run_in_order(
        describe_file, with_known(), workers=min(workers, len(tasks)), prepare=prepare_worker, settings=settings,
        failed=_failed, patience=PATIENCE_SECONDS, watch=lambda doing: progress(done, len(tasks), doing),
    )  # fmt: skip
    done = 0
    try:
        for done, described in enumerate(results, 1):
            writer.add(described)
            progress(done, len(tasks), f"{_doing(described.kind, settings)}: {os.path.basename(described.path)}")
    finally:
        try:
            writer.flush()  # also after Ctrl-C: what is described is kept
        finally:
            results.close()
            writer.close()
            report.items, report.stored = writer.items, writer.stored
            report.followed, report.failed = writer.followed, writer.failed
            report.video_seconds, report.video_work = writer.video_seconds, writer.video_work
            report.warnings += writer.warnings


def _doing(kind: str, settings: DescriberSettings) -> str:
    """What is done with a file of a kind, for people."""
    readers = (READERS[name] for name in settings.readers)
    return ", ".join(["describing", *(reader.doing for reader in readers if reader.extra and kind in reader.kinds)])


def _failed(task: tuple[Any, ...], why: str) -> DescribedFile:
    path = task[0]
    try:
        status = os.stat(path)
        size, time = status.st_size, status.st_mtime_ns
    except OSError:
        size = time = -1
    return DescribedFile(path, kind_of(path) or "", size, time, error=why)


def _read_captions(captions: Captions) -> dict[str, list[str]]:
    wanted: dict[str, list[str]] = {}
    for path, text in read_captions(captions.file, captions.path_column, captions.text_column):
        wanted.setdefault(path, []).append(text)
    return wanted


def _store_captions(collection: Collection, wanted: dict[str, list[str]], bases: list[str], report: IndexReport) -> int:
    """Give captions to files: by path, also relative to one of the bases, or by a name that only one file has."""
    db = collection.db
    exact: set[str] = set()
    by_name: dict[str, list[str]] = {}
    for (path,) in db.execute("SELECT path FROM files"):
        exact.add(path)
        by_name.setdefault(os.path.basename(path), []).append(path)
    matched = 0
    with collection.transaction():
        for path, texts in wanted.items():
            places = (os.path.abspath(os.path.join(base, path)) for base in bases)
            named = next((place for place in places if place in exact), None)
            candidates = by_name.get(os.path.basename(path), [])
            target = named or (candidates[0] if len(candidates) == 1 else None)
            if target is None:
                continue
            matched += 1
            db.execute("DELETE FROM texts WHERE path = ? AND source = 'caption'", (target,))
            ids = db.execute(
                "SELECT id FROM items WHERE hash = (SELECT hash FROM files WHERE path = ?)", (target,)
            ).fetchall()
            lines: list[str] = []
            captions = shared_texts([(text, "caption") for text in texts], len(ids), lines.append)
            report.warnings += [(target, line) for line in lines]
            rows = [(item, target, source, text) for (item,) in ids for text, source in captions]
            db.executemany("INSERT INTO texts (item, path, source, text) VALUES (?, ?, ?, ?)", rows)
    return matched

"""index: bring a collection up to date with the files under some folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from rankloom._io import remove_leftovers
from rankloom.collection._backfill import backfill
from rankloom.collection._folder_names import add_folder_names
from rankloom.collection._pool import Workers, at_most, run_in_order
from rankloom.collection._positions import look_for_positions
from rankloom.collection._readings import reread as read_again
from rankloom.collection._writer import Writer
from rankloom.collection.captions import Captions, read_table, store_captions
from rankloom.collection.collection import Collection
from rankloom.collection.damage import clear_workplaces
from rankloom.collection.derived import store_derived, store_learned
from rankloom.collection.describing import DescribedFile, DescriberSettings, FileTask, describe_file, prepare_worker
from rankloom.collection.people import group_faces
from rankloom.collection.readers import (
    OCR,
    READERS,
    SPEECH,
    absent_readers,
    choose_readers,
    unread_count,
)  # fmt: skip
from rankloom.collection.scanning import FoundFile, Scan, roots_of, scan
from rankloom.collection.settings import settings_for
from rankloom.collection.verify import refuse_damaged
from rankloom.media import kind_of

PATIENCE_SECONDS = 20.0  # files that are described wait for an earlier one, so that the same files get the same numbers


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

    def scanned(self, scan: Scan) -> None:
        """Take over what a look through the folders has found."""
        self.unchanged, self.away, self.unreadable = scan.unchanged, scan.away, scan.unreadable
        self.removed = len(scan.gone)


def index(
    collection: Collection,
    paths: Sequence[str | os.PathLike[str]] = (),
    *,
    preset: str | None = None,
    descriptors: Sequence[str] = (),
    captions: Captions | None = None,
    workers: Workers | None = None,
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
    paths : files, folders, and with a pool addresses such as `s3://bucket/folder`. Without any, those of earlier runs.
    preset : the descriptors to compute, by a name of `PRESETS`. Without one those that the collection has, or "fast".
    descriptors : descriptors to compute in addition.
    captions : texts for the files, from a table.
    workers : processes; None for one a core, 0 for none. Or a pool, such as a `rankloom.cluster.ClusterPool`.
    retry : read files again that could not be read before.
    forget_missing : take the files of folders that are empty or not there for deleted.
    ocr, speech : whether text in pictures and speech in videos are read, from now on; at first they are where the
        extras are installed.
    reread : read these, and the places of faces, also from files that were described without.
    leave : absolute paths of files to leave as they are for now, such as those that are being written.
    progress : called with the number of files done, of all to do, and a text.
    """
    began, report = perf_counter(), IndexReport()
    wanted = [] if captions is None else [*read_table(captions)]  # first: a wrong column should show at once
    with collection.indexing():
        _clean(collection.folder)
        refuse_damaged(collection)
        choose_readers(collection, {OCR: ocr, SPEECH: speech})
        roots = roots_of(collection, paths)
        count = os.cpu_count() or 1 if workers is None else workers
        scanned = scan(collection, roots, leave, partial(progress, 0, 0), retry=retry, forget_missing=forget_missing)
        report.scanned(scanned)
        settings = settings_for(collection, preset, descriptors, [task.path for task in scanned.tasks], count)
        backfill(collection, settings, count, progress)
        forget_files(collection, scanned.gone)
        _describe(collection, scanned.tasks, settings, count, report, progress)
        look_for_positions(collection, count, progress)
        add_folder_names(collection)
        if reread:
            report.reread = read_again(
                collection, settings, count, progress, lambda path, line: report.warnings.append((path, line))
            )
        report.unread, report.absent = unread_count(collection, settings.readers), absent_readers(collection)
        group_faces(collection)
        if captions is not None:
            stored = store_captions(collection, wanted, [os.path.dirname(captions.file), *roots])
            report.captions = stored.files
            report.warnings += stored.warnings
        store_derived(collection)
        store_learned(collection, progress)
    report.seconds = perf_counter() - began
    return report


def _clean(folder: Path) -> None:
    """Delete what runs that were killed left in the middle of writing; nobody repairs a collection that is open."""
    clear_workplaces(folder)
    for place in (folder, *(folder / "encoders").glob("*")):
        remove_leftovers(place)


def forget_files(collection: Collection, gone: list[str]) -> None:
    """Take deleted files out. Their items stay, hidden, with their vectors and marks: the content may come back."""
    if gone:
        with collection.transaction() as db:
            for table in ("files", "errors", "texts"):
                db.executemany(f"DELETE FROM {table} WHERE path = ?", [(path,) for path in gone])


def _describe(
    collection: Collection,
    tasks: list[FoundFile],
    settings: DescriberSettings,
    workers: Workers,
    report: IndexReport,
    progress: Callable[[int, int, str], None],
) -> None:
    if not tasks:
        return

    def with_known() -> Iterator[FileTask]:
        for task in tasks:
            same = collection.db.execute("SELECT hash FROM contents WHERE bytes = ?", (task.size,)).fetchall()
            yield FileTask(task.path, task.root, tuple(digest for (digest,) in same), task.beside)

    writer = Writer(collection)
    results = run_in_order(
        describe_file, with_known(), workers=at_most(workers, len(tasks)), prepare=prepare_worker, settings=settings,
        failed=partial(_failed, {task.path: task for task in tasks}), patience=PATIENCE_SECONDS,
        watch=lambda doing: progress(done, len(tasks), doing),
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


def _failed(found: Mapping[str, FoundFile], task: tuple[Any, ...], why: str) -> DescribedFile:
    file = found[task[0]]
    return DescribedFile(file.path, kind_of(file.path) or "", file.size, file.mtime_ns, error=why)

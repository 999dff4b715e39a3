"""index: bring a collection up to date with the files under some folders."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from rankloom.collection._backfill import backfill
from rankloom.collection._pool import run_in_order
from rankloom.collection._writer import Writer
from rankloom.collection.collection import Collection
from rankloom.collection.describing import DescribedFile, Settings, describe_file, prepare_worker
from rankloom.media import find_files, kind_of, read_captions

__all__ = ["Captions", "IndexReport", "index"]

VOCABULARY_PICTURES = 400


@dataclass(frozen=True)
class Captions:
    """A table of captions: a CSV or TSV file and the names of its columns."""

    file: str
    path_column: str = "path"
    text_column: str = "caption"


@dataclass
class IndexReport:
    """What a run of `index` did."""

    unchanged: int = 0
    stored: int = 0
    followed: int = 0
    removed: int = 0
    failed: int = 0
    items: int = 0
    captions: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)
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
    progress : called with the number of files done, of all to do, and a text.
    """
    began = perf_counter()
    report = IndexReport()
    with collection.indexing():
        roots = _roots(collection, paths)
        count = os.cpu_count() or 1 if workers is None else workers
        tasks, gone = _scan(collection, roots, report, retry)
        settings = _settings(collection, preset, descriptors, [task.path for task in tasks])
        backfill(collection, settings, count, progress)
        _forget(collection, gone)
        report.removed = len(gone)
        _describe(collection, tasks, settings, count, report, progress)
        if captions is not None:
            report.captions = _store_captions(collection, captions, roots)
    report.seconds = perf_counter() - began
    return report


def _roots(collection: Collection, paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The folders and files to look at, absolute; they are remembered."""
    row = collection.db.execute("SELECT value FROM meta WHERE key = 'roots'").fetchone()
    known: list[str] = json.loads(row[0]) if row else []
    roots = list(dict.fromkeys(os.path.abspath(path) for path in paths)) or known
    if not roots:
        raise ValueError("nothing to index: name a folder or a file")
    for root in roots:
        if not os.path.exists(root):
            raise FileNotFoundError(2, "no such file or folder", root)
    merged = [*known, *(root for root in roots if root not in known)]
    if merged != known:
        with collection.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('roots', ?)", (json.dumps(merged),))
    return roots


def _scan(collection: Collection, roots: list[str], report: IndexReport, retry: bool) -> tuple[list[_Task], list[str]]:
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
        for file in find_files([root], on_error=unreadable):
            path = os.path.abspath(file.path)
            if path in seen or inside in Path(path).parents:
                continue
            seen.add(path)
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
    return tasks, gone


def _under(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)


def _forget(collection: Collection, gone: list[str]) -> None:
    """Take deleted files out. Their items stay, hidden, with their vectors and marks: the content may come back."""
    if gone:
        with collection.transaction() as db:
            for table in ("files", "errors", "texts"):
                db.executemany(f"DELETE FROM {table} WHERE path = ?", [(path,) for path in gone])


def _settings(collection: Collection, preset: str | None, extra: Sequence[str], new_files: Sequence[str]) -> Settings:
    """Which descriptors to compute; those that the collection did not have are entered with no rows."""
    from rankloom.descriptors import DESCRIPTORS, PRESETS

    stored = {one.name: one for one in collection.descriptors()}
    encoders = dict(collection.db.execute("SELECT name, settings FROM encoders").fetchall())
    if preset is not None and preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}; known are {', '.join(PRESETS)}")
    named = PRESETS[preset or "fast"] if preset is not None or not stored else []
    names = list(dict.fromkeys([*stored, *named, *extra, *encoders]))
    for name in names:
        if name not in encoders and (name not in DESCRIPTORS or DESCRIPTORS[name].kind in ("hash", "count")):
            known = ", ".join(one for one, found in DESCRIPTORS.items() if found.kind not in ("hash", "count"))
            raise ValueError(f"unknown descriptor {name!r}; known are {known}")
    vocabulary = _vocabulary(collection, new_files) if "sift_words" in names else None
    settings = Settings(tuple(names), vocabulary, tuple(sorted(encoders.items())))
    entries = []
    for name in names:
        found = _resolve(name, settings)
        if name not in stored or stored[name].version != found.version:
            entries.append((name, found.version, found.dimension, found.kind))
    if entries:
        with collection.transaction() as db:
            db.executemany("INSERT OR REPLACE INTO descriptors VALUES (?, ?, ?, ?, 0)", entries)
    return settings


def _resolve(name: str, settings: Settings) -> Any:
    """A descriptor with its final version and dimension."""
    from rankloom.descriptors import DESCRIPTORS, Vocabulary, words_descriptor
    from rankloom.descriptors.onnx_encoder import OnnxEncoder

    encoders = dict(settings.encoders)
    if name in encoders:
        return OnnxEncoder(**json.loads(encoders[name]), name=name).descriptor()
    if name == "sift_words":
        assert settings.vocabulary is not None
        return words_descriptor(Vocabulary.load(settings.vocabulary))
    return DESCRIPTORS[name]


def _vocabulary(collection: Collection, new_files: Sequence[str]) -> str:
    """The file of visual words; made from an even choice of the pictures when it is first needed."""
    path = collection.folder / "vocabulary.npy"
    if not path.is_file():
        from rankloom.descriptors import train_vocabulary

        rows = collection.db.execute("SELECT path FROM files ORDER BY path").fetchall()
        pictures = [one for one in (*(row[0] for row in rows), *new_files) if kind_of(one) == "picture"]
        some = pictures[:: max(1, len(pictures) // VOCABULARY_PICTURES)][:VOCABULARY_PICTURES]
        temporary = path.with_suffix(".new")
        train_vocabulary(_readable(some)).save(temporary)
        os.replace(temporary, path)
    return str(path)


def _readable(paths: Sequence[str]) -> Iterator[Any]:
    from rankloom.media import MediaError, read_image

    for path in paths:
        try:
            yield read_image(path)
        except MediaError:
            continue


def _describe(
    collection: Collection,
    tasks: list[_Task],
    settings: Settings,
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
            yield task.path, task.root, tuple(one for (one,) in same)

    writer = Writer(collection)
    results = run_in_order(
        describe_file, with_known(), workers=min(workers, len(tasks)), prepare=prepare_worker, settings=settings,
        crashed=_crashed,
    )  # fmt: skip
    try:
        for done, described in enumerate(results, 1):
            writer.add(described)
            progress(done, len(tasks), os.path.basename(described.path))
    finally:
        try:
            writer.flush()  # also after Ctrl-C: what is described is kept
        finally:
            results.close()
            writer.close()
            report.items, report.stored = writer.items, writer.stored
            report.followed, report.failed = writer.followed, writer.failed


def _crashed(task: tuple[Any, ...]) -> DescribedFile:
    path = task[0]
    try:
        status = os.stat(path)
        size, time = status.st_size, status.st_mtime_ns
    except OSError:
        size = time = -1
    return DescribedFile(path, kind_of(path) or "", size, time, error="the decoder crashed on it")


def _store_captions(collection: Collection, captions: Captions, roots: list[str]) -> int:
    """Give the captions of a table to files: by path, also relative to a root or the table, or by a unique name."""
    wanted: dict[str, list[str]] = {}
    for path, text in read_captions(captions.file, captions.path_column, captions.text_column):
        wanted.setdefault(path, []).append(text)
    db = collection.db
    paths = [row[0] for row in db.execute("SELECT path FROM files")]
    exact = set(paths)
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(os.path.basename(path), []).append(path)
    bases = [os.path.dirname(os.path.abspath(captions.file)), *roots]
    matched = 0
    with collection.transaction():
        for path, texts in wanted.items():
            found = next((one for base in bases if (one := os.path.normpath(os.path.join(base, path))) in exact), None)
            candidates = by_name.get(os.path.basename(path), [])
            target = found or (candidates[0] if len(candidates) == 1 else None)
            if target is None:
                continue
            matched += 1
            db.execute("DELETE FROM texts WHERE path = ? AND source = 'caption'", (target,))
            ids = db.execute("SELECT id FROM items WHERE hash = (SELECT hash FROM files WHERE path = ?)", (target,))
            rows = [(one, target, "caption", text) for (one,) in ids.fetchall() for text in texts]
            db.executemany("INSERT INTO texts VALUES (?, ?, ?, ?)", rows)
    return matched

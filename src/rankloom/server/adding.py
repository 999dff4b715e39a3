"""Folders that the page may add: which they are, what lies in them, and indexing one after another."""

from __future__ import annotations

import os
import threading
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Any

from rankloom.collection import Collection, index
from rankloom.collection.collection import NEIGHBORS
from rankloom.collection.overview import indexed_roots
from rankloom.collection.unfinished import set_unfinished, unfinished_folders
from rankloom.collection.watching import watch
from rankloom.engine import Engine
from rankloom.media import kind_of
from rankloom.server.errors import Refused
from rankloom.server.jobs import Job, Jobs, Progress
from rankloom.server.settings import ServerSettings

INDEX, WATCH = "index", "watch"  # names of jobs
MOST_ENTRIES = 20_000  # of a folder that are looked at
MOST_FOLDERS = 2_000  # of a folder that are shown
REST_SECONDS = 1.0  # between two looks for folders to watch, while there are none


class Roots:
    """The folders below which the page may choose one to add.

    Those that were named when the server was started; without any, the user's home if only this machine reaches the
    server. Folders that are indexed already belong to them.

    Parameters
    ----------
    collection : what is added to.
    settings : of the server.
    """

    def __init__(self, collection: Collection, settings: ServerSettings):
        self._collection, self._settings = collection, settings

    def labels(self) -> dict[str, str]:
        """Label -> folder."""
        labels: dict[str, str] = {}
        folders = [*self._settings.addable_roots(), *indexed_roots(self._collection)]
        for folder in dict.fromkeys(os.path.abspath(folder) for folder in folders):
            if not os.path.isdir(folder):
                continue
            name = os.path.basename(folder) or folder
            label, number = name.replace("/", "") or "all files", 1
            while label in labels:
                number += 1
                label = f"{name} ({number})"
            labels[label] = folder
        return labels

    def path(self, label: str) -> str:
        """The folder of a label, if it is one of these roots or lies below one, without a link that leads out."""
        name, *below = label.split("/")
        root = self.labels().get(name)
        path = root
        for part in below:
            path = None if path is None or part.startswith(".") else _folder_in(path, part)
        if root is None or path is None or not _inside(path, root):
            raise Refused(404, "there is no such folder among those that may be added")
        return path

    def listing(self, label: str) -> dict[str, Any]:
        """The folders in one of these, by name, and how many pictures and videos it holds itself; "" lists the roots.

        Hidden folders, links that lead out of the root and the folder of the collection are left out.
        """
        known = {os.path.realpath(root) for root in indexed_roots(self._collection)}
        if not label:
            roots = self.labels()
            folders = [_folder(name, name, path, known) for name, path in roots.items()]
            return {"folder": "", "folders": folders, "files": 0, "more": False, "indexed": False}
        path = self.path(label)
        root = self.labels()[label.split("/")[0]]
        folders, files, seen = [], 0, 0
        try:
            with os.scandir(path) as entries:
                for entry in islice(entries, MOST_ENTRIES):
                    seen += 1
                    if entry.name.startswith(".") or not _is_text(entry.name):
                        continue
                    with suppress(OSError):
                        if not entry.is_dir():
                            files += kind_of(entry.name) is not None
                        elif self._may_enter(entry, root):
                            folders.append(_folder(entry.name, f"{label}/{entry.name}", entry.path, known))
        except OSError as error:
            raise Refused(403, f"this folder cannot be read: {(error.strerror or 'unknown').lower()}") from None
        folders.sort(key=lambda folder: (folder["name"].casefold(), folder["name"]))
        more = seen >= MOST_ENTRIES or len(folders) > MOST_FOLDERS
        indexed = _below_any(os.path.realpath(path), known)
        return {"folder": label, "folders": folders[:MOST_FOLDERS], "files": files, "more": more, "indexed": indexed}

    def _may_enter(self, entry: os.DirEntry[str], root: str) -> bool:
        return _inside(entry.path, root) and not _same(entry.path, self._collection.folder)


def _folder_in(folder: str, name: str) -> str | None:
    """The folder of this name in another, as the system lists it: no name of a request becomes part of a path."""
    with suppress(OSError), os.scandir(folder) as entries:
        return next((entry.path for entry in entries if entry.name == name and entry.is_dir()), None)
    return None


def _folder(name: str, label: str, path: str, known: set[str]) -> dict[str, Any]:
    return {"name": name, "folder": label, "indexed": _below_any(os.path.realpath(path), known)}


def _inside(path: str, root: str) -> bool:
    """Whether a folder lies in another, also after all links are followed."""
    return _below_any(os.path.realpath(path), {os.path.realpath(root)})


def _below_any(path: str, folders: set[str]) -> bool:
    return any(path == folder or path.startswith(os.path.join(folder, "")) for folder in folders)


def _same(path: str, folder: os.PathLike[str]) -> bool:
    return os.path.realpath(path) == os.path.realpath(folder)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


class Indexing:
    """Indexes what is asked for, one thing after another; what is not finished is known after a restart.

    Parameters
    ----------
    engine : whose collection it is.
    jobs : where it runs.
    """

    def __init__(self, engine: Engine, jobs: Jobs):
        self._engine, self._jobs = engine, jobs
        self._guard = threading.Lock()

    @property
    def unfinished(self) -> list[str]:
        """The folders whose indexing was asked for and has not come to its end; "" stands for all that are known."""
        return unfinished_folders(self._engine.collection)

    def add(self, paths: Sequence[str] = (), what: str = "", *, retry: bool = False) -> Job:
        """Index folders, or look at all that are known again, now or when other jobs have ended.

        Parameters
        ----------
        paths : of folders; none for those that are known.
        what : they are called, for people.
        retry : read files again that could not be read before.
        """
        if any(job.name == INDEX and job.what == what for job in self._jobs.waiting()):
            raise Refused(409, "this waits already for what is running now")
        entries = [*paths] or [""]
        with self._guard:
            self._remember([*self.unfinished, *entries])

        def run(progress: Progress) -> dict[str, int]:
            return self._index(paths, entries, progress, retry=retry)

        return self._jobs.queue(INDEX, run, what)[0]

    def _index(self, paths: Sequence[str], entries: list[str], progress: Progress, *, retry: bool) -> dict[str, int]:
        report = self.update(progress, paths, retry=retry)
        with self._guard:
            self._remember([path for path in self.unfinished if path not in entries])
        return report

    def update(
        self, progress: Progress, paths: Sequence[str] = (), *, retry: bool = False, leave: Container[str] = ()
    ) -> dict[str, int]:
        """Index, and find the neighbours of what is new; returns what was done, in numbers of files and items."""
        collection = self._engine.collection
        report = index(collection, paths, retry=retry, leave=leave, progress=progress)
        changed = report.items or report.removed or report.followed
        if len(collection) and (changed or not (collection.folder / NEIGHBORS).is_file()):
            self._engine.refresh(progress)
        return {
            "stored": report.stored, "items": report.items, "followed": report.followed, "removed": report.removed,
            "failed": report.failed, "unchanged": report.unchanged,
        }  # fmt: skip

    def go_on(self) -> Job:
        """Index what was not finished."""
        paths = self.unfinished
        if not paths:
            raise Refused(409, "nothing was left unfinished")
        there = [] if "" in paths else [path for path in paths if os.path.exists(path)]
        with self._guard:
            self._remember([])
        return self.add(there)

    def forget(self) -> None:
        """Leave what was not finished as it is; looking for changes goes on with it."""
        with self._guard:
            self._remember([])

    def _remember(self, paths: Sequence[str]) -> None:
        set_unfinished(self._engine.collection, paths)


class Follower:
    """Watches the folders of a collection in a thread, and indexes whatever changes in them.

    Parameters
    ----------
    indexing : what indexes.
    collection : whose folders these are; some may be added meanwhile.
    jobs : where it runs.
    """

    def __init__(self, indexing: Indexing, collection: Collection, jobs: Jobs):
        self._indexing, self._collection, self._jobs = indexing, collection, jobs
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._follow, name="watch", daemon=True)
        self._thread.start()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Let go of the collection meanwhile; changes of that time are seen when files change next, or looked for."""
        watching = self._thread is not None
        self.close()
        try:
            yield
        finally:
            if watching:
                self.start()

    def close(self) -> None:
        """End it; the jobs must be closed before."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(30)

    def _follow(self) -> None:
        try:
            while not self._stop.is_set():
                roots = indexed_roots(self._collection)
                there = [root for root in roots if os.path.exists(root)]
                if not there:
                    self._stop.wait(REST_SECONDS)
                    continue
                for unfinished in watch(there, self._collection.folder, until=partial(self._outdated, roots)):
                    self._update(unfinished)
        finally:
            self._collection.release()

    def _outdated(self, roots: list[str]) -> bool:
        return self._stop.is_set() or indexed_roots(self._collection) != roots

    def _update(self, unfinished: frozenset[str]) -> None:
        with suppress(Refused):  # the server stops, or so much waits that the next change will do
            _, ended = self._jobs.queue(WATCH, lambda progress: self._indexing.update(progress, leave=unfinished))
            while not ended.wait(REST_SECONDS) and not self._stop.is_set():
                pass

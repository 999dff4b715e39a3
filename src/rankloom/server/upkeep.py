"""Upkeep of the collection that is served: checking it, repairing it, going back to a backup."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rankloom.collection import DamagedCollection, back_up, backups, repair, restore, verify
from rankloom.collection.backup import Backup, counts_in, counts_of
from rankloom.collection.collection import NEIGHBORS
from rankloom.collection.contents import count_on, counters
from rankloom.collection.marks import now
from rankloom.engine import Engine
from rankloom.server.adding import Follower, Indexing
from rankloom.server.errors import Refused, without_folders
from rankloom.server.health import Health
from rankloom.server.jobs import Job, Jobs, Progress
from rankloom.server.work import Work

VERIFY, REPAIR, RESTORE = "verify", "repair", "restore"  # names of jobs
CLOSED = {
    REPAIR: "the collection is being repaired; try again in a moment",
    RESTORE: "the collection is being restored; try again in a moment",
}
MOST_PROBLEMS = 100  # that are shown


class Upkeep:
    """What keeps a collection sound, as jobs of the server.

    Repairs and restores need the collection for themselves: what runs comes to its end, the server lets go of the
    collection, and opens it again afterwards, whatever happened. Requests of that time are refused with 503.

    Parameters
    ----------
    engine : what answers.
    jobs, work, health, indexing : of the server.
    follower : watches files, if anything does.
    """

    def __init__(
        self, engine: Engine, jobs: Jobs, work: Work, health: Health, indexing: Indexing, follower: Follower | None
    ):
        self._engine, self._jobs, self._work, self._health = engine, jobs, work, health
        self._indexing, self._follower = indexing, follower
        self._checked: dict[str, Any] | None = None

    @property
    def _folder(self) -> Path:
        return self._engine.collection.folder

    def state(self) -> dict[str, Any]:
        """The backups, the newest first, and what the last check found; None before the first one."""
        return {"checked": self._checked, "backups": [_shown(copy) for copy in backups(self._folder)]}

    def backup(self, name: str) -> dict[str, Any]:
        """A backup, with how many items, marks, albums and so on it has and there are now, if that can be read."""
        copy = self._named(name)
        try:
            present = counts_of(self._engine.collection.db)
        except (DamagedCollection, sqlite3.DatabaseError):
            present = None
        return {**_shown(copy), "has": counts_in(copy), "now": present}

    def back_up(self) -> dict[str, Any]:
        """Copy the database now; the copy stays until its owner deletes it."""
        back_up(self._folder)
        return self.state()

    def check(self) -> Job:
        """Look at the database and every checksum; the server goes on meanwhile."""
        return self._jobs.start(VERIFY, self._check)

    def repair(self) -> Job:
        """Save what can be read of a damaged database, and compute damaged vectors and thumbnails again."""
        return self._jobs.start(REPAIR, self._repair)

    def restore(self, name: str, *, merge: bool) -> Job:
        """Go back to a backup.

        Parameters
        ----------
        name : of the backup.
        merge : keep what came since then: marks, captions, albums, new items.
        """
        path = self._named(name).path
        return self._jobs.start(RESTORE, lambda progress: self._restore(path, progress, merge=merge))

    def _named(self, name: str) -> Backup:
        copy = next((copy for copy in backups(self._folder) if copy.path.name == name), None)
        if copy is None:
            raise KeyError("there is no such backup any more")
        return copy

    def _check(self, progress: Progress) -> dict[str, int]:
        collection = self._engine.collection
        try:
            report = verify(collection, progress=progress)
            problems, blocks, size = report.problems, report.blocks, report.bytes
        except (DamagedCollection, sqlite3.DatabaseError) as error:
            problems, blocks, size = [f"the database is damaged ({error})"], 0, 0
        finally:
            collection.release()
        shown = [without_folders(problem.split(";")[0], [str(self._folder)]) for problem in problems[:MOST_PROBLEMS]]
        self._checked = {"at": now(), "blocks": blocks, "bytes": size, "problems": shown, "total": len(problems)}
        return {"blocks": blocks, "problems": len(problems)}

    def _repair(self, progress: Progress) -> dict[str, int]:
        graph = (self._folder / NEIGHBORS).is_file()
        with self._alone(REPAIR):
            report = repair(self._folder, progress=progress)
        if graph and len(self._engine.collection):
            self._engine.refresh(progress)
        self._check(progress)
        return {
            "blocks": report.blocks, "described": report.items, "lost": report.lost, "problems": len(report.problems),
            "from_backup": sum(count.backup for count in report.tables.values()),
        }  # fmt: skip

    def _restore(self, path: Path, progress: Progress, *, merge: bool) -> dict[str, int]:
        with self._alone(RESTORE):
            report = restore(self._folder, path, merge=merge)
        self._checked = None
        found = self._indexing.update(progress)  # what the backup does not know is described again
        return {
            "restored": report.items, "marks": report.marks, "kept": sum(report.merged.values()),
            "items": found["items"], "failed": found["failed"],
        }  # fmt: skip

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        """Be the only one who has the collection; everything is read anew afterwards."""
        collection = self._engine.collection
        resting = nullcontext() if self._follower is None else self._follower.resting()
        with resting, self._work.alone(CLOSED[name]):
            try:
                before = counters(collection)
            except (DamagedCollection, sqlite3.DatabaseError):
                before = None  # nothing of it can be read
            try:
                with collection.let_go():
                    yield
            finally:
                self._engine.reopen()
            if before is not None:
                count_on(collection, before)
            self._health.repaired()


def _shown(copy: Backup) -> dict[str, Any]:
    at = copy.at.isoformat(timespec="seconds")
    return {"name": copy.path.name, "at": at, "kind": copy.kind, "bytes": copy.bytes}


def refuse_read_only(read_only: bool) -> None:
    """Upkeep writes: a server that does not write has none."""
    if read_only:
        raise Refused(403, "this server is read-only")

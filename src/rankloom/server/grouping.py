"""Faces grouped by person: switched on and off from the page, as a job."""

from __future__ import annotations

from rankloom.collection import Collection
from rankloom.collection.people import missing, people_of, read_people, switch_off, switch_on
from rankloom.server.errors import Refused
from rankloom.server.jobs import Job, Jobs, Progress

PEOPLE = "people"  # the name of the job


class Grouping:
    """Whether faces are told apart.

    Parameters
    ----------
    collection : whose faces.
    jobs : where it runs.
    """

    def __init__(self, collection: Collection, jobs: Jobs):
        self._collection, self._jobs = collection, jobs

    def on(self) -> Job:
        """Tell faces apart from now on, and look at those that are described already, which may be cancelled."""
        if (cure := missing()) is not None:
            raise Refused(409, f"a package is missing on the server; run: {cure}")
        return self._jobs.queue(PEOPLE, self._read)[0]

    def off(self, *, delete: bool) -> Job:
        """Tell no faces apart from now on.

        Parameters
        ----------
        delete : faces, groups and names, in the backups too.
        """
        return self._jobs.queue(PEOPLE, lambda progress: self._forget(progress, delete=delete))[0]

    def _read(self, progress: Progress) -> dict[str, int]:
        failed: set[str] = set()
        try:
            switch_on(self._collection)
            read = read_people(self._collection, progress=progress, warn=lambda path, line: failed.add(path))
            return {"read": read, "groups": len(people_of(self._collection)), "failed": len(failed)}
        finally:
            self._collection.release()

    def _forget(self, progress: Progress, *, delete: bool) -> dict[str, int]:
        progress(0, 0, "")
        try:
            return {"left": len(switch_off(self._collection, delete=delete))}
        finally:
            self._collection.release()

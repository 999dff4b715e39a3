"""Small changes that wait for each other share a commit: the disk is asked once for all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from rankloom.collection._database import Database

R = TypeVar("R")


class _Change(Generic[R]):
    """What is to be changed, and what became of it."""

    def __init__(self, function: Callable[[Database], R]):
        self.function = function
        self.done = False
        self._result: R | None = None
        self._error: BaseException | None = None

    def run(self, db: Database) -> None:
        self._result = self.function(db)

    def failed(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error

    def result(self) -> R:
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]


class GroupCommit:
    """Runs changes in transactions; those that come while one is being written are written together after it.

    A commit waits for the disk, which takes longer than the changes themselves. A change that fails is taken back
    alone; the others of its group are stored.

    Parameters
    ----------
    transaction : begins a transaction, and ends it.
    """

    def __init__(self, transaction: Callable[[], AbstractContextManager[Database]]):
        self._transaction = transaction
        self._guard, self._turn = threading.Lock(), threading.Lock()
        self._waiting: list[_Change[Any]] = []

    def run(self, function: Callable[[Database], R]) -> R:
        """The result of a change that is on disk when this returns; whatever it raises is raised here."""
        change = _Change(function)
        with self._guard:
            self._waiting.append(change)
        with self._turn:  # whoever comes in does all that waits, so that others find theirs done
            if not change.done:
                with self._guard:
                    group, self._waiting = self._waiting, []
                self._write(group)
        return change.result()

    def _write(self, group: list[_Change[Any]]) -> None:
        try:
            with self._transaction() as db:
                if len(group) == 1:
                    group[0].run(db)
                else:
                    for change in group:
                        _run_apart(change, db)
        except Exception as error:  # nothing of the group was stored
            for change in group:
                change.failed(error)
        finally:
            for change in group:
                change.done = True


def _run_apart(change: _Change[Any], db: Database) -> None:
    """Run one of several changes of a transaction so that its failure is its own."""
    db.execute("SAVEPOINT change")
    try:
        change.run(db)
    except Exception as error:
        if not db.in_transaction:  # the database has taken all of it back
            raise
        change.failed(error)
        db.execute("ROLLBACK TO change")
    db.execute("RELEASE change")

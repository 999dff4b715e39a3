"""A small collection of the sample pictures, made once a run, and servers of copies of it."""

from __future__ import annotations

import csv
import gc
import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

import numpy as np
import pytest
import uvicorn
from PIL import Image
from starlette.testclient import TestClient

from rankloom.collection import Captions, Collection, index
from rankloom.demo import write_sample
from rankloom.descriptors import PRESETS
from rankloom.engine import Engine
from rankloom.server import ServerSettings, create_app
from rankloom.server.run import listen, uvicorn_config
from rankloom.server.settings import LIMITS, Rate
from tests.building import built, copy_folder
from tests.waiting import LONG, wait_until

UNLIMITED = dict.fromkeys(LIMITS, Rate(1e6, 1_000_000))
HEADER = {"X-Rankloom": "1"}


FAST = PRESETS["fast"]


def sample() -> Path:
    """A folder with `pictures` and the collection `c` of them."""
    return built("sample", _make_sample)


def _make_sample(root: Path) -> None:
    pictures = root / "pictures"
    write_sample(pictures, n_pictures=156, n_videos=1)
    (pictures / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 this is no picture")
    # A test that describes little may be the first that wants it.
    with pytest.MonkeyPatch.context() as patch, Collection(root / "c", create=True) as collection:
        patch.setitem(PRESETS, "fast", FAST)
        index(
            collection,
            [pictures],
            preset="fast",
            workers=2,
            captions=Captions(str(pictures / "captions.csv")),
            ocr=False,
            speech=False,
        )
        Engine(collection).refresh()


def labels() -> dict[str, str]:
    """What each picture shows, by the name of its file."""
    with open(sample() / "pictures" / "labels.csv", encoding="utf-8") as file:
        return {Path(row["path"]).name: row["label"] for row in csv.DictReader(file)}


def copied(target: Path) -> Path:
    """A collection of its own to write to."""
    copy_folder(sample() / "c", target)
    return target


@contextmanager
def client(folder: Path, *, engine=Engine, headers=HEADER, **options):
    """A client of an application in this process, as a browser on this machine would be one."""
    options.setdefault("limits", UNLIMITED)
    with Collection(folder) as collection:
        app = create_app(engine(collection), ServerSettings(**options))
        with TestClient(app, "http://localhost", headers=headers, raise_server_exceptions=False) as opened:
            yield opened


@contextmanager
def listening(folder: Path, *, port: int = 0, **options):
    """A server in a thread of this process, with real connections: uvicorn's object, and the port."""
    options.setdefault("limits", UNLIMITED)
    settings = ServerSettings(**options)
    with Collection(folder) as collection, listen("127.0.0.1", port) as place:
        server = uvicorn.Server(uvicorn_config(create_app(Engine(collection), settings), settings))
        thread = threading.Thread(target=server.run, args=([place],))
        thread.start()
        try:
            wait_until(lambda: server.started or not thread.is_alive(), pause=0.01)
            assert server.started
            yield server, place.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()
    # A browser may connect while the server goes: nobody closes that connection, and a later test must not hear of it.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def ok(response):
    """The data of a success."""
    assert response.status_code in (200, 202), response.text
    return response.json()


def picture(side=200, kind="PNG", **options):
    """The bytes of a picture of noise."""
    file = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 255, (side, side, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


def refused(response, status):
    """A refusal is a status and one line that names no folder of this machine."""
    assert response.status_code == status, response.text
    body = response.json()
    assert list(body) == ["error"]
    assert body["error"]
    assert len(body["error"].splitlines()) == 1
    assert str(sample().parents[1]) not in response.text
    assert "Traceback" not in response.text
    return body["error"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A collection of the sample pictures that the tests of one file write to."""
    return copied(tmp_path_factory.mktemp("sample") / "c")


@pytest.fixture(scope="module")
def web(folder):
    """A client of a server of `folder`."""
    with client(folder) as opened:
        yield opened


@pytest.fixture
def own_folder(tmp_path):
    """A collection of the sample pictures that nobody else writes to."""
    return copied(tmp_path / "c")


@pytest.fixture
def own(own_folder):
    """A client of a server of `own_folder`, with the cookie of a browser."""
    with client(own_folder) as opened:
        opened.get("/")
        yield opened


class Served:
    """`rankloom serve`, or another command that serves, in a process of its own."""

    def __init__(
        self, folder: Path, *options: str, port: int = 0, env: dict[str, str] | None = None, command: str = "serve"
    ):
        where = ["-c", str(folder)] if command == "serve" else ["--folder", str(folder)]
        command = [sys.executable, "-m", "rankloom", command, *where, "--port", str(port), *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
        )
        self.log: list[str] = []
        lines: Queue[str] = Queue()
        streams = (self.process.stdout, self.process.stderr)
        self._readers = [threading.Thread(target=self._read, args=(stream, lines), daemon=True) for stream in streams]
        for reader in self._readers:
            reader.start()
        self.address, end = "", time.monotonic() + LONG
        while not self.address:
            try:
                line = lines.get(timeout=1)
            except Empty:
                assert time.monotonic() < end, f"the server did not start: {self.log}"
                assert any(reader.is_alive() for reader in self._readers), f"the server has ended: {self.log}"
                continue
            if (address := re.search(r"is at (http://\S+?)/ ", line)) is not None:
                self.address = address[1]

    def _read(self, stream, lines):
        with stream:
            for line in stream:
                self.log.append(line)
                lines.put(line)

    @property
    def port(self) -> int:
        return int(self.address.rsplit(":", 1)[1])

    def stop(self, sign: int = signal.SIGTERM) -> int:
        """Send a signal, unless it has ended, and return its exit code, with all that it said in the log."""
        self.process.send_signal(sign)  # one that has ended gets none
        code = self.process.wait(LONG)
        if sign != signal.SIGKILL:  # what a killed one had started may hold its streams a while longer
            for reader in self._readers:
                reader.join(LONG)
        return code

"""The file manager of this machine opens at files of the collection, for browsers on this machine alone."""

from __future__ import annotations

import os
import sys

import pytest
from starlette.testclient import TestClient

from rankloom.collection import Collection
from rankloom.collection.overview import files_of
from rankloom.engine import Engine
from rankloom.server import ServerSettings, create_app
from tests.serving import HEADER, UNLIMITED, ok, refused

TOKEN = "a-token-that-is-long-enough"
HERE = ("127.0.0.1", 50000)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the file managers of other systems")


@pytest.fixture
def desktop(tmp_path, monkeypatch):
    """A machine whose programs write down what they are asked for: gdbus, which fails if told to, and xdg-open."""
    programs, log = tmp_path / "bin", tmp_path / "log"
    programs.mkdir()
    for name, code in (("gdbus", f"[ ! -e {tmp_path}/broken ]"), ("xdg-open", "true")):
        script = f'#!/bin/sh\nprintf "%s\\n" {name} "$@" >> {log}\n{code}\n'
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")

    def asked():
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    return asked


@pytest.fixture
def opened(own_folder):
    """Clients by address, headers and settings; and the path of item 1."""
    with Collection(own_folder) as collection:
        engine = Engine(collection)
        clients = []

        def client(address=HERE, base="http://localhost", headers=None, **settings):
            app = create_app(engine, ServerSettings(**{"limits": UNLIMITED, **settings}))
            web = TestClient(app, base, headers={**HEADER, **(headers or {})}, client=address)
            clients.append(web.__enter__())
            return web

        yield client, files_of(collection, 1)[0].path
        for web in clients:
            web.__exit__(None, None, None)


def test_a_file_is_shown_in_its_folder(opened, desktop, tmp_path):
    client, path = opened
    web = client()
    assert ok(web.get("/api/items/1"))["reveal"] is True
    assert ok(web.get("/api/items/1"))["files"][0]["path"] == path
    assert ok(web.post("/api/items/paths", json={"items": [1, 1]})) == [path]
    assert ok(web.post("/api/items/1/reveal")) == {"item": 1}
    command = desktop()
    assert command[:2] == ["gdbus", "call"]
    assert command[-3:] == ["org.freedesktop.FileManager1.ShowItems", f"['file://{path}']", ""]
    (tmp_path / "broken").touch()  # nothing answers on the bus: the folder is opened instead
    ok(web.post("/api/items/1/reveal"))
    assert desktop()[-2:] == ["xdg-open", os.path.dirname(path)]
    assert refused(web.post("/api/items/999999/reveal"), 404) == "there is no item 999999"
    refused(web.post("/api/items/1/reveal?path=/etc/passwd", headers={"Origin": "http://elsewhere"}), 403)
    assert desktop() == []


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"address": ("192.168.1.7", 50000)},
        {"headers": {"X-Forwarded-For": "192.168.1.7"}},
        {"headers": {"Via": "1.1 proxy"}},
        {"headers": {"Forwarded": "for=192.168.1.7"}},
        {"base": "http://photos.example.org", "names": ("photos.example.org",)},
        {"proxies": ("127.0.0.1",)},
        {"host": "0.0.0.0", "token": TOKEN, "headers": {"Authorization": f"Bearer {TOKEN}"}},
    ],
)  # fmt: skip
def test_others_open_nothing_and_learn_no_path(opened, desktop, elsewhere):
    client, path = opened
    web = client(**elsewhere)
    assert ok(web.get("/api/items/1"))["reveal"] is False
    assert os.path.dirname(path) not in web.get("/api/items/1").text
    line = refused(web.post("/api/items/1/reveal"), 403)
    assert line == "only a browser on the server's own machine can open its folders"
    assert desktop() == []


def test_without_a_desktop_or_with_a_read_only_server(opened, desktop, monkeypatch):
    client, _ = opened
    assert refused(client(read_only=True).post("/api/items/1/reveal"), 403) == "this server is read-only"
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    web = client()
    assert ok(web.get("/api/items/1"))["reveal"] is False
    assert refused(web.post("/api/items/1/reveal"), 501) == "this machine has no file manager that could be opened"
    assert desktop() == []

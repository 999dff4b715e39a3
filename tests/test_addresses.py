"""Files elsewhere, through fsspec: a web server that lists its folders, a store in memory, and what goes wrong."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import fsspec
import pytest

from rankloom._addresses import (
    address_exists,
    copy_address,
    filesystem,
    find_addresses,
    local_path,
    matching_addresses,
    open_address,
    remote_file,
)
from rankloom.collection.scanning import remote_media


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def site(tmp_path):
    """The address of a web server with some files."""
    (tmp_path / "sub").mkdir()
    for name in ("a.jpg", "a.txt", "sub/b.png", ".hidden.jpg"):
        (tmp_path / name).write_text(name)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_web_server_that_lists_its_folders(site, tmp_path):
    files = [*find_addresses(f"{site}/")]
    found = remote_media(site, files)
    assert [file.path for file in found] == [f"{site}/a.jpg", f"{site}/sub/b.png"]
    assert found[0].beside == (f"{site}/a.txt",)
    assert [file.size for file in found] == [5, 9]
    with open_address(f"{site}/sub/b.png") as file:
        assert file.read() == b"sub/b.png"
    copy_address(f"{site}/a.jpg", str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_text() == "a.jpg"
    assert not address_exists(f"{site}/nothing.jpg")
    with pytest.raises(FileNotFoundError):
        remote_file(f"{site}/nothing.jpg")


def test_a_change_is_seen_by_its_time():
    store = fsspec.filesystem("memory")
    store.pipe("/box/a.jpg", b"one")
    before = remote_file("memory://box/a.jpg")
    store.pipe("/box/a.jpg", b"two")
    after = remote_file("memory://box/a.jpg")
    assert before.size == after.size == 3
    assert before.mtime_ns < after.mtime_ns
    assert matching_addresses("memory://box/*.jpg") == ["memory:///box/a.jpg"]


def test_what_is_no_address_is_said():
    with pytest.raises(ValueError, match="nosuch://x: Protocol not known"):
        filesystem("nosuch://x")
    with pytest.raises(ValueError, match="a file address has three slashes"):
        local_path("file://data/pictures")

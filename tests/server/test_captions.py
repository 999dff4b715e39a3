"""A table of captions that is sent: what it says is found at once, and nothing in it does harm."""

from __future__ import annotations

import csv
import io

import pytest

from rankloom.collection import captions
from tests.serving import client, ok, refused


def send(web, table):
    return web.post("/api/captions", content=table if isinstance(table, bytes) else table.encode())


def found(web, words):
    hits = ok(web.post("/api/search", json={"query": {"text": words}, "k": 200}))["hits"]
    return [hit["id"] for hit in hits if hit["literal"]]


def place(web, item):
    """A file as the page names it: the folder of the collection first."""
    file = ok(web.get(f"/api/items/{item}"))["files"][0]
    return file["folder"], file["name"]


def test_rows_find_their_files_and_are_searched_at_once(own):
    (folder, name), (_, other) = place(own, 3), place(own, 7)
    inner = f"{folder.partition('/')[2]}/{name}".strip("/")
    rows = f"{inner},a quixotic kite\n{other},=cmd()|zanzibar\nnowhere/x.jpg,lost\n{other},twice\n,none\n"
    stored = ok(send(own, f"path,caption\n{rows}"))
    assert stored == {"rows": 4, "matched": 3, "files": 2, "unmatched": ["nowhere/x.jpg"], "cut": 0}
    assert found(own, "quixotic") == [3]
    assert found(own, "zanzibar") == [7]
    stored = ok(send(own, f"caption\tpath\nÄquator\t{folder}/{name}\n".encode("utf-16")))
    assert (stored["matched"], found(own, "Äquator"), found(own, "quixotic")) == (1, [3], []), "it is replaced"
    answer = own.post("/api/export", json={"what": "items", "items": [7], "format": "csv"})
    assert next(csv.DictReader(io.StringIO(answer.text)))["caption"].startswith("'=cmd()")


@pytest.mark.parametrize(
    ("table", "line"),
    [
        (b"", "no column 'path'"),
        (b"file,text\na.jpg,b\n", "its columns are file, text"),
        (b"PK\x03\x04\x00\x00 a file of a spreadsheet", "this is no text"),
        (b"\x89\xff" * 500, "no column 'path'"),
        (b'path,caption\na.jpg,"' + b"x" * 200_000 + b'"\n', "field larger than field limit"),
        (b"y" * 200_000 + b"\n", "field larger than field limit"),
    ],
)
def test_hostile_tables_get_one_line(web, table, line):
    answer = send(web, table)
    refused(answer, 422)
    assert line in answer.json()["error"]


def test_paths_that_lead_out_of_the_collection_are_names(web, folder):
    item = ok(web.get("/api/items/5"))["files"][0]
    inside = item.get("path") or "/nowhere/x.jpg"
    rows = ["../../etc/passwd", "/etc/passwd", "..\\..\\boot.ini", "~/secret.jpg", "../" + item["folder"] + "/"]
    stored = ok(send(web, "path,caption\n" + "".join(f"{row},evil\n" for row in rows)))
    assert (stored["matched"], stored["unmatched"][:2]) == (0, ["passwd", "boot.ini"])
    assert ok(send(web, f"path,caption\n{inside},by its name\n"))["rows"] == 1


def test_size_rows_and_read_only_servers_bound_it(web, own_folder, monkeypatch):
    monkeypatch.setattr(captions, "MOST_ROWS", 3)
    refused(send(web, "path,caption\n" + "a.jpg,b\n" * 4), 422)
    assert ok(send(web, "path,caption\n" + "a.jpg,b\n" * 3))["rows"] == 3
    with client(own_folder, upload_bytes=100, read_only=False) as small:
        refused(send(small, "path,caption\n" + "a.jpg,b\n" * 20), 413)
    with client(own_folder, read_only=True) as reading:
        refused(send(reading, "path,caption\n"), 403)

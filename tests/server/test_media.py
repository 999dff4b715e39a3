"""Pictures and files: only what was indexed is served, and never that of another collection."""

from __future__ import annotations

import io
import os
import shutil

import pytest
from PIL import Image

from rankloom.collection import Collection, index
from rankloom.collection.identity import collection_id, make_id
from rankloom.collection.originals import open_indexed
from rankloom.collection.overview import IndexedFile, files_of
from tests.serving import client, copied, ok, picture, refused, sample

KINDS = ("thumbnail", "view", "file")


@pytest.fixture
def pictures(tmp_path):
    """A folder of pictures; `tmp_path / "c"` is its collection, `tmp_path / "secret.jpg"` is beside it."""
    folder = tmp_path / "moved"
    (folder / "below").mkdir(parents=True)
    source = next((sample() / "pictures").glob("coast/*.jpg"))
    shutil.copy(source, folder / "a.jpg")
    for number, name in enumerate(("page.jpg", "below/b.jpg", "../secret.jpg")):
        (folder / name).write_bytes(source.read_bytes() + b"other" * (number + 1))
    os.symlink("below/b.jpg", folder / "inside.jpg")
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [folder], preset="paper36", workers=0, ocr=False)
    return folder


def numbers(web):
    """The items by the names of their files."""
    items = range(1, ok(web.get("/api/collection"))["items"] + 1)
    return {file["name"]: item for item in items for file in ok(web.get(f"/api/items/{item}"))["files"]}


def there(web, item):
    return [file["there"] for file in ok(web.get(f"/api/items/{item}"))["files"]]


def test_files_are_served_as_they_were_indexed(pictures, tmp_path):
    with client(tmp_path / "c") as web:
        items = numbers(web)
        assert items["inside.jpg"] == items["b.jpg"]  # a link to a file inside is the same content
        for name in ("a.jpg", "below/b.jpg"):
            item = items[os.path.basename(name)]
            found = web.get(f"/api/items/{item}/file")
            assert found.content == (pictures / name).read_bytes()
            assert found.headers["content-type"] == "image/jpeg"
            assert Image.open(io.BytesIO(web.get(f"/api/items/{item}/view").content)).format == "JPEG"


def test_a_file_that_went_away(pictures, tmp_path):
    with client(tmp_path / "c") as web:
        item = numbers(web)["a.jpg"]
        (pictures / "a.jpg").unlink()
        for kind in ("file", "view"):
            assert "rankloom index" in refused(web.get(f"/api/items/{item}/{kind}"), 404)
        assert there(web, item) == [False]
        assert web.get(f"/api/items/{item}/thumbnail").status_code == 200


@pytest.mark.parametrize("change", ["content", "time", "folder", "pipe"])
def test_a_changed_file_is_not_served(pictures, tmp_path, change):
    with client(tmp_path / "c") as web:
        item, path = numbers(web)["page.jpg"], pictures / "page.jpg"
        if change == "content":
            path.write_text("<script>alert(1)</script>")
        elif change == "time":
            os.utime(path, ns=(1, 1))
        else:
            path.unlink()
            path.mkdir() if change == "folder" else os.mkfifo(path)
        for kind in ("file", "view"):
            refused(web.get(f"/api/items/{item}/{kind}"), 404)
        assert there(web, item) == [False]


@pytest.mark.parametrize("how", ["the file", "its folder"])
@pytest.mark.slow
def test_a_link_that_leads_out_is_not_served(pictures, tmp_path, how):
    """Also where size and time are those of the indexed file."""
    with client(tmp_path / "c") as web:
        item, path = numbers(web)["b.jpg"], pictures / "below" / "b.jpg"
        (tmp_path / "out").mkdir()
        outside = tmp_path / "out" / "b.jpg"
        status = path.stat()
        outside.write_bytes(b"x" * status.st_size)
        os.utime(outside, ns=(status.st_atime_ns, status.st_mtime_ns))
        if how == "the file":
            path.unlink()
            os.symlink(outside, path)
        else:
            shutil.rmtree(path.parent)
            os.symlink(outside.parent, path.parent)
        for kind in ("file", "view"):
            refused(web.get(f"/api/items/{item}/{kind}"), 404)
        assert there(web, item) == [False, False]


def test_a_root_may_be_a_link_or_a_file(pictures, tmp_path):
    os.symlink(pictures, tmp_path / "linked")
    with Collection(tmp_path / "d", create=True) as collection:
        index(collection, [tmp_path / "linked", tmp_path / "secret.jpg"], preset="paper36", workers=0, ocr=False)
    with client(tmp_path / "d") as web:
        for item in numbers(web).values():
            assert web.get(f"/api/items/{item}/file").status_code == 200


def test_what_was_opened_is_what_is_sent(pictures):
    """A file that is exchanged after it was checked does not matter any more."""
    path = pictures / "a.jpg"
    status, content = path.stat(), path.read_bytes()
    file = open_indexed(IndexedFile(str(path), status.st_size, status.st_mtime_ns), [str(pictures)])
    assert file is not None
    path.unlink()
    os.symlink("/etc/passwd", path)
    with file:
        assert file.read() == content


def test_only_roots_of_whole_names_count(pictures, tmp_path):
    (tmp_path / "moved2").mkdir()
    other = tmp_path / "moved2" / "a.jpg"
    shutil.copy2(pictures / "a.jpg", other)
    status = other.stat()
    assert open_indexed(IndexedFile(str(other), status.st_size, status.st_mtime_ns), [str(pictures)]) is None


def test_files_of_an_item(pictures, tmp_path):
    with Collection(tmp_path / "c") as collection:
        (found,) = collection.find(pictures / "a.jpg")
        status = (pictures / "a.jpg").stat()
        assert files_of(collection, found.id) == [
            IndexedFile(str(pictures / "a.jpg"), status.st_size, status.st_mtime_ns)
        ]
        with pytest.raises(KeyError, match="there is no item 99"):
            files_of(collection, 99)


# Two collections on one port -----------------------------------------------------------------------------------------


def test_addresses_belong_to_one_collection(web, tmp_path):
    with client(copied(tmp_path / "other")) as other:
        own, others = (ok(server.get("/api/session"))["collection"] for server in (web, other))
        assert own != others
        assert ok(web.get("/api/collection"))["id"] == own
        for kind in KINDS:
            address = f"/api/items/1/{kind}?collection="
            kept = web.get(address + own)
            assert kept.status_code == 200
            assert "max-age" in kept.headers["cache-control"]
            refused(other.get(address + own), 409)
            # Without the id a browser asks each time, and what it has of the other collection does not count.
            open_address = f"/api/items/1/{kind}"
            first = web.get(open_address)
            assert "no-cache" in first.headers["cache-control"]
            assert first.headers["etag"] != other.get(open_address).headers["etag"]
            tagged = {"If-None-Match": first.headers["etag"]}
            assert other.get(open_address, headers=tagged).status_code == 200
            if kind != "file":
                assert web.get(open_address, headers=tagged).status_code == 304


def test_pictures_that_were_sent_belong_to_one_collection(own, tmp_path):
    key = ok(own.post("/api/upload", content=picture(), headers={"Content-Type": "image/png"}))["picture"]
    name = ok(own.get("/api/session"))["collection"]
    assert "immutable" in own.get(f"/api/pictures/{key}/thumbnail?collection={name}").headers["cache-control"]
    refused(own.get(f"/api/pictures/{key}/thumbnail?collection=another"), 409)


def test_marks_of_a_page_of_another_collection_are_refused(own):
    body = {"query": {"text": "sea"}, "marks": [{"item": 1}]}
    refused(own.post("/api/feedback", json=body, headers={"X-Rankloom-Collection": "another"}), 409)
    name = ok(own.get("/api/session"))["collection"]
    assert ok(own.post("/api/feedback", json=body, headers={"X-Rankloom-Collection": name}))["marks"] == 1


def test_an_id_is_made_once(tmp_path):
    folder = copied(tmp_path / "c")
    with Collection(folder) as collection:
        first = collection_id(collection)
        collection.db.execute("DELETE FROM meta WHERE key = 'id'")
        derived = collection_id(collection)
        assert derived == collection_id(collection)
        assert derived != first
        make_id(collection.db)
        made = collection_id(collection)
        assert made not in (first, derived)
        make_id(collection.db)
        assert collection_id(collection) == made
    with Collection(folder) as again:
        assert collection_id(again) == made


def test_an_old_collection_opens_while_another_writes(tmp_path):
    folder = copied(tmp_path / "c")
    with Collection(folder) as writer:
        writer.db.execute("DELETE FROM meta WHERE key = 'id'")
        with writer.transaction(), Collection(folder) as reader:
            assert len(collection_id(reader)) == 16
            assert reader.db.execute("SELECT count(*) FROM meta WHERE key = 'id'").fetchone() == (0,)
            assert reader.db.execute("PRAGMA busy_timeout").fetchone() == (60_000,)


@pytest.mark.slow
def test_a_restored_collection_has_a_new_id(tmp_path):
    from rankloom.collection import back_up, restore

    folder = copied(tmp_path / "c")
    with Collection(folder) as collection:
        before = collection_id(collection)
        back_up(folder)
    restore(folder)
    with Collection(folder) as collection:
        assert collection_id(collection) != before

"""Browsing, selecting and organizing through the API: listings, notes, albums, downloads."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest

from rankloom.collection import Collection
from rankloom.media.embedded import xmp_texts
from rankloom.server.archives import Entry, Streams
from rankloom.server.errors import Refused
from rankloom.server.routes import export
from tests.archives import write_rows
from tests.server.test_statements import counted
from tests.serving import client, ok, refused, sample

SEA = {"query": {"text": "sea"}}


def browse(web, path="", **asked):
    return ok(web.get(f"/api/browse{path}", params=asked))


def ids(answer):
    return [hit["id"] for hit in answer["hits"]]


def test_the_whole_collection_is_browsed(own):
    months = browse(own, "/months")
    whole = browse(own, k=1000)
    assert months["total"] == whole["total"] == len(whole["hits"]) == sum(group["size"] for group in months["groups"])
    named = [group["month"] for group in months["groups"] if group["month"]]
    assert named == sorted(named, reverse=True)
    assert ids(browse(own, offset=20, k=30)) == ids(whole)[20:50]
    assert [hit["rank"] for hit in whole["hits"]] == [*range(1, whole["total"] + 1)]
    assert browse(own, "/items", offset=5, k=9) == ids(whole)[5:14]
    first = months["groups"][0]
    dated = [hit["taken"] for hit in whole["hits"][: first["size"]] if hit["taken"]]
    assert all(taken.startswith(first["month"]) for taken in dated)
    assert ids(browse(own, sort="oldest", k=1000)) == ids(whole)[::-1]
    names = [hit["name"].casefold() for hit in browse(own, sort="name", kind="picture", k=1000)["hits"]]
    assert names[:5] == sorted(names[:5])
    assert browse(own, "/months", sort="name")["groups"] == [{"month": "", "size": whole["total"]}]
    inside = browse(own, folder="pictures/coast", k=1000)
    assert {hit["folder"] for hit in inside["hits"]} == {"pictures/coast"}
    folders = {line["folder"]: line["files"] for line in ok(own.get("/api/folders"))}
    assert folders["pictures/coast"] == len({hit["name"] for hit in inside["hits"]})
    assert browse(own, offset=10_000)["hits"] == []
    for wrong in ({"k": 1001}, {"sort": "size"}, {"marked": True}, {"folder": "nope"}, {"after": "never"}):
        assert refused(own.get("/api/browse", params=wrong), 422)
    assert refused(own.get("/api/browse", params={"album": 9}), 404)


@pytest.mark.sqlite
@pytest.mark.slow
def test_a_page_of_a_large_collection_costs_the_same_everywhere(tmp_path):
    """A page is a slice of a listing that is kept: what is asked of the database does not grow with the offset."""
    folder = write_rows(tmp_path / "c", 20_000, dates=lambda n: f"{2000 + n % 20}-{1 + n % 12:02}-01")
    with client(folder, searches=1) as web:
        browse(web)
        runs = []
        for offset in (200, 10_000, 19_800):
            with counted(web.app.state.context.collection) as run:
                assert len(browse(web, offset=offset)["hits"]) == 200
            runs.append(len(run))
        assert len({*runs}) == 1, runs
        assert runs[0] < 8


def test_orders_of_results(own):
    def found(**asked):
        return ok(own.post("/api/search", json={**SEA, **asked}))

    by_score = found(k=1000)
    best = {hit["id"] for hit in by_score["hits"][: by_score["cutoff"] or 200]}
    by_date = found(order="newest", k=1000)
    assert {*ids(by_date)} == best
    taken = [hit["taken"] for hit in by_date["hits"] if hit["taken"]]
    assert taken == sorted(taken, reverse=True)
    assert ids(found(order="oldest", k=1000)) == ids(by_date)[::-1]
    assert ids(found(order="name", k=3, offset=2)) == ids(found(order="name", k=1000))[2:5]


def test_marked_and_unmarked(own):
    order = ids(ok(own.post("/api/search", json={**SEA, "k": 9})))
    ok(own.post("/api/feedback", json={**SEA, "marks": [{"item": order[0]}, {"item": order[3], "grade": 0}]}))

    def filtered(marked):
        return ids(ok(own.post("/api/search", json={"query": {"text": "sea", "filters": {"marked": marked}}})))

    assert {*filtered(True)} == {order[0], order[3]}
    assert not {order[0], order[3]} & {*filtered(False)}


def test_notes_are_searched_listed_and_exported(own):
    ok(own.post("/api/items/caption", json={"item": 7, "caption": "Quixotic windmill"}))
    ok(own.post("/api/items/tags", json={"items": [7, 9], "add": ["Zanzibar"]}))
    ok(own.post("/api/items/rate", json={"items": [9], "stars": 5}))
    for words, expected in (("quixotic", [7]), ("zanzibar", [7, 9])):
        hits = ok(own.post("/api/search", json={"query": {"text": words}, "k": 200}))["hits"]
        assert sorted(hit["id"] for hit in hits if hit["literal"]) == expected
    item = ok(own.get("/api/items/7"))
    assert item["notes"] == {"caption": "Quixotic windmill", "tags": ["Zanzibar"], "stars": 0, "hidden": False}
    assert ok(own.get("/api/tags")) == [{"tag": "Zanzibar", "size": 2}]
    assert ids(browse(own, tag="zanzibar", stars=4)) == [9]
    hit = browse(own, tag="zanzibar", sort="oldest")["hits"]
    assert {(one["id"], one["stars"]) for one in hit} == {(7, 0), (9, 5)}
    answer = own.post("/api/export", json={"what": "items", "items": [9, 7], "format": "csv"})
    rows = [*csv.DictReader(io.StringIO(answer.text))]
    assert [(row["id"], row["stars"], row["tags"]) for row in rows] == [("9", "5", "Zanzibar"), ("7", "0", "Zanzibar")]
    paths = ok(own.post("/api/items/paths", json={"items": [7, 9]}))
    assert all(path.startswith("pictures/") for path in paths)
    archive = zipfile.ZipFile(io.BytesIO(downloaded(own, [7, 9, 11], "xmp")))
    assert sorted(archive.namelist()) == sorted(f"{path}.xmp" for path in paths)
    packet = archive.read(f"{paths[0]}.xmp")
    assert xmp_texts(packet) == ["Quixotic windmill", "Zanzibar"]
    assert b"<xmp:Rating>5<" in archive.read(f"{paths[1]}.xmp")
    everything = zipfile.ZipFile(io.BytesIO(downloaded(own, None, "xmp")))
    assert everything.namelist() == archive.namelist(), "of the whole collection, nobody has to name them"


def test_all_items_are_exported_piece_by_piece(own, monkeypatch):
    monkeypatch.setattr(export, "AT_ONCE", 50)
    listed = ids(browse(own, k=1000))
    answer = own.post("/api/export", json={"what": "items", "format": "csv"})
    assert [int(row["id"]) for row in csv.DictReader(io.StringIO(answer.text))] == listed
    answer = own.post("/api/export", json={"what": "items"})
    assert [row["id"] for row in ok(answer)["items"]] == listed
    assert ok(own.post("/api/export", json={"what": "items", "items": [99_999]})) == {"items": []}
    assert own.post("/api/export", json={"what": "items", "items": [99_999], "format": "csv"}).text == "\n"


def test_hidden_items_are_nowhere_until_they_are_asked_for(own):
    before = browse(own)["total"]
    query = {"query": {"examples": [{"item": 3}]}, "k": 300}
    victim = ids(ok(own.post("/api/search", json=query)))[1]
    ok(own.post("/api/items/hide", json={"items": [victim]}))
    assert browse(own)["total"] == before - 1
    assert victim not in ids(ok(own.post("/api/search", json=query)))
    assert victim not in ids(ok(own.post("/api/search", json={**query, "query": {"filters": {"kind": "picture"}}})))
    assert ids(browse(own, hidden=True)) == [victim]
    ok(own.post("/api/items/hide", json={"items": [victim], "hidden": False}))
    assert browse(own)["total"] == before


def test_albums_by_hand_and_living(own):
    made = ok(own.post("/api/albums", json={"name": "Summer", "items": [3, 8]}))
    assert (made["name"], made["size"], made["query"]) == ("Summer", 2, None)
    place = f"/api/albums/{made['id']}"
    ok(own.post(f"{place}/items", json={"add": [5], "remove": [8]}))
    ok(own.post(f"{place}/order", json={"items": [5], "before": 3}))
    changed = ok(own.post(place, json={"name": "Sommer", "cover": 3}))
    assert (changed["name"], changed["cover"], changed["by_hand"]) == ("Sommer", 3, True)
    assert ids(browse(own, album=made["id"])) == [5, 3]
    assert ok(own.get("/api/items/5"))["albums"] == [{"id": made["id"], "name": "Sommer"}]
    living = ok(own.post("/api/albums", json={"name": "Sea", **SEA}))
    offered = ok(own.get(f"/api/albums/{living['id']}/suggestions?n=6"))
    assert len(offered) == 6
    yes, no = offered[0]["id"], offered[1]["id"]
    ok(own.post(f"/api/albums/{living['id']}/items", json={"add": [yes], "refuse": [no]}))
    again = {hit["id"] for hit in ok(own.get(f"/api/albums/{living['id']}/suggestions?n=200"))}
    assert {hit["id"] for hit in offered[2:]} <= again
    assert not {yes, no} & again
    assert [one["name"] for one in ok(own.get("/api/albums"))] == ["Sea", "Sommer"]
    within = ok(own.post("/api/search", json={"query": {"text": "sea", "filters": {"album": made["id"]}}}))
    assert {*ids(within)} <= {3, 5}
    assert refused(own.get(f"{place}/suggestions"), 422)
    assert refused(own.post("/api/albums", json={"name": "sea"}), 422)
    assert [one["name"] for one in ok(own.delete(place))] == ["Sea"]
    assert refused(own.delete(place), 404)


def downloaded(web, items, what="files"):
    asked = ok(web.post("/api/downloads", json={"items": items, "what": what}))
    answer = web.get(f"/api/downloads/{asked['key']}")
    assert answer.headers["content-type"] == "application/zip"
    return answer.content


def test_originals_are_downloaded_in_one_archive(own):
    shots = [hit["id"] for hit in browse(own, kind="shot", k=3)["hits"]]
    archive = zipfile.ZipFile(io.BytesIO(downloaded(own, [3, 8, *shots])))
    assert archive.testzip() is None
    details = [ok(own.get(f"/api/items/{item}"))["files"][0] for item in (3, 8, shots[0])]
    assert archive.namelist() == [file["name"] for file in details], "a video once, however many of its shots"
    for file in details[:2]:
        folder = sample() / "pictures" / file["folder"].removeprefix("pictures").strip("/")
        assert archive.read(file["name"]) == (folder / file["name"]).read_bytes()
    key = ok(own.post("/api/downloads", json={"items": [3]}))["key"]
    own.cookies.clear()
    assert refused(own.get(f"/api/downloads/{key}"), 404), "of another user"
    assert refused(own.post("/api/downloads", json={"items": [99_999]}), 404)
    assert refused(own.post("/api/downloads", json={}), 422), "all files are too many"
    assert refused(own.post("/api/downloads", json={"items": [3] * 10_001}), 422)
    assert refused(own.post("/api/downloads", json={"items": [11], "what": "xmp"}), 422)


def test_an_archive_is_made_in_pieces_and_names_what_is_missing():
    opened = []

    def big():
        opened.append(1)
        return io.BytesIO(b"x" * 3_000_000)

    streams = Streams(1)
    names = ("a.jpg", "A.jpg", "a (3).jpg", "a.jpg")
    pieces = streams.zipped(
        [Entry(names[0], big), Entry("gone.jpg", lambda: None), *(Entry(name, big) for name in names[1:])]
    )
    assert not opened
    with pytest.raises(Refused, match="other downloads"):
        streams.zipped([])
    whole = [*pieces]
    assert max(map(len, whole)) < 400_000
    archive = zipfile.ZipFile(io.BytesIO(b"".join(whole)))
    assert archive.namelist() == ["a.jpg", "A (2).jpg", "a (3).jpg", "a (4).jpg", "missing.txt"]
    assert b"gone.jpg" in archive.read("missing.txt")
    unread = streams.zipped([Entry("a.jpg", big)])  # whoever goes before the first piece makes room for others
    del unread
    assert b"".join(streams.zipped([]))


def test_who_may_only_read_organizes_nothing(tmp_path):
    writes = {
        "items/rate": {"items": [1], "stars": 1}, "items/hide": {"items": [1]},
        "items/tags": {"items": [1], "add": ["a"]}, "items/caption": {"item": 1, "caption": "a"},
        "albums": {"name": "a"}, "albums/1": {"name": "a"}, "albums/1/items": {"add": [1]},
        "albums/1/order": {"items": [1]},
    }  # fmt: skip
    with client(write_rows(tmp_path / "c", 3), read_only=True) as web:
        for path, body in writes.items():
            assert refused(web.post(f"/api/{path}", json=body), 403)
        assert refused(web.delete("/api/albums/1"), 403)
        assert ok(web.post("/api/items/paths", json={"items": [2]})) == ["photos/000002.jpg"]
        assert browse(web)["total"] == 3
    with client(tmp_path / "c", headers={}) as web:
        for path, body in writes.items():
            assert "X-Rankloom" in refused(web.post(f"/api/{path}", json=body), 403)
            assert refused(web.post(f"/api/{path}", json=body, headers={"Origin": "http://evil"}), 403)
        assert refused(web.get("/api/browse", headers={"Sec-Fetch-Site": "cross-site"}), 403)
    with Collection(tmp_path / "c") as collection:
        assert collection.db.execute("SELECT count(*) FROM albums").fetchone() == (0,)

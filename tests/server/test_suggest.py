"""What the search box offers while somebody types, and what it thinks was meant."""

from __future__ import annotations

import pytest

from rankloom.collection import Collection
from rankloom.collection.people import name_person
from tests.server.test_statements import counted
from tests.serving import client, copied, ok, refused

SEA = {"query": {"text": "sea"}}


def offered(web, typed):
    return [(one["kind"], one["text"]) for one in ok(web.get("/api/suggest", params={"prefix": typed}))]


def meant(web, text):
    return ok(web.post("/api/search", json={"query": {"text": text}, "k": 1}))["did_you_mean"]


def test_words_and_names_that_begin_so(own):
    first = ok(own.post("/api/search", json={**SEA, "k": 3}))["hits"]
    items = [hit["id"] for hit in first]
    ok(own.post("/api/items/tags", json={"items": items, "add": ["Lighted Windows"]}))
    album = ok(own.post("/api/albums", json={"name": "Lights of the coast", "items": items}))
    ok(own.post("/api/saved", json={"name": "light at sea", "query": {"text": "light"}}))
    ok(own.post("/api/concepts", json={"name": "lightly", "positive": items}))
    found = ok(own.get("/api/suggest", params={"prefix": "a Ligh"}))
    words = [one for one in found if one["kind"] == "word"]
    assert words[0]["text"].startswith("ligh")
    assert words[0]["items"] >= words[-1]["items"] > 0
    assert [one for one in found if one["kind"] != "word"] == [
        {"kind": "tag", "text": "Lighted Windows", "items": 3},
        {"kind": "concept", "text": "lightly"},
        {"kind": "album", "text": "Lights of the coast", "items": 3, "id": album["id"]},
        {"kind": "saved", "text": "light at sea", "query": found[-1]["query"]},
    ]
    assert found[-1]["query"]["text"] == "light"
    assert ("folder", "pictures/coast") in offered(own, "coas")
    assert offered(own, "lights of") == [("album", "Lights of the coast")]
    assert offered(own, "x lights of") == []
    ok(own.post("/api/items/tags", json={"items": items, "remove": ["Lighted Windows"]}))
    ok(own.delete(f"/api/albums/{album['id']}"))
    assert {kind for kind, _ in offered(own, "-ligh")} == {"word", "concept", "saved"}
    for nothing in ("", " ", "zebras ", '"', "zzzq", "12"):
        assert offered(own, nothing) == [], nothing
    refused(own.get("/api/suggest", params={"prefix": "x" * 1001}), 422)


def test_people_are_offered_and_saved_searches_are_their_own(tmp_path):
    folder = copied(tmp_path / "c")
    with Collection(folder) as collection, collection.transaction() as db:
        db.execute("INSERT INTO people (id, name) VALUES (1, NULL)")
    with Collection(folder) as collection:
        name_person(collection, 1, "Wilhelmina")
    with client(folder, profiles=True) as web:
        web.get("/")
        assert offered(web, "wilhel") == [("person", "Wilhelmina")]
        ok(web.post("/api/saved", json={"name": "wilhelm", "query": {"text": "sea"}}))
        assert offered(web, "wilhel") == [("person", "Wilhelmina"), ("saved", "wilhelm")]
        web.cookies.clear()
        assert offered(web, "wilhel") == [("person", "Wilhelmina")]


@pytest.mark.sqlite
def test_a_letter_costs_the_same_however_much_there_is(own_folder):
    """Names and words are kept: what is asked of the database does not grow with what is offered."""
    with client(own_folder, searches=1) as web:
        collection = web.app.state.context.collection
        offered(web, "s")
        with counted(collection) as many:
            assert offered(web, "s")
        with counted(collection) as none:
            assert not offered(web, "zzzq")
    assert len(many) == len(none) < 6


def test_misspelled_words_are_offered_as_the_collection_spells_them(web):
    assert meant(web, "lighthose") == "lighthouse"
    assert meant(web, 'a red "lighthuose" -boots sno*') == 'a red "lighthouse" -boots sno*'
    for right in ("lighthouse", "lighthouses", "LIGHTHOUSE", "-lighthose sea", "lighthos*", "zzqqxx", "12345678"):
        assert meant(web, right) is None, right


def test_a_word_of_a_dictionary_is_no_mistake(web):
    """Looks may answer it, though no text has it: "beat" is not "boat"."""
    assert offered(web, "boat")
    assert offered(web, "beat") == []
    assert meant(web, "beat") is None
    assert meant(web, "baot") == "boat"

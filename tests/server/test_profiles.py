"""Profiles of a browser: another one is gone on with, and nobody takes that of another browser."""

from tests.serving import HEADER, client, ok, refused

SEA = {"query": {"text": "sea"}}
TOKEN = "a token that is long enough to be one"


def marked(web):
    return [mark["item"] for mark in ok(web.post("/api/marks", json=SEA))]


def test_a_browser_goes_on_as_another_of_its_profiles(own_folder):
    with client(own_folder, profiles=True, token=TOKEN) as own:
        first = ok(own.post("/api/session", json={"token": TOKEN}))
        assert first["profiles"] == [first["profile"]]
        ok(own.post("/api/feedback", json={**SEA, "marks": [{"item": 3}]}))
        second = ok(own.post("/api/session/profile", json={}))
        assert second["profiles"] == [first["profile"], second["profile"]]
        assert second["authorized"]
        assert marked(own) == []
        ok(own.post("/api/feedback", json={**SEA, "marks": [{"item": 5}]}))
        ok(own.post("/api/session/profile", json={"profile": first["profile"]}))
        assert ok(own.get("/api/session"))["profile"] == first["profile"]
        assert marked(own) == [3]
        own.cookies.clear()
        ok(own.post("/api/session", json={"token": TOKEN}))
        refused(own.post("/api/session/profile", json={"profile": first["profile"]}), 404)  # another browser
        refused(own.post("/api/session/profile", json={"profile": "../x"}), 422)
        for _ in range(7):
            ok(own.post("/api/session/profile", json={}))
        assert "at most 8" in refused(own.post("/api/session/profile", json={}), 409)
        own.cookies.clear()
        refused(own.post("/api/session/profile", json={}), 401)
        bearer = {**HEADER, "Authorization": f"Bearer {TOKEN}"}
        refused(own.post("/api/session/profile", json={}, headers=bearer), 409)


def test_a_server_without_profiles_has_none(own):
    assert ok(own.get("/api/session"))["profiles"] == []
    refused(own.post("/api/session/profile", json={}), 409)

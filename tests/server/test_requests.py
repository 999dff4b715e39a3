"""What requests may hold: whole numbers and booleans that are such, and names that are safe to use as keys."""

from __future__ import annotations

import json

import pytest

from rankloom.collection import Collection
from rankloom.collection.names import LONGEST, check_name
from rankloom.collection.query import Query
from rankloom.engine import Engine
from rankloom.server.schemas import MOST_EXPLAINED
from tests.serving import client, copied

WORDS = {"text": "lighthouse"}
BAD_NAMES = ("__proto__", "constructor", "toString", " hasOwnProperty ", "", "  ", "a/b", "<b>", "a\nb", "x" * 101)
GOOD_NAMES = ("my garden", "Häfen_2-b", "灯台", "प्रकाश", "proto", "Constructor")


@pytest.fixture(scope="module", autouse=True)
def cookie_of_a_user(web):
    web.get("/")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("search", {"k": 2.0}, "k"),
        ("search", {"k": 2.5}, "k"),
        ("search", {"k": "2"}, "k"),
        ("search", {"k": True}, "k"),
        ("search", {"k": 0}, "k"),
        ("search", {"k": 10_001}, "k"),
        ("search", {"offset": -1}, "offset"),
        ("search", {"offset": False}, "offset"),
        ("search", {"explain": 1}, "explain"),
        ("search", {"diffusion": "yes"}, "diffusion"),
        ("search", {"diversity": "0.5"}, "diversity"),
        ("search", {"diversity": True}, "diversity"),
        ("search", {"query": {**WORDS, "text_weight": "2"}}, "text_weight"),
        ("search", {"query": {**WORDS, "filters": {"has_text": "true"}}}, "filters.has_text"),
        ("search", {"query": {"examples": [{"item": 3.0}]}}, "examples.0.item"),
        ("explain", {"item": "1"}, "item"),
        ("compare", {"a": 1, "b": 2.0}, "b"),
        ("export", {"k": 5.0}, "k"),
        ("feedback", {"marks": [{"item": 1, "grade": True}]}, "marks.0.grade"),
    ],
)
def test_types_and_bounds(web, path, body, field):
    answer = web.post(f"/api/{path}", json={"query": WORDS, **body})
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error.startswith(f"{field}: Input should be ")
    assert "\n" not in error


def test_weights_and_locks_are_numbers_and_booleans(web):
    for body in ({"weights": {"faces": "1"}}, {"weights": {"faces": True}}, {"lock": {"faces": 1}}, {"reset": 1}):
        assert web.post("/api/experts", json=body).status_code == 422
    assert web.post("/api/experts", json={"weights": {"faces": 1}}).status_code == 200


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_are_refused(name, web, folder):
    with pytest.raises(ValueError, match="name"):
        check_name(name, "a concept")
    for path, body in (("concepts", {"positive": [1, 2]}), ("saved", {"query": WORDS})):
        answer = web.post(f"/api/{path}", json={"name": name, **body})
        assert answer.status_code == 422
        assert answer.json()["error"].startswith("name: ")
    with Collection(folder) as collection:
        engine = Engine(collection)
        with pytest.raises(ValueError, match="name"):
            engine.save_search(name, Query("sea"))
        with pytest.raises(ValueError, match="name"):
            engine.train_concept(name, [1, 2])


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_good_names_in_any_script(name, web):
    assert len(name) <= LONGEST
    assert web.post("/api/saved", json={"name": name, "query": WORDS}).status_code == 200
    assert name in [one["name"] for one in web.get("/api/saved").json()]


def test_reasons_are_given_for_a_page_of_hits(web):
    body = {"query": WORDS, "explain": True}
    assert web.post("/api/search", json={**body, "k": MOST_EXPLAINED}).status_code == 200
    answer = web.post("/api/search", json={**body, "k": MOST_EXPLAINED + 1})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("k: with explain at most 200, got 201")
    assert web.post("/api/search", json={"query": WORDS, "k": 10_000}).status_code == 200


@pytest.mark.parametrize(
    "date", ["2024-13", "2024-5", "next week", "2024-02-30", "1e3", "20240517", "-1d", "2024-05-17T25:00"]
)
def test_dates_are_strict(web, date):
    answer = web.post("/api/search", json={"query": {**WORDS, "filters": {"after": date}}})
    assert answer.status_code == 422
    assert "is no date; give 2024" in answer.json()["error"]


class Telling(Engine):
    """An engine whose errors name folders."""

    def explain(self, *args, **kwargs):
        raise ValueError(f"{self.collection.folder}: is busy; also '{self.collection.folder.parent}/other one/x'")

    def search(self, *args, **kwargs):
        raise KeyError(f"there is nothing at {self.collection.folder}/a b")

    def train(self, *args, **kwargs):
        raise ValueError(f"nothing was learned in {self.collection.folder}")


def test_errors_name_no_parent_folders(tmp_path):
    folder = copied(tmp_path / "of somebody" / "my c")
    with Collection(folder) as collection, collection.transaction() as db:
        (roots,) = db.execute("SELECT value FROM meta WHERE key = 'roots'").fetchone()
        root = json.loads(roots)[0]
        reason = f"{root}/a b.xmp: cannot be read, nor '/home/somebody else/x'"
        db.execute("INSERT INTO errors VALUES (?, 1, 1, ?, '')", (f"{root}/sub/a b.jpg", reason))
    with client(folder, engine=Telling) as web:
        asked = {"json": {"query": WORDS}}
        assert web.post("/api/explain", json={"query": WORDS, "item": 1}).json()["error"] == "my c: is busy; also 'x'"
        assert web.post("/api/search", **asked).json()["error"] == "there is nothing at my c/a b"
        web.post("/api/models/train", json={})
        while not (jobs := web.get("/api/collection").json()["jobs"]):
            pass
        assert jobs[0]["error"] == "nothing was learned in my c"
        found = {error["name"]: error for error in web.get("/api/errors").json()}["a b.jpg"]
        assert found["reason"] == "pictures/a b.xmp: cannot be read, nor 'x'"
        assert found["folder"] == "pictures/sub"

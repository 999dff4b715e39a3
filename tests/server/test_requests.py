"""What requests may hold: whole numbers and booleans that are such, and names that are safe to use as keys."""

from __future__ import annotations

import pytest

from rankloom.collection import Collection
from rankloom.collection.names import LONGEST, check_name
from rankloom.collection.query import Query
from rankloom.engine import Engine

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
        ("suggest", {"n": "5"}, "n"),
        ("suggest", {"n": 101}, "n"),
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

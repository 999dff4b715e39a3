"""Explanations: they have the numbers and the options of the search that they explain, and parts keep their kinds."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from rankloom.collection import Collection
from rankloom.collection.query import Query
from rankloom.engine import Engine, SearchOptions
from tests.archives import like
from tests.shell import invoke

pytestmark = pytest.mark.slow

QUERY = {"text": "sea", "examples": [{"item": 5}]}
OPTIONS = ({}, {"diffusion": False}, {"method": "smooth"}, {"method": "visual_rank", "collapse": True})


def ask(web, path, **body):
    answer = web.post(f"/api/{path}", json={"query": QUERY, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def total(parts):
    return sum(part["value"] for part in parts)


def test_standing_is_that_of_the_columns_of_phi(own, own_folder):
    item = ask(own, "search", k=3)["hits"][2]["id"]
    found = ask(own, "explain", item=item, standing=True)["standing"]
    assert "standing" not in ask(own, "explain", item=item)
    with Collection(own_folder) as collection:
        engine = Engine(collection)
        phi = engine.features(Query.from_json(QUERY))
        dense, weights = np.asarray(phi), engine.weights
    assert found["compared"] == found["total"] == len(dense) - 1
    groups = {group["name"]: group for group in found["groups"]}
    assert {"text", "words.map"} <= {*groups}  # the fast preset has both
    for name, group in groups.items():
        columns = [place for place, expert in enumerate(phi.names) if expert == name or expert.startswith(f"{name}.")]
        values = dense[:, columns].mean(axis=1)
        assert group["value"] == pytest.approx(values[item - 1], rel=1e-5)
        others = np.delete(values, item - 1)
        near = np.mean(abs(others - values[item - 1]) < 1e-6)  # rounding may put these on either side
        assert abs(group["below"] - np.mean(others < values[item - 1])) <= near + 1e-9
        assert (sum(group["counts"]), len(group["counts"])) == (len(others), 20)
        assert group["low"] <= group["value"] <= group["high"]
        assert group["weight"] == pytest.approx(sum(weights.get(phi.names[place], 0.0) for place in columns))
    sizes = [abs(group["weight"]) for group in found["groups"]]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_explain_and_compare_have_the_options_of_the_search(own, options, marked):
    if marked:
        ask(own, "feedback", marks=[{"item": 9, "grade": 1}, {"item": 3, "grade": 0}])
    hits = ask(own, "search", k=30, explain=True, **options)["hits"]
    for hit in random.Random(0).sample(hits, 4):
        found = ask(own, "explain", item=hit["id"], **options)
        assert found["score"] == pytest.approx(hit["score"], abs=1e-5)
        assert total(found["why"]) == pytest.approx(hit["score"], abs=1e-5)
        assert {part["name"] for part in found["why"]} == {part["name"] for part in hit["why"]}
    a, b = hits[2], hits[7]
    found = ask(own, "compare", a=a["id"], b=b["id"], **options)
    assert found["difference"] == pytest.approx(a["score"] - b["score"], abs=1e-5)
    assert total(found["why"]) == pytest.approx(a["score"] - b["score"], abs=1e-5)


def test_compare_in_the_shell_has_the_options_of_the_search(own_folder):
    with Collection(own_folder) as collection:
        engine = Engine(collection)
        engine.feedback(like(5), [(9, 1.0), (3, 0.0)])
        for words, options in (
            (["--no-marks"], {"feedback": False}),
            (["--no-diffusion"], {"diffusion": False}),
            (["--method", "smooth"], {"method": "smooth"}),
        ):
            hits = engine.search(like(5), 20, SearchOptions(**options))
            arguments = ["search", "--item", "5", "-c", str(own_folder), "--json", *words]
            ran = invoke(*arguments, "--above", str(hits[1].id), str(hits[6].id))
            assert json.loads(ran.stdout)["difference"] == pytest.approx(hits[1].score - hits[6].score, abs=1e-5)


def test_parts_keep_their_kinds(own):
    hits = ask(own, "search", k=30)["hits"]
    ask(own, "feedback", marks=[{"item": hits[4]["id"], "grade": 1}, {"item": hits[9]["id"], "grade": 0}])
    ask(own, "prefer", better=hits[20]["id"], worse=hits[0]["id"])
    kinds = {}
    for item in (hits[4]["id"], hits[9]["id"], hits[20]["id"], hits[0]["id"]):
        for part in ask(own, "explain", item=item)["why"]:
            kinds[part["name"].rstrip("0123456789")] = part["kind"]
    for hit in ask(own, "search", k=10, explain=True, method="smooth")["hits"]:
        kinds |= {part["name"]: part["kind"] for part in hit["why"] if part["name"] == "smooth"}
    assert kinds["preferred"] == "mark"
    assert kinds["marked right"] == kinds["marked wrong"] == kinds["all marks"] == "mark"
    assert kinds["like the examples"] == "example"
    assert kinds["like item "] == kinds["unlike item "] == "mark"
    assert kinds["neighbour "] == "neighbour"
    assert kinds["text.bm"] == "text"
    assert kinds["smooth"] == "method"
    assert "other" not in kinds.values()


def test_an_item_that_there_is_not(own):
    assert own.post("/api/explain", json={"query": QUERY, "item": 9999}).json() == {"error": "there is no item 9999"}
    answer = own.post("/api/compare", json={"query": QUERY, "a": 1, "b": 9999})
    assert answer.status_code == 404

"""The server: what it answers, what it refuses, and that no answer gives anything away."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2 as httpx
import pytest
from PIL import Image

from rankloom.collection import Collection, Mark, add_marks
from rankloom.collection.profiles import profiles
from rankloom.collection.query import Query
from rankloom.engine import Engine
from rankloom.server import ServerSettings
from rankloom.server.guard import HEADERS, READING
from rankloom.server.schemas import HitModel, SearchRequest, SearchResponse
from rankloom.server.settings import Rate
from tests.serving import HEADER, UNLIMITED, Served, client, copied, ok, picture, refused, sample
from tests.shell import invoke
from tests.waiting import wait_until

TOKEN = "a-token-that-is-long-enough"
WORDS = {"text": "lighthouse"}


def search(web, query=WORDS, **options):
    return ok(web.post("/api/search", json={"query": query, **options}))


# Searching -----------------------------------------------------------------------------------------------------------


def test_search_by_words(web):
    found = search(web)
    assert found["total"] >= len(found["hits"]) > 0
    first = found["hits"][0]
    assert [hit["rank"] for hit in found["hits"]] == [*range(1, len(found["hits"]) + 1)]
    assert {
        "id",
        "name",
        "folder",
        "score",
        "mark",
        "kind",
        "start",
        "end",
        "taken",
        "caption",
        "width",
        "height",
    } <= set(first)
    assert any("lighthouse" in (hit["caption"] or "").lower() for hit in found["hits"])
    assert first["folder"].startswith("pictures")
    assert str(sample()) not in json.dumps(found)


def test_what_is_written_by_hand_is_what_the_models_say(own):
    ok(own.post("/api/feedback", json={"query": WORDS, "marks": [{"item": 1}, {"item": 2, "grade": 0.5}]}))
    context, user = own.app.state.context, ""
    example = {"examples": [{"item": 3}]}
    fields = ("total", "cutoff", "likely", "diffused", "marks", "learning", "literal")
    for query, options in (
        (WORDS, {"explain": True, "collapse": True}),
        (example, {}),
        (example, {"method": "smooth", "diversity": 0.5, "explain": True}),
        ({"filters": {"kind": "shot"}}, {"explain": True}),
    ):
        found = SearchResponse.model_validate_json(own.post("/api/search", json={"query": query, **options}).content)
        asked = SearchRequest.model_validate({"query": query, **options})
        results = context.engine.search(context.query(asked.query), asked.k, asked.options(user))
        ids = [hit.id for hit in results]
        details, matched = context.details(ids), context.matched(ids, asked.query.text)
        assert found.hits == [
            HitModel(
                rank=hit.rank, score=hit.score, mark=hit.mark, literal=hit.literal, contradicted=hit.contradicted,
                why=None if hit.why is None else [part._asdict() for part in hit.why.largest()],
                matched=matched.get(hit.id), **details[hit.id],
            )
            for hit in results
        ] != []  # fmt: skip
        assert [getattr(found, name) for name in fields] == [getattr(results, name) for name in fields]


def test_pages_of_one_order(web):
    query = {"examples": [{"item": 5}]}
    whole = [hit["id"] for hit in search(web, query, k=60)["hits"]]
    parts = [hit["id"] for start in (0, 20, 40) for hit in search(web, query, k=20, offset=start)["hits"]]
    assert whole == parts


def test_explanations_sum_to_the_score(web):
    query = {"text": "sea", "examples": [{"item": 3}, {"item": 9, "weight": -0.5}]}
    for hit in search(web, query, k=5, explain=True)["hits"]:
        assert sum(part["value"] for part in hit["why"]) == pytest.approx(hit["score"], abs=1e-6)
        found = ok(web.post("/api/explain", json={"query": query, "item": hit["id"]}))
        assert found["score"] == pytest.approx(hit["score"], abs=1e-6)
        assert sum(part["value"] for part in found["why"]) == pytest.approx(found["score"], abs=1e-6)
        assert {part["kind"] for part in found["why"]} >= {"expert", "neighbour"}


def test_comparison_sums_to_the_difference(web):
    query = {"examples": [{"item": 3}]}
    a, b = search(web, query, k=2)["hits"]
    found = ok(web.post("/api/compare", json={"query": query, "a": a["id"], "b": b["id"]}))
    assert found["difference"] == pytest.approx(a["score"] - b["score"], abs=1e-6)
    assert sum(part["value"] for part in found["why"]) == pytest.approx(found["difference"], abs=1e-6)


def test_filters(web):
    folders = ok(web.get("/api/collection"))["folders"]
    inner = next(name for name in folders if name.startswith("pictures/") and name != "pictures/videos")
    query = {"examples": [{"item": 3}], "filters": {"folder": inner, "kind": "picture"}}
    hits = search(web, query)["hits"]
    assert hits
    assert {hit["folder"] for hit in hits} == {inner}
    shots = search(web, {"examples": [{"item": 3}], "filters": {"kind": "shot"}})["hits"]
    assert {hit["kind"] for hit in shots} == {"shot"}
    dated = search(web, {"examples": [{"item": 3}], "filters": {"after": "2018", "before": "2020-06-01"}})["hits"]
    assert all("2018" <= hit["taken"] < "2020-06-01" for hit in dated)


@pytest.mark.parametrize(
    "label", ["/etc", "pictures/../../etc", "..", "nowhere", "pictures/%2e%2e", "pictures//", "\x00"]
)
def test_a_folder_that_is_not_in_the_collection(web, label):
    refused(web.post("/api/search", json={"query": {"text": "sea", "filters": {"folder": label}}}), 422)


@pytest.mark.parametrize(
    "query",
    [{}, {"text": "  "}, {"examples": [{}]}, {"examples": [{"item": 1, "picture": "x"}]},
     {"examples": [{"item": 10**6}]}, {"examples": [{"item": 10**30}]}, {"examples": [{"picture": "unknown"}]},
     {"examples": [{"item": 1, "path": "/etc/passwd"}]},
     {"text": "x" * 5000}, {"concept": "none of that name"}, {"text": "a", "filters": {"kind": "song"}}, {"text": 5}],
)  # fmt: skip
def test_queries_that_make_no_sense(web, query):
    refused(web.post("/api/search", json={"query": query}), 422)


# Marks ---------------------------------------------------------------------------------------------------------------


def test_marks_are_followed_and_taken_back(own):
    query = {"examples": [{"item": 4}]}
    before = search(own, query, k=30)["hits"]
    wrong, right = before[1]["id"], before[7]["id"]
    body = {
        "query": query,
        "marks": [{"item": right, "grade": 1}, {"item": wrong, "grade": 0}],
        "shown": [h["id"] for h in before],
    }
    given = ok(own.post("/api/feedback", json=body))
    assert given["marks"] == 2
    after = search(own, query, k=200)
    ranks = {hit["id"]: hit["rank"] for hit in after["hits"]}
    assert after["marks"] == 2
    assert ranks[right] < ranks[wrong]
    assert next(hit["mark"] for hit in after["hits"] if hit["id"] == right) == 1
    standing = ok(own.post("/api/marks", json={"query": query}))
    assert [(one["item"], one["grade"]) for one in standing] == [(wrong, 0.0), (right, 1.0)]
    assert ok(own.post("/api/undo", json={"query": query})) == {"undone": given["ids"][1], "item": wrong, "marks": 1}
    assert ok(own.post("/api/undo", json={"mark": given["ids"][0]}))["marks"] == 0
    again = search(own, query, k=30)["hits"]
    assert [hit["id"] for hit in again] == [hit["id"] for hit in before]
    assert ok(own.post("/api/undo", json={"query": query}))["undone"] is None


def test_all_browsers_and_the_shell_share_what_is_marked_and_saved(own, own_folder):
    first, second = (hit["id"] for hit in search(own)["hits"][:2])
    number = ok(own.post("/api/feedback", json={"query": WORDS, "marks": [{"item": first}]}))["ids"][0]
    ok(own.post("/api/saved", json={"name": "towers", "query": WORDS}))
    own.cookies.clear()  # another browser
    assert {hit["id"]: hit["mark"] for hit in search(own)["hits"]}[first] == 1.0
    assert [mark["id"] for mark in ok(own.post("/api/marks", json={}))] == [number]
    assert [one["name"] for one in ok(own.get("/api/saved"))] == ["towers"]
    with Collection(own_folder) as shell:
        Engine(shell).feedback(Query(WORDS["text"]), [Mark(second, 0.0)])
        assert [mark.user for mark in Engine(shell).marks()] == ["", ""]
    assert [mark["item"] for mark in ok(own.post("/api/marks", json={"query": WORDS}))] == [second, first]
    assert ok(own.post("/api/undo", json={"mark": number}))["undone"] == number


def test_profiles_have_their_own_marks_and_searches(own_folder):
    with client(own_folder, profiles=True) as own:
        mine = search(own)["hits"][0]["id"]
        number = ok(own.post("/api/feedback", json={"query": WORDS, "marks": [{"item": mine}]}))["ids"][0]
        ok(own.post("/api/saved", json={"name": "towers", "query": WORDS}))
        cookies = dict(own.cookies)
        own.cookies.clear()
        assert ok(own.post("/api/marks", json={})) == ok(own.get("/api/saved")) == []
        refused(own.post("/api/undo", json={"mark": number}), 404)
        assert search(own)["hits"][0]["mark"] is None
        own.cookies.clear()
        own.cookies.update(cookies)
        assert len(ok(own.post("/api/marks", json={}))) == len(ok(own.get("/api/saved"))) == 1
        with Collection(own_folder) as shell:
            assert profiles(shell) == [(cookies["rankloom_user"], 1, 1)]


def test_prefer(own):
    query = {"examples": [{"item": 4}]}
    hits = search(own, query, k=10)["hits"]
    assert (
        ok(own.post("/api/prefer", json={"query": query, "better": hits[5]["id"], "worse": hits[0]["id"]}))["marks"]
        == 1
    )


def test_a_mark_of_nothing(own):
    refused(own.post("/api/feedback", json={"query": WORDS, "marks": [{"item": 99999}]}), 404)
    refused(own.post("/api/feedback", json={"query": WORDS, "marks": []}), 422)
    refused(own.post("/api/feedback", json={"query": WORDS, "marks": [{"item": 1, "grade": -1}]}), 422)
    assert ok(own.get("/api/collection"))["marks"] == 0


# Learning ------------------------------------------------------------------------------------------------------------


def test_weights_are_set_locked_and_reset(own):
    start = ok(own.get("/api/experts"))
    assert start["weights"] == pytest.approx(start["start"])
    name = "semantic.l2"
    changed = ok(own.post("/api/experts", json={"weights": {name: 0.25}}))
    assert changed["weights"][name] == 0.25
    assert name in changed["locked"]
    assert ok(own.post("/api/experts", json={"lock": {name: False, "hog.l2": True}}))["locked"] == ["hog.l2"]
    assert ok(own.post("/api/experts", json={"reset": True}))["locked"] == []
    assert "nothing.l2" in refused(own.post("/api/experts", json={"weights": {"nothing.l2": 1}}), 422)


def test_models_are_trained_and_used(own):
    for item in range(1, 8):
        query = {"examples": [{"item": item}]}
        hits = search(own, query, k=8)["hits"]
        marks = [{"item": hit["id"], "grade": int(hit["rank"] % 3 > 0)} for hit in hits]
        ok(own.post("/api/feedback", json={"query": query, "marks": marks}))
    ok(own.post("/api/models/train", json={"ranker": "rlr"}))
    job = wait_for(own, "train")
    assert job["error"] is None
    models = ok(own.get("/api/models"))
    assert [one["ranker"] for one in models] == ["rlr"]
    used = ok(own.post("/api/models/use", json={"id": models[0]["id"]}))["models"]
    assert used[0]["status"] == "in use"
    mixed = ok(own.post("/api/interleave", json={"query": WORDS, "k": 20}))  # with the weights that follow marks
    assert len({hit["id"] for hit in mixed["hits"]}) == mixed["total"] == 20
    assert ok(own.get("/api/models/preferences"))[0]["wins"] == 0
    marks = [{"item": hit["id"], "grade": 1} for hit in mixed["hits"][:3]]
    ok(own.post("/api/feedback", json={"query": WORDS, "marks": marks}))
    (preferred,) = ok(own.get("/api/models/preferences"))
    assert (preferred["first"], preferred["second"], preferred["verdict"]) == (models[0]["id"], None, "undecided")
    assert preferred["wins"] + preferred["losses"] + preferred["ties"] == 1
    same = {"query": WORDS, "against": models[0]["id"]}
    assert "itself" in refused(own.post("/api/interleave", json=same), 422)
    assert ok(own.post("/api/models/use", json={}))["models"]
    refused(own.post("/api/models/use", json={"id": 77}), 422)
    refused(own.post("/api/models/train", json={"ranker": "oracle"}), 422)
    curve = ok(own.get("/api/curve"))
    assert len(curve) == 7
    assert all(0 <= one[kind] <= 1 for one in curve for kind in ("start", "learned"))
    assert all("user" not in one for one in curve)
    assert [*curve[0]["query"]["examples"][0]] == ["item"]


def wait_for(web, name):
    def ended():
        return [one for one in ok(web.get("/api/collection"))["jobs"] if one["name"] == name]

    return wait_until(ended, pause=0.1)[0]


def test_training_without_marks_says_what_to_do(own):
    ok(own.post("/api/models/train", json={}))
    assert "mark" in wait_for(own, "train")["error"]


def test_concepts(own):
    hits = search(own)["hits"][:2]
    marks = [{"item": hit["id"], "grade": 1} for hit in hits] + [{"item": item, "grade": 0} for item in (150, 151, 152)]
    refused(own.post("/api/concepts", json={"name": "beacon", "query": WORDS}), 422)
    ok(own.post("/api/feedback", json={"query": WORDS, "marks": marks}))
    made = ok(own.post("/api/concepts", json={"name": "beacon", "query": WORDS}))
    assert made["name"] == "beacon"
    assert made["n_positive"] == 2
    assert [one["name"] for one in ok(own.get("/api/concepts"))] == ["beacon"]
    ranked = [hit["id"] for hit in search(own, {"concept": "beacon"}, k=10)["hits"]]
    assert {hit["id"] for hit in hits} & set(ranked)
    ok(own.delete("/api/concepts/beacon"))
    assert ok(own.get("/api/concepts")) == []
    refused(own.delete("/api/concepts/beacon"), 404)


def test_saved_searches(own):
    folder = next(name for name in ok(own.get("/api/collection"))["folders"] if "/" in name)
    query = {"text": "sea", "examples": [{"item": 3, "weight": -1.0}], "filters": {"folder": folder}}
    saved = ok(own.post("/api/saved", json={"name": "by the sea 2", "query": query}))
    assert saved[0]["query"] == query
    assert search(own, saved[0]["query"])["total"] >= 0
    assert ok(own.get("/api/saved"))[0]["name"] == "by the sea 2"
    assert ok(own.delete("/api/saved/by%20the%20sea%202")) == []
    refused(own.delete("/api/saved/nothing"), 404)


def test_export(own):
    hits = search(own)["hits"]
    ok(own.post("/api/feedback", json={"query": WORDS, "marks": [{"item": hits[0]["id"]}]}))
    for what in ("results", "marks"):
        body = {"what": what, "query": WORDS}
        found = own.post("/api/export", json={**body, "format": "json"})
        assert "attachment" in found.headers["content-disposition"]
        assert found.json()
        rows = [*csv.DictReader(io.StringIO(own.post("/api/export", json={**body, "format": "csv"}).text))]
        lines = own.post("/api/export", json={**body, "format": "trec"}).text.splitlines()
        assert len(rows) == len(lines) > 0
        assert {len(line.split()) for line in lines} == {6 if what == "results" else 4}
    refused(own.post("/api/export", json={"what": "results"}), 422)


def test_exports_and_suggestions_say_of_hits_what_a_search_says(own_folder):
    """Also whether other marks contradict a hit's own, and which words were read in it."""
    with Collection(own_folder) as collection, collection.transaction() as db:
        db.execute("INSERT INTO texts (item, path, source, text) VALUES (3, '', 'ocr', 'Harbour Road')")
    with client(own_folder) as web:
        web.get("/")
        query = {"examples": [{"item": 5}], "text": "harbour"}
        order = [hit["id"] for hit in ok(web.post("/api/search", json={"query": query, "k": 1000}))["hits"]]
        slip = order[4]
        marks = [{"item": item, "grade": int(item != slip)} for item in order[1:13]]
        ok(
            web.post(
                "/api/feedback", json={"query": query, "marks": marks + [{"item": n, "grade": 0} for n in order[-12:]]}
            )
        )
        hits = ok(web.post("/api/search", json={"query": query, "k": 1000}))["hits"]
        assert [hit["id"] for hit in hits if hit["contradicted"]] == [slip]
        assert {hit["id"]: hit["matched"] for hit in hits if hit["matched"]} == {
            3: {"source": "ocr", "text": "Harbour Road"}
        }
        body = {"what": "results", "query": query, "k": 1000}
        exported = ok(web.post("/api/export", json={**body, "format": "json"}))["results"]
        assert exported == [{name: value for name, value in hit.items() if name != "why"} for hit in hits]
        rows = [*csv.DictReader(io.StringIO(web.post("/api/export", json={**body, "format": "csv"}).text))]
        assert [int(row["id"]) for row in rows if row["contradicted"] == "True"] == [slip]
        assert [row["matched"] for row in rows if row["matched"]] == ["Harbour Road"]
        album = ok(web.post("/api/albums", json={"name": "a", "query": query}))["id"]
        suggested = ok(web.get(f"/api/albums/{album}/suggestions"))
        known = {hit["id"]: hit for hit in hits}
        assert suggested
        for hit in suggested:
            assert {**hit, "rank": 0} == {**known[hit["id"]], "rank": 0}


# Pictures and files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
@pytest.mark.slow
def test_search_with_an_uploaded_picture(own, kind):
    sent = own.post("/api/upload", content=picture(kind=kind), headers={"Content-Type": f"image/{kind.lower()}"})
    key = ok(sent)["picture"]
    assert search(own, {"examples": [{"picture": key}]}, k=5)["hits"]
    thumbnail = own.get(f"/api/pictures/{key}/thumbnail")
    assert Image.open(io.BytesIO(thumbnail.content)).format == "JPEG"
    body = {"query": {"examples": [{"picture": key}]}, "marks": [{"item": 1}]}
    assert ok(own.post("/api/feedback", json=body))["marks"] == 1


def test_a_part_of_a_picture(own):
    headers = {"Content-Type": "image/png"}
    whole = ok(own.post("/api/upload", content=picture(), headers=headers))["picture"]
    part = ok(own.post("/api/upload?region=0,0,0.5,0.5", content=picture(), headers=headers))["picture"]
    assert whole != part
    for region in ("1,2,3", "0,0,2,2", "a,b,c,d", "nan,0,1,1", "0.5,0,0.5,1"):
        refused(own.post(f"/api/upload?region={region}", content=picture(), headers=headers), 422)
    for example in ({"picture": whole}, {"item": 3}):
        hits = [
            [(hit["id"], hit["score"]) for hit in search(own, {"examples": [{**example, **part}]}, k=20)["hits"]]
            for part in ({}, {"region": [0, 0, 0.5, 0.5]}, {"region": [0.5, 0.5, 1, 1]})
        ]
        assert hits[0] != hits[1] != hits[2]
    marked = {"query": {"examples": [{"item": 3, "region": [0, 0, 0.5, 0.5]}]}, "marks": [{"item": 1}]}
    assert len(ok(own.post("/api/feedback", json=marked))["ids"]) == 1
    assert [mark["item"] for mark in ok(own.post("/api/marks", json={"query": marked["query"]}))] == [1]
    assert ok(own.post("/api/marks", json={"query": {"examples": [{"item": 3}]}})) == []
    for region in ([0, 0, 1], [0.5, 0, 0.2, 1], [0, 0, 1, 2], ["0", 0, 1, 1]):
        body = {"query": {"examples": [{"item": 3, "region": region}]}}
        assert "region" in refused(own.post("/api/search", json=body), 422)


def test_items_and_thumbnails(web):
    item = search(web)["hits"][0]["id"]
    found = ok(web.get(f"/api/items/{item}"))
    assert found["files"][0]["folder"].startswith("pictures")
    assert {"text", "source"} == set(found["texts"][0])
    thumbnail = web.get(f"/api/items/{item}/thumbnail")
    assert thumbnail.headers["content-type"] == "image/jpeg"
    known = web.get(f"/api/items/{item}/thumbnail", headers={"If-None-Match": thumbnail.headers["etag"]})
    assert known.status_code == 304
    view = web.get(f"/api/items/{item}/view")
    assert Image.open(io.BytesIO(view.content)).size == (found["width"], found["height"])
    refused(web.get("/api/items/99999"), 404)
    refused(web.get("/api/items/99999/thumbnail"), 404)
    for number in ("0", "-1", "x", "9" * 40, "1.5"):
        refused(web.get(f"/api/items/{number}/file"), 422)


def test_parts_of_a_video(web):
    shot = search(web, {"examples": [{"item": 1}], "filters": {"kind": "shot"}})["hits"][0]
    address = f"/api/items/{shot['id']}/file"
    whole = web.get(address)
    assert whole.headers["content-type"] == "video/mp4"
    assert whole.headers["accept-ranges"] == "bytes"
    size = len(whole.content)
    part = web.get(address, headers={"Range": "bytes=10-19"})
    assert part.status_code == 206
    assert part.content == whole.content[10:20]
    assert part.headers["content-range"] == f"bytes 10-19/{size}"
    assert web.get(address, headers={"Range": "bytes=-5"}).content == whole.content[-5:]
    assert web.get(address, headers={"Range": f"bytes={size}-"}).status_code == 416
    several = web.get(address, headers={"Range": "bytes=0-1,4-5"})
    assert several.content == whole.content
    shots = ok(web.get(f"/api/items/{shot['id']}"))["shots"]
    assert shot["id"] in [one["id"] for one in shots]
    assert shots == sorted(shots, key=lambda one: one["start"])
    said = ok(web.get(f"/api/items/{shot['id']}"))["speech"]  # nobody speaks in it: its subtitles, a line a shot
    assert [line["start"] for line in said] == [one["start"] for one in shots]
    assert all(line["text"] for line in said)


# Collection ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_state_errors_and_retry(own):
    state = ok(own.get("/api/collection"))
    assert (state["pictures"], state["videos"], state["errors"]) == (156, 1, 1)
    assert state["neighbours"]
    assert all(one["share"] == 1 for one in state["descriptors"])
    assert ok(own.get("/api/errors"))[0]["name"] == "broken.jpg"
    ok(own.post("/api/errors/retry"))
    assert wait_for(own, "index")["error"] is None
    assert ok(own.get("/api/collection"))["errors"] == 1


def test_first_searches_find_something(web):
    found = ok(web.get("/api/examples"))
    assert 3 <= len(found["words"]) <= 8
    for one in found["words"]:
        assert search(web, {"text": one["text"]})["total"] > 0
    assert search(web, {"examples": [{"item": found["items"][0]}]})["hits"]


def test_health_and_metrics(web):
    assert ok(web.get("/api/health"))["status"] == "ok"
    search(web)
    text = web.get("/api/metrics").text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(values["rankloom_items"]) > 150
    assert float(values["rankloom_resident_bytes"]) > 1e7
    assert float(values['rankloom_requests_total{method="POST",route="/api/search",status="200"}']) >= 1


def test_the_page_and_its_files(web):
    page = web.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert not re.search(r"<script(?![^>]*src=)|style=|\son\w+=|<style", page.text)
    for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text):
        assert web.get(address).status_code == 200, address
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page.text)


def test_files_of_the_page_are_compressed_and_kept_by_browsers(web):
    page = web.get("/", headers={"Accept-Encoding": "gzip"})
    assert page.headers["content-encoding"] == "gzip"
    assert page.headers["cache-control"] == "no-cache"
    assert web.get("/", headers={"If-None-Match": page.headers["etag"]}).status_code == 304
    (address,) = re.findall(r'<script type="module" src="(/static/[0-9a-f]{16}/js/page.js)"', page.text)
    assert len(re.findall(r'rel="stylesheet"|<script', page.text)) == 2
    versioned, plain = web.get(address), web.get("/static/js/page.js", headers={"Accept-Encoding": "identity"})
    assert web.get("/static/js/main.js").text.startswith("// Begin")  # to look at
    assert versioned.content == plain.content
    assert versioned.headers["content-type"].startswith("text/javascript")
    assert "immutable" in versioned.headers["cache-control"]
    assert "content-encoding" not in plain.headers
    assert plain.headers["cache-control"] == "no-cache"
    for missing in ("/static/0123456789abcdef/js/main.js", "/static/js/types.d.ts", "/static/js", "/static/app.py"):
        assert web.get(missing).status_code == 404, missing
    assert web.post(address).status_code == 405


def test_the_page_comes_in_the_language_of_its_reader(web):
    def page(wanted="", cookie=""):
        headers = {"Accept-Language": wanted, "Cookie": cookie}
        answer = web.get("/", headers=headers)
        return answer.text, answer.headers["etag"]

    english, tag = page("ja")
    assert '<html lang="en">' in english
    assert "data-t" not in english.replace("data-theme", "")
    german, other = page("pt, de-AT;q=0.9, en;q=0.8")
    assert '<html lang="de">' in german
    assert re.search(r'<link rel="preload" as="fetch" crossorigin href="(/static/\w+/messages/de.json)">', german)
    assert ">Sammlung</button>" in german
    assert 'aria-label="Suchwörter"' in german
    assert "Words to search for" not in german
    assert other != tag
    assert page("de", "language=zh")[0].count('<html lang="zh">') == 1
    assert page("de", "language=../x; a=b")[0] == german
    assert {"Accept-Language", "Cookie"} <= set(web.get("/").headers["vary"].split(", "))
    for name in ("manifest.webmanifest", "icons/192.png", "messages/fr.json"):
        assert web.get(f"/static/{name}").headers["content-type"].split(";")[0] in (
            "application/manifest+json", "image/png", "application/json",
        )  # fmt: skip


def test_openapi_names_every_call(web):
    paths = ok(web.get("/api/openapi.json"))["paths"]
    expected = (
        "search interleave feedback prefer undo marks explain compare suggest upload experts collection errors "
        "errors/retry models models/train models/use curve saved concepts export health metrics items/{item} "
        "items/{item}/thumbnail items/{item}/file"
    )
    assert {f"/api/{name}" for name in expected.split()} <= set(paths)


# Who may ask ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address", ["/", "/static/base.css", "/api/health", "/api/items/99999", "/nothing", "/api/search"]
)
def test_every_answer_has_the_headers(web, address):
    found = web.get(address)
    for name, value in HEADERS.items():
        assert found.headers[name] == value
    assert "unsafe" not in found.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in found.headers["Content-Security-Policy"]
    assert not [name for name in found.headers if name.lower().startswith("access-control")]
    assert "server" not in found.headers


def test_cookies_stay_here(folder):
    with client(folder) as web:
        cookie = web.get("/").headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert "set-cookie" not in web.get("/").headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.evil.example", ""]
)
def test_another_name_is_refused(web, host):
    refused(web.get("/api/collection", headers={"Host": host}), 421)


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1:8765", "[::1]:8765", "[::1]", "192.168.1.5", "LOCALHOST"])
def test_own_names_are_answered(web, host):
    ok(web.get("/api/health", headers={"Host": host}))


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost:1"}, {"Origin": "https://localhost.evil"},
     {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}],
)  # fmt: skip
def test_other_sites_are_refused(web, headers):
    refused(web.post("/api/undo", json={}, headers=headers), 403)


def test_a_form_of_another_site_is_refused(folder):
    with client(folder, headers={}) as web:
        refused(web.post("/api/feedback", json={"query": WORDS, "marks": [{"item": 1}]}), 403)
        refused(web.post("/api/undo", data={"a": "b"}), 403)
        refused(web.get("/api/items/1/file", headers={"Sec-Fetch-Site": "cross-site"}), 403)
        assert web.options("/api/search", headers={"Origin": "http://evil.example"}).status_code == 405


@pytest.mark.slow
def test_the_token(folder):
    with client(folder, token=TOKEN) as web:
        assert ok(web.get("/api/health"))
        assert web.get("/").status_code == 200
        assert not ok(web.get("/api/session"))["authorized"]
        for method, path in (
            ("GET", "collection"),
            ("GET", "metrics"),
            ("GET", "items/1/thumbnail"),
            ("POST", "search"),
            ("GET", "openapi.json"),
        ):
            refused(web.request(method, f"/api/{path}"), 401)
        for wrong in ("", TOKEN[:-1], TOKEN + "x", "ü" * 20):
            refused(web.post("/api/session", json={"token": wrong}), 401)
            header = f"Bearer {wrong}".encode()
            refused(web.get("/api/collection", headers={"Authorization": header}), 401)
        assert ok(web.get("/api/collection", headers={"Authorization": f"Bearer {TOKEN}"}))
        given = web.post("/api/session", json={"token": TOKEN})
        assert TOKEN not in given.headers["set-cookie"]
        assert given.headers["set-cookie"].count("SameSite=Strict") == 2
        assert ok(web.get("/api/session"))["authorized"]
        assert search(web)["hits"]
        session = web.cookies["rankloom_session"]
        web.cookies.clear()  # the session is bound to its user
        web.cookies.update({"rankloom_user": "0" * 32, "rankloom_session": session})
        refused(web.get("/api/collection"), 401)


@pytest.mark.slow
def test_guessing_the_token_is_slow(folder):
    with client(folder, token=TOKEN, limits={"token": Rate(0.001, 3)}) as web:
        codes = [web.post("/api/session", json={"token": f"guess {i}"}).status_code for i in range(5)]
    assert codes == [401, 401, 401, 429, 429]


def test_expensive_calls_are_limited(folder):
    with client(folder, limits={"search": Rate(0.001, 2)}) as web:
        web.get("/")
        codes = [web.post("/api/search", json={"query": WORDS}) for _ in range(3)]
        assert [one.status_code for one in codes] == [200, 200, 429]
        assert int(codes[-1].headers["Retry-After"]) >= 1
        assert ok(web.get("/api/health"))


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "::", "example.org"])
def test_others_need_a_token(host, folder):
    with pytest.raises(ValueError, match="token"):
        ServerSettings(host=host).check()
    ran = invoke("serve", "-c", str(folder), "--host", host, env={"RANKLOOM_TOKEN": ""})
    assert ran.exit_code == 1
    assert len(ran.output.strip().splitlines()) == 1
    assert "--token-file" in ran.output


def test_a_port_in_use_is_told_in_one_line(folder):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = invoke("serve", "-c", str(folder), "--port", str(taken.getsockname()[1]))
    assert ran.exit_code == 1
    assert "is in use" in ran.output
    assert len(ran.output.strip().splitlines()) == 1


def test_a_token_must_be_long(folder, tmp_path):
    (tmp_path / "token").write_text("short\n")
    ran = invoke("serve", "-c", str(folder), "--token-file", str(tmp_path / "token"))
    assert ran.exit_code == 1
    assert "16" in ran.output
    ServerSettings(host="0.0.0.0", token=TOKEN).check()


def test_read_only_refuses_every_write(tmp_path):
    folder = copied(tmp_path / "c")
    with client(folder, read_only=True) as web:
        for path, methods in ok(web.get("/api/openapi.json"))["paths"].items():
            for method in set(methods) - {"get"}:
                address = path.replace("{name}", "x").replace("{item}", "1").replace("{key}", "x")
                status = web.request(method.upper(), address, json={}).status_code
                assert (status != 403) == (path in READING), (method, path, status)
        assert search(web)["hits"]
        assert ok(web.get("/api/session"))["read_only"]
        refused(web.post("/api/upload", content=picture(), headers={"Content-Type": "image/png"}), 403)
    with Collection(folder) as collection:
        assert collection.info().marks == 0
        assert collection.db.execute("SELECT count(*) FROM pictures").fetchone() == (0,)


@pytest.mark.slow
def test_large_requests_are_refused(folder):
    with client(folder, upload_bytes=10_000, upload_pixels=10_000) as web:
        headers = {"Content-Type": "image/png"}
        refused(web.post("/api/upload", content=picture(300), headers=headers), 413)
        refused(web.post("/api/upload", content=picture(120, "JPEG", quality=5), headers=headers), 422)
        refused(web.post("/api/search", content=b" " * 1_000_001), 413)
        refused(web.post("/api/upload", content=iter([b"a", b"b"]), headers=headers), 411)
        refused(web.post("/api/upload", content=b"x", headers={"Content-Type": "text/plain"}), 415)


class Failing(Engine):
    """An engine with faults."""

    def search(self, *args, **kwargs):
        raise RuntimeError("the secret is in /home/somebody/secret.txt")

    def explain(self, *args, **kwargs):
        return int("the secret is no number")


@pytest.mark.slow
def test_failures_tell_nothing(folder, caplog):
    with client(folder, engine=Failing) as web:
        line = refused(web.post("/api/search", json={"query": WORDS}), 500)
        assert "secret" not in line
        assert "secret" not in refused(web.post("/api/explain", json={"query": WORDS, "item": 1}), 500)
    assert line.split()[-1] in caplog.text
    assert "secret" in caplog.text


# Many at once --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_searches_do_not_wait_for_a_writer(own, tmp_path):
    search(own)
    writer = sqlite3.connect(tmp_path / "c" / "rankloom.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT OR REPLACE INTO meta VALUES ('busy', '1')")
    try:
        with ThreadPoolExecutor(9) as pool:
            mark = pool.submit(own.post, "/api/feedback", json={"query": WORDS, "marks": [{"item": 1}]})
            found = [*pool.map(lambda item: search(own, {"examples": [{"item": item}]}, k=5)["total"], range(1, 25))]
            assert not mark.done()
            writer.execute("ROLLBACK")
            assert ok(mark.result())["marks"] == 1
    finally:
        writer.close()
    assert len(found) == 24


def test_too_many_searches_are_told_to_wait(folder):
    class Slow(Engine):
        gate = threading.Event()

        def search(self, *args, **kwargs):
            self.gate.wait(300)
            return super().search(*args, **kwargs)

    with client(folder, engine=Slow, searches=1, waiting=1) as web, ThreadPoolExecutor(2) as pool:
        slow = [pool.submit(web.post, "/api/search", json={"query": WORDS}) for _ in range(2)]
        wait_until(lambda: "rankloom_in_flight 3" in web.get("/api/metrics").text)
        assert "moment" in refused(web.post("/api/explain", json={"query": WORDS, "item": 1}), 503)
        assert ok(web.get("/api/health"))
        Slow.gate.set()
        assert [one.result().status_code for one in slow] == [200, 200]


@pytest.mark.slow
def test_a_stop_finishes_writes(tmp_path):
    folder = copied(tmp_path / "c")
    with Collection(folder) as collection:
        add_marks(collection, "boat", [Mark(1)], "a phone")
    served = Served(folder)
    told: list[int] = []

    def mark(user):
        with httpx.Client(base_url=served.address, headers=HEADER, timeout=300) as web:
            try:
                for item in range(1, 200):
                    answer = web.post("/api/feedback", json={"query": WORDS, "marks": [{"item": item % 150 + 1}]})
                    if answer.status_code == 200:
                        told.extend(answer.json()["ids"])
            except httpx.HTTPError:
                pass  # it has stopped

    threads = [threading.Thread(target=mark, args=(user,)) for user in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(told) >= 20)
    assert served.stop() == 0
    for thread in threads:
        thread.join()
    with Collection(folder) as collection:
        stored = {row[0] for row in collection.db.execute("SELECT id FROM qrels")}
    assert set(told) <= stored
    line = re.compile(r"^\S+ \S+ 127\.0\.0\.1 POST /api/feedback 200 [\d.]+ ms$")
    assert sum(bool(line.match(one.strip())) for one in served.log) >= len(told)
    assert [one for one in served.log if one.startswith("1 marks and 0 saved searches of other profiles (a phone) are")]


def test_limits_are_generous_by_default():
    assert ServerSettings().limits["search"].burst >= 100
    assert set(UNLIMITED) == set(ServerSettings().limits)

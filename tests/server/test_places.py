"""The map in the API: groups of items, filters by rectangles, the place of an item."""

from __future__ import annotations

import pytest

from tests.serving import client, ok, refused


@pytest.fixture
def web(own_folder):
    """A client of a collection of which three pictures were taken somewhere."""
    with client(own_folder) as opened:
        collection = opened.app.state.context.collection
        with collection.transaction() as db:
            for item, place in ((1, (48.8577, 2.295)), (2, (48.8, 2.3)), (3, (-17.0, 179.5))):
                query = "UPDATE positions SET latitude = ?, longitude = ? WHERE hash = "
                db.execute(f"{query}(SELECT hash FROM items WHERE id = ?)", (*place, item))
        yield opened


def test_groups_filters_and_the_place_of_an_item(web):
    whole = ok(web.get("/api/places", params={"columns": 4, "rows": 4}))
    assert (whole["total"], whole["extent"]) == (3, "2.295,-17,179.5,48.8577")
    assert [(one["size"], one["item"] in (1, 2, 3)) for one in whole["clusters"]] == [(2, True), (1, True)]
    within = whole["clusters"][0]["within"]
    listed = ok(web.get("/api/browse", params={"within": within}))
    assert sorted(hit["id"] for hit in listed["hits"]) == [1, 2]
    body = {"query": {"examples": [{"item": 3}], "filters": {"within": "170,-20,-170,-10"}}}
    assert [hit["id"] for hit in ok(web.post("/api/search", json=body))["hits"]] == [3]
    assert ok(web.get("/api/places", params={"kind": "shot"}))["total"] == 0
    assert sum(one["size"] for one in ok(web.get("/api/places", params={"view": "0,40,10,50"}))["clusters"]) == 2
    assert ok(web.get("/api/items/1"))["place"] == {"latitude": 48.8577, "longitude": 2.295}
    assert ok(web.get("/api/items/9"))["place"] is None
    ok(web.post("/api/saved", json={"name": "Paris", "query": {"text": "boat", "filters": {"within": within}}}))
    assert ok(web.get("/api/saved"))[0]["query"]["filters"] == {"within": within}
    for wrong in ("", "1,2,3", "0,50,1,40", "a,b,c,d", "nan,0,1,1", "0,0,inf,1", "1e9,0,1,1"):
        refused(web.get("/api/places", params={"view": wrong}), 422)
        refused(web.get("/api/browse", params={"within": wrong}), 422)
    refused(web.get("/api/places", params={"columns": 99}), 422)

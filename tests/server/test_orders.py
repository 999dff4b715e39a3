"""The most uncertain results first, where the answer of a search offers it; refused elsewhere."""

from tests.serving import ok, refused

SEA = {"query": {"text": "sea"}}


def test_the_most_uncertain_first_once_marks_say_what_is_right_and_wrong(own):
    first = ok(own.post("/api/search", json={**SEA, "k": 9}))
    assert first["orders"] == ["score", "newest", "oldest", "name"]
    why = refused(own.post("/api/search", json={**SEA, "order": "uncertain"}), 422)
    assert "mark one result right and one wrong" in why
    right, wrong = (hit["id"] for hit in first["hits"][:9:8])
    ok(own.post("/api/feedback", json={**SEA, "marks": [{"item": right}, {"item": wrong, "grade": 0}]}))
    assert ok(own.post("/api/search", json=SEA))["orders"][-1] == "uncertain"
    doubtful = ok(own.post("/api/search", json={**SEA, "order": "uncertain"}))
    assert doubtful["total"] == len(doubtful["hits"]) > 20
    assert not {right, wrong} & {hit["id"] for hit in doubtful["hits"]}
    refused(own.get("/api/browse?sort=uncertain"), 422)

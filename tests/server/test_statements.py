"""What a page of hits costs in the database, however many hits it has."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from rankloom.collection import Collection
from rankloom.collection.overview import LONGEST_CAPTION, item_summaries
from tests.serving import client, copied, ok, sample

SHOWN = 3  # whether anything has changed, the folders that were indexed, and the items


@contextmanager
def counted(collection):
    """The statements that the connections of a collection run, those that are open now."""
    statements = []
    for connection in collection._connections:
        connection.set_trace_callback(statements.append)
    yield statements
    for connection in collection._connections:
        connection.set_trace_callback(None)


def test_a_page_costs_the_same_for_any_number_of_hits(folder):
    with client(folder, searches=1) as web:
        context = web.app.state.context

        def statements(k):
            body = {"query": {"examples": [{"item": 3}]}, "k": k}
            ok(web.post("/api/search", json=body))  # threads have their connections, and the query is known
            with counted(context.collection) as run:
                assert len(ok(web.post("/api/search", json=body))["hits"]) == k
            return run

        few, many = statements(2), statements(150)
        assert len(few) == len(many) < 30


def test_what_is_shown_of_hits_is_read_at_once_and_only_if_something_has_changed(tmp_path):
    with client(copied(tmp_path / "c")) as web:
        context = web.app.state.context
        context.details([1])
        for ids in ([2], [*range(1, 150)]):
            for statements in (SHOWN, 1):  # what is known is only asked for changes
                with counted(context.collection) as run:
                    assert len(context.details(ids)) == len(ids)
                assert len(run) == statements, run
        with context.collection.transaction() as db:
            db.execute("UPDATE texts SET text = 'another text' WHERE item = 1")
        assert context.details([1])[1]["caption"].startswith("another text")


def test_captions(tmp_path):
    with Collection(copied(tmp_path / "c")) as collection:
        with collection.transaction() as db:
            db.execute("DELETE FROM texts")
            db.executemany(
                "INSERT INTO texts (item, path, source, text) VALUES (?, '', ?, ?)",
                [(1, "tag", "red"), (1, "tag", "blue"), (1, "name", "no"), (2, "subtitle", "said"), (2, "tag", "sea"),
                 (2, "embedded", "first"), (2, "embedded", "second"), (3, "sidecar", "beside"),
                 (3, "caption", "x" * 999), (4, "folder", "no")],
            )  # fmt: skip
        captions = {item: summary.caption for item, summary in item_summaries(collection, [4, 3, 2, 1, 99_999]).items()}
    assert captions == {1: None, 2: "first", 3: "x" * LONGEST_CAPTION, 4: None}


@pytest.mark.parametrize("item", [1, 150])
def test_a_summary_is_the_item(item):
    with Collection(sample() / "c") as collection:
        (whole,), summary = collection.items([item]), item_summaries(collection, [item])[item]
        names = ("id", "kind", "path", "start", "end", "width", "height", "taken")
        assert [getattr(summary, name) for name in names] == [getattr(whole, name) for name in names]
        assert (summary.changed is None) == (summary.taken is not None)

"""Filters and dates: what they select, alone or with a query, in Python, in the shell and in the API."""

from __future__ import annotations

import json
from datetime import date

import pytest

from rankloom.collection import Collection
from rankloom.collection.browsing import dates_of
from rankloom.collection.dates import FORMS, start_of
from rankloom.collection.query import Example, Filters, Query
from rankloom.engine import Engine, SearchOptions
from tests.serving import sample
from tests.shell import invoke

TODAY = date(2024, 3, 31)
BAD_DATES = ("9999-99-99", "2024-02-31", "2024-13", "0000", "2024-5", "2024-05-17T25:00", "soon", "", "9999y", "1.5d")


@pytest.fixture(scope="module")
def engine(folder):
    with Collection(folder) as collection:
        yield Engine(collection)


def shell(folder, *arguments):
    return invoke("search", "-c", str(folder), *arguments)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("2024", "2024"),
        ("2024-05", "2024-05"),
        ("2024-05-17", "2024-05-17"),
        ("2024-05-17 12:30", "2024-05-17T12:30"),
        ("2024-05-17T12:30:05", "2024-05-17T12:30:05"),
        ("today", "2024-03-31"),
        (" Yesterday ", "2024-03-30"),
        ("30d", "2024-03-01"),
        ("2w", "2024-03-17"),
        ("1m", "2024-02-29"),
        ("6m", "2023-09-30"),
        ("1y", "2023-03-31"),
        ("0d", "2024-03-31"),
    ],
)
def test_dates(text, start):
    assert start_of(text, TODAY) == start


@pytest.mark.parametrize("text", BAD_DATES)
def test_no_dates(text, engine, folder, web):
    with pytest.raises(ValueError, match="is no date"):
        start_of(text, TODAY)
    with pytest.raises(ValueError, match="is no date"):
        engine.search(Query("sea", filters=Filters(after=text)))
    ran = shell(folder, "sea", "--before", text)
    assert ran.exit_code == 2
    assert FORMS in " ".join(ran.stderr.split())
    answer = web.post("/api/search", json={"query": {"text": "sea", "filters": {"after": text}}})
    assert answer.status_code == 422
    assert answer.json()["error"] == f"filters.after: {text!r} is no date; give {FORMS}"


def test_a_month_is_its_first_day(engine):
    dated = dates_of(engine.collection, range(1, len(engine.collection) + 1))
    month = sorted(dated.values())[len(dated) // 2][:7]

    def found(**filters):
        return {hit.id for hit in engine.search(Query("", (Example(item=1),), Filters(**filters)), 1000)}

    assert found(after=month) == {number for number, taken in dated.items() if taken[:7] >= month}
    assert found(before=month) == {number for number, taken in dated.items() if taken[:7] < month}
    assert found(after=month) & found(before=month) == set()
    assert found(after="1900", before="3000") == set(dated)


def test_filters_alone_list_the_newest_first(engine, web, folder):
    items = [item for item in engine.collection.items() if item.kind == "picture"]
    assert any(item.taken is None for item in items)
    dates = dates_of(engine.collection, [item.id for item in items])  # without one of its own, that of the file
    assert all(dates[item.id] == item.taken for item in items if item.taken)
    expected = sorted(items, key=lambda item: (dates[item.id], item.id), reverse=True)
    answer = engine.search(Query(filters=Filters(kind="picture")), 50, SearchOptions(offset=10))
    assert [hit.id for hit in answer] == [item.id for item in expected[10:60]]
    assert [hit.rank for hit in answer] == [*range(11, 61)]
    assert answer.total == len(items)
    asked = {"query": {"filters": {"kind": "picture"}}, "k": 50, "offset": 10}
    served = web.post("/api/search", json=asked).json()
    assert [hit["id"] for hit in served["hits"]] == [hit.id for hit in answer]
    ran = shell(folder, "--kind", "picture", "-k", "60", "--json")
    records = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [record["id"] for record in records][10:] == [hit.id for hit in answer]
    assert "score" not in records[0]
    newest = next(item for item in expected if item.taken)
    assert newest.taken in shell(folder, "--kind", "picture", "-k", "200").stdout


def test_filters_alone_have_no_ranking(engine, web):
    filters = Filters(kind="picture")
    for options in ({"method": "smooth"}, {"diversity": 0.5}):
        with pytest.raises(ValueError, match="give words or an example"):
            engine.search(Query(filters=filters), options=SearchOptions(**options))
    with pytest.raises(ValueError, match="the query is empty"):
        engine.search(Query())
    asked = {"query": {"filters": {"kind": "picture"}}, "marks": [{"item": 1}]}
    assert web.post("/api/feedback", json=asked).status_code == 422


def test_a_folder_without_files_names_those_that_have_some(engine, web, folder):
    known = str(sample() / "pictures" / "coast")
    inside = engine.search(Query(filters=Filters(folder=known)), 1000)
    assert inside
    assert {hit.path.rsplit("/", 1)[0] for hit in inside} == {known}
    for query in (Query("sea", filters=Filters(folder="/nope")), Query(filters=Filters(folder="/nope"))):
        with pytest.raises(ValueError, match=f"no indexed file is in /nope; known folders are {sample()}"):
            engine.search(query)
    ran = shell(folder, "sea", "--folder", "/nope")
    assert ran.exit_code == 1
    assert ran.stderr.startswith("Error: no indexed file is in /nope; known folders are ")
    answer = web.post("/api/search", json={"query": {"text": "sea", "filters": {"folder": "nope"}}})
    assert answer.status_code == 422
    assert "known folders are pictures" in answer.json()["error"]
    assert str(sample()) not in answer.text


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (('"zzqqxx"',), "use fewer or other words"),
        (("sea", "--before", "1900"), "leave a filter out"),
        (("--before", "1900"), "no item passes the filters"),
        (('"zzqqxx"', "--json"), "use fewer or other words"),
    ],
)
def test_nothing_found_says_what_to_do(folder, arguments, cure):
    ran = shell(folder, *arguments)
    assert ran.exit_code == 0
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1
    assert cure in ran.stderr

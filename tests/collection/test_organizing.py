"""What the owner adds: captions, tags, stars, hidden items, albums; how they are listed, and what keeps them."""

from __future__ import annotations

import csv

import pytest

from rankloom.collection import Collection, back_up, export_items, repair, restore, verify_folder
from rankloom.collection.albums import (
    add_to_album,
    album,
    album_named,
    albums,
    change_album,
    delete_album,
    judged_items,
    make_album,
    move_in_album,
    remove_from_album,
)
from rankloom.collection.browsing import Catalogue, Group, dates_of
from rankloom.collection.contents import counters, state_of
from rankloom.collection.organizing import (
    Notes,
    TagCount,
    change_tags,
    hide,
    noted_items,
    notes_of,
    rate,
    set_caption,
    tag_counts,
)
from rankloom.collection.overview import item_summaries
from rankloom.collection.query import Filters, Query
from rankloom.collection.text_files import grown_indexes, text_indexes
from tests.archives import write_rows

DATES = {1: "2024-05-03T10:00:00", 2: "2024-05-01", 3: "2023-12-24", 4: "1999"}  # 5 and 6 have those of their files


@pytest.fixture
def folder(tmp_path):
    names = {1: "/photos/b 10.jpg", 2: "/photos/B 9.jpg", 3: "/photos/sea/a.jpg"}
    return write_rows(tmp_path / "c", 6, dates=DATES.get, path=lambda number: names.get(number, f"/photos/{number}"))


@pytest.fixture
def collection(folder):
    with Collection(folder) as opened:
        yield opened


def listed(collection, sort="newest", **filters):
    return Catalogue(collection).listing(Filters(**filters), sort).items.tolist()


def test_listings(collection):
    assert listed(collection) == [1, 2, 3, 6, 5, 4]
    assert listed(collection, "oldest") == [4, 5, 6, 3, 2, 1]
    assert listed(collection, "name") == [4, 5, 6, 3, 2, 1]
    groups = Catalogue(collection).listing(Filters()).groups()
    assert groups == [Group("2024-05", 2), Group("2023-12", 1), Group("2001-09", 2), Group("", 1)]
    assert listed(collection, folder="/photos/sea") == [3]
    assert listed(collection, after="2023") == [1, 2, 3]
    assert listed(collection, before="2002") == [6, 5, 4]
    assert dates_of(collection, [1, 5, 99]) == {1: DATES[1], 5: "2001-09-09T01:46:45"}
    assert Catalogue(collection).folders() == {"/photos": 5, "/photos/sea": 1}
    with pytest.raises(ValueError, match="of a search"):
        listed(collection, marked=False)


def test_a_listing_is_made_once_as_long_as_nothing_has_changed(collection):
    catalogue = Catalogue(collection)
    first = catalogue.listing(Filters())
    set_caption(collection, 3, "which no listing by date depends on")
    assert catalogue.listing(Filters()) is first
    hide(collection, [3])
    assert catalogue.listing(Filters()).items.tolist() == [1, 2, 6, 5, 4]
    assert catalogue.listing(Filters(hidden=True)).items.tolist() == [3]
    with collection.transaction() as db:
        db.execute("DELETE FROM files WHERE hash = 'h1'")
    assert catalogue.listing(Filters()).items.tolist() == [2, 6, 5, 4]


def test_captions_tags_stars(collection):
    set_caption(collection, 1, "  The old bridge\nat night ")
    change_tags(collection, [1, 2], ["Rome  2024", "bridge"])
    change_tags(collection, [2], ["rome 2024", "sea"], ["BRIDGE"])
    rate(collection, [2, 1], 4)
    rate(collection, [1], 0)
    assert notes_of(collection, [1, 2, 3]) == {
        1: Notes("The old bridge\nat night", ("Rome 2024", "bridge")),
        2: Notes("", ("Rome 2024", "sea"), 4),
    }
    assert tag_counts(collection) == [TagCount("bridge", 1), TagCount("Rome 2024", 2), TagCount("sea", 1)]
    assert listed(collection, tag="rome 2024") == [1, 2]
    assert listed(collection, stars=3) == [2]
    assert listed(collection, has_text=True) == [1, 2]
    assert noted_items(collection) == [1, 2]
    shown = item_summaries(collection, [1, 2])
    assert (shown[1].caption, shown[2].caption, shown[2].stars) == ("The old bridge\nat night", "Rome 2024, sea", 4)
    before = counters(collection).contents
    set_caption(collection, 1, "The old bridge\nat night")  # as it is: nothing has to be read again
    change_tags(collection, [2], ["SEA"])
    assert counters(collection).contents == before
    set_caption(collection, 1, "")
    assert notes_of(collection, [1])[1].caption == ""


def test_texts_that_the_owner_changes_are_indexed_one_by_one(collection):
    with collection.transaction() as db:
        db.execute("INSERT INTO texts (item, path, source, text) VALUES (1, '', 'embedded', 'the house')")
    set_caption(collection, 1, "a red boat")
    change_tags(collection, [1, 2], add=["Rome"])
    then = state_of(collection)
    before = text_indexes(collection, then)

    def grown():
        return grown_indexes(collection, before, then, state_of(collection))

    def scores(indexes):
        return [indexes.text.scores(words, 6).tolist() for words in ("boat", '"red boat"', "house rome", "rome*")]

    for change in (
        lambda: set_caption(collection, 1, "an old house"),
        lambda: set_caption(collection, 3, "a boat in Rome"),
        lambda: change_tags(collection, [2], remove=["Rome"], add=["boat"]),
        lambda: set_caption(collection, 3, ""),
    ):
        change()
        assert scores(grown()) == scores(text_indexes(collection, state_of(collection)))
    assert before.text.scores("boat", 6)[0] > 0  # what was before stays
    with collection.transaction() as db:
        db.execute("DELETE FROM texts WHERE source = 'embedded'")
    assert grown() is None  # nobody knows of which item it was


def test_what_cannot_be_noted(collection):
    for wrong in (lambda: rate(collection, [1], 6), lambda: change_tags(collection, [1], ["a\x00b"]),
                  lambda: change_tags(collection, [1], ["  "]), lambda: change_tags(collection, [1], ["x" * 101]),
                  lambda: change_tags(collection, [1], map(str, range(101))),
                  lambda: set_caption(collection, 1, "x" * 5001), lambda: make_album(collection, "  "),
                  lambda: make_album(collection, "empty", query=Query())):  # fmt: skip
        with pytest.raises(ValueError, match=r"star|tag|caption|album"):
            wrong()
    for wrong in (lambda: rate(collection, [1, 99], 3), lambda: hide(collection, [99]),
                  lambda: make_album(collection, "a", [99]), lambda: album(collection, 1),
                  lambda: listed(collection, album=3)):  # fmt: skip
        with pytest.raises(KeyError, match="there is no"):
            wrong()
    assert notes_of(collection, range(1, 7)) == {}
    assert albums(collection) == []


def test_albums(collection):
    trip = make_album(collection, "The  trip", [3, 1, 3])
    living = make_album(collection, "sea", query=Query("sea"))
    assert [(one.name, one.size, one.cover) for one in albums(collection)] == [("sea", 0, None), ("The trip", 2, 3)]
    assert album(collection, living).query.text == "sea"
    add_to_album(collection, trip, [2, 1, 5])
    assert listed(collection, album=trip) == [1, 2, 3, 5]
    move_in_album(collection, trip, [5, 2], before=3)
    assert listed(collection, album=trip) == [5, 2, 3, 1]
    assert Catalogue(collection).listing(Filters(album=trip)).groups() == [Group("", 4)]
    assert listed(collection, "oldest", album=trip) == [5, 3, 2, 1]
    move_in_album(collection, trip, [5], before=None)
    assert listed(collection, album=trip) == [2, 3, 1, 5]
    change_album(collection, trip, name="Rome '24", by_hand=False, cover=1)
    assert album_named(collection, "rome '24")[1:6] == ("Rome '24", None, 1, False, 4)
    remove_from_album(collection, trip, [1])
    assert album(collection, trip)[3:6] == (2, False, 3)
    hide(collection, [2])
    assert album(collection, trip)[3:6] == (3, False, 2)
    remove_from_album(collection, living, [4, 6], refuse=True)
    add_to_album(collection, living, [6])
    assert judged_items(collection, living) == {4, 6}
    assert listed(collection, album=living) == [6]
    for wrong in (lambda: make_album(collection, "SEA"), lambda: change_album(collection, trip, name="sea"),
                  lambda: move_in_album(collection, trip, [6], None), lambda: change_album(collection, trip, cover=6),
                  lambda: album_named(collection, "nothing")):  # fmt: skip
        with pytest.raises(ValueError, match="album"):
            wrong()
    delete_album(collection, trip)
    assert [one.name for one in albums(collection)] == ["sea"]
    assert collection.db.execute("SELECT count(*) FROM album_items").fetchone() == (2,)


def test_the_table_of_items_has_them(collection, tmp_path):
    organize(collection)
    make_album(collection, "another", [1])
    export_items(collection, tmp_path / "items.csv")
    rows = {row["id"]: row for row in csv.DictReader((tmp_path / "items.csv").read_text().splitlines())}
    assert rows["1"]["text"] == "first words | kept"
    assert rows["1"]["albums"] == "album | another"
    assert (rows["2"]["stars"], rows["3"]["hidden"], rows["4"]["hidden"]) == ("5", "True", "False")


def organize(collection):
    set_caption(collection, 1, "first words")
    change_tags(collection, [1], ["kept"])
    rate(collection, [2], 5)
    hide(collection, [3])
    return make_album(collection, "album", [1, 2], Query("sea"))


def held(collection):
    return (
        notes_of(collection, range(1, 7)), albums(collection), judged_items(collection, 1), listed(collection)
    )  # fmt: skip


@pytest.mark.sqlite
def test_a_restored_collection_has_what_came_since_the_backup(folder):
    with Collection(folder) as collection:
        number = organize(collection)
    copy = back_up(folder)
    with Collection(folder) as collection:
        set_caption(collection, 1, "other words")
        rate(collection, [2], 1)
        change_album(collection, number, name="renamed")
        add_to_album(collection, number, [4])
        expected = held(collection)
    report = restore(folder, copy)
    assert {name: report.merged[name] for name in ("ratings", "albums", "album_items")} == {
        "ratings": 1, "albums": 1, "album_items": 1,
    }  # fmt: skip
    with Collection(folder) as collection:
        assert held(collection) == expected


@pytest.mark.sqlite
def test_repair_keeps_what_people_organized(folder):
    with Collection(folder) as collection:
        organize(collection)
        expected = held(collection)
        with collection.transaction() as db:
            db.execute("INSERT INTO ratings VALUES (77, 3)")
            db.execute("INSERT INTO album_items VALUES (1, 78, 1, 9)")
    assert [line for line in verify_folder(folder).problems if "1 rows of ratings name items" in line]
    repair(folder)
    assert verify_folder(folder).sound
    with Collection(folder) as collection:
        assert held(collection) == expected
        assert collection.db.execute("SELECT count(*) FROM ratings WHERE item = 77").fetchone() == (0,)

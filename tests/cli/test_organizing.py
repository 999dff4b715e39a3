"""Notes, albums, orders and sidecars from the shell."""

import json

import pytest

from rankloom.collection import Collection
from rankloom.media.embedded import xmp_texts
from tests.archives import write_rows
from tests.serving import copied
from tests.shell import rankloom


@pytest.fixture
def here(tmp_path):
    return "-c", write_rows(tmp_path / "c", 5, dates=lambda number: f"2024-0{number}-01")


def ids(result):
    return [json.loads(line)["id"] for line in result.stdout.splitlines()]


def test_notes_albums_and_lists(here):
    rankloom("notes", "caption", 2, "The old bridge", *here)
    rankloom("notes", "tag", 2, 3, "--add", "Rome", *here)
    rankloom("notes", "tag", 3, "--add", "night", "--remove", "rome", *here)
    assert "2 items have 4 stars" in rankloom("notes", "rate", 2, 5, "--stars", 4, *here).stdout
    rankloom("notes", "hide", 1, 4, *here)
    rankloom("notes", "hide", 4, "--undo", *here)
    tags = [json.loads(line) for line in rankloom("notes", "tags", "--json", *here).stdout.splitlines()]
    assert tags == [{"tag": "night", "items": 1}, {"tag": "Rome", "items": 1}]
    assert rankloom("albums", "make", "Rome '24", 5, 2, *here).stdout == "Rome '24: 2 items\n"
    rankloom("albums", "add", "rome '24", 3, *here)
    rankloom("albums", "remove", "Rome '24", 5, *here)
    rankloom("albums", "rename", "Rome '24", "Roma", *here)
    (album,) = (json.loads(line) for line in rankloom("albums", "list", "--json", *here).stdout.splitlines())
    assert album == {"id": 1, "name": "Roma", "items": 2, "cover": 2, "query": None}
    listed = {
        ("--order", "newest"): [5, 4, 3, 2], ("--order", "oldest", "-k", 2): [2, 3], ("--order", "name"): [2, 3, 4, 5],
        ("--album", "Roma"): [3, 2], ("--stars", 4): [5, 2], ("--tag", "rome"): [2], ("--hidden",): [1],
        ("--album", "Roma", "--stars", 1): [2],
    }  # fmt: skip
    for options, expected in listed.items():
        assert ids(rankloom("search", *options, "--json", *here)) == expected, options
    rankloom("albums", "delete", "Roma", *here)
    assert rankloom("albums", "list", "--json", *here).stdout == ""


def test_what_is_wrong_is_said_in_one_line(here):
    for arguments, says in (
        (("notes", "rate", 99, "--stars", 1), "there is no item 99"), (("notes", "tag", 1), "give --add or --remove"),
        (("albums", "add", "nothing", 1), "there is no album 'nothing'"), (("search", "--album", "x"), "no album 'x'"),
        (("search", "--order", "score"), "nothing to order by score"), (("export", "--xmp"), "give OUTPUT"),
        (("search", "--unmarked", "--order", "name"), "marked items are those of a search"),
    ):  # fmt: skip
        ran = rankloom(*arguments, *here, code=2 if "give" in says else 1)
        assert says in ran.stderr
        assert "Traceback" not in ran.output


def test_sidecars_are_written_where_asked(tmp_path):
    pictures = tmp_path / "photos"
    (pictures / "sea").mkdir(parents=True)
    paths = {number: pictures / "sea" / f"{number}.jpg" for number in (1, 2, 3)}
    folder = write_rows(tmp_path / "c", 3, path=lambda number: str(paths[number]))
    here = "-c", folder
    with Collection(folder) as collection, collection.transaction() as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'roots'", (json.dumps([str(pictures)]),))
    rankloom("notes", "caption", 1, "Cats & <dogs>", *here)
    rankloom("notes", "rate", 2, "--stars", 5, *here)
    out = tmp_path / "out"
    assert rankloom("export", out, "--xmp", *here).stdout == f"2 sidecars -> {out}\n"
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.xmp")) == [
        "photos/sea/1.jpg.xmp", "photos/sea/2.jpg.xmp",
    ]  # fmt: skip
    assert xmp_texts((out / "photos/sea/1.jpg.xmp").read_bytes()) == ["Cats & <dogs>"]
    assert list(pictures.rglob("*.xmp")) == []
    foreign = pictures / "sea" / "2.jpg.xmp"
    foreign.write_text("<x/>")
    for _ in range(2):  # ours are replaced
        result = json.loads(rankloom("export", "--xmp", "--beside", "--json", *here).stdout)
        assert result == {"sidecars": 1, "left": [str(foreign)], "output": None}
    assert foreign.read_text() == "<x/>"


def test_a_living_album_suggests_and_orders_are_those_of_the_page(tmp_path):
    here = "-c", copied(tmp_path / "c")
    rankloom("albums", "make", "By the sea", "--search", "sea", *here)
    first, second, *_ = ids(rankloom("albums", "suggest", "By the sea", "-k", 5, "--json", *here))
    rankloom("albums", "add", "By the sea", first, *here)
    rankloom("albums", "remove", "By the sea", second, "--refuse", *here)
    again = ids(rankloom("albums", "suggest", "By the sea", "-k", 50, "--json", *here))
    assert not {first, second} & {*again}
    records = [
        json.loads(line) for line in rankloom("search", "sea", "--order", "newest", "--json", *here).stdout.splitlines()
    ]
    taken = [record["taken"] for record in records if "taken" in record]
    assert taken == sorted(taken, reverse=True)

"""Whatever is damaged: one line and a way back, never a traceback, and nothing that could be read is lost."""

import json
import os
import random
import shutil
import sqlite3
from contextlib import closing

import pytest

from rankloom.collection import Collection, DamagedCollection, index, repair, verify_folder
from rankloom.collection._schema import MIGRATIONS
from rankloom.engine import Engine
from rankloom.media import read_image
from rankloom.server.health import DAMAGED, REASONS
from tests.damaging import (
    FEW,
    N_MARKS,
    WAYS,
    assert_aligned,
    checkpoint,
    damage,
    emptied,
    flipped,
    safe_users,
    truncated,
    user,
    users,
)
from tests.serving import client
from tests.shell import invoke

pytestmark = pytest.mark.sqlite

DRAWS = 5
COMMANDS = [
    ["info"],
    ["search", "boat", "-k", "3"],
    ["duplicates"],
    ["models", "list"],
    ["concepts", "list"],
    ["feedback", "boat", "--right", "2"],
    ["index", "--workers", "0"],
    ["verify"],
    ["backup"],
]


def call(folder, *arguments):
    """Run a command: it ends well, or with a code and without a traceback."""
    result = invoke(*arguments, "-c", str(folder))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def one_line(folder, *arguments):
    """Run a command that fails: one line, and the cure in it."""
    result = call(folder, *arguments)
    assert result.exit_code == 1, result.output
    assert len(result.output.strip().splitlines()) == 1, result.output
    assert "rankloom repair -c" in result.output
    return result.output


def check_sound(folder):
    """It verifies, it searches, and vectors belong to their items."""
    assert call(folder, "verify").exit_code == 0
    assert call(folder, "search", "boat", "-k", "3").exit_code == 0
    with Collection(folder) as collection:
        # A damaged path is a path too; the next index follows it.
        assert_aligned(collection, [item for item in collection.items() if os.path.exists(item.path)][::13])


def root_page(path, table):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_damaged_database(original, tmp_path, way):
    root = root_page(original / "rankloom.db", "qrels")
    hurt = 0
    for seed in range(DRAWS):
        folder = tmp_path / f"c{seed}"
        shutil.copytree(original, folder)
        before, after = damage(folder / "rankloom.db", way, random.Random(seed))
        for command in COMMANDS:
            result = call(folder, *command)
            if result.exit_code and command != ["verify"]:
                assert len(result.stderr.strip().splitlines()) == 1, (seed, result.output)
        hurt += call(folder, "verify").exit_code
        result = call(folder, "repair", "--workers", "0")
        assert result.exit_code == 0, (seed, result.output)
        check_sound(folder)
        assert users(folder) >= safe_users(before, after, root), f"marks in untouched pages were lost: {seed}"
    assert hurt >= (1 if way.__name__ in ("header", "flipped", "swapped") else DRAWS // 2), "nothing was damaged"


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_backup_has_what_cannot_be_read(original, tmp_path, way):
    for seed in range(DRAWS):
        folder = tmp_path / f"c{seed}"
        shutil.copytree(original, folder)
        assert call(folder, "backup").exit_code == 0
        damage(folder / "rankloom.db", way, random.Random(seed))
        if seed % 2:
            assert call(folder, "repair", "--workers", "0").exit_code == 0
        else:
            assert call(folder, "restore", "--yes").exit_code == 0
        check_sound(folder)
        # A damaged name of a user is a name too: those of the backup may differ from it in a bit.
        assert len(users(folder)) == N_MARKS
        with Collection(folder) as collection:
            assert len(collection) == 80


def test_an_emptied_database_is_refused(folder, tmp_path):
    (folder / "rankloom.db").write_bytes(b"")
    assert "rankloom.db is empty, but there are vectors" in one_line(folder, "info")
    one_line(folder, "index", str(folder.parent))
    (folder / "rankloom.db").unlink()
    assert "rankloom.db is gone" in one_line(folder, "index", str(folder.parent))
    with closing(sqlite3.connect(folder / "rankloom.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")  # a database without tables
    assert "has no tables" in one_line(folder, "info")
    with Collection(tmp_path / "new", create=True) as collection:
        assert len(collection) == 0
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "rankloom.db").write_bytes(b"")  # killed in the first moment
    with Collection(tmp_path / "empty", create=True) as collection:
        assert len(collection) == 0


def test_an_emptied_database_does_not_cost_its_log(folder):
    """Beside an empty database SQLite would delete the log, which may hold all that was written."""
    with Collection(folder) as collection:
        collection.mark("q", 1, 1.0)
        log = (folder / "rankloom.db-wal").read_bytes()
    assert log
    (folder / "rankloom.db").write_bytes(b"")
    (folder / "rankloom.db-wal").write_bytes(log)
    one_line(folder, "info")
    assert (folder / "rankloom.db-wal").read_bytes() == log


@pytest.mark.parametrize("version", [-5, 0, 1, len(MIGRATIONS) + 1, 2**31 - 1])
def test_an_odd_version(folder, version):
    with closing(sqlite3.connect(folder / "rankloom.db")) as db:
        db.execute(f"PRAGMA user_version = {version}")
    for command in COMMANDS:
        if command != ["verify"]:
            one_line(folder, *command)
    assert call(folder, "verify").exit_code == 1
    report = repair(folder, workers=0)
    assert report.tables["qrels"].read == N_MARKS
    check_sound(folder)
    assert len(users(folder)) == N_MARKS


def test_a_newer_collection_is_not_repaired_to_an_older_one(folder):
    with closing(sqlite3.connect(folder / "rankloom.db")) as db:
        db.execute("CREATE TABLE inventions (name TEXT)")
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        db.commit()
    assert "upgrade Rankloom" in one_line(folder, "repair")
    with closing(sqlite3.connect(folder / "rankloom.db")) as db:
        assert db.execute("SELECT count(*) FROM inventions").fetchone() == (0,)


def test_missing_tables_and_columns(folder):
    with closing(sqlite3.connect(folder / "rankloom.db")) as db:
        db.execute("DROP TABLE saved")
        db.execute("ALTER TABLE qrels DROP COLUMN skipped")
        db.commit()
    assert "lacks the table saved, the column qrels.skipped" in one_line(folder, "info")
    report = verify_folder(folder)
    assert len(report.problems) == 1
    assert not report.sound


@pytest.mark.slow
def test_what_verify_finds_in_the_tables(folder):
    """Each of these is no damage for SQLite."""
    changes = {
        "numbered from 1": "UPDATE items SET id = 999 WHERE id = 80",
        "rows of texts name items": "UPDATE texts SET item = 500 WHERE number = 3",
        "cannot be right": "UPDATE items SET phash = 'x' WHERE id = 3",
        "color_layout is said to have": "UPDATE descriptors SET rows = 99 WHERE name = 'color_layout'",
        "no right checksums": "DELETE FROM blocks WHERE file LIKE 'vectors/edge%'",
        "thumbnails are in no block": "UPDATE items SET thumb_start = 9999999 WHERE id = 7",
        "rows of qrels name items": "UPDATE qrels SET item = 700 WHERE id = 9",
    }
    for expected, statement in changes.items():
        copy = folder.with_name("changed")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        with closing(sqlite3.connect(copy / "rankloom.db")) as db:
            db.execute(statement)
            db.commit()
        problems = verify_folder(copy).problems
        assert any(expected in problem for problem in problems), (expected, problems)
        assert all("rankloom repair" in problem or "rankloom index" in problem for problem in problems)
        assert call(copy, "repair", "--workers", "0").exit_code == 0
        check_sound(copy)
        with Collection(copy) as collection:
            index(collection, workers=0)
            assert len(collection) == 80
            assert len(users(copy)) >= N_MARKS - 10


def test_verify_as_json_of_a_database_that_cannot_be_opened(folder):
    (folder / "rankloom.db").write_bytes(b"nothing of the kind" * 999)
    result = call(folder, "verify", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["sound"] is False
    assert "the header of the database is damaged" in report["problems"][0]
    assert "there is no backup" in report["problems"][0]


def test_items_whose_rows_are_lost_are_described_again(folder):
    """The index of the table still knows which content each had."""
    with Collection(folder) as collection:
        before = collection.items()
        thumbnails = [collection.thumbnail(item.id) for item in before]
    checkpoint(folder)
    data = bytearray((folder / "rankloom.db").read_bytes())
    page = leaf_of_items(folder, 40)
    data[(page - 1) * 4096 : page * 4096] = bytes(4096)
    (folder / "rankloom.db").write_bytes(data)
    one_line(folder, "search", "boat")
    report = repair(folder, workers=0)
    assert report.changes.unknown_items > 10
    assert (report.items, report.lost) == (report.changes.unknown_items, 0)
    check_sound(folder)
    with Collection(folder) as collection:
        assert collection.items() == before
        assert [collection.thumbnail(item.id) for item in before] == thumbnails
        assert len(collection.marks()) > 0
    assert len(users(folder)) == N_MARKS


def leaf_of_items(folder, item):
    """The page that holds the row of an item: a leaf of a table (13), with the hash of its content."""
    with Collection(folder) as collection:
        (digest,) = collection.db.execute("SELECT hash FROM items WHERE id = ?", (item,)).fetchone()
        (other,) = collection.db.execute("SELECT hash FROM items WHERE id = ?", (item + 1,)).fetchone()
    data = (folder / "rankloom.db").read_bytes()
    pages = [
        n for n in range(1, len(data) // 4096) if data[n * 4096] == 13 and digest.encode() in data[n * 4096 :][:4096]
    ]
    assert len(pages) == 1
    assert other != digest
    return pages[0] + 1


def test_a_lost_log_leaves_an_older_collection(folder):
    with Collection(folder) as collection:
        collection.mark("late", 1, 1.0)
        shutil.copytree(folder, folder.with_name("copy"))
    (folder.with_name("copy") / "rankloom.db-wal").unlink()
    check_sound(folder.with_name("copy"))
    assert len(users(folder.with_name("copy"))) == N_MARKS


@pytest.mark.slow
@pytest.mark.parametrize("file", [*(f"vectors/{name}" for name in FEW), "thumbnails.bin"])
@pytest.mark.parametrize("way", [truncated, flipped, emptied], ids=lambda way: way.__name__)
def test_damaged_vectors_and_thumbnails(folder, file, way):
    path = next(folder.glob(f"{file}*"))
    damage(path, way, random.Random(file))
    for command in COMMANDS:
        result = call(folder, *command)
        assert len(result.output.strip().splitlines()) == 1 or result.exit_code == 0 or command == ["verify"]
    assert call(folder, "verify").exit_code == 1
    assert call(folder, "repair", "--workers", "0").exit_code == 0
    check_sound(folder)


@pytest.mark.parametrize("name", ["neighbours.npz", "texts.index", "tags.index"])
def test_damaged_indexes_are_made_again(folder, name):
    for seed, way in enumerate([truncated, flipped, emptied]):
        expected = call(folder, "search", "boat", "-k", "5", "--json").output
        damage(folder / name, way, random.Random(seed))
        assert call(folder, "search", "boat", "-k", "5", "--json").output == expected


@pytest.mark.slow
def test_a_file_of_vectors_that_is_gone_with_a_damaged_database(folder):
    damage(folder / "rankloom.db", WAYS[1], random.Random(4))
    next(folder.glob("vectors/color*")).unlink()
    (folder / "thumbnails.bin").unlink()
    assert call(folder, "repair", "--workers", "0").exit_code == 0
    check_sound(folder)
    assert len(users(folder)) == N_MARKS


def test_damage_that_shows_later(folder):
    """A collection that is open when its database is damaged says so when it is left."""
    collection = Collection(folder)
    wipe_tables(folder)
    with pytest.raises(DamagedCollection, match="rankloom repair"), collection:
        collection.info()


def wipe_tables(folder):
    """Everything but the first page becomes zeros."""
    size = os.path.getsize(folder / "rankloom.db")
    with open(folder / "rankloom.db", "r+b") as file:
        file.seek(4096)
        file.write(bytes(size - 4096))


def test_an_error_that_is_none_of_the_database_stays_what_it_is(folder):
    with pytest.raises(TypeError, match="a mistake"), Collection(folder):
        raise TypeError("a mistake of the caller")


def test_the_server_answers_that_the_collection_is_damaged(folder):
    with client(folder) as web:
        assert web.get("/api/health").status_code == 200
        wipe_tables(folder)
        answer = web.get("/api/metrics")
        assert answer.status_code == 503
        assert answer.json() == {"error": REASONS[DAMAGED]}
        assert "rankloom repair" in REASONS[DAMAGED]
    (folder / "rankloom.db").write_bytes(b"")
    one_line(folder, "serve", "--port", "0")


def test_repair_waits_for_nobody(folder):
    with Collection(folder):
        result = call(folder, "repair", "--workers", "0")
        assert result.exit_code == 1
        assert "is in use by another process" in result.output


def test_a_repaired_collection_goes_on(folder, tmp_path):
    """New items come after the repaired ones, with their vectors at their places."""
    damage(folder / "rankloom.db", WAYS[1], random.Random(4))
    repair(folder, workers=0)
    with Collection(folder) as collection:
        first = collection.items([1])[0].path
        (tmp_path / "more").mkdir()
        shutil.copyfile(first, tmp_path / "more" / "copy.png")
        data = read_image(first)[::-1].copy()
        import cv2

        cv2.imwrite(str(tmp_path / "more" / "new.png"), data)
        report = index(collection, [tmp_path / "more"], workers=0)
        assert (report.items, report.followed) == (1, 1)
        assert collection.find(tmp_path / "more" / "new.png")[0].id == 81
        collection.mark("q", 81, 1.0, user(N_MARKS))
    check_sound(folder)


@pytest.mark.parametrize(
    "scales", ["{", "[]", '{"l1": 1.0}', '{"l1": 0.0, "l2": 1, "cosine": 1, "chi2": 1, "intersection": 1}']
)
def test_damaged_scales_are_measured_again(folder, scales):
    with Collection(folder) as collection:
        expected = Engine(collection).snapshot().scales
        with collection.transaction() as db:
            db.execute("UPDATE scales SET scales = ? WHERE descriptor = 'color_layout'", (scales,))
    with Collection(folder) as collection:
        assert Engine(collection).snapshot().scales == expected

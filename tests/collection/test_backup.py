"""Backups by themselves and on request, and the way back: nothing misaligned, nothing deleted, killed at any moment."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta

import cv2
import numpy as np
import pytest

from rankloom.collection import (
    Captions,
    Collection,
    back_up,
    backups,
    index,
    repair,
    restore,
)
from rankloom.collection._schema import MIGRATIONS
from rankloom.collection.backup import Backup, back_up_daily, too_many
from tests.archives import picture
from tests.damaging import N_MARKS, assert_aligned, checkpoint, users
from tests.shell import invoke
from tests.waiting import LONG

pytestmark = pytest.mark.sqlite

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


@pytest.fixture
def more(tmp_path):
    """Pictures that come later."""
    (tmp_path / "more").mkdir()
    for number in range(5):
        cv2.imwrite(str(tmp_path / "more" / f"late{number}.png"), picture((200, 10, 90), 777 + number))
    return tmp_path / "more"


def call(folder, *arguments, code=0):
    result = invoke(*arguments, "-c", str(folder))
    assert result.exit_code == code, (result.output, result.exc_info)
    return result.output


def check_alignment(folder):
    """Every vector and thumbnail belongs to its item, and nothing is damaged; returns how many items there are."""
    with Collection(folder) as collection:
        assert_aligned(collection, collection.items())
        for item in collection.items():
            assert cv2.imdecode(np.frombuffer(collection.thumbnail(item.id), np.uint8), 1) is not None
        return len(collection)


# When ----------------------------------------------------------------------------------------------------------------


def test_a_backup_comes_with_the_first_change_of_a_day(folder):
    with Collection(folder) as collection:
        assert len(collection) == 80
    assert backups(folder) == []
    with Collection(folder) as collection:
        collection.mark("q", 1, 1.0, "new")
    (copy,) = backups(folder)
    assert copy.kind == "daily"
    with closing(sqlite3.connect(copy.path)) as db:
        assert db.execute("SELECT count(*) FROM qrels").fetchone() == (N_MARKS + 1,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_one_backup_a_day(folder):
    assert back_up_daily(folder, now=NOON) is not None
    assert back_up_daily(folder, now=NOON + timedelta(hours=11)) is None
    assert back_up_daily(folder, now=NOON + timedelta(hours=12)) is not None
    assert [copy.at for copy in backups(folder)] == [NOON + timedelta(hours=12), NOON]


def test_no_backup_of_a_collection_in_trouble(folder):
    collection = Collection(folder)
    collection.mark("q", 1, 1.0)
    with pytest.raises(ValueError, match="in trouble"), collection:
        raise ValueError("in trouble")
    assert backups(folder) == []


def test_rotation():
    """After a year: 7 days, the Sundays of 4 weeks before, 2 migrations, and all that were asked for."""
    copies: list[Backup] = []
    for day in range(365):
        at = NOON + timedelta(days=day)
        copies.append(Backup(None, at, "daily", 1))
        if day % 50 == 0:
            copies += [Backup(None, at, "migration", 1), Backup(None, at, "manual", 1)]
        gone = too_many(copies)
        copies = [copy for copy in copies if copy not in gone]
    last = NOON + timedelta(days=364)
    daily = sorted((copy.at for copy in copies if copy.kind == "daily"), reverse=True)
    assert daily[:7] == [last - timedelta(days=day) for day in range(7)]
    assert len(daily) == 11
    assert [at.isoweekday() for at in daily[8:]] == [7, 7, 7]
    assert len({at.isocalendar()[:2] for at in daily[7:]}) == 4
    assert [copy.at for copy in copies if copy.kind == "migration"] == [
        NOON + timedelta(days=day) for day in (300, 350)
    ]
    assert sum(copy.kind == "manual" for copy in copies) == 8


def test_a_backup_that_fails_is_a_warning(folder):
    (folder / "backups").write_text("a file where the folder should be")
    result = invoke("feedback", "boat", "--right", "2", "-c", str(folder))
    assert result.exit_code == 0
    assert len([line for line in result.output.splitlines() if "warning: no backup was made today" in line]) == 1


def test_a_damaged_database_replaces_no_backup(folder):
    good = back_up(folder, "daily", now=NOON)
    data = bytearray((folder / "rankloom.db").read_bytes())
    data[30 * 4096 : 50 * 4096] = bytes(20 * 4096)
    (folder / "rankloom.db").write_bytes(data)
    with pytest.warns(UserWarning, match="no backup was made today"):
        assert back_up_daily(folder, now=NOON + timedelta(days=1)) is None
    assert [copy.path for copy in backups(folder)] == [good]
    assert sorted(path.name for path in good.parent.iterdir()) == [".lock", good.name]


def test_backups_under_writers_are_of_one_moment(folder):
    """Each transaction writes two marks: no copy has an odd number of them."""
    stop = threading.Event()

    def write(name):
        with Collection(folder) as collection:
            number = 0
            while not stop.is_set():
                number += 1
                with collection.transaction() as db:
                    for part in ("a", "b"):
                        db.execute(
                            "INSERT INTO qrels (qid, item, grade, user, at) VALUES (?, 1, 1.0, ?, '')",
                            (f"{name}{number}", part),
                        )

    writers = [threading.Thread(target=write, args=(name,)) for name in "xy"]
    for writer in writers:
        writer.start()
    try:
        copies = [back_up(folder, now=NOON + timedelta(seconds=turn)) for turn in range(8)]
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    counts = []
    for copy in copies:
        with closing(sqlite3.connect(copy)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            a, b = (db.execute("SELECT count(*) FROM qrels WHERE user = ?", (part,)).fetchone()[0] for part in "ab")
            assert a == b
            counts.append(a)
    assert counts == sorted(counts)
    assert counts[-1] > 0


def test_a_migration_makes_a_backup_first(tmp_path):
    (tmp_path / "old").mkdir()
    with closing(sqlite3.connect(tmp_path / "old" / "rankloom.db")) as old:
        old.executescript(MIGRATIONS[0])
        old.execute("INSERT INTO meta VALUES ('roots', '[]')")
        old.execute("PRAGMA user_version = 1")
        old.commit()
    with Collection(tmp_path / "old") as collection:
        assert collection.db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    (copy,) = backups(tmp_path / "old")
    assert copy.kind == "migration"
    with closing(sqlite3.connect(copy.path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert db.execute("SELECT * FROM meta").fetchall() == [("roots", "[]")]
    (tmp_path / "old" / "rankloom.db").write_bytes(b"")
    assert restore(tmp_path / "old").backup == str(copy.path)  # and it becomes a collection of today again
    with Collection(tmp_path / "old") as collection:
        stored = dict(collection.db.execute("SELECT * FROM meta WHERE key != 'id'"))
        assert stored == {"roots": "[]"}


# On request ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_backup_commands(folder, tmp_path):
    assert json.loads(call(folder, "backup", "--json"))["bytes"] > 100_000
    assert "MB ->" in call(folder, "backup", "--to", str(tmp_path / "mine.db"))
    listed = [json.loads(line) for line in call(folder, "backup", "--list", "--json").splitlines()]
    assert [copy["kind"] for copy in listed] == ["manual"]
    assert "manual" in call(folder, "backup", "--list")
    (folder / "rankloom.db").write_bytes(b"")
    assert "cannot be used as a backup" in call(folder, "restore", "--yes", "--from", __file__, code=1)
    assert f"{N_MARKS} marks" in call(folder, "restore", "--yes", "--from", str(tmp_path / "mine.db"))
    assert check_alignment(folder) == 80


def test_restore_asks(folder):
    call(folder, "backup")
    before = (folder / "rankloom.db").read_bytes()
    result = invoke("restore", "-c", str(folder), input="n\n")
    assert result.exit_code == 1
    assert (folder / "rankloom.db").read_bytes() == before


def test_restore_at_a_date(folder):
    for day in range(3):
        with Collection(folder) as collection:
            collection.mark(f"day{day}", 1, 1.0, f"day{day}")
        checkpoint(folder)
        back_up(folder, now=NOON + timedelta(days=day))
    for copy in backups(folder):
        if copy.kind == "daily":
            copy.path.unlink()
    assert "no backup of 2026-03-13" in call(folder, "restore", "--yes", "--at", "2026-03-13", code=1)
    assert "expected a date" in call(folder, "restore", "--yes", "--at", "yesterday", code=2)
    call(folder, "restore", "--yes", "--no-merge", "--at", "2026-03-15")
    assert {name for name in users(folder) if name.startswith("day")} == {"day0", "day1"}
    call(folder, "restore", "--yes", "--no-merge", "--at", "2026-03-14T13:00")
    assert {name for name in users(folder) if name.startswith("day")} == {"day0"}


@pytest.mark.slow
def test_restore_takes_over_what_came_since(folder, more):
    copy = back_up(folder)
    with Collection(folder) as collection:
        index(collection, [more], workers=0)
        collection.mark("late", 3, 1.0, "late")
        collection.mark("late", 84, 1.0, "of a new item")
        table = more / "captions.csv"
        table.write_text(f"path,caption\n{more / 'late0.png'},A late boat\n")
        index(collection, [], captions=Captions(str(table)), workers=0)
        expected = collection.items()
    report = restore(folder, copy)
    assert report.merged["qrels"] == 2
    assert report.merged["items"] == 5
    with closing(sqlite3.connect(os.path.join(report.kept, "rankloom.db"))) as kept:
        assert kept.execute("SELECT count(*) FROM qrels").fetchone() == (N_MARKS + 2,)
    with Collection(folder) as collection:
        assert {"late", "of a new item"} <= users(folder)
        index(collection, workers=0)
        assert collection.items() == expected
        assert ("A late boat", "caption") in collection.texts(81)
    assert check_alignment(folder) == 85


def test_items_after_the_backup_come_again_with_the_next_index(folder, more):
    """They may get other numbers: the vectors of the old ones at their places must not stay."""
    copy = back_up(folder)
    with Collection(folder) as collection:
        index(collection, [more], workers=0)
        collection.mark("late", 81, 1.0, "of a new item")
    (more / "late0.png").unlink()
    (folder / "rankloom.db").write_bytes(b"")
    report = restore(folder, copy)
    assert (report.items, report.marks) == (80, N_MARKS)
    assert check_alignment(folder) == 80
    with Collection(folder) as collection:
        assert index(collection, [more], workers=0).items == 4
        assert os.path.basename(collection.items([81])[0].path) == "late1.png"
    assert check_alignment(folder) == 84


@pytest.mark.slow
def test_restore_with_vectors_that_are_missing(folder):
    back_up(folder)
    file = next((folder / "vectors").glob("color_layout*"))
    os.truncate(file, file.stat().st_size // 2 + 1)
    os.truncate(folder / "thumbnails.bin", 20_000)
    (folder / "rankloom.db").write_bytes(b"")
    report = restore(folder)
    assert report.changes.short_descriptors == 1
    with Collection(folder) as collection:
        rows = {stored.name: stored.rows for stored in collection.descriptors()}
        assert rows == {"color_layout": 40, "edge_histogram": 80}
        index(collection, workers=0)
        assert {stored.rows for stored in collection.descriptors()} == {80}
    repair(folder, workers=0)
    assert check_alignment(folder) == 80


def test_a_mark_that_was_taken_back_stays_so(folder):
    copy = back_up(folder)
    with Collection(folder) as collection, collection.transaction() as db:
        db.execute("UPDATE qrels SET undone = '2026-03-14' WHERE id = 7")
    restore(folder, copy)
    with Collection(folder) as collection:
        assert collection.db.execute("SELECT undone FROM qrels WHERE id = 7").fetchone() == ("2026-03-14",)


def test_without_a_backup_the_error_names_the_other_way(folder):
    assert "rankloom repair" in call(folder, "restore", "--yes", code=1)


# Killed --------------------------------------------------------------------------------------------------------------

# Ends itself, as kill -9 does, at the n-th time that a file gets another name or the names of a folder go to disk.
KILLED = """
import os, signal, sys
from pathlib import Path
import rankloom.collection as r

folder, task, moment = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
left = moment
def dying(function):
    def call(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return call
os.replace, os.rename, os.fsync = dying(os.replace), dying(os.rename), dying(os.fsync)
if task == "backup":
    r.back_up(folder)
elif task == "restore":
    r.restore(folder)
else:
    r.repair(folder, workers=0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("task", ["backup", "restore", "repair"])
def test_killed(original, tmp_path, task):
    """Whenever it is killed: what is there opens or says what to do, and the next repair has everything."""
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    kills = 0
    for moment in range(1, 12):
        folder = tmp_path / f"c{moment}"
        shutil.copytree(original, folder)
        back_up(folder)
        with Collection(folder) as collection:  # a log is there, as after a crash, with the newest mark
            collection.mark("late", 1, 1.0, "late")
            shutil.copytree(folder, tmp_path / "crashed")
        shutil.rmtree(folder)
        os.rename(tmp_path / "crashed", folder)
        if task == "repair":
            data = bytearray((folder / "rankloom.db").read_bytes())
            data[:100] = bytes(100)
            (folder / "rankloom.db").write_bytes(data)
        command = [sys.executable, str(script), str(folder), task, str(moment)]
        process = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
        assert process.returncode in (0, -signal.SIGKILL), process.stderr
        kills += process.returncode == -signal.SIGKILL
        told = invoke("info", "-c", str(folder)).output
        assert "80 items of 80 files" in told or "rankloom repair -c" in told
        call(folder, "repair", "--workers", "0")
        assert check_alignment(folder) == 80
        assert "late" in users(folder)
        assert len(users(folder)) == N_MARKS + 1
        assert not [path for path in folder.iterdir() if path.name.startswith(".repair") or path.name.endswith(".new")]
        if process.returncode == 0:
            break
    assert kills >= (2 if task == "backup" else 5), "it was never killed: the test shows nothing"


def test_what_a_killed_backup_left_goes_with_the_next(folder):
    (folder / "backups").mkdir()
    (folder / "backups" / ".0123.tmp").write_bytes(b"half")
    copy = back_up(folder)
    assert sorted(path.name for path in copy.parent.iterdir()) == [".lock", copy.name]

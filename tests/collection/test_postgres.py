"""Collections whose tables are in PostgreSQL: a real server, the same tables, nothing lost when it is killed."""

import json
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing

import numpy as np
import pytest

from rankloom import Collection, Engine
from rankloom.collection import Mark, add_marks, back_up, index, undo_mark, verify
from rankloom.collection._database import Unreachable
from rankloom.collection._schema import MIGRATIONS
from rankloom.collection._tables import tables
from rankloom.collection.albums import albums, make_album
from rankloom.collection.copying import copy_collection
from rankloom.collection.marks import marks
from rankloom.collection.organizing import rate
from rankloom.collection.postgres.address import POINTER, parsed
from rankloom.collection.postgres.connection import connected, lock_of
from rankloom.collection.postgres.schema import FIRST, SCRIPTS
from rankloom.collection.query import Example, Query
from rankloom.engine.index import PgvectorIndex
from tests.archives import write_pictures
from tests.building import built, copy_folder
from tests.damaging import make_collection
from tests.postgres import address, own_server
from tests.shell import rankloom
from tests.waiting import LONG

TYPES = {"bigint": "INTEGER", "double precision": "REAL", "text": "TEXT", "bytea": "BLOB"}


@pytest.fixture
def original():
    """A collection in a folder, with captions and marks, that is not changed."""
    return built("marked", make_collection) / "c"


@pytest.fixture
def there(original, tmp_path):
    """The address of a copy of it."""
    name = address(tmp_path / "there")
    copy_collection(original, name)
    return name


def test_tables_are_those_of_sqlite(tmp_path):
    name = address(tmp_path / "c")
    Collection(name, create=True).close()
    with closing(connected(parsed(name))) as connection:
        schema = parsed(name).schema
        columns = connection.execute(
            "SELECT table_name, column_name, data_type, is_nullable = 'NO' FROM information_schema.columns"
            " WHERE table_schema = %s AND table_name != 'schema_version' ORDER BY table_name, ordinal_position",
            (schema,),
        ).fetchall()
        keys = connection.execute(
            "SELECT relname, array_agg(attname ORDER BY array_position(indkey, attnum)) FROM pg_index"
            " JOIN pg_class ON pg_class.oid = indrelid"
            " JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)"
            " WHERE indisprimary AND relnamespace = %s::regnamespace GROUP BY relname",
            (schema,),
        ).fetchall()
        assert connection.execute("SELECT version FROM schema_version").fetchone() == (len(MIGRATIONS),)
    assert len(SCRIPTS) == len(MIGRATIONS) - FIRST + 1
    expected = {
        (table.name, column): (kind, required)
        for table in tables().values()
        for column, kind, required in zip(table.columns, table.types, table.required, strict=True)
    }
    assert {(table, column): (TYPES[kind], required) for table, column, kind, required in columns} == expected
    assert {table: tuple(key) for table, key in keys} == {table.name: table.key for table in tables().values()}


def test_a_collection_moves_there_and_back(original, tmp_path):
    original = copy_folder(original, tmp_path / "own")
    with Collection(original) as collection:
        make_album(collection, "Häfen & Boote", items=[3, 1])
        rate(collection, [1, 2], 4)
        undone = add_marks(collection, "q'1 %s", [Mark(2, 0.0)], "Ünal", query='{"text": "50% ?"}')
        undo_mark(collection, undone[-1])
        expected = marks(collection)
        before = [(hit.id, hit.score) for hit in Engine(collection).search(Query("boat"), 20)]
    name, back = address(tmp_path / "there"), tmp_path / "back"
    rankloom("copy", str(original), name)
    with Collection(name) as collection:
        assert marks(collection) == expected
        assert [(hit.id, hit.score) for hit in Engine(collection).search(Query("boat"), 20)] == before
        assert verify(collection).sound
        assert collection.folder == tmp_path / "there"
        # Numbers of marks go on, also after one that was undone.
        assert collection.mark("q1", 1, 1.0) == undone[-1] + 1
    found = json.loads(rankloom("copy", name, str(back), "--json").output.splitlines()[-1])
    assert found["rows"]["qrels"] == len(expected) + 2
    with Collection(back) as collection:
        assert marks(collection)[:-1] == expected
        assert [album.name for album in albums(collection)] == ["Häfen & Boote"]
        assert collection.mark("q1", 1, 1.0) == undone[-1] + 2
    with pytest.raises(ValueError, match="holds a collection already"):
        copy_collection(original, back)
    with pytest.raises(ValueError, match="is the collection itself"):
        copy_collection(original, original)


def test_a_copy_that_was_interrupted_is_made_again(original, tmp_path):
    name = address(tmp_path / "there")

    def interrupt(done, total, text):
        if text == "qrels":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_collection(original, name, progress=interrupt)
    with Collection(name) as collection:
        assert len(collection) == 0
        assert marks(collection) == []
    assert copy_collection(original, name).rows["items"] == 80


def test_the_folder_and_the_address_name_the_same_collection(there):
    folder = there.rsplit("files=", 1)[1]
    assert stat.S_IMODE(os.stat(os.path.join(folder, POINTER)).st_mode) == 0o600
    with Collection(folder) as one, Collection(there.rsplit("&files=", 1)[0]) as other:
        assert one.folder == other.folder
        one.mark("q", 5, 1.0)
        assert other.marks() == one.marks()
        assert one.info() == other.info()
        with one.indexing(), pytest.raises(ValueError, match="is being indexed"), other.indexing():
            raise AssertionError("two at a time")
    assert "80 items" in rankloom("info", "-c", there).output or "80" in rankloom("info", "-c", folder).output
    assert "secret" not in parsed("postgresql://anna:secret@db.example/photos").shown


def test_indexing_marks_and_searching(tmp_path):
    pictures = write_pictures(tmp_path / "pictures", 3)
    with Collection(address(tmp_path / "c"), create=True) as collection:
        assert index(collection, [pictures], descriptors=["color_layout"], workers=0, ocr=False).items == 12
        engine = Engine(collection)
        query = Query(examples=[Example(item=1)])
        first = [hit.id for hit in engine.search(query, 12)]
        engine.feedback(query, [(first[-1], 1.0), (first[1], 0.0)])
        assert engine.search(query, 12)[0].id in (1, first[-1])
        (pictures / "red_things" / "00000.png").unlink()
        index(collection, workers=0)
        assert len(collection.items()) == 11


def test_marks_of_many_at_once_are_all_there_in_the_order_of_their_numbers(there):
    seen, failures = [], []

    def mark(collection, name):
        try:
            for number in range(15):
                add_marks(collection, name, [Mark(number + 1, 1.0)])
            collection.release()
        except Exception as error:
            failures.append(error)

    with Collection(there) as one, Collection(there) as other:
        count = len(marks(one))
        threads = [
            threading.Thread(target=mark, args=(collection, f"{place}-{number}"))
            for place, collection in enumerate((one, other))
            for number in range(3)
        ]
        for thread in threads:
            thread.start()
        last = 0
        while any(thread.is_alive() for thread in threads):
            fresh = marks(one, after=last)
            seen += fresh
            last = fresh[-1].id if fresh else last
        seen += marks(one, after=last)
        assert not failures
        # Who reads on from the last number that was seen misses none.
        assert [found.id for found in seen] == [found.id for found in marks(one)]
        assert len(seen) == count + 6 * 15


def test_who_waits_too_long_for_a_writer_is_told_and_can_go_on(there):
    with Collection(there) as one, Collection(there) as other:
        other.db.execute("SELECT set_config('lock_timeout', '100ms', false)")
        with one.transaction():
            with pytest.raises(Unreachable, match="is busy"):
                other.mark("q", 1, 1.0)
            assert len(other) == 80  # readers wait for nobody
        assert not other.db.in_transaction
        number = other.mark("q", 1, 1.0)
        assert one.mark("q", 2, 1.0) > number


def test_a_database_that_is_killed_loses_no_mark(original, tmp_path, monkeypatch):
    monkeypatch.setattr("rankloom.collection.postgres.connection.PATIENCE", LONG)  # a busy machine starts it late
    with own_server() as server, ThreadPoolExecutor(1) as beside:
        sign = "&" if "?" in server.uri else "?"
        name = f"{server.uri}{sign}schema=photos&files={tmp_path / 'c'}"
        copy_collection(original, name)
        acknowledged, said, starts = [], [], []
        with Collection(name) as collection:
            for number in range(60):
                if number in (20, 40):
                    wait(starts)
                    server.kill()
                    starts.append(beside.submit(server.start))
                try:
                    add_marks(collection, "killed", [Mark(number + 1, 1.0)])
                    acknowledged.append(number + 1)
                except Unreachable as error:  # in the middle of a change: it is said, and can be done again
                    said.append(str(error))
            assert [start.result() for start in starts] == [None, None]
            kept = [found.item for found in marks(collection, "killed")]
        assert len(acknowledged) >= 55
        assert len("".join(said).splitlines()) <= 1
        assert {*acknowledged} <= {*kept}
        server.stop()
        found = rankloom("info", "-c", name, code=1)
        assert "does not answer" in found.output
        assert len(found.output.strip().splitlines()) == 1


def test_pgvector_proposes_what_exact_search_finds(tmp_path):
    pictures = write_pictures(tmp_path / "pictures", 12)
    with Collection(address(tmp_path / "c"), create=True) as collection:
        index(collection, [pictures], descriptors=["semantic"], workers=0, ocr=False)
        stored = collection.vectors("semantic")
        proposing = PgvectorIndex(collection)
        proposing.grow({"semantic": stored})
        rows = np.asarray(stored[0 : len(stored)], np.float32)
        cosines = rows @ rows.T / np.outer(*[np.linalg.norm(rows, axis=1)] * 2)
        for number in (0, 17, 47):
            candidates = proposing.candidates([{"semantic": rows[number]}], 10)
            assert len(candidates) == 10
            # In half precision, neighbors of equal rank may change places.
            assert len({*candidates.tolist()} & {*np.argsort(-cosines[number])[:12].tolist()}) == 10
        assert proposing.candidates([{}], 10) is None
        query = Query(examples=[Example(item=7)])
        exact = [(hit.id, hit.score) for hit in Engine(collection, index="exact").search(query, 5)]
        found = [(hit.id, hit.score) for hit in Engine(collection, index="pgvector").search(query, 5)]
        assert [number for number, _ in found] == [number for number, _ in exact]
        assert [score for _, score in found] == pytest.approx([score for _, score in exact], abs=1e-5)
    with Collection(tmp_path / "folder", create=True) as plain, pytest.raises(ValueError, match="rankloom copy"):
        PgvectorIndex(plain)


def test_what_only_folders_have_is_said(there, tmp_path):
    for command in (["backup"], ["restore", "--yes"]):
        assert "pg_dump" in rankloom(*command, "-c", there, code=1).output
    assert "name the folder" in rankloom("index", str(tmp_path), "-c", address("").split("&files=")[0], code=1).output
    assert "holds no collection" in rankloom("info", "-c", address(tmp_path / "none"), code=1).output
    bad = rankloom("info", "-c", "postgresql://localhost/x?schema=Drop+Table", code=1).output
    assert "cannot be the schema" in bad
    with Collection(there) as collection:
        with pytest.raises(ValueError, match="pg_dump"):
            back_up(collection.folder)
        file = next(collection.folder.glob("vectors/*.codes"))
    file.write_bytes(b"\0" * file.stat().st_size)
    assert "0 problems left" in rankloom("repair", "-c", there, "--workers", "0").output


def test_the_lock_of_indexing_is_free_when_indexing_ends(there):
    taken = "SELECT pg_try_advisory_xact_lock(%s)", (lock_of(parsed(there), "index"),)  # until the end of the statement
    with Collection(there) as collection, closing(connected(parsed(there))) as other:
        for _ in range(50):  # a server frees what a closed connection held a moment later
            with collection.indexing():
                assert not other.execute(*taken).fetchone()[0]
            assert other.execute(*taken).fetchone()[0]

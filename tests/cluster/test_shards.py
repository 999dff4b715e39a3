"""Search over shards on two worker processes: the hits of one engine to the last bit, or what is missing, counted."""

from __future__ import annotations

import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import pytest

from rankloom.cluster import ClusterError, ShardedSearch, make_shards
from rankloom.collection import Captions, Collection, Mark, index
from rankloom.collection.query import Example, Filters, Query
from rankloom.engine import Engine, SearchOptions
from tests.archives import COLORS, copied, make, picture, write_pictures
from tests.shell import rankloom
from tests.waiting import LONG, wait_until

pytestmark = pytest.mark.slow

EXPERTS_ALONE = SearchOptions(feedback=False, diffusion=False)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """29 pictures; nine of them twice, in files that differ, so that their scores are the same."""
    folder = write_pictures(tmp_path_factory.mktemp("pictures"), 5)
    for number in range(9):
        image = picture(COLORS["blue"], number)
        for level in (1, 9):
            cv2.imwrite(str(folder / f"twin-{level}-{number}.png"), image, [cv2.IMWRITE_PNG_COMPRESSION, level])
    return folder


@pytest.fixture(scope="module")
def engine(pictures, tmp_path_factory):
    """The engine of a collection of them, whose weights marks have moved."""
    place = make(tmp_path_factory.mktemp("made") / "c", pictures, captions=Captions(str(pictures / "captions.csv")))
    with Collection(place) as collection:
        engine = Engine(collection, index="exact")
        engine.feedback(_like(2), [Mark(4, 1.0), Mark(20, 0.0), Mark(30, 1.0)])
        engine.settle()
        assert engine.weights != engine.weight_state.start
        yield engine


@pytest.fixture
def shards(engine, tmp_path):
    make_shards(engine, tmp_path / "shards", 5)
    return tmp_path / "shards"


def _like(*items, text="", **filters):
    return Query(text, tuple(Example(item=item) for item in items), Filters(**filters))


def _queries(pictures):
    return [
        _like(3),
        _like(30, text="blue boat"),
        _like(3, 12, text="boat -house"),
        _like(7, folder=str(pictures / "red_things")),
        Query("", (Example(path=str(pictures / "twin-1-3.png")), Example(item=1, weight=-1.0))),
    ]


@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_hits_are_those_of_one_engine(engine, client, pictures, tmp_path, n_shards):
    made = make_shards(engine, tmp_path / "shards", n_shards)
    assert [shard.end for shard in made][-1] == len(engine.collection) == 38
    search = ShardedSearch(engine, client, tmp_path / "shards")
    tied = 0
    for query in _queries(pictures):
        for k, offset in ((3, 0), (12, 5), (100, 0)):
            single = engine.search(query, k, SearchOptions(offset, feedback=False, diffusion=False))
            found = search.search(query, k, offset)
            assert found.results.hits == single.hits  # scores too, bit for bit
            assert found.results.total == single.total
            assert (found.missing, found.note, found.n_shards) == ((), None, n_shards)
        scores = [hit.score for hit in single]
        tied += len(scores) - len(set(scores))
    assert tied > 9


def test_items_that_came_later_are_found_too(engine, client, shards, pictures, tmp_path):
    with copied(engine.collection, tmp_path / "c") as grown:
        write_pictures(tmp_path / "more", 1, seed=7, captions=False)
        index(grown, [tmp_path / "more"], preset="paper36", workers=0, ocr=False)
        other = Engine(grown, index="exact")
        assert len(grown) == 42
        found = ShardedSearch(other, client, shards).search(_like(3), 50)
        assert found.results.hits == other.search(_like(3), 50, EXPERTS_ALONE).hits
        assert (found.n_items, found.missing) == (42, ())


def test_a_shard_without_its_files_is_missing_until_they_are_back(engine, client, shards):
    search = ShardedSearch(engine, client, shards)
    whole = search.search(_like(3), 50)
    os.rename(shards / "shard-2-of-5", shards / "away")
    found = search.search(_like(3), 50)
    assert [shard.number for shard in found.missing] == [2]
    assert found.note.startswith("missing: 1 of 5 shards, 8 of 38 items (")
    assert [hit.id for hit in found.results] == [hit.id for hit in whole.results if not 8 <= hit.id <= 15]
    assert found.results.total == 30
    os.rename(shards / "away", shards / "shard-2-of-5")
    assert search.search(_like(3), 50) == whole


def test_a_damaged_shard_is_missing_until_it_is_mended(engine, client, shards):
    search = ShardedSearch(engine, client, shards)
    whole = search.search(_like(3), 50)
    file = next((shards / "shard-4-of-5").glob("*.vec"))
    sound = file.read_bytes()
    file.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    found = search.search(_like(3), 50)
    assert [shard.number for shard in found.missing] == [4]
    assert f"shard-4-of-5: {file.name} is damaged" in found.note
    file.write_bytes(sound)
    assert search.search(_like(3), 50) == whole


def test_shards_of_another_collection_are_refused(engine, client, shards, tmp_path):
    with pytest.raises(ClusterError, match="no worker sees shards"):
        ShardedSearch(engine, client, tmp_path / "nowhere").search(_like(3))
    for path in shards.glob("*/shard.json"):
        record = json.loads(path.read_text())
        path.write_text(json.dumps({**record, "collection": "0" * 32}))
    with pytest.raises(ClusterError, match="of another collection"):
        ShardedSearch(engine, client, shards).search(_like(3))
    with pytest.raises(FileExistsError, match="is not empty"):
        make_shards(engine, shards, 2)
    with pytest.raises(ValueError, match="38 items cannot be cut into 39 shards"):
        make_shards(engine, tmp_path / "many", 39)


def test_a_worker_killed_in_the_middle_is_replaced_or_counted(engine, client, shards, tmp_path):
    """Both workers see all shards, or each its own."""
    expected = engine.search(_like(3), 50, EXPERTS_ALONE)
    search = ShardedSearch(engine, client, shards)
    search.search(_like(3), 50)
    found = _searched_while_killing(client, search)
    assert (found.results, found.missing) == (expected, ())
    assert len(_pids(client, 2)) == 2  # the nanny has started another

    first, second = sorted(client.nthreads())
    for worker, numbers in ((first, (1, 2)), (second, (3, 4, 5))):
        own = tmp_path / str(numbers[0])
        for number in numbers:
            shutil.copytree(shards / f"shard-{number}-of-5", own / "shards" / f"shard-{number}-of-5")
        client.run(os.chdir, own, workers=[worker])
    search = ShardedSearch(engine, client, "shards")
    assert search.search(_like(3), 50).results == expected
    found = _searched_while_killing(client, search)
    assert [shard.number for shard in found.missing] == [1, 2]
    assert found.note.startswith("missing: 2 of 5 shards, 15 of 38 items (")
    assert [hit.id for hit in found.results] == [hit.id for hit in expected if hit.id > 15]
    _pids(client, 2)
    back = next(worker for worker in client.nthreads() if worker != second)
    client.run(os.chdir, tmp_path / "1", workers=[back])
    assert search.search(_like(3), 50).results == expected  # it serves its shards again


def _pids(client, n):
    """The process of each worker, once there are n."""
    client.wait_for_workers(n, timeout=LONG)
    return client.run(os.getpid)


def _searched_while_killing(client, search):
    """The hits of a search that waits for a worker, the first by its address, which is killed then."""
    worker, pid = min(_pids(client, 2).items())
    os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(search.search, _like(3), 50)
        wait_until(lambda: client.processing()[worker], pause=0.01)  # it was given work, which it cannot do
        os.kill(pid, signal.SIGKILL)
        return waiting.result()


def test_commands(engine, client, tmp_path):
    collection, folder = engine.collection.folder, tmp_path / "shards"
    said = rankloom("shard", "make", folder, "--shards", 3, "-c", collection)
    assert "3 shards of 38 items" in said.output
    assert "3 of 3 shards are whole" in rankloom("shard", "check", folder).output
    ask = ["search", "--item", 3, "-k", 5, "--json", "-c", collection]
    spread = ["--cluster", client.scheduler.address, "--shards", folder]
    alone = rankloom(*ask, "--no-diffusion", "--no-marks", "--index", "exact")
    outputs = (rankloom(*ask, *spread), alone)
    found, expected = ([json.loads(line) for line in output.stdout.splitlines()] for output in outputs)
    # Workers compute with compiled loops, the command alone does not for so little: the last bits differ.
    assert found == [{**hit, "score": pytest.approx(hit["score"], rel=1e-4)} for hit in expected]
    assert "3 marks of this query are left aside" in rankloom("search", "--item", 2, *ask[3:], *spread).stderr
    shutil.rmtree(folder / "shard-3-of-3")
    lines = rankloom(*ask, *spread).stdout.splitlines()
    missing = json.loads(lines[-1])["missing"]
    assert missing == {"shards": [3], "of": 3, "items": 13, "of_items": 38, "reasons": ["no worker sees it"]}
    assert "missing: 1 of 3 shards, 13 of 38 items" in rankloom(*ask[:-3], *ask[-2:], *spread).stderr
    assert "shard-3-of-3 is not here" in rankloom("shard", "check", folder, code=1).output
    for refused in (["--collapse"], ["--explain"], ["--order", "name"]):
        assert "do not work over shards" in rankloom(*ask, *spread, *refused, code=2).output
    assert "--shards and --cluster" in rankloom(*ask, "--shards", Path("x"), code=2).output

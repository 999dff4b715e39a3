"""Indexing on two worker processes, one of which is killed in the middle, from folders and from an object store."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankloom.cluster import ClusterError, ClusterPool, connected
from rankloom.cluster.pool import AHEAD, BATCH
from rankloom.collection import Captions, Collection, index
from rankloom.collection._pool import run_in_order
from rankloom.collection.originals import open_original
from rankloom.collection.overview import boxes_of, cues_of
from tests.archives import write_pictures
from tests.cluster.conftest import WORKERS, kill_a_worker
from tests.shell import rankloom

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("store")]

OPTIONS = {"preset": "paper36", "descriptors": ["sift_words"], "ocr": False, "speech": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures in folders with texts beside them, a film with subtitles, a copy and a file that is no picture."""
    folder = write_pictures(tmp_path_factory.mktemp("pictures"), 6, captions=False)
    _sign(folder / "red_things" / "sign.png")
    (folder / "red_things" / "sign.txt").write_text("A sign at the road")
    (folder / "blue_things" / "copy.png").write_bytes((folder / "red_things" / "00001.png").read_bytes())
    (folder / "blue_things" / "broken.jpg").write_text("no picture")
    _film(folder / "film.avi")
    (folder / "Film.en.srt").write_text("1\n00:00:00,100 --> 00:00:01,500\nHello from the film\n")
    (folder / "captions.csv").write_text("path,caption\nred_things/00002.png,A boat at sea\n")
    return folder


def _sign(path):
    image = np.full((120, 400, 3), 255, np.uint8)
    cv2.putText(image, "HARBOUR 24", (20, 80), cv2.FONT_HERSHEY_SIMPLEX, 2.0, (0, 0, 0), 4)
    cv2.imwrite(str(path), image)


def _film(path):
    film = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 10, (64, 48))
    for shot, color in enumerate(((0, 0, 200), (200, 0, 0))):
        for frame in range(12):
            film.write(np.full((48, 64, 3), color, np.uint8) + np.uint8(shot + frame % 2))
    film.release()


@pytest.fixture(scope="module")
def single(folder, tmp_path_factory):
    """What one machine makes of the folder."""
    with Collection(tmp_path_factory.mktemp("single") / "c", create=True) as collection:
        report = index(collection, [folder], workers=1, captions=_captions(folder), **OPTIONS)
        yield _contents(collection, str(folder)), report


def _captions(folder):
    return Captions(str(folder / "captions.csv"))


def _contents(collection, root):
    """All that is known of each item, by the places of its files below a root and the number of its shot."""
    contents = {}
    vectors = {stored.name: collection.vectors(stored.name).rows for stored in collection.descriptors()}
    rows = collection.db.execute("SELECT * FROM items").fetchall()
    for number, digest, shot, *known in rows:
        files = collection.db.execute("SELECT path, size FROM files WHERE hash = ? ORDER BY path", (digest,)).fetchall()
        place = tuple((path.removeprefix(root), size) for path, size in files)
        contents[place, shot] = {
            "known": known[:-2],  # but for the place of its thumbnail
            "thumbnail": collection.thumbnail(number),
            "texts": sorted(collection.texts(number)),
            "boxes": boxes_of(collection, number),
            "cues": cues_of(collection, number),
            "vectors": {name: rows[number - 1].tobytes() for name, rows in vectors.items()},
        }
    contents["errors"] = [(path.removeprefix(root), why) for path, why in collection.errors()]
    contents["readings"] = sorted(collection.db.execute("SELECT * FROM readings").fetchall())
    return contents


class Killer:
    """Kills a worker when the results of the first batch have come."""

    def __init__(self, client):
        self.client, self.killed = client, False

    def __call__(self, done, total, text):
        if text.startswith("describing") and done >= BATCH and not self.killed:
            self.killed = True
            kill_a_worker(self.client)


def test_a_folder_is_described_as_on_one_machine(client, folder, single, tmp_path):
    expected, report = single
    killer = Killer(client)
    with Collection(tmp_path / "c", create=True) as collection:
        pool = ClusterPool(client, [str(folder)])
        address = f"file://{folder}"
        done = index(collection, [address], workers=pool, captions=_captions(folder), progress=killer, **OPTIONS)
        assert killer.killed
        assert _contents(collection, str(folder)) == expected
        assert (done.items, done.failed, done.captions) == (report.items, 1, 1)
        again = index(collection, workers=pool)
        assert (again.stored, again.unchanged) == (0, 28)
        texts = " ".join(text for (text,) in collection.db.execute("SELECT text FROM texts"))
    for text in ("A sign at the road", "Hello from the film", "A boat at sea", "red things"):
        assert text in texts
    assert all(not crews for crews in client.run(_crews).values())


def _crews():
    from rankloom.cluster.batches import _crews

    return len(_crews)


def test_an_object_store_is_described_as_a_folder(client, folder, single, store, tmp_path):
    expected, _ = single
    store.put("photos", folder)
    killer = Killer(client)
    with Collection(tmp_path / "c", create=True) as collection:
        pool = ClusterPool(client)
        options = {"workers": pool, "captions": _captions(folder), "progress": killer}
        index(collection, ["s3://photos/"], **options, **OPTIONS)
        assert killer.killed
        assert _contents(collection, "s3://photos") == expected
        again = index(collection, workers=pool)
        assert again.stored + again.followed + again.failed == 0
        item = collection.db.execute("SELECT min(id) FROM items WHERE shot IS NULL").fetchone()[0]
        original = open_original(collection, item)
        with original.file as file:
            assert file.read() == Path(str(folder) + original.path.removeprefix("s3://photos")).read_bytes()
        store.delete("photos", "red_things/00000.png")
        assert index(collection, workers=pool).removed == 1
        with pytest.raises(ValueError, match="is read by a cluster; add: --cluster local:"):
            index(collection, descriptors=["wavelet"], workers=0)
        index(collection, workers=pool)
        assert {stored.rows for stored in collection.descriptors()} == {len(collection)}
        missing = "SELECT count(*), count(DISTINCT item) FROM missing"
        assert collection.db.execute(missing).fetchone() == (1, 1)  # the deleted file has no such vector


def test_parquet_of_an_object_store(client, store, tmp_path):
    from rankloom.cluster import fit
    from rankloom.datasets import load_files, make_ranking, save_table
    from rankloom.rankers import make_ranker

    data = make_ranking(20, random_state=0)
    for part in range(2):
        save_table(data.take(data.qid % 2 == part), tmp_path / f"part-{part}.parquet")
    store.put("rows", tmp_path)
    fitted = fit(make_ranker("rlr"), "s3://rows/part-*.parquet", client)
    whole = make_ranker("rlr").fit(*load_files("s3://rows/part-*.parquet"))
    np.testing.assert_allclose(fitted.coef_, whole.coef_, rtol=1e-9)


def test_a_lost_process_costs_its_file_and_what_a_worker_lacks_is_said(client, tmp_path):
    results = run_in_order(
        fragile, [(str(number),) for number in range(20)], workers=ClusterPool(client), prepare=prepare, settings=None,
        failed=lambda task, why: (task[0], why),
    )  # fmt: skip
    lost = "the decoder crashed on it: it was killed by SIGKILL"
    assert [*results] == [("5", lost) if number == 5 else str(number) for number in range(20)]
    missing = str(tmp_path / "not mounted")
    with pytest.raises(ClusterError, match=r"a worker does not see .*not mounted: mount it there too"):
        next(run_in_order(
            fragile, [("1",)], workers=ClusterPool(client, [missing]), prepare=prepare, settings=None, failed=max,
        ))  # fmt: skip
    with pytest.raises(ChildProcessError, match="a worker process could not start: ValueError: no model here"):
        next(run_in_order(
            fragile, [("1",)], workers=ClusterPool(client), prepare=prepare_badly, settings=None, failed=max,
        ))  # fmt: skip


def test_a_killed_worker_repeats_only_its_batches(client, tmp_path):
    tasks = [(f"{tmp_path}/{number}",) for number in range(160)]
    results = run_in_order(
        logged, tasks, workers=ClusterPool(client), prepare=prepare, settings=None, failed=lambda task, why: why
    )
    first = next(results)
    kill_a_worker(client)
    assert [first, *results] == [path for (path,) in tasks]
    runs = [len(Path(path).read_text()) for (path,) in tasks]
    assert min(runs) == 1
    assert sum(runs) - len(tasks) <= AHEAD * WORKERS * BATCH  # what was in flight


def logged(path, *, alive):
    with open(path, "a") as file:
        file.write(".")
    return path


def test_few_batches_are_in_flight(client):
    taken = 0

    def tasks():
        nonlocal taken
        for number in range(10_000):
            taken += 1
            yield (str(number),)

    results = run_in_order(
        fragile, tasks(), workers=ClusterPool(client), prepare=prepare, settings=None, failed=lambda task, why: why
    )
    assert next(results) == "0"
    assert taken <= AHEAD * WORKERS * BATCH + BATCH  # and the batch that is being put together
    results.close()


def test_the_command_indexes_on_a_cluster(client, store, folder, tmp_path):
    store.put("few", folder / "red_things")
    options = ("-c", tmp_path / "c", "--preset", "paper36", "--ocr", "--no-speech", "--no-neighbours")
    told = rankloom("index", "s3://few", *options, code=1).output
    assert told.startswith("Error: s3://few/00000.png is read by a cluster; add: --cluster local:")
    address = ("--cluster", client.scheduler.address)
    told = rankloom("index", "s3://few", *options, *address).stdout
    assert told.startswith("7 files described (7 items)")
    assert (
        "give the number of processes, as in local:2"
        in rankloom("index", *options, "--cluster", "local", code=1).output
    )
    assert "a cluster has its own" in rankloom("index", *options, *address, "--workers", 2, code=2).output
    told = rankloom("index", "s3://nothing", *options, *address, code=1).output
    assert told == "Error: s3://nothing: no such file or folder\n"
    hit = json.loads(rankloom("search", "harbour", "-c", tmp_path / "c", "--json", "-k", 1).stdout.splitlines()[0])
    assert hit["path"] == "s3://few/sign.png"


# A scheduler and its worker in one process, which can be killed and started again at the same address.
CLUSTER = """
import sys, threading
from distributed import LocalCluster
options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "protocol": "tcp", "dashboard_address": None}
cluster = LocalCluster(host="127.0.0.1", scheduler_port=int(sys.argv[1]), **options)
threading.Event().wait()
"""


def test_a_lost_scheduler_is_waited_for(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    running: list[subprocess.Popen[bytes]] = []

    def start():
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
        quiet["env"] = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # it imports this module
        running.append(subprocess.Popen([sys.executable, "-c", CLUSTER, str(port)], **quiet))

    try:
        start()
        with connected(address) as client, closing(ClusterPool(client)) as pool:
            tasks = [(str(number),) for number in range(10, 60)]
            results = run_in_order(same, tasks, workers=pool, prepare=prepare, settings=None, failed=max)
            first = next(results)
            for process in running:
                process.kill()
                process.wait()
            start()
            assert [first, *results] == [number for (number,) in tasks]
    finally:
        for process in running:
            process.kill()
            process.wait()


def same(number, *, alive):
    return number


def prepare(_):
    pass


def prepare_badly(_):
    raise ValueError("no\nmodel here")


def fragile(number, *, alive):
    if number == "5":
        os.kill(os.getpid(), signal.SIGKILL)
    return number

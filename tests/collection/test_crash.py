"""Killed at any moment: the collection opens, nothing acknowledged is lost, the result is as of an undisturbed run."""

import random
import subprocess
import sys
import time
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankloom.collection import Collection, index, verify
from tests.waiting import kill_group, wait_until

pytestmark = pytest.mark.slow

# Indexes with worker processes and marks at the same time; prints a line for each acknowledged mark.
WORKER = """
import sys, threading
from rankloom.collection import Collection, index

def marks(folder, turn):
    with Collection(folder) as collection:
        number = 0
        while True:
            if len(collection):
                number += 1
                collection.mark(f"{turn}-{number}", number % len(collection) + 1, 1.0)
                print(f"marked {turn}-{number}", flush=True)

if __name__ == "__main__":
    folder, pictures, turn, workers = sys.argv[1:]
    with Collection(folder, create=True) as collection:
        print("ready", flush=True)
        threading.Thread(target=marks, args=(folder, turn), daemon=True).start()
        index(collection, [pictures], preset="paper36", workers=int(workers), ocr=False)
        print("done", flush=True)
"""

KILLS = 8


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for number in range(150):
        image = cv2.resize(rng.integers(0, 255, (12, 12, 3), np.uint8), (320, 240), interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(str(folder / f"{number:03}.jpg"), image)
    (folder / "bad.jpg").write_bytes(b"not a picture")
    return folder


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
def test_workers_end_with_the_indexer_that_was_killed(pictures, tmp_path):
    command = [sys.executable, "-m", "rankloom", "index", str(pictures), "-c", str(tmp_path / "c"), "--workers", "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: len(group(process.pid)) >= 3 or process.poll() is not None, pause=0.05)
    assert process.returncode is None, "no workers were seen"
    process.kill()  # the indexer alone, not its workers
    process.wait()
    wait_until(lambda: not group(process.pid), pause=0.1)


def group(number):
    """The processes of a process group that run, by /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue  # it has just ended
        if int(pgrp) == number and state != "Z":
            found.append(stat.parent.name)
    return found


def test_kills(pictures, tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    folder, rng = tmp_path / "collection", random.Random(0)
    acknowledged, interrupted, before = [], 0, 0
    for turn in range(KILLS):
        log = tmp_path / "log"
        workers = "2" if turn % 5 == 0 else "0"
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [sys.executable, str(script), str(folder), str(pictures), str(turn), workers],
                stdout=output, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        sign = b"marked" if turn % 3 == 2 else b"ready"  # on a slow machine no item is there in the first second
        wait_until(lambda: sign in log.read_bytes() or process.poll() is not None, pause=0.01)  # noqa: B023
        time.sleep(rng.uniform(0.0, 0.8))
        interrupted += process.poll() is None
        kill_group(process)
        # A line may have been cut off by the kill: only whole ones were acknowledged.
        lines = log.read_bytes().decode().split("\n")[:-1]
        acknowledged += [line.split()[1] for line in lines if line.startswith("marked")]
        with Collection(folder) as collection:
            assert verify(collection).problems == []
            assert len(collection) >= before, "items were lost"
            before = len(collection)
            marked = {qid for qid, _, _ in collection.marks()}
            assert marked.issuperset(acknowledged), "an acknowledged mark was lost"
    assert interrupted >= KILLS // 2, "most runs ended before the kill: the test shows nothing"
    assert acknowledged, "no mark was made"
    with Collection(folder) as collection, Collection(tmp_path / "calm", create=True) as calm:
        index(collection, [pictures], preset="paper36", workers=0, ocr=False)
        index(calm, [pictures], preset="paper36", workers=0, ocr=False)
        assert [item.paths for item in collection.items()] == [item.paths for item in calm.items()]
        assert dict(collection.errors()).keys() == dict(calm.errors()).keys()
        assert collection.descriptors() == calm.descriptors()
        for one in calm.descriptors():
            np.testing.assert_array_equal(collection.vectors(one.name), calm.vectors(one.name))
        for number in range(1, len(calm) + 1):
            assert collection.thumbnail(number) == calm.thumbnail(number)
            assert collection.texts(number) == calm.texts(number)
        assert verify(collection).problems == []

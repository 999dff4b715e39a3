"""Many users search and mark while files are added and the server is killed: nothing acknowledged may be lost.

Runs on this machine alone and ends by itself: `python -m benchmarks.soak --seconds 120`.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np

from benchmarks.harness import Bar, at_most, show, write
from rankloom.collection import Collection, verify
from rankloom.demo import write_sample

TITLE = "Soak: 32 users, an indexer, and a server that is killed"
USERS, PICTURES, LATER, KILLS = 32, 300, 60, 3
WORDS = ("sea", "lighthouse", "night", "flower", "red", "mountain", "boat", "house", "pattern", "snow")
WAIT = 60.0


@dataclass
class Tally:
    """What the users saw; lists are appended to by many threads."""

    marks: dict[int, tuple[int, float]] = field(default_factory=dict)  # acknowledged: number -> item, grade
    undone: set[int] = field(default_factory=set)
    unknown: int = 0  # sent, and the server died before it answered
    wrong: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)
    searches: int = 0
    users: dict[int, str] = field(default_factory=dict)


class Server:
    """`rankloom serve` on a port that stays the same when it is killed and started again."""

    def __init__(self, folder: Path):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "rankloom",
            "serve",
            "-c",
            str(self.folder),
            "--port",
            str(self.port),
            "--quiet",
            "--profiles",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        began = time.monotonic()
        while time.monotonic() - began < WAIT:
            try:
                if httpx.get(f"{self.address}/api/health").status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.1)
        raise RuntimeError("the server did not start")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def in_order(hits: list[dict[str, Any]]) -> str:
    """What is wrong with an order, or nothing: scores fall, nothing is twice, right ones are above wrong ones."""
    scores = [hit["score"] for hit in hits]
    if any(a < b for a, b in pairwise(scores)):
        return "scores do not fall"
    if len({hit["id"] for hit in hits}) != len(hits):
        return "an item is twice in it"
    right = [hit["rank"] for hit in hits if (hit["mark"] or 0) > 0]
    others = [hit["rank"] for hit in hits if not (hit["mark"] or 0) > 0]
    if right and others and max(right) > min(others):
        return "a right item is below one that is not marked right"
    return ""


def user(server: Server, number: int, end: float, tally: Tally) -> None:
    """Search, look, mark a few, sometimes take one back; go on when the server is back."""
    random_ = random.Random(number)
    with httpx.Client(base_url=server.address, headers={"X-Rankloom": "1"}, timeout=30) as web:
        mine: list[int] = []
        query: dict[str, Any] = {"text": WORDS[number % len(WORDS)]}
        while time.monotonic() < end:
            waiting = False
            try:
                if random_.random() < 0.4:
                    some = random_.randint(1, PICTURES)
                    query = random_.choice([{"text": random_.choice(WORDS)}, {"examples": [{"item": some}]}])
                began = time.monotonic()
                answer = web.post("/api/search", json={"query": query, "k": 50})
                if answer.status_code != 200:
                    tally.refused.append(answer.text)
                    time.sleep(0.2)
                    continue
                tally.seconds.append(time.monotonic() - began)
                tally.searches += 1
                hits = answer.json()["hits"]
                if (wrong := in_order(hits)) != "":
                    tally.wrong.append(f"{query}: {wrong}")
                if not hits:
                    continue
                chosen = random_.sample(hits, min(len(hits), random_.randint(1, 3)))
                marks = [{"item": hit["id"], "grade": random_.choice([0, 1])} for hit in chosen]
                waiting = True
                given = web.post("/api/feedback", json={"query": query, "marks": marks})
                waiting = False
                if given.status_code == 200:
                    mine += given.json()["ids"]
                    for id_, mark in zip(given.json()["ids"], marks, strict=True):
                        tally.marks[id_] = (mark["item"], float(mark["grade"]))
                else:
                    tally.refused.append(given.text)
                if mine and random_.random() < 0.1:
                    taken = mine.pop()
                    if web.post("/api/undo", json={"mark": taken}).status_code == 200:
                        tally.undone.add(taken)
                    else:
                        tally.unknown += 1
            except httpx.HTTPError:
                tally.unknown += waiting
                time.sleep(0.2)
            time.sleep(random_.random() * 0.5)


def grow(folder: Path, pictures: Path, spare: list[Path], end: float) -> None:
    """Add a few files at a time and index them, in a process of its own."""
    while spare and time.monotonic() < end:
        for _ in range(min(5, len(spare))):
            source = spare.pop()
            shutil.copy(source, pictures / f"later_{source.name}")
        command = [sys.executable, "-m", "rankloom", "index", "-c", str(folder), "--workers", "1", "--json"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        time.sleep(1.0)


def watch(server: Server, end: float, tally: Tally) -> None:
    """The memory of the server, once a second."""
    while time.monotonic() < end:
        try:
            text = httpx.get(f"{server.address}/api/metrics").text
            value = next(line for line in text.splitlines() if line.startswith("rankloom_resident_bytes "))
            tally.memory.append((time.monotonic(), float(value.split()[1]) / 1e6))
        except (httpx.HTTPError, StopIteration):
            pass
        time.sleep(1.0)


def soak(place: Path, seconds: float) -> tuple[Tally, list[float], float, int, list[str]]:
    """Run it all: what was seen, the times of an idle server, growth of memory, marks lost, and what verify finds."""
    pictures, spare = place / "pictures", place / "spare"
    write_sample(pictures, n_pictures=PICTURES, n_videos=0)
    write_sample(spare, n_pictures=LATER, n_videos=0, seed=1)
    folder = place / "c"
    command = [sys.executable, "-m", "rankloom", "index", str(pictures), "-c", str(folder)]
    captions = ["--captions", str(pictures / "captions.csv")]
    subprocess.run([*command, *captions], check=True, stdout=subprocess.DEVNULL)
    server = Server(folder)
    idle: list[float] = []
    with httpx.Client(base_url=server.address, headers={"X-Rankloom": "1"}, timeout=60) as web:
        for number in range(60):
            began = time.monotonic()
            web.post("/api/search", json={"query": {"examples": [{"item": number + 1}]}, "k": 50}).raise_for_status()
            idle.append(time.monotonic() - began)
    tally = Tally()
    began = time.monotonic()
    end = began + seconds
    files = sorted(spare.rglob("img_*.*"))
    threads = [threading.Thread(target=user, args=(server, number, end, tally)) for number in range(USERS)]
    threads.append(threading.Thread(target=grow, args=(folder, pictures, files, began + seconds / 2)))
    threads.append(threading.Thread(target=watch, args=(server, end, tally)))
    for thread in threads:
        thread.start()
    for kill in range(KILLS):  # in the first half; the second shows whether memory stays
        time.sleep(max(0.0, began + (kill + 1) * seconds / (2 * KILLS + 2) - time.monotonic()))
        server.kill()
        server.start()
    calm = time.monotonic()
    for thread in threads:
        thread.join()
    code = server.stop()
    late = np.array([value for at, value in tally.memory if at > calm + (end - calm) * 0.3])
    growth = float(np.median(late[-len(late) // 4 :]) / np.median(late[: len(late) // 4])) if len(late) > 8 else 1.0
    with Collection(folder) as collection:
        rows = collection.db.execute("SELECT id, item, grade, undone FROM qrels").fetchall()
        stored = {id_: (item, grade) for id_, item, grade, _ in rows}
        standing = {id_ for id_, _, _, undone in rows if undone is None}
        lost = sum(stored.get(id_) != mark for id_, mark in tally.marks.items()) + len(tally.undone & standing)
        problems = verify(collection).problems
    if code != 0:
        problems.append(f"the server ended with code {code}")
    return tally, idle, growth, lost, problems


def run(seconds: float = 120.0) -> list[Bar]:
    place = Path(tempfile.mkdtemp(prefix="rankloom-soak-"))
    try:
        tally, idle, growth, lost, problems = soak(place, seconds)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    for line in (*tally.wrong[:5], *tally.refused[:5], *problems[:5]):
        print(line, file=sys.stderr)

    def percentile(values: list[float], q: float) -> str:
        return f"{1000 * float(np.percentile(values, q)):.0f} ms" if values else "none"

    return [
        at_most("6d", f"acknowledged marks lost, of {len(tally.marks):,}, {KILLS} kills", lost, 0, ""),
        at_most("6d", f"wrong orders, of {tally.searches:,} searches by {USERS} users", len(tally.wrong), 0, ""),
        at_most("6d", "memory in the last quarter over the first, undisturbed half", growth, 1.1),
        at_most("6d", "damage found by verify, and other ends than 0", len(problems), 0, ""),
        at_most("6d", "answers other than success while the server ran", len(tally.refused), 0, ""),
        Bar("6d", f"search, median and 95 %, {USERS} users", "", _pair(tally.seconds, percentile), None),
        Bar("6d", "search, median and 95 %, one user and nothing else", "", _pair(idle, percentile), None),
        Bar("6d", "memory of the server at the end", "", f"{tally.memory[-1][1] if tally.memory else 0:.0f} MB", None),
    ]


def _pair(values: list[float], percentile: Any) -> str:
    return f"{percentile(values, 50)}, {percentile(values, 95)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    bars = run(parser.parse_args().seconds)
    show(TITLE, bars)
    write("soak", TITLE, bars)
    return int(any(bar.passed is False for bar in bars))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())

"""Many users search by example and mark without a pause: throughput, waiting, and the memory of the server over time.

Runs on this machine alone and ends by itself: `python -m benchmarks.load --seconds 60`. With `--collection DIR` the
users search a copy of that collection, otherwise one of generated pictures. As the users take part of the same cores,
the processor time of server and users is given too, each by request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Bar, at_least, at_most, show, write
from benchmarks.soak import Server
from rankloom.collection import Collection
from rankloom.demo import write_sample

TITLE = "Load: 32 users without a pause, 5,000 items"
USERS, ITEMS, K = 32, 5000, 50
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Tally:
    """What the users saw after the first seconds, and the memory of the server in MB, once a second."""

    search: list[float] = field(default_factory=list)
    mark: list[float] = field(default_factory=list)
    refused: int = 0
    memory: list[float] = field(default_factory=list)


class Web:
    """A connection that stays open; as little as a client can do, since it shares the cores with the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._reader, self._writer = reader, writer
        self._cookie = ""

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        """The status and the body of the answer; a cookie is kept."""
        content = json.dumps(body).encode()
        lines = (f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "X-Rankloom: 1", "Content-Type: application/json",
                 f"Content-Length: {len(content)}", self._cookie)  # fmt: skip
        self._writer.write("\r\n".join(filter(None, lines)).encode() + b"\r\n\r\n" + content)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        if "set-cookie" in fields:
            cookie = next(line for line in head if line.lower().startswith("set-cookie: "))
            self._cookie = f"Cookie: {cookie.split(': ', 1)[1].split(';')[0]}"
        return int(head[0].split()[1]), await self._reader.readexactly(int(fields["content-length"]))


async def user(port: int, number: int, times: tuple[float, float], n_items: int, tally: Tally) -> None:
    """Search, mark one to three results, search again; often for something else."""
    begin, end = times
    choice = random.Random(number)
    web = Web(*await asyncio.open_connection("127.0.0.1", port, limit=2**24))
    query: dict[str, Any] = {}
    while time.monotonic() < end:
        if not query or choice.random() < 0.4:
            query = {"examples": [{"item": choice.randint(1, n_items)}]}
        hits = json.loads(await _timed(web, "/api/search", {"query": query, "k": K}, begin, tally.search, tally))[
            "hits"
        ]
        chosen = choice.sample(hits, choice.randint(1, 3))
        marks = [{"item": hit["id"], "grade": choice.choice([0, 1])} for hit in chosen]
        await _timed(web, "/api/feedback", {"query": query, "marks": marks}, begin, tally.mark, tally)


async def _timed(web: Web, path: str, body: dict[str, Any], begin: float, seconds: list[float], tally: Tally) -> bytes:
    """The answer; a server that is busy is asked again, and the wait counts."""
    began = time.monotonic()
    while True:
        status, content = await web.post(path, body)
        if status == 200:
            break
        tally.refused += 1
        await asyncio.sleep(0.05)
    if began >= begin:
        seconds.append(time.monotonic() - began)
    return content


async def watch(process: int, end: float, tally: Tally) -> None:
    """The memory of the server, once a second."""
    while time.monotonic() < end:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        tally.memory.append(next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1e3)
        await asyncio.sleep(1.0)


def cpu_seconds(process: int) -> float:
    """The processor time that a process has taken."""
    return sum(map(int, Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) / _TICKS


async def load(server: Server, seconds: float, n_items: int) -> tuple[Tally, float, float, float]:
    """Let all users in; returns what they saw, then the seconds by the clock, of the server and of the users."""
    tally, warm_up = Tally(), min(5.0, seconds / 4)
    begin = time.monotonic() + warm_up
    end = begin + seconds
    users = [asyncio.create_task(user(server.port, n, (begin, end), n_items, tally)) for n in range(USERS)]
    watching = asyncio.create_task(watch(server.process.pid, end, tally))
    await asyncio.sleep(warm_up)
    of_server, of_users = cpu_seconds(server.process.pid), time.process_time()
    await asyncio.gather(*users, watching)
    elapsed = time.monotonic() - begin
    return tally, elapsed, cpu_seconds(server.process.pid) - of_server, time.process_time() - of_users


def generated(folder: Path, n_items: int = ITEMS) -> None:
    """A collection of small pictures with all descriptors of the preset fast."""
    write_sample(folder / "pictures", n_pictures=n_items, n_videos=0)
    command = [sys.executable, "-m", "rankloom", "index", str(folder / "pictures"), "-c", str(folder / "c")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def run(seconds: float = 60.0, collection: Path | None = None) -> list[Bar]:
    """Measure, in a folder of its own."""
    place = Path(tempfile.mkdtemp(prefix="rankloom-load-"))
    try:
        if collection is None:
            generated(place)
        else:
            shutil.copytree(collection, place / "c")
        with Collection(place / "c") as opened:
            n_items = len(opened)
        server = Server(place / "c")
        tally, elapsed, of_server, of_users = asyncio.run(load(server, seconds, n_items))
        server.stop()
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return _bars(tally, elapsed, of_server, of_users)


def _bars(tally: Tally, elapsed: float, of_server: float, of_users: float) -> list[Bar]:
    search, mark = ([1e3 * float(np.percentile(some, q)) for q in (50, 95)] for some in (tally.search, tally.mark))
    answers = len(tally.search) + len(tally.mark)
    late = np.array(tally.memory[len(tally.memory) // 3 :])
    growth = float(np.median(late[-len(late) // 4 :]) / np.median(late[: len(late) // 4]))
    curve = ", ".join(f"{megabytes:.0f}" for megabytes in tally.memory[:: max(1, len(tally.memory) // 8)])
    each = f"{1e3 * of_server / answers:.1f} and {1e3 * of_users / answers:.1f} ms"
    return [
        at_least("load", f"answers a second, {USERS} users", answers / elapsed, 150, "/s"),
        at_most("load", "search, median", search[0], 200, " ms"),
        at_most("load", "search, 95 %", search[1], 600, " ms"),
        Bar("load", "mark, median and 95 %", "-", f"{mark[0]:.0f}, {mark[1]:.0f} ms", None),
        at_most("load", "memory, last quarter over first, after a third of the time", growth, 1.1),
        Bar("load", "memory over time", "-", f"{curve} MB", None),
        Bar("load", "processor time an answer, server and users", "-", each, None),
        Bar("load", "cores that the server had", "-", f"{of_server / elapsed:.2f} of {os.cpu_count()}", None),
        Bar("load", "refused and asked again", "-", str(tally.refused), None),
    ]


def main() -> int:
    """Measure, show and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--collection", type=Path)
    parser.add_argument("--keep", action="store_true", help="write the results")
    given = parser.parse_args()
    bars = run(given.seconds, given.collection)
    show(TITLE, bars)
    if given.keep:
        write("load", TITLE, bars)
    return int(any(bar.passed is False for bar in bars))


if __name__ == "__main__":
    sys.exit(main())

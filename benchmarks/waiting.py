"""Where people wait: indexing, cold starts of the shell and the server, HTTP, trials on labelled collections."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import cv2
import httpx2 as httpx
import numpy as np

from benchmarks.harness import SHARED, Bar, at_most
from benchmarks.load import cpu_seconds
from benchmarks.soak import Server
from rankloom.collection import Collection, IndexReport, index
from rankloom.demo import write_sample
from rankloom.descriptors import PRESETS, get_descriptor, semantic_network
from rankloom.descriptors.semantic import network_input
from rankloom.engine import Engine
from rankloom.experiments import evaluate_collection
from rankloom.experiments.labeled import LabeledCollection
from rankloom.experts.compact import CompactVectors
from rankloom.media import read_image
from rankloom.rankers import RankingLogisticRegression

TITLE = "Where people wait"
PICTURES = 200
ROUNDS = 5
LARGE = (4000, 3000)  # 12 megapixels
SMALL = (365, 274)  # 0.1


def run() -> list[Bar]:
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory(prefix="rankloom-waiting-") as place:
        root = Path(place)
        write_sample(root / "pictures", n_pictures=PICTURES, n_videos=0)
        return [*indexing(root), *videos(root), *cold_start(root / "c"), *web(root / "c"), *trials()]


def indexing(root: Path) -> list[Bar]:
    """The processor time of a picture, everything included, beside a forward pass of the network alone."""
    indexed(root / "pictures", root / "warm")
    files = sorted((root / "pictures").rglob("*.jpg"))
    inputs = [network_input(read_image(file))[None] for file in files]
    session = semantic_network().session()

    def forward() -> None:
        for pixels in inputs:
            session.run(["embedding", "probabilities"], {"pixels": pixels})

    rounds = []
    for number in range(ROUNDS):  # in turns, so that both meet the same machine
        each = cpu(lambda number=number: indexed(root / "pictures", root / f"c{number or ''}")) / PICTURES
        rounds.append((each, cpu(forward) / len(inputs)))
    each, network = np.median(rounds, axis=0)
    photo = read_image(files[0])
    for side, (width, height) in (("large", LARGE), ("small", SMALL)):
        folder = root / side
        folder.mkdir()
        for number in range(20):  # of different content, else they are one item
            picture = cv2.resize(photo, (width, height), interpolation=cv2.INTER_CUBIC)
            picture[: height // 8, : width // 8] = 12 * number
            cv2.imwrite(str(folder / f"{number}.jpg"), picture)
    sizes = [
        [cpu(lambda side=side, n=n: indexed(root / side, root / f"{side}-{n}")) / 20 for side in ("large", "small")]
        for n in range(ROUNDS)
    ]
    large, small = np.median(sizes, axis=0)
    return [
        at_most("10a", "index --preset fast, CPU of a picture / forward pass of the network", each / network, 2.0),
        Bar("10a", "CPU of a picture, of the forward pass", "-", f"{1e3 * each:.1f}, {1e3 * network:.1f} ms", None),
        at_most("10b", "a JPEG of 12 megapixels / of 0.1, indexed", large / small, 1.6),
        Bar("10b", "CPU of each", "-", f"{1e3 * large:.1f}, {1e3 * small:.1f} ms", None),
    ]


def videos(root: Path) -> list[Bar]:
    """How many times real time videos are described, each by itself, on one core."""
    bars = []
    for file in sorted((SHARED / "videos").glob("*.mp4")):
        began = time.process_time()
        with Collection(root / file.stem, create=True) as collection:
            report = _index(collection, file)
        pace = report.video_seconds / (time.process_time() - began)
        what = f"{file.name}, {report.items} shots, seconds of video / CPU"
        bars.append(Bar("video", what, "-", f"{pace:.1f}x", None))
    return bars


def _index(collection: Collection, path: Path) -> IndexReport:
    return index(collection, [path], preset="fast", workers=0, ocr=False, speech=False)


def indexed(pictures: Path, place: Path) -> None:
    with Collection(place, create=True) as collection:
        _index(collection, pictures)


def cpu(call: Callable[[], object]) -> float:
    """The processor time of a call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def cold_start(collection: Path) -> list[Bar]:
    """The processor time of commands in a new process, caches of compiled code included; the median of five."""
    with Collection(collection) as opened:
        Engine(opened).refresh()  # as `rankloom index` leaves it, with its neighbor graph
    asked = {
        "--help": ["--help"],
        "search sea": ["search", "sea", "-c", str(collection)],
        "search --item 5": ["search", "--item", "5", "-c", str(collection)],
    }
    taken = {name: cpu_of_command(arguments) for name, arguments in asked.items()}
    server = Server(collection)
    ready = cpu_seconds(server.process.pid)
    server.stop()
    return [
        at_most("10d", "rankloom --help, CPU", taken["--help"], 0.15, " s"),
        at_most("10d", "rankloom search by words, cold, CPU", taken["search sea"], 1.0, " s"),
        at_most("10d", "rankloom search by an item, cold, CPU", taken["search --item 5"], 1.0, " s"),
        at_most("10d", f"server ready, {PICTURES} items, CPU", ready, 1.5, " s"),
    ]


def cpu_of_command(arguments: list[str]) -> float:
    times, environment = [], {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "rankloom", *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return float(np.median(times[1:]))  # the first compiles


def web(collection: Path) -> list[Bar]:
    """A client that keeps its connection and asks one search after the other; and thumbnails as a browser asks."""
    server = Server(collection)
    try:
        with httpx.Client(base_url=server.address, headers={"X-Rankloom": "1"}) as client:

            def search(item: int) -> float:
                began = time.perf_counter()
                body = {"query": {"examples": [{"item": item}]}, "k": 50}
                answer = client.post("/api/search", json=body)
                taken = time.perf_counter() - began
                return taken - float(answer.raise_for_status().json()["seconds"])

            beside = np.median([search(item) for item in range(1, PICTURES + 1)][20:])

        def thumbnails(items: range) -> int:
            connection = HTTPConnection("127.0.0.1", server.port)
            return sum(fetched(connection, f"/api/items/{item}/thumbnail") for item in items)

        began = time.perf_counter()
        with ThreadPoolExecutor(6) as browser:
            got = sum(browser.map(thumbnails, [range(1 + part, PICTURES + 1, 6) for part in range(6)]))
        pictures = time.perf_counter() - began
    finally:
        server.stop()
    assert got == PICTURES
    return [
        at_most("10c", "search over HTTP minus the engine's time", 1e3 * float(beside), 3.0, " ms"),
        at_most("10c", f"{PICTURES} thumbnails over six connections", pictures, 0.25, " s"),
    ]


def fetched(connection: HTTPConnection, path: str) -> bool:
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status == 200 and len(answer.read()) > 0


def trials(n_items: int = 5000, n_queries: int = 400) -> list[Bar]:
    """A trial on a labelled collection of the size of a photo library, 32 experts."""
    random = np.random.default_rng(0)
    centers = {name: random.random((50, get_descriptor(name).dimension)) for name in PRESETS["fast"]}
    labels = random.integers(0, 50, n_items)
    vectors = {
        name: CompactVectors.of(rows[labels] + random.random((n_items, rows.shape[1])))
        for name, rows in centers.items()
    }
    data = LabeledCollection(vectors, labels)
    rankers = {"rlr": RankingLogisticRegression()}
    taken = cpu(lambda: evaluate_collection(data, rankers, n_queries=n_queries))
    what = f"evaluate-collection, {n_queries} queries, {n_items:,} items, {len(data.experts)} experts, CPU"
    return [at_most("10h", what, taken, 80.0, " s")]

"""Many machines, tried with processes of this one: what a second worker gains, and what a cluster costs to train on."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import SHARED, Bar, at_least, at_most
from rankloom.cluster import ClusterData, ClusterPool, connected, fit
from rankloom.cluster.pool import BATCH
from rankloom.collection import Collection, index
from rankloom.datasets import make_ranking, save_table
from rankloom.rankers import make_ranker

TITLE = "Past one machine"
PICTURES = 600
WORKERS = 2
ROUNDS = 3  # of which the median is taken: cores of shared machines change their speed


class WatchedPool(ClusterPool):
    """A pool that adds up how long its workers were at the files, from the first that comes back to the last."""

    def __init__(self, client: Any, roots: list[str]):
        super().__init__(client, roots)
        self.began = self.ended = self.work = 0.0
        self.files = -BATCH * WORKERS  # those before are not counted: workers start

    def run(self, *args: Any) -> Generator[Any, None, None]:
        for result in super().run(*args):
            self.files += 1
            if self.files == 0:
                self.began = time.perf_counter()
            elif self.files > 0:
                self.ended = time.perf_counter()
                self.work += result.seconds
            yield result


def describing(pictures: Path, folder: Path, workers: int) -> tuple[float, float]:
    """Pictures a second on a cluster, and the share of their time that the workers are at the files."""
    folder.mkdir(exist_ok=True)
    with connected(f"local:{workers}") as client, Collection(folder / f"c-{workers}", create=True) as collection:
        pool = WatchedPool(client, [str(pictures)])
        index(collection, [pictures], workers=pool, ocr=False, speech=False)
    taken = pool.ended - pool.began
    return pool.files / taken, pool.work / (taken * workers)


def indexing() -> list[Bar]:
    source = SHARED / "images-caltech101" / "images"
    if not source.is_dir():
        return [Bar("8", "pictures described on a cluster", "-", "no ../shared/data", None)]
    files = sorted(source.rglob("*.jpg"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        pictures = folder / "pictures"
        pictures.mkdir()
        for number, file in enumerate(files[:: len(files) // PICTURES][:PICTURES]):
            shutil.copy(file, pictures / f"{number:05}.jpg")
        rounds = [
            [describing(pictures, folder / str(number), workers) for workers in (1, WORKERS)]
            for number in range(ROUNDS)
        ]
        (one, alone), (two, together) = np.median(rounds, axis=0).tolist()
    waiting = f"waiting processes a core meanwhile: {os.getloadavg()[0] / (os.cpu_count() or 1):.1f}"
    return [
        at_least("8", f"pictures a second of two workers ({two:.0f}) / of one ({one:.0f}); {waiting}", two / one, 1.6),
        Bar("8", "  share of its time that one worker is at the files", "-", f"{alone:.0%}", None),
        Bar("8", "  the same of two workers, each", "-", f"{together:.0%}", None),
    ]


def training() -> list[Bar]:
    """A problem of some 100 MB in eight files."""
    data = make_ranking(6000, 100, 20, random_state=0)
    bars = []
    with tempfile.TemporaryDirectory() as folder, connected(f"local:{WORKERS}") as client:
        for part in range(8):
            save_table(data.take(data.qid % 8 == part), Path(folder, f"part-{part}.parquet"))
        parts = ClusterData.read(folder, client)
        for name in ("rlr", "frlr", "ranksvm", "listnet"):
            fit(make_ranker(name), parts, client)  # compiles, on all workers and here
            make_ranker(name).fit(*data)
            began = time.perf_counter()
            fitted = fit(make_ranker(name), parts, client)
            middle = time.perf_counter()
            whole = make_ranker(name).fit(*data)
            ended = time.perf_counter()
            differ = float(np.abs(fitted.coef_ - whole.coef_).max() / np.abs(whole.coef_).max())
            bars.append(at_most("8", f"{name}: weights of the cluster, relative difference", differ, 1e-9, ""))
            figure = f"{middle - began:.2f} s / {ended - middle:.2f} s"
            bars.append(Bar("8", f"{name}: {len(data):,} rows, two workers / one process", "-", figure, None))
    return bars


def run() -> list[Bar]:
    return [*indexing(), *training()]

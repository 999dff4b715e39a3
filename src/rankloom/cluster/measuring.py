"""Measure what items, queries and marks cost on this machine, with a small generated collection.

All times are processor time of one core, so that other work of the machine counts little.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from rankloom.cluster.capacity import Costs, Line, fit_line
from rankloom.collection import Collection, Mark, index
from rankloom.collection.filtering import allowed_by
from rankloom.collection.query import Example, Filters, Query
from rankloom.engine import Engine, SearchOptions
from rankloom.engine.apart import best_of
from rankloom.engine.snapshot import Snapshot
from rankloom.experts.compact import CompactVectors

PRESET = "fast"
_PICTURES = 120
_SIZES = (2_000, 4_000, 8_000, 16_000, 32_000)
_MASKS = (1_000_000, 2_000_000, 4_000_000, 8_000_000)
_REPEATS = 5
_SEARCHES = 40
_SIDE = 480, 360


def measure_costs(progress: Callable[[str], None] = lambda text: None, *, n_pictures: int = _PICTURES) -> Costs:
    """Index generated pictures, search and mark them, and compare an example with generated vectors of several sizes.

    Parameters
    ----------
    progress : called with a text before each step.
    n_pictures : how many, at least 3; few say little of the bytes of an item.
    """
    with TemporaryDirectory(prefix="rankloom-plan-") as place:
        progress(f"drawing {n_pictures} pictures")
        pictures, folder = Path(place, "pictures"), Path(place, "c")
        _draw(pictures, n_pictures)
        progress("indexing them")
        with Collection(folder, create=True) as collection:  # the first loads what is needed, and makes the files
            index(collection, [pictures / "0.jpg"], preset=PRESET, workers=0, ocr=False)
        before = _size(folder)
        with Collection(folder) as collection:
            began = process_time()
            index(collection, [pictures], workers=0, ocr=False)
            describe = (process_time() - began) / (n_pictures - 1)
        folder_bytes = (_size(folder) - before) / (n_pictures - 1)
        with Collection(folder) as collection:
            engine = Engine(collection)
            progress("searching and marking")
            query, mark = _query_seconds(engine), _mark_seconds(engine)
            snapshot = engine.snapshot()
            progress("comparing generated items")
            scan, filters = _scan(engine, snapshot), _filters(collection)
            vector_bytes = float(sum(vectors.rows.shape[1] for vectors in snapshot.vectors.values()))
    return Costs(_machine(), PRESET, scan, filters, query, mark, describe, vector_bytes, folder_bytes)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores, {platform.system()}"


def _draw(folder: Path, n: int) -> None:
    """Clouds of colour, no two alike, as JPEGs of the size of a small photo."""
    from PIL import Image

    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(n):
        small = rng.integers(0, 255, (12, 16, 3), dtype=np.uint8)
        Image.fromarray(small).resize(_SIDE, Image.Resampling.BICUBIC).save(folder / f"{number}.jpg", quality=90)


def _seconds(action: Callable[..., object], *arguments: object) -> float:
    began = process_time()
    action(*arguments)
    return process_time() - began


def _query_seconds(engine: Engine) -> float:
    """A search in a collection so small that comparing costs nothing."""
    options = SearchOptions(diffusion=False)
    ids = range(1, min(_SEARCHES, engine.snapshot().n_items) + 1)
    queries = [Query("", (Example(item=item),)) for item in ids]
    engine.search(queries[0])  # loads what is needed
    return median(_seconds(engine.search, query, 20, options) for query in queries[1:])


def _mark_seconds(engine: Engine) -> float:
    query = Query("", (Example(item=1),))

    def mark(item: int) -> None:
        engine.feedback(query, [Mark(item, float(item % 2))])
        engine.settle()

    mark(2)
    return median(_seconds(mark, item) for item in range(3, min(_SEARCHES, engine.snapshot().n_items) + 1))


def _line(sizes: tuple[int, ...], action: Callable[[int], object]) -> Line:
    """The cost of an action by the number of items; each is done once before it is measured."""
    costs = []
    for size in sizes:
        action(size)
        costs.append(median(_seconds(action, size) for _ in range(_REPEATS)))
    return fit_line(sizes, costs)


def _scan(engine: Engine, snapshot: Snapshot) -> Line:
    """The cost of comparing an example with generated items."""
    question = engine.apart(Query("", (Example(item=1),))).question._replace(through_distances=False)
    rows = np.random.default_rng(0).integers(0, snapshot.n_items, max(_SIZES))
    stored = {name: CompactVectors(vectors.rows[rows]) for name, vectors in snapshot.vectors.items()}

    def compare(size: int) -> None:
        best_of(question, {name: vectors.take(slice(size)) for name, vectors in stored.items()}, ([], None), 100)

    return _line(_SIZES, compare)


def _filters(collection: Collection) -> Line:
    """The cost of saying which items may be hits, as searches do, of so many that it can be measured."""
    present = np.ones(max(_MASKS), dtype=bool)

    def choose(size: int) -> bool:
        excluded = np.zeros(size, dtype=bool)
        return bool((present[:size] & ~excluded & allowed_by(collection, Filters(), size)).all())

    return _line(_MASKS, choose)

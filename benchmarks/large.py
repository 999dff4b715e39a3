"""Large collections with the preset fast: exact search and the cascade, with words and marks, at three sizes.

`python -m benchmarks large` makes them from real descriptions: mixtures of two pictures of a pack, perturbed. The
largest takes 9 GB of disk while it runs. Times are by the clock, on all cores. `python -m benchmarks.large DIR
N` measures one that is there and was made from N items, with diffusion if it has its neighbor graph.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.enlarged import enlarge, parents
from benchmarks.harness import Bar, at_least, at_most, show
from benchmarks.packs import collection_of
from rankloom.collection import Collection, Mark
from rankloom.collection.derived import store_derived
from rankloom.collection.query import Example, Query
from rankloom.collection.sketches import learned_cascade
from rankloom.engine import Engine, SearchOptions, cascade

TITLE = "Large collections"
SIZES = (100_000, 300_000, 1_000_000)
WORDS = ("a dog on grass", "two children play", "a red car", "a man on a bike", "snow on a mountain", "a boat at sea")
PLAIN = SearchOptions(diffusion=False)
_QUERIES = 12
_FILES = ("vectors", "rankloom.db", "texts.index", "tags.index", "sketch.npz")


def run() -> list[Bar]:
    bars = []
    source = collection_of("caltech101")
    with Collection(source) as small:
        n_source = len(small)
    for n_items in SIZES:
        with tempfile.TemporaryDirectory(prefix="rankloom-large-") as place:
            enlarge(source, Path(place, "c"), n_items)
            with Collection(Path(place, "c")) as collection:
                store_derived(collection)
                bars += measured(collection, n_source, judged=n_items == max(SIZES))
    return bars


def measured(collection: Collection, n_source: int, *, judged: bool) -> list[Bar]:
    """The figures of a collection made from `n_source` items; `judged`: they must pass the bars of a million."""
    exact, fast = Engine(collection, index="exact"), Engine(collection, index="cascade")
    view = fast._pipeline.view()
    cascade.bring_up_to_date(collection, view, lambda done, total, text: None)
    learned = learned_cascade(collection)
    assert learned is not None
    n_items, rng = len(collection), np.random.default_rng(5)
    items = [int(item) for item in rng.integers(1, n_items + 1, _QUERIES)]
    examples = [Query(examples=(Example(item=item),)) for item in items]
    both = [Query(words, query.examples) for words, query in zip(WORDS, examples, strict=False)]
    for words in WORDS:  # other queries before, so that what is timed finds its files in memory
        for engine in (exact, fast):
            engine.search(Query(f"{words} outside", examples[0].examples), 100, PLAIN)
    name = "10e" if judged else "-"
    size = f"{n_items:,} items"

    def bar(what: str, figure: float, most: float) -> Bar:
        return at_most(name, f"{size}: {what}", figure, most, " s") if judged else reported(f"{size}: {what}", figure)

    times, top = timed(exact, examples)
    bars = [bar("exact search by example", times, 0.6)]
    times, found = timed(fast, examples)
    share = f"{100 * cascade._share(learned):.2g}% looked at"
    bars.append(bar(f"cascade ({share})", times, 0.12))
    what = f"{size}: share of the exact top 100 (by the collection's own check {learned.agreement:.3f})"
    bars.append(at_least(name, what, agreement(found, top), 0.99, ""))
    bars.append(bar("words", timed(fast, [Query(words) for words in WORDS])[0], 0.12))
    times, found = timed(fast, both)
    bars.append(bar(f"words and an example, agreement {agreement(found, timed(exact, both)[1]):.3f}", times, 0.12))
    bars.append(bar(*marked(fast, exact, examples, parents(n_source, n_items)), 0.12))
    if fast._pipeline.diffusion.complete(fast.snapshot()):
        times, found = timed(fast, examples, SearchOptions())
        near = agreement(found, timed(exact, examples, SearchOptions())[1])
        bars.append(bar(f"with diffusion, agreement with exact scores {near:.3f}", times, 0.12))
    bars.append(
        at_most(name, f"{size}: bytes an item on disk, without thumbnails", bytes_of(collection) / n_items, 8192, "")
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    bars.append(Bar("-", f"{size}: peak resident memory, mapped files included", "-", f"{peak:.2f} GB", None))
    return bars


def marked(fast: Engine, exact: Engine, queries: list[Query], parent: np.ndarray) -> tuple[str, float]:
    """Searches with five marks each, the last of them new; and how far they agree with exact ones.

    An item is right if it is made of the same item of the source as the example.
    """

    def right(query: Query, item: int) -> float:
        example = query.examples[0].item
        assert example is not None
        return float(parent[item - 1] == parent[example - 1])

    for query in queries:
        hits = fast.search(query, 12, PLAIN)
        fast.feedback(query, [Mark(hit.id, right(query, hit.id)) for hit in hits[2:12:3]])
    fast.settle()
    timed(fast, queries)
    for query in queries:
        item = fast.search(query, 5, PLAIN)[4].id
        fast.feedback(query, [Mark(item, right(query, item))])
    fast.settle()
    times, found = timed(fast, queries)
    return f"with five marks, agreement {agreement(found, timed(exact, queries)[1]):.3f}", times


def timed(engine: Engine, queries: list[Query], options: SearchOptions = PLAIN) -> tuple[float, list[set[int]]]:
    """The median time of searches after the first, and what each found."""
    times, found = [], []
    for query in queries:
        began = time.perf_counter()
        hits = engine.search(query, 100, options)
        times.append(time.perf_counter() - began)
        found.append({hit.id for hit in hits})
    return float(np.median(times[1:])), found


def agreement(found: list[set[int]], expected: list[set[int]]) -> float:
    return float(np.mean([len(some & every) / len(every) for some, every in zip(found, expected, strict=True)]))


def reported(what: str, figure: float) -> Bar:
    return Bar("-", what, "-", f"{figure:.3g} s", None)


def bytes_of(collection: Collection) -> int:
    parts = (collection.folder / name for name in _FILES)
    files = (file for part in parts for file in ([part] if part.is_file() else part.rglob("*")))
    return sum(file.stat().st_size for file in files if file.is_file())


def main(arguments: list[str]) -> int:
    with Collection(arguments[0]) as collection:
        show(TITLE, measured(collection, int(arguments[1]), judged=len(collection) >= max(SIZES)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

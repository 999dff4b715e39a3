"""Looking through a large collection: its listing, pages of it, and what a change costs."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.archives import write_rows

from benchmarks.harness import Bar, at_most, many, seconds
from rankloom.collection import Collection
from rankloom.collection.browsing import Catalogue
from rankloom.collection.organizing import hide
from rankloom.collection.overview import item_summaries
from rankloom.collection.query import Filters

TITLE = "Browsing"
N = 100_000
PAGE = 200


def run() -> list[Bar]:
    with tempfile.TemporaryDirectory(prefix="rankloom-browse-") as place:
        write_rows(
            Path(place, "c"), N, dates=lambda n: f"{2004 + n * 7919 % 20}-{1 + n * 104_729 % 12:02}-01",
            path=lambda n: f"/photos/{n % 40}/IMG_{n:06}.jpg",
        )  # fmt: skip
        with Collection(Path(place, "c")) as collection:
            return [*first_time(collection), *pages(collection), *changes(collection)]


def first_time(collection: Collection) -> list[Bar]:
    bars = []
    for sort, bar in (("newest", 1.5), ("name", 3.0)):
        began = time.process_time()
        listing = Catalogue(collection).listing(Filters(), sort)  # type: ignore[arg-type]
        taken = time.process_time() - began
        assert len(listing.items) == N
        bars.append(at_most("browse", f"{N:,} items by {sort}, for the first time", taken, bar, " s"))
    return bars


def pages(collection: Collection) -> list[Bar]:
    """A page at the end costs what one at the start does."""
    catalogue = Catalogue(collection)

    def page(offset: int) -> None:
        items = catalogue.listing(Filters()).items[offset : offset + PAGE].tolist()
        assert len(item_summaries(collection, items)) == PAGE

    start, end = seconds(many(lambda: page(0), 20), many(lambda: page(N - PAGE), 20))
    months = seconds(many(lambda: catalogue.listing(Filters()).groups(), 20))[0]
    return [
        at_most("browse", f"a page of {PAGE} at the end / at the start", end / start, 1.5),
        Bar("browse", f"a page of {PAGE}, read from the database", "-", f"{1000 * start / 20:.3g} ms", None),
        at_most("browse", f"the months of {N:,} items", 1000 * months / 20, 5.0, " ms"),
    ]


def changes(collection: Collection) -> list[Bar]:
    """After an item was hidden; and of a folder, which is looked for in all paths."""
    catalogue = Catalogue(collection)
    catalogue.listing(Filters())
    numbers = iter(range(1, N))

    def hidden() -> None:
        hide(collection, [next(numbers)])
        catalogue.listing(Filters())

    def folder() -> None:
        hide(collection, [next(numbers)])
        assert len(catalogue.listing(Filters(folder="/photos/3")).items)

    after, inside = seconds(hidden, folder)
    return [
        at_most("browse", "hide an item, and list the others", 1000 * after, 100.0, " ms"),
        at_most("browse", "the same of a folder", 1000 * inside, 400.0, " ms"),
    ]

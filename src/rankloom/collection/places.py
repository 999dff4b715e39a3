"""Where items were taken, and groups of them that lie near each other on the map."""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection.collection import Collection
from rankloom.collection.contents import counters
from rankloom.collection.rectangles import Rectangle, rectangle, turned
from rankloom.core import IntArray
from rankloom.media.positions import Position

_HIGHEST = 85.0511  # degrees, where a map of Mercator ends


class Cluster(NamedTuple):
    """Items that are near each other: how many, the newest of them, their middle and what part of the map they take."""

    size: int
    item: int
    latitude: float
    longitude: float
    within: str


def position_of(collection: Collection, item: int) -> Position | None:
    """Where an item was taken, if that is known."""
    row = collection.db.execute(
        "SELECT latitude, longitude FROM items JOIN positions USING (hash) WHERE items.id = ? AND latitude IS NOT NULL",
        (item,),
    ).fetchone()
    return None if row is None else Position(*row)


def positions_of_all(collection: Collection) -> dict[int, Position]:
    """The positions of all items that have one."""
    rows = collection.db.execute(
        "SELECT items.id, latitude, longitude FROM items JOIN positions USING (hash) WHERE latitude IS NOT NULL"
    )
    return {item: Position(latitude, longitude) for item, latitude, longitude in rows.fetchall()}


class Atlas:
    """The positions of all items in memory, read again when the contents have changed.

    Parameters
    ----------
    collection : whose items these are.
    """

    def __init__(self, collection: Collection):
        self._collection = collection
        self._lock = Lock()
        self._read: tuple[int, NDArray[np.float64]] = (-1, np.empty((0, 2)))

    def positions(self) -> NDArray[np.float64]:
        """Latitude and longitude of every item, by its number; NaN where they are not known."""
        changes = counters(self._collection).contents
        with self._lock:
            if self._read[0] != changes:
                places = positions_of_all(self._collection)
                positions = np.full((len(self._collection) + 1, 2), np.nan)
                if places:
                    positions[[*places]] = [*places.values()]
                self._read = (changes, positions)
            return self._read[1]

    def clusters(self, items: IntArray, view: Rectangle, columns: int, rows: int) -> list[Cluster]:
        """Those of `clusters_in`."""
        return clusters_in(self.positions(), items, view, columns, rows)

    def extent(self, items: IntArray) -> tuple[int, Rectangle | None]:
        """How many of some items have a position, and the part of the map that holds them; without the date line."""
        positions = self.positions()
        places = positions[items[items < len(positions)]]
        places = places[~np.isnan(places[:, 0])]
        if not len(places):
            return 0, None
        (south, west), (north, east) = places.min(axis=0).tolist(), places.max(axis=0).tolist()
        return len(places), Rectangle(west, south, east, north)


def clusters_in(
    positions: NDArray[np.float64], items: IntArray, view: Rectangle, columns: int, rows: int
) -> list[Cluster]:
    """The items of a part of the map, those in the same cell of a grid together; the largest groups first.

    Parameters
    ----------
    positions : latitude and longitude of every item, by its number; NaN where they are not known.
    items : which may be shown, the newest first.
    view : the part of the map.
    columns, rows : of the grid; cells are equally large on a map of Mercator.
    """
    items = items[items < len(positions)]
    latitude, longitude = positions[items].T
    width = (view.east - view.west) % 360 or 360.0
    east = (longitude - view.west) % 360
    inside = (latitude >= view.south) & (latitude <= view.north) & (east <= width)  # false where it is NaN
    items, latitude, east = items[inside], latitude[inside], east[inside]
    if not len(items):
        return []
    low, high = _mercator(np.array([view.south, view.north]))
    across = np.minimum(east / width * columns, columns - 1).astype(np.int64)
    share = (_mercator(latitude) - low) / max(high - low, 1e-12)
    up = np.clip(share * rows, 0, rows - 1).astype(np.int64)
    _, first, cell = np.unique(up * columns + across, return_index=True, return_inverse=True)
    sizes = np.bincount(cell)
    middles = [np.bincount(cell, values) / sizes for values in (latitude, east)]
    bounds = [_by_cell(cell, values) for values in (latitude, east)]
    clusters = [
        Cluster(
            int(sizes[place]), int(items[first[place]]), round(float(middles[0][place]), 6),
            round(turned(view.west + float(middles[1][place])), 6),
            rectangle((
                view.west + bounds[1][0][place], bounds[0][0][place],
                view.west + bounds[1][1][place], bounds[0][1][place],
            )).text,
        )
        for place in range(len(sizes))
    ]  # fmt: skip
    return sorted(clusters, key=lambda cluster: (-cluster.size, cluster.item))


def _mercator(latitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """How high latitudes are on a map of Mercator."""
    height: NDArray[np.float64] = np.arctanh(np.sin(np.radians(np.clip(latitude, -_HIGHEST, _HIGHEST))))
    return height


def _by_cell(cell: IntArray, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the greatest value of each cell."""
    least, greatest = np.full(cell.max() + 1, np.inf), np.full(cell.max() + 1, -np.inf)
    np.minimum.at(least, cell, values)
    np.maximum.at(greatest, cell, values)
    return least, greatest

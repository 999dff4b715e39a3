"""Rectangles on the map, as filters have them."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, isfinite, radians
from typing import Any, NamedTuple

KM_PER_DEGREE = 111.32
_FORM = "west,south,east,north in degrees, such as 2.2,48.8,2.5,48.9"


class Rectangle(NamedTuple):
    """A part of the map in degrees; where west is greater than east, it crosses the date line."""

    west: float
    south: float
    east: float
    north: float

    @property
    def text(self) -> str:
        """As `rectangle` reads it."""
        return ",".join(f"{value:.6f}".rstrip("0").rstrip(".") for value in self)


def rectangle(given: str | Sequence[float]) -> Rectangle:
    """A rectangle of four numbers, or of a text with them.

    >>> rectangle("170,-50,-170,-30").text, rectangle((190.0, 0.0, 200.0, 10.0)).text
    ('170,-50,-170,-30', '-170,0,-160,10')
    >>> rectangle("1,2,3")
    Traceback (most recent call last):
    ValueError: '1,2,3' is no place; give west,south,east,north in degrees, such as 2.2,48.8,2.5,48.9
    """
    try:
        west, south, east, north = map(float, given.split(",") if isinstance(given, str) else given)
    except (TypeError, ValueError):
        raise ValueError(f"{str(given)[:60]!r} is no place; give {_FORM}") from None
    if not all(map(isfinite, (west, south, east, north))) or not -90 <= south <= north <= 90:
        raise ValueError(f"{str(given)[:60]!r} is no place: south and north are from -90 to 90; give {_FORM}")
    if max(abs(west), abs(east)) > 540:
        raise ValueError(f"{str(given)[:60]!r} is no place: west and east are from -180 to 180; give {_FORM}")
    if east - west >= 360:
        return Rectangle(-180.0, south, 180.0, north)
    return Rectangle(turned(west), south, turned(east), north)


def turned(longitude: float) -> float:
    """A longitude from -180 to 180."""
    return longitude if -180 <= longitude <= 180 else (longitude + 180) % 360 - 180


def around(latitude: float, longitude: float, km: float) -> Rectangle:
    """The rectangle that holds all within so many kilometres of a place.

    >>> around(48.86, 2.35, 10.0).text
    '2.213212,48.770169,2.486788,48.949831'
    """
    if not (abs(latitude) <= 90 and abs(longitude) <= 180 and 0 < km <= 20_100):
        raise ValueError(f"{latitude:g},{longitude:g},{km:g} is no place; give LATITUDE,LONGITUDE,KILOMETRES")
    high = km / KM_PER_DEGREE
    south, north = max(-90.0, latitude - high), min(90.0, latitude + high)
    narrowest = cos(radians(max(abs(south), abs(north))))
    wide = high / narrowest if narrowest > 1e-9 else 180.0
    west, east = (-180.0, 180.0) if wide >= 180 else (longitude - wide, longitude + wide)
    return rectangle((west, south, east, north))


def condition(place: Rectangle) -> tuple[str, list[Any]]:
    """Items inside a rectangle, as a condition of SQL and its values."""
    joined = "AND" if place.west <= place.east else "OR"
    query = (
        "hash IN (SELECT hash FROM positions WHERE latitude >= ? AND latitude <= ?"
        f" AND (longitude >= ? {joined} longitude <= ?))"
    )
    return query, [place.south, place.north, place.west, place.east]

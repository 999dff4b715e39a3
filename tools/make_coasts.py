"""Make the outline of the world's coasts that the page draws, from Natural Earth's land polygons.

Natural Earth (naturalearthdata.com) is in the public domain. The npm package world-atlas 2.0.2 has its version 4.1.0 as
TopoJSON; of that only the coordinates are taken:

    npm pack world-atlas@2.0.2 && tar -xzf world-atlas-2.0.2.tgz package/land-50m.json
    python tools/make_coasts.py package/land-50m.json src/rankloom/server/static/coasts.json

The result: {"unit": u, "rings": [[x, y, dx, dy, dx, dy, ...], ...]}, longitude and latitude in degrees times u: the
first point of a ring, then the steps from point to point. A ring is closed; one inside another is a lake. One over the
date line goes on beyond 180 degrees.
"""

from __future__ import annotations

import json
import math
import sys
from itertools import pairwise

UNIT = 50  # parts of a degree: about 2 km
TOLERANCE = 0.1  # degrees by which a coast may be moved
LEAST_AREA = 0.02  # square degrees that an island or lake has

Point = tuple[float, float]


def rings_of(topology: dict) -> list[list[Point]]:
    """The rings of all polygons, as longitude and latitude."""
    (sx, sy), (tx, ty) = topology["transform"]["scale"], topology["transform"]["translate"]
    arcs = []
    for arc in topology["arcs"]:
        x = y = 0
        points = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            points.append((x * sx + tx, y * sy + ty))
        arcs.append(points)
    rings = []
    for geometry in topology["objects"]["land"]["geometries"]:
        polygons = geometry["arcs"] if geometry["type"] == "MultiPolygon" else [geometry["arcs"]]
        for polygon in polygons:
            for ring in polygon:
                points = []
                for number in ring:
                    part = arcs[number] if number >= 0 else arcs[~number][::-1]
                    points += part[1:] if points else part
                rings.append(unwrapped(points))
    return rings


def unwrapped(ring: list[Point]) -> list[Point]:
    """A ring that does not jump over the date line, but goes on; the one around the pole is closed along it."""
    points, turns = [ring[0]], 0
    for (x, _), (u, v) in pairwise(ring):
        turns += -360 if u - x > 180 else 360 if u - x < -180 else 0
        points.append((u + turns, v))
    if turns:
        points += [(points[-1][0], -90.0), (points[0][0], -90.0), points[0]]
    middle = (min(x for x, _ in points) + max(x for x, _ in points)) / 2
    shift = 360 * round(middle / 360)  # it may have begun on the far side
    return [(x - shift, y) for x, y in points]


def area(ring: list[Point]) -> float:
    """The area of a ring in square degrees as they are at its latitude."""
    twice = sum(x * v - u * y for (x, y), (u, v) in zip(ring, ring[1:] + ring[:1], strict=True))
    return abs(twice) / 2 * math.cos(math.radians(ring[0][1]))


def simplified(points: list[Point]) -> list[Point]:
    """The points without which a line would move by more than the tolerance (Douglas and Peucker, 1973)."""
    keep = {0, len(points) - 1}
    todo = [(0, len(points) - 1)]
    while todo:
        first, last = todo.pop()
        farthest, most = 0, TOLERANCE
        for place in range(first + 1, last):
            distance = away(points[place], points[first], points[last])
            if distance > most:
                farthest, most = place, distance
        if farthest:
            keep.add(farthest)
            todo += [(first, farthest), (farthest, last)]
    return [points[place] for place in sorted(keep)]


def away(point: Point, start: Point, end: Point) -> float:
    """How far a point is from a line between two others."""
    (x, y), (a, b), (c, d) = point, start, end
    length = (c - a) ** 2 + (d - b) ** 2
    share = 0.0 if length == 0 else max(0.0, min(1.0, ((x - a) * (c - a) + (y - b) * (d - b)) / length))
    return math.hypot(x - a - share * (c - a), y - b - share * (d - b))


def steps(ring: list[Point]) -> list[int]:
    """The first point, and the steps from each to the next that differs."""
    whole = [(round(x * UNIT), round(y * UNIT)) for x, y in ring]
    numbers = [*whole[0]]
    for (x, y), (u, v) in pairwise(whole):
        if (x, y) != (u, v):
            numbers += [u - x, v - y]
    return numbers


def main(source: str, target: str) -> None:
    """Read TopoJSON, write the outline."""
    with open(source, encoding="utf-8") as file:
        rings = [ring for ring in rings_of(json.load(file)) if area(ring) >= LEAST_AREA]
    half = [simplified(ring[: len(ring) // 2 + 1])[:-1] + simplified(ring[len(ring) // 2 :]) for ring in rings]
    lines = [json.dumps(steps(ring), separators=(",", ":")) for ring in half if len(ring) > 3]
    with open(target, "w", encoding="utf-8") as file:
        file.write(f'{{"unit":{UNIT},"rings":[\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

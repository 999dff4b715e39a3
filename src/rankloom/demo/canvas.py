"""A canvas that draws smoothly: polygons, ellipses, strokes, gradients, glows and fractal noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, sin
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom.demo.colors import Color, ramp

Array = NDArray[Any]  # floats, of 32 bits where they are many
Paint = Sequence[float] | Array  # one colour, or a picture as large as the canvas
Points = Sequence[Sequence[float]] | NDArray[Any]
Shapes = Sequence[Points] | NDArray[Any]
Bytes = NDArray[np.uint8]
Trace = Callable[[Bytes, list[Array]], None]  # draws outlines on a mask
Pair = tuple[float, float]
T = TypeVar("T")

_SHIFT = 4  # OpenCV draws at sixteenths of a pixel


class Canvas:
    """A picture that is being drawn: RGB from 0 to 1, the randomness of its kind, what is known about it.

    Parameters
    ----------
    width, height : in pixels
    rng : all that varies is drawn from it, in the same order whatever `time` is, so that a moving picture is the same
        picture drawn again with another time
    time : seconds since the start of a shot; moves clouds, boats, sails, sparks
    """

    def __init__(self, width: int, height: int, rng: np.random.Generator, time: float = 0.0) -> None:
        self.width = width
        self.height = height
        self.rng = rng
        self.time = time
        self.image: Array = np.zeros((height, width, 3), np.float32)
        self.notes: dict[str, str] = {}

    @property
    def side(self) -> float:
        """The shorter side: the unit of sizes."""
        return float(min(self.width, self.height))

    def between(self, low: float, high: float) -> float:
        """A random number."""
        return float(self.rng.uniform(low, high))

    def x(self, low: float = 0.0, high: float = 1.0) -> float:
        """A random place between two shares of the width."""
        return self.between(low, high) * self.width

    def y(self, low: float = 0.0, high: float = 1.0) -> float:
        """A random place between two shares of the height."""
        return self.between(low, high) * self.height

    def length(self, low: float, high: float) -> float:
        """A random length between two shares of the shorter side."""
        return self.between(low, high) * self.side

    def whole(self, low: int, high: int) -> int:
        """A random whole number, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return bool(self.rng.random() < share)

    def pick(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[int(self.rng.integers(len(choices)))]

    def vary(self, color: Sequence[float], amount: float = 0.06) -> Color:
        """A colour near this one."""
        red, green, blue = (
            float(np.clip(x + d, 0, 1)) for x, d in zip(color, self.rng.normal(0, amount, 3), strict=True)
        )
        return red, green, blue

    def note(self, **notes: str) -> None:
        """Keep what is known about the picture."""
        self.notes.update(notes)

    def grid(self) -> tuple[Array, Array]:
        """The x and y of each pixel, shapes (1, width) and (height, 1)."""
        return np.arange(self.width, dtype=np.float32)[None, :], np.arange(self.height, dtype=np.float32)[:, None]

    def noise(
        self, cells: float, octaves: int = 4, *, gain: float = 0.5, stretch: float = 1.0, drift: Pair = (0.0, 0.0)
    ) -> Array:
        """Fractal value noise from 0 to 1, `cells` over the shorter side, `stretch` times as wide as high.

        `drift` moves it, in cells.
        """
        size = self.side / cells
        coarse = np.zeros((self.height // 4 + 2, self.width // 4 + 2), np.float32)
        fine = np.zeros((self.height, self.width), np.float32)
        weight = 1.0
        for octave in range(octaves):
            moved = (drift[0] * 2**octave, drift[1] * 2**octave)
            large = size * min(stretch, 1.0) >= 12  # a quarter of the pixels is enough for these
            into, step = (coarse, 4.0) if large else (fine, 1.0)
            into += np.float32(weight) * self._cells((step / (size * stretch), step / size), moved, into.shape)
            weight *= gain
            size /= 2
            if size * min(stretch, 1.0) < 1.2:
                break
        grown = cv2.resize(coarse, None, fx=4, fy=4, interpolation=cv2.INTER_CUBIC)
        total = fine + grown[: self.height, : self.width]
        low, high = float(total.min()), float(total.max())
        return np.asarray((total - low) / max(high - low, 1e-6), np.float32)

    def _cells(self, pace: Pair, moved: Pair, shape: tuple[int, ...]) -> Array:
        """One octave: a grid of random numbers, joined at its ends and smoothly enlarged."""
        height, width = shape
        columns, rows = int(width * pace[0]) + 4, int(height * pace[1]) + 4
        grid = self.rng.random((rows, columns), dtype=np.float32)
        grid = np.roll(grid, (-int(moved[1] // 1), -int(moved[0] // 1)), axis=(0, 1))
        size = (round(columns / pace[0]), round(rows / pace[1]))
        way = cv2.INTER_CUBIC if max(pace) < 0.5 else cv2.INTER_LINEAR
        x, y = round((1 + moved[0] % 1) / pace[0]), round((1 + moved[1] % 1) / pace[1])
        return np.asarray(cv2.resize(grid, size, interpolation=way)[y : y + height, x : x + width])

    def gradient(self, stops: Sequence[Sequence[float]], top: float = 0.0, bottom: float | None = None) -> Array:
        """A picture that runs down through the colours between two heights."""
        end = float(self.height) if bottom is None else bottom
        rows = (np.arange(self.height, dtype=np.float32) - top) / max(end - top, 1.0)
        column = ramp(stops, np.clip(rows, 0, 1))
        # A ramp of 256 steps shows bands in a smooth sky; the rows are smoothed once more.
        column = cv2.blur(column[:, None, :], (1, 5))
        return np.asarray(np.broadcast_to(column.reshape(self.height, 1, 3), self.image.shape), np.float32)

    def paint(self, mask: Array, paint: Paint, at: tuple[int, int] = (0, 0)) -> None:
        """Lay a colour or a picture over the canvas where the mask (0 to 1) says; `at` is the mask's corner."""
        x, y = at
        part = self.image[y : y + mask.shape[0], x : x + mask.shape[1]]
        values = np.asarray(paint, np.float32)
        if values.ndim == 3:
            change = values[y : y + mask.shape[0], x : x + mask.shape[1]] - part
            change *= spread(mask)
            part += change
        else:
            part *= spread(1 - mask)
            part += cv2.merge([mask * color for color in values])

    def at(self, x: float, y: float, size: float = 1.0, angle: float = 0.0, flip: float = 1.0) -> Frame:
        """A place to draw a shape in its own coordinates."""
        return Frame(self, x, y, size, angle, flip)

    def polygon(self, points: Points, paint: Paint, *, opacity: float = 1.0, blur: float = 0.0) -> None:
        """Fill a polygon."""
        self.polygons([points], paint, opacity=opacity, blur=blur)

    def polygons(self, shapes: Shapes, paint: Paint, *, opacity: float = 1.0, blur: float = 0.0) -> None:
        """Fill many polygons at once with one paint."""

        def fill(mask: Bytes, outlines: list[Array]) -> None:
            for outline in outlines:
                cv2.fillPoly(mask, [outline], 255, cv2.LINE_AA, _SHIFT)

        self._lay(fill, shapes, paint, opacity, blur)

    def ellipse(self, x: float, y: float, rx: float, ry: float, paint: Paint, **look: float) -> None:
        """Fill an upright ellipse; `look` is the opacity and the blur."""
        self.polygon(oval(x, y, rx, ry), paint, **look)

    def disc(self, x: float, y: float, radius: float, paint: Paint, **look: float) -> None:
        """Fill a circle; `look` is the opacity and the blur."""
        self.ellipse(x, y, radius, radius, paint, **look)

    def stroke(self, points: Points, width: float, paint: Paint, **look: float) -> None:
        """Draw a line through points, `width` pixels thick (thinner than one becomes fainter)."""
        self.strokes([points], width, paint, **look)

    def strokes(self, lines: Shapes, width: float, paint: Paint, *, opacity: float = 1.0, blur: float = 0.0) -> None:
        """Draw many lines at once with one paint."""

        def trace(mask: Bytes, paths: list[Array]) -> None:
            cv2.polylines(mask, paths, False, 255, max(1, round(width)), cv2.LINE_AA, _SHIFT)

        self._lay(trace, lines, paint, opacity * min(width, 1.0), blur, width)

    def glow(self, x: float, y: float, radius: float, color: Sequence[float], strength: float = 1.0) -> None:
        """Add light around a point; it fades like a bell curve."""
        reach = 2.6 * radius
        area = self._box(np.asarray([[x - reach, y - reach], [x + reach, y + reach]]), 0)
        if area is None:
            return
        x0, y0, x1, y1 = area
        across = np.exp(-(((np.arange(x0, x1) - x) / radius) ** 2)).astype(np.float32)
        down = np.exp(-(((np.arange(y0, y1) - y) / radius) ** 2)).astype(np.float32)
        self.image[y0:y1, x0:x1] += tinted(down[:, None] * across[None, :] * np.float32(strength), color)

    def ball(self, x: float, y: float, radius: float, color: Sequence[float], light: float = -2.2) -> None:
        """A sphere lit from an angle, with a soft highlight."""
        area = self._box(np.asarray([[x - radius, y - radius], [x + radius, y + radius]]), 1)
        if area is None:
            return
        x0, y0, x1, y1 = area
        dx = ((np.arange(x0, x1, dtype=np.float32) - x) / radius)[None, :]
        dy = ((np.arange(y0, y1, dtype=np.float32) - y) / radius)[:, None]
        distance = dx**2 + dy**2
        mask = np.clip((1.0 - np.sqrt(distance)) * radius + 0.5, 0, 1)
        toward = 0.62 * (dx * cos(light) + dy * sin(light)) + 0.75 * np.sqrt(np.clip(1.0 - distance, 0, 1))
        shade = 0.32 + 0.78 * np.clip(toward, 0, 1)
        shine = 0.55 * np.clip(toward, 0, 1) ** 24
        shaded = tinted(shade, color) + spread(shine)
        part = self.image[y0:y1, x0:x1]
        part += (shaded - part) * spread(mask)

    def _box(self, corners: Array, margin: float) -> tuple[int, int, int, int] | None:
        """The part of the canvas that the corners span: x0, y0, x1, y1."""
        low, high = corners.min(axis=0) - margin - 2, corners.max(axis=0) + margin + 2
        x0, y0 = max(int(low[0]), 0), max(int(low[1]), 0)
        x1, y1 = min(int(high[0]) + 1, self.width), min(int(high[1]) + 1, self.height)
        return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None

    def _lay(self, trace: Trace, shapes: Shapes, paint: Paint, opacity: float, blur: float, width: float = 0.0) -> None:
        """Paint through a mask of the part of the canvas that the shapes touch; `trace` draws them on it."""
        if not len(shapes):
            return
        outlines = [np.asarray(shape, np.float32).reshape(-1, 2) for shape in shapes]
        corners = np.concatenate(outlines)
        area = self._box(corners, width + 3 * blur)
        if area is None:
            return
        x0, y0, x1, y1 = area
        fixed = np.round((corners - np.asarray([x0, y0], np.float32)) * (1 << _SHIFT)).astype(np.int32)
        mask = np.zeros((y1 - y0, x1 - x0), np.uint8)
        trace(mask, np.split(fixed, np.cumsum([len(outline) for outline in outlines[:-1]])))
        if blur > 0.3:
            mask = cv2.GaussianBlur(mask, (0, 0), blur)
        self.paint(mask.astype(np.float32) * np.float32(opacity / 255.0), paint, (x0, y0))


@dataclass(frozen=True)
class Frame:
    """Draws shapes in their own coordinates: scaled, turned and put at x, y; `flip` -1 mirrors them."""

    canvas: Canvas
    x: float
    y: float
    size: float
    angle: float
    flip: float

    def points(self, shape: Points) -> Array:
        """The shape's points on the canvas."""
        points = np.asarray(shape, np.float32) * np.float32(self.size) * np.asarray([self.flip, 1.0], np.float32)
        cos, sin = np.cos(self.angle), np.sin(self.angle)
        px, py = points[:, 0], points[:, 1]
        return np.stack([self.x + px * cos - py * sin, self.y + px * sin + py * cos], axis=1).astype(np.float32)

    def polygon(self, shape: Points, paint: Paint, **look: float) -> None:
        """Fill a polygon; `look` is the opacity and the blur."""
        self.canvas.polygon(self.points(shape), paint, **look)

    def disc(self, x: float, y: float, radius: float, paint: Paint, **look: float) -> None:
        """Fill a circle around a point of the shape, its radius in pixels."""
        middle = self.points([[x, y]])[0]
        self.canvas.disc(middle[0], middle[1], radius, paint, **look)

    def stroke(self, line: Points, width: float, paint: Paint, **look: float) -> None:
        """Draw a line, `width` pixels thick."""
        self.canvas.stroke(self.points(line), width, paint, **look)

    def strokes(self, lines: Sequence[Points], width: float, paint: Paint, **look: float) -> None:
        """Draw many lines at once with one paint."""
        self.canvas.strokes([self.points(line) for line in lines], width, paint, **look)


def spread(mask: Array) -> Array:
    """One number per pixel as three channels: much faster than broadcasting over a last axis of three."""
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(mask, np.float32), cv2.COLOR_GRAY2RGB))


def tinted(strength: Array, color: Sequence[float]) -> Array:
    """One colour times a number per pixel."""
    return np.asarray(cv2.merge([np.ascontiguousarray(strength * np.float32(part), np.float32) for part in color]))


def oval(x: float, y: float, rx: float, ry: float, angle: float = 0.0, n: int = 0) -> Array:
    """Points around an ellipse."""
    count = n or int(min(max(12, 2.2 * max(rx, ry) ** 0.5 * 3), 90))
    turn = np.linspace(0.0, 2 * np.pi, count, endpoint=False)
    px, py = rx * np.cos(turn), ry * np.sin(turn)
    c, s = cos(angle), sin(angle)
    return np.stack([x + px * c - py * s, y + px * s + py * c], axis=1).astype(np.float32)


def ovals(x: Any, y: Any, rx: Any, ry: Any, angle: Any = 0.0, n: int = 9) -> Array:
    """Many ellipses of n points each, as one array of shape (how many, n, 2)."""
    x, y, rx, ry, angle = (np.asarray(value, np.float32).reshape(-1, 1) for value in (x, y, rx, ry, angle))
    turn = np.linspace(0.0, 2 * np.pi, n, endpoint=False, dtype=np.float32)
    px, py = rx * np.cos(turn), ry * np.sin(turn)
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([x + px * c - py * s, y + px * s + py * c], axis=2)


def box(left: float, top: float, right: float, bottom: float) -> Array:
    """The corners of an upright rectangle."""
    return np.asarray([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)


def taper(x: float, foot: float, low: float, top: float, high: float, left: float = -1.0) -> Array:
    """The corners of a shape `low` to each side of x at its foot and `high` at its top.

    It starts at `left` times these: 0 is its right half.
    """
    corners = [[x + low * left, foot], [x + low, foot], [x + high, top], [x + high * left, top]]
    return np.asarray(corners, np.float32)


def arc(x: float, y: float, rx: float, ry: float) -> Array:
    """Points along the half of an ellipse below its middle, from right to left; a negative `ry` turns it up."""
    turn = np.linspace(0, np.pi, 40)
    return np.stack([x + rx * np.cos(turn), y + ry * np.sin(turn)], axis=1)


def smooth(points: Points, n: int = 60, *, closed: bool = True) -> Array:
    """A smooth curve (Catmull and Rom 1974) through points."""
    p = np.asarray(points, np.float32)
    if not closed:
        p = np.concatenate([2 * p[:1] - p[1:2], p, 2 * p[-1:] - p[-2:-1]])
    spans = len(p) if closed else len(p) - 3
    at = np.arange(n, dtype=np.float32) * (spans / n) if closed else np.linspace(0, spans - 1e-4, n)
    i = at.astype(int)
    u = (at - i)[:, None].astype(np.float32)
    first = 0 if closed else 1
    a, b, c, d = (p[(i + first + k) % len(p)] for k in (-1, 0, 1, 2))
    curve = 0.5 * (2 * b + (c - a) * u + (2 * a - 5 * b + 4 * c - d) * u**2 + (3 * b - a - 3 * c + d) * u**3)
    return np.asarray(curve, np.float32)


def across(c: Canvas, row: Array, color: Sequence[float]) -> Array:
    """A picture of one colour whose light changes from left to right: `row` has the shape (1, width)."""
    line = np.asarray(row, np.float32).reshape(1, -1, 1) * np.asarray(color, np.float32)
    return np.broadcast_to(line, c.image.shape)

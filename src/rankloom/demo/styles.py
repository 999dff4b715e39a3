"""Ways to render a scene: print, sketch, poster, watercolour, pixels, halftone, duotone, brush strokes.

They cut across the kinds: two pencil sketches look alike whatever they show, so that no single descriptor is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin

import cv2
import numpy as np

from rankloom.demo.canvas import Array, Canvas, spread, tinted
from rankloom.demo.colors import PALETTES, mix, ramp

STYLED = 0.33  # of the pictures


def _gray(c: Canvas) -> Array:
    return np.asarray(cv2.cvtColor(np.clip(c.image, 0, 1), cv2.COLOR_RGB2GRAY))


def _black_and_white(c: Canvas) -> None:
    c.image = spread(_gray(c))


def _sepia(c: Canvas) -> None:
    c.image = tinted(_gray(c), (1.05, 0.93, 0.76))


def _duotone(c: Canvas) -> None:
    palette = sorted(c.pick(PALETTES), key=sum)
    stops = [mix(palette[0], (0, 0, 0), 0.3), palette[2], mix(palette[-1], (1, 1, 1), 0.3)]
    c.image = ramp(stops, cv2.equalizeHist(_bytes(_gray(c))) / np.float32(255))


def _bytes(image: Array) -> Array:
    return np.asarray(cv2.convertScaleAbs(image, alpha=255.0))


def _pencil(c: Canvas) -> None:
    """A sketch: where the picture is darker than its surroundings, the pencil was."""
    gray = _gray(c)
    lines = np.clip(gray / np.maximum(cv2.GaussianBlur(gray, (0, 0), c.between(2, 5)), 0.04), 0, 1) ** 1.6
    tone = 0.72 + 0.28 * np.clip(gray * 1.3, 0, 1)
    paper = 0.97 - 0.07 * c.noise(90, 1)
    ink = c.pick([(0.15, 0.15, 0.17), (0.35, 0.20, 0.12), (0.12, 0.18, 0.40)])
    c.image = ramp([ink, (1.0, 0.99, 0.96)], lines * tone) * spread(paper)


def _poster(c: Canvas) -> None:
    """Few tones of each colour, without noise."""
    smooth = cv2.medianBlur(_bytes(np.clip(c.image, 0, 1)), 5)
    levels = c.whole(4, 7)
    table = (np.round(np.arange(256) / 255 * levels) / levels).astype(np.float32)
    c.image = np.asarray(cv2.LUT(smooth, table))


def _watercolor(c: Canvas) -> None:
    """Blurred areas with wavy borders, darker at their edges, on paper."""
    _smear(c, c.side * 0.02, 8)
    image = cv2.medianBlur(_bytes(np.clip(c.image, 0, 1)), 9).astype(np.float32) / np.float32(255)
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    edge = np.clip(np.abs(gray - cv2.GaussianBlur(gray, (0, 0), 3)) * 3, 0, 0.35)
    wash = (0.80 + 0.2 * c.noise(5, 3)) * (1 - edge)
    c.image = 1 - (1 - image * spread(wash)) * np.float32(0.8)


def _smear(c: Canvas, reach: float, cells: float) -> None:
    x, y = c.grid()
    shift_x, shift_y = c.noise(cells, 2) - 0.5, c.noise(cells, 2) - 0.5
    c.image = _resampled(c, x + 2 * reach * shift_x, y + 2 * reach * shift_y)


def _resampled(c: Canvas, x: Array, y: Array) -> Array:
    """The picture whose every pixel comes from another place of this one."""
    places = x.astype(np.float32), y.astype(np.float32)
    return np.asarray(cv2.remap(c.image, *places, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT))


def _brush(c: Canvas) -> None:
    """Short strokes: every cell takes the colour of its middle, and is shaded along one direction."""
    cell = c.length(0.009, 0.018)
    angle = c.between(0, pi)
    x, y = c.grid()
    u, v = x * cos(angle) + y * sin(angle), -x * sin(angle) + y * cos(angle)
    wave = (c.noise(5, 2) - 0.5) * 3
    u, v = np.floor(u / (3 * cell) + wave) + 0.5, np.floor(v / cell + wave) + 0.5
    u, v = (u - wave) * 3 * cell, (v - wave) * cell
    from_x, from_y = u * cos(angle) - v * sin(angle), u * sin(angle) + v * cos(angle)
    strokes = _resampled(c, from_x, from_y)
    c.image = strokes * spread(0.88 + 0.24 * c.noise(120, 1, stretch=2))


def _pixels(c: Canvas) -> None:
    wide = c.whole(44, 80)
    small = cv2.resize(c.image, (wide, max(round(wide * c.height / c.width), 1)), interpolation=cv2.INTER_AREA)
    c.image = cv2.resize(small, (c.width, c.height), interpolation=cv2.INTER_NEAREST)


def _halftone(c: Canvas) -> None:
    """Dots of ink on paper, larger where it is darker."""
    x, y = c.grid()
    angle, pitch = c.between(0, pi / 2), c.length(0.014, 0.024)
    u, v = (x * cos(angle) + y * sin(angle)) * (pi / pitch), (y * cos(angle) - x * sin(angle)) * (pi / pitch)
    screen = 0.5 + 0.25 * (np.cos(2 * u) + np.cos(2 * v))
    ink = np.clip((cv2.GaussianBlur(_gray(c), (0, 0), 1.0) - screen) * 5 + 0.5, 0, 1)
    dark = mix(c.pick(c.pick(PALETTES)), (0, 0, 0), 0.45)
    dots = ramp([dark, (0.98, 0.96, 0.90)], ink.astype(np.float32))
    c.image = dots * np.float32(0.6) + np.clip(c.image, 0, 1) * np.float32(0.4)


# What it is called, how it is made, and whether the colours survive it.
STYLES: dict[str, tuple[Callable[[Canvas], None], bool]] = {
    "black and white": (_black_and_white, False),
    "sepia": (_sepia, False),
    "duotone": (_duotone, False),
    "pencil": (_pencil, False),
    "poster": (_poster, True),
    "watercolour": (_watercolor, True),
    "brush strokes": (_brush, True),
    "pixels": (_pixels, True),
    "halftone": (_halftone, True),
}


def apply_style(c: Canvas) -> None:
    """Render some of the pictures in a style, and note it."""
    lot, name = c.between(0, 1), c.pick(list(STYLES))
    if lot >= STYLED:
        return
    make, colored = STYLES[name]
    make(c)
    c.note(style=name)
    if not colored:
        c.notes.pop("colour", None)

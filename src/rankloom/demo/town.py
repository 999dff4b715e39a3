"""Skyline, windmill, umbrellas."""

from __future__ import annotations

import cv2
import numpy as np

from rankloom.demo.canvas import Canvas, box, smooth, taper
from rankloom.demo.colors import NAMED, PALETTES, Color, mix, ramp, scaled
from rankloom.demo.sky import ANY, DAY, Mood, hills, moon, ridge, sea, sky


def skyline(c: Canvas) -> None:
    """Towers in depth with lit windows, often mirrored in water."""
    base = c.y(0.7, 1.0)
    mood = sky(c, ("night", "night", "dusk", "dusk", "sunset", "overcast", "golden evening", "clear day"), horizon=base)
    if mood.dark and c.chance(0.6):
        moon(c, c.x(0.1, 0.9), c.y(0.1, 0.3), c.length(0.04, 0.08))
    tone = c.pick([(0.16, 0.18, 0.26), (0.26, 0.20, 0.28), (0.30, 0.27, 0.25), (0.14, 0.22, 0.26)])
    glass = c.pick([(1.0, 0.82, 0.45), (1.0, 0.70, 0.40), (0.85, 0.92, 1.0), (1.0, 0.88, 0.66)])
    lights = 0.75 if mood.dark else 0.55 if mood.name in ("dusk", "sunset") else 0.12
    tall = c.between(0.35, 0.75)
    for layer in range(3):
        near = (layer + 1) / 3
        color = scaled(mood.lit(tone, 0.7 * (1 - near)), 1.0 if mood.dark or lights > 0.5 else 1.6)
        x = -c.length(0, 0.1)
        while x < c.width:
            width = c.length(0.06, 0.16)
            height = c.side * tall * c.between(0.3, 1.0) * (1.15 - 0.4 * near)
            _tower(c, x, base, width, height, c.vary(color, 0.015), (glass, lights * (0.4 + 0.6 * near)))
            x += width * c.between(0.9, 1.5)
    if base < c.height - 4:
        _mirror(c, base, mood)


def _tower(
    c: Canvas, x: float, base: float, width: float, height: float, tone: Color, window: tuple[Color, float]
) -> None:
    top, roof = base - height, c.whole(0, 4)
    shape = [[x, base], [x, top], [x + width, top], [x + width, base]]
    if roof == 0:
        shape[2:2] = [[x + width / 2, top - width * c.between(0.3, 0.9)]]
    c.polygon(shape, tone)
    shaded = x + width * 0.72
    c.polygon([[shaded, base], [shaded, top], [x + width, top], [x + width, base]], scaled(tone, 0.75))
    if roof == 1:
        c.stroke([[x + width / 2, top], [x + width / 2, top - width * 0.8]], 1.0, tone)
    glass, share = window
    step_x, step_y = max(c.side * 0.016, 4.0), max(c.side * 0.022, 5.0)
    columns, rows = int(width / step_x), int(height / step_y)
    lots = c.rng.random((max(rows, 1), max(columns, 1)))
    lit = np.argwhere(lots[:rows, :columns] < share)
    spots = [(x + (column + 0.3) * step_x, top + (row + 0.4) * step_y) for row, column in lit]
    boxes = [box(a, b, a + step_x * 0.5, b + step_y * 0.5) for a, b in spots]
    c.polygons(boxes[::2], glass, opacity=0.9)
    c.polygons(boxes[1::2], scaled(glass, 0.7), opacity=0.9)


def _mirror(c: Canvas, base: float, mood: Mood) -> None:
    start = int(base)
    room = c.height - start
    image = cv2.flip(c.image[max(start - room, 0) : start], 0)
    sea(c, mood, start)
    wave = (np.sin(np.arange(len(image)) * 0.9 + 3 * c.time) * 2 + c.rng.normal(0, 1, len(image))).astype(int)
    rolled = np.stack([np.roll(row, shift, axis=0) for row, shift in zip(image, wave, strict=True)])
    part = c.image[start : start + len(image)]
    part += (cv2.blur(rolled, (3, 7)) - part) * np.float32(0.62)
    c.note(detail="water")


def windmill(c: Canvas) -> None:
    """A mill with four sails, in a field."""
    horizon = c.y(0.68, 0.85)
    mood = sky(c, ANY, horizon=horizon)
    field = c.pick([(0.40, 0.54, 0.22), (0.80, 0.68, 0.30), (0.70, 0.30, 0.34), (0.90, 0.92, 0.95)])
    hills(c, mood, field, horizon, layers=2, height=0.06)
    if c.chance(0.3):
        sea(c, mood, c.height * 0.93)
    x, foot = c.x(0.3, 0.7), horizon + c.length(0.02, 0.10)
    size = c.length(0.3, 0.46)
    name = c.pick(["white", "brown", "red", "green", "blue"])
    c.note(colour=name)
    wall = mood.lit(mix(NAMED[name], (0.85, 0.8, 0.72), 0.35))
    cap = mood.lit(c.pick([(0.35, 0.20, 0.13), (0.25, 0.27, 0.30), (0.55, 0.20, 0.15)]))
    _mill(c, x, foot, size, wall, cap)
    _sails(c, x, foot - size * 1.02, size * c.between(0.7, 0.95), mood)


def _mill(c: Canvas, x: float, foot: float, size: float, wall: Color, cap: Color) -> None:
    c.ellipse(x + size * 0.3, foot, size * 0.6, size * 0.06, (0.04, 0.05, 0.04), opacity=0.4, blur=size * 0.03)
    top, low, high = foot - size, size * 0.24, size * 0.15
    c.polygon(taper(x, foot, low, top, high), wall)
    c.polygon(taper(x, foot, low, top, high, 0.2), scaled(wall, 0.72), blur=size * 0.02)
    hood = [[x - high * 1.25, top], [x, top - size * 0.24], [x + high * 1.25, top], [x, top + size * 0.02]]
    c.polygon(smooth(hood, 40), cap)
    c.polygon(box(x - size * 0.06, foot - size * 0.17, x + size * 0.06, foot), scaled(cap, 0.7))
    glass = (1.0, 0.85, 0.5) if c.notes["time"] == "night" else (0.15, 0.15, 0.2)
    for y in (foot - size * 0.42, foot - size * 0.67):
        c.polygon(box(x - size * 0.035, y - size * 0.09, x + size * 0.035, y), glass)


def _sails(c: Canvas, x: float, y: float, reach: float, mood: Mood) -> None:
    start = c.between(0, np.pi / 2) + 0.9 * c.time
    cloth = mood.lit(c.pick([(0.95, 0.92, 0.84), (0.86, 0.30, 0.22), (0.92, 0.88, 0.78)]))
    wood = mood.lit((0.28, 0.18, 0.12))
    bars = [[[a, 0.02], [a, 0.2 + 0.04 * a]] for a in np.linspace(0.2, 1, 8)]
    bars += [[[0.2, b], [1, b * 1.1]] for b in (0.02, 0.11, 0.21)]
    for k in range(4):
        at = c.at(x, y, reach, start + k * np.pi / 2)
        at.polygon([[0.2, 0.02], [1, 0.02], [1, 0.24], [0.2, 0.2]], cloth, opacity=0.9)
        at.strokes(bars, max(reach * 0.012, 1), wood)
        at.stroke([[0, 0], [1.02, 0]], max(reach * 0.03, 1.5), wood)
    c.disc(x, y, reach * 0.05, scaled(wood, 0.8))


def umbrellas(c: Canvas) -> None:
    """Umbrellas: seen from above on sand, or from the side in the rain."""
    count = c.pick([1, 1, 2, 3, 5])
    c.note(count=str(count))
    (_parasols if c.chance(0.4) else _in_the_rain)(c, count)


def _parasols(c: Canvas, count: int) -> None:
    ground = c.pick([(0.92, 0.82, 0.62), (0.60, 0.60, 0.60), (0.45, 0.62, 0.35), (0.20, 0.60, 0.70)])
    grain = c.noise(30, 4)
    c.image[:] = ramp([scaled(ground, 0.82), ground, scaled(ground, 1.1)], grain)
    if c.chance(0.5):
        line = ridge(c, c.height * 0.3, 0.15 * c.side, 1, rough=0.35, octaves=3)
        water = np.concatenate([line, [[c.width, -5], [0, -5]]])
        c.polygon(water, ramp([(0.05, 0.42, 0.55), (0.25, 0.70, 0.74)], grain))
        c.stroke(line, c.side * 0.03, (1, 1, 1), opacity=0.7, blur=2)
    c.note(detail="beach", time="clear day")
    for _ in range(count + c.whole(0, 4)):
        x, y, radius = c.x(0.1, 0.9), c.y(0.2, 0.9), c.length(0.11, 0.2)
        name, n, turn = c.pick(list(NAMED)), c.pick([8, 10, 12]), c.between(0, 1)
        c.note(colour=name)
        second = c.pick([(0.97, 0.96, 0.92), c.pick(c.pick(PALETTES))])
        cx, cy = x + radius * 0.35, y + radius * 0.3
        c.disc(cx, cy, radius, (0.1, 0.08, 0.05), opacity=0.4, blur=radius * 0.08)
        for k in range(n):
            a = turn + 2 * np.pi * np.array([k, k + 0.5, k + 1]) / n
            rim = np.stack([x + radius * np.cos(a) * [1, 0.93, 1], y + radius * np.sin(a) * [1, 0.93, 1]], 1)
            shade = 0.92 + 0.16 * np.cos(a[1] + 2.2)
            c.polygon([[x, y], *rim], scaled(NAMED[name] if k % 2 else second, float(shade)))
        c.disc(x, y, radius * 0.06, (0.95, 0.95, 0.92))


def _in_the_rain(c: Canvas, count: int) -> None:
    floor = c.y(0.6, 0.8)
    mood = sky(c, (*DAY, "dusk", "night", "storm"), horizon=floor)
    wet = mood.lit((0.42, 0.44, 0.48))
    glow = [(c.x(), c.between(0.2, 0.9) * floor, c.length(0.02, 0.07)) for _ in range(18)]
    for x, y, r in glow:
        c.glow(x, y, r, c.pick([(1, 0.8, 0.4), (0.5, 0.7, 1.0), (1, 0.45, 0.4), (0.6, 1.0, 0.7)]), 0.4)
    shine = c.noise(10, 4, stretch=3)
    street = ramp([scaled(wet, 0.6), mix(wet, mood.haze, 0.6)], shine)
    c.polygon(box(0, floor, c.width, c.height), street, blur=3)
    for _ in range(count):
        size = c.side * (c.between(0.22, 0.34) if count < 3 else c.between(0.12, 0.2))
        name = c.pick(list(NAMED))
        c.note(colour=name)
        _umbrella(c, c.x(0.2, 0.8), floor - size * c.between(0.2, 0.9), size, mood.lit(NAMED[name]))
    slant = c.length(-0.04, 0.04)
    xs, ys = c.rng.random((2, 130))
    xs, ys = xs * c.width, (ys + 1.2 * c.time) % 1.0 * c.height
    drops = [[[x, y], [x + slant, y + 0.06 * c.side]] for x, y in zip(xs, ys, strict=True)]
    c.strokes(drops, 1.0, (0.9, 0.94, 1.0), opacity=c.between(0.15, 0.45))
    c.note(weather="rain")


def _umbrella(c: Canvas, x: float, y: float, size: float, tone: Color) -> None:
    at = c.at(x, y, size, c.between(-0.35, 0.35))
    handle = [[0, -0.7], [0, 0.95], [0.06, 1.05], [0.15, 1.05], [0.19, 0.95]]
    at.stroke(handle, max(size * 0.035, 1.5), (0.18, 0.13, 0.1))
    panels, up = 6, np.linspace(0, np.pi / 2, 10)
    edges = np.sin(np.linspace(-np.pi / 2, np.pi / 2, panels + 1))
    ribs = [np.stack([edge * np.cos(up), -0.78 * np.sin(up)], 1) for edge in edges]
    for k in range(panels):
        rim = np.array([[(edges[k] + edges[k + 1]) / 2, -0.09]])
        at.polygon(np.concatenate([rim, ribs[k], ribs[k + 1][::-1]]), scaled(tone, 1.12 - 0.42 * k / panels))
    at.strokes(ribs[1:-1], max(size * 0.012, 1), scaled(tone, 0.55))
    at.stroke([[0, -0.76], [0, -0.9]], max(size * 0.03, 1), (0.2, 0.15, 0.1))

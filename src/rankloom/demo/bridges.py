"""Bridges over water: hung from towers, or on arches of stone."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloom.demo.canvas import Array, Canvas, arc, box, taper
from rankloom.demo.colors import NAMED, Color, ramp, scaled
from rankloom.demo.sky import ANY, Mood, hills, sea, sky


def bridge(c: Canvas) -> None:
    """A suspension bridge or one of arches over water."""
    horizon = c.y(0.5, 0.68)
    mood = sky(c, ANY, horizon=horizon)
    hills(c, mood, (0.26, 0.36, 0.30), horizon - 0.04 * c.side, layers=2, height=0.14)
    sea(c, mood, horizon + 0.02 * c.side)
    deck = horizon - c.length(0.0, 0.12)
    if c.chance(0.5):
        name = c.pick(["red", "orange", "green", "white", "blue", "brown"])
        c.note(colour=name, detail="suspension")
        _suspension(c, deck, mood, mood.lit(scaled(NAMED[name], 0.9)))
    else:
        c.note(detail="stone arches")
        water = horizon + c.length(0.1, 0.2)
        stone = c.pick([(0.62, 0.56, 0.48), (0.60, 0.36, 0.26), (0.5, 0.5, 0.52)])
        _arches(c, deck, water, mood.lit(stone))
    if mood.dark or mood.name == "dusk":
        for k in range(int(c.width / 22)):
            c.glow(11 + 22 * k, deck - 3, 2.5, (1.0, 0.8, 0.45), 0.9)
            c.glow(11 + 22 * k, 2 * horizon - deck + 12, 5, (1.0, 0.7, 0.35), 0.25)


def _suspension(c: Canvas, deck: float, mood: Mood, tone: Color) -> None:
    height, span = c.length(0.26, 0.42), c.x(0.42, 0.6)
    left = c.x(0.12, 0.4)
    slope = c.between(-0.06, 0.06)

    def level(x: Array | float) -> Any:
        return deck + slope * (x - c.width / 2)

    xs = np.linspace(-10, c.width + 10, 70)
    along = ((xs - left) % span) / span
    cable = level(xs) - height * (0.08 + 0.92 * (2 * along - 1) ** 2)
    hangers = [[[x, y], [x, level(x)]] for x, y in zip(xs[::2], cable[::2], strict=True)]
    c.strokes(hangers, 0.8, tone, opacity=0.8)
    c.stroke(np.stack([xs, cable], 1), max(c.side * 0.009, 1.4), tone)
    for x in (left, left + span):
        half, y = c.side * 0.016, level(x)
        foot, top = y + c.side * 0.3, y - height * 1.03
        c.polygon(taper(x, foot, half * 1.6, top, half), tone)
        c.polygon(taper(x, foot, half * 1.6, top, half, 0), scaled(tone, 0.65))
    thick, end = c.side * 0.022, c.width + 5
    road = [[-5, level(-5)], [end, level(end)], [end, level(end) + thick], [-5, level(-5) + thick]]
    c.polygon(road, scaled(tone, 0.75))
    shadow = box(-5, deck + c.side * 0.3, c.width, deck + c.side * 0.33)
    c.polygon(shadow, scaled(mood.stops[0], 0.7), opacity=0.15, blur=3)


def _arches(c: Canvas, deck: float, water: float, stone: Color) -> None:
    count = c.whole(2, 5)
    span = c.width / count * c.between(0.9, 1.15)
    start = c.between(-0.4, 0.1) * span
    rise = c.length(0.0, 0.12)
    xs = np.linspace(-5, c.width + 5, 60)
    top = deck - rise * (1 - (2 * xs / c.width - 1) ** 2)
    wall = ramp([scaled(stone, 0.75), scaled(stone, 1.15)], c.noise(24, 3, stretch=2))
    keep = c.image.copy()
    c.polygon(np.concatenate([np.stack([xs, top], 1), [[c.width + 5, water], [-5, water]]]), wall)
    half = span * 0.38
    high = min(half, (water - deck) * 0.85)
    for k in range(count + 1):
        middle = start + (k + 0.5) * span
        hole = arc(middle, water, half, -high)
        c.polygon(np.concatenate([hole, [[middle - half, water + 3], [middle + half, water + 3]]]), keep)
        c.stroke(hole, max(c.side * 0.02, 2), scaled(stone, 0.6))
        c.polygon(arc(middle, water, half, high * 0.8), keep, opacity=0.3, blur=3)
    c.stroke(np.stack([xs, top], 1), max(c.side * 0.02, 2), scaled(stone, 1.15))

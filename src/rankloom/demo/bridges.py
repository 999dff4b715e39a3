"""Bridges over water: hung from towers, or on arches of stone."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloom.demo.canvas import Array, Canvas
from rankloom.demo.colors import NAMED, Color, ramp, scaled
from rankloom.demo.sky import ANY, Mood, hills, sea, sky


def bridge(c: Canvas) -> None:
    """A suspension bridge or one of arches over water."""
    horizon = c.height * c.between(0.5, 0.68)
    mood = sky(c, ANY, horizon=horizon)
    hills(c, mood, (0.26, 0.36, 0.30), horizon - 0.04 * c.side, layers=2, height=0.14)
    sea(c, mood, horizon + 0.02 * c.side)
    deck = horizon - c.side * c.between(0.0, 0.12)
    if c.chance(0.5):
        name = c.pick(["red", "orange", "green", "white", "blue", "brown"])
        c.note(colour=name, detail="suspension")
        _suspension(c, deck, mood, mood.lit(scaled(NAMED[name], 0.9)))
    else:
        c.note(detail="stone arches")
        _arches(
            c,
            deck,
            horizon + c.side * c.between(0.1, 0.2),
            mood.lit(c.pick([(0.62, 0.56, 0.48), (0.60, 0.36, 0.26), (0.5, 0.5, 0.52)])),
        )
    if mood.dark or mood.name == "dusk":
        for k in range(int(c.width / 22)):
            c.glow(11 + 22 * k, deck - 3, 2.5, (1.0, 0.8, 0.45), 0.9)
            c.glow(11 + 22 * k, 2 * horizon - deck + 12, 5, (1.0, 0.7, 0.35), 0.25)


def _suspension(c: Canvas, deck: float, mood: Mood, tone: Color) -> None:
    height, span = c.side * c.between(0.26, 0.42), c.width * c.between(0.42, 0.6)
    left = c.width * c.between(0.12, 0.4)
    slope = c.between(-0.06, 0.06)
    piers = [left, left + span]

    def level(x: Array | float) -> Any:
        return deck + slope * (x - c.width / 2)

    xs = np.linspace(-10, c.width + 10, 70)
    along = ((xs - left) % span) / span
    cable = level(xs) - height * (0.08 + 0.92 * (2 * along - 1) ** 2)
    hangers = [[[x, y], [x, level(x)]] for x, y in zip(xs[::2], cable[::2], strict=True)]
    c.strokes(hangers, 0.8, tone, opacity=0.8)
    c.stroke(np.stack([xs, cable], 1), max(c.side * 0.009, 1.4), tone)
    for x in piers:
        half, y = c.side * 0.016, level(x)
        c.polygon(
            [
                [x - half * 1.6, y + c.side * 0.3],
                [x + half * 1.6, y + c.side * 0.3],
                [x + half, y - height * 1.03],
                [x - half, y - height * 1.03],
            ],
            tone,
        )
        c.polygon(
            [
                [x, y + c.side * 0.3],
                [x + half * 1.6, y + c.side * 0.3],
                [x + half, y - height * 1.03],
                [x, y - height * 1.03],
            ],
            scaled(tone, 0.65),
        )
    thick = c.side * 0.022
    c.polygon(
        [
            [-5, level(-5)],
            [c.width + 5, level(c.width + 5)],
            [c.width + 5, level(c.width + 5) + thick],
            [-5, level(-5) + thick],
        ],
        scaled(tone, 0.75),
    )
    c.polygon(
        [
            [-5, deck + c.side * 0.3],
            [c.width, deck + c.side * 0.3],
            [c.width, deck + c.side * 0.33],
            [-5, deck + c.side * 0.33],
        ],
        scaled(mood.stops[0], 0.7),
        opacity=0.15,
        blur=3,
    )


def _arches(c: Canvas, deck: float, water: float, stone: Color) -> None:
    count = c.whole(2, 5)
    span = c.width / count * c.between(0.9, 1.15)
    start = c.between(-0.4, 0.1) * span
    rise = c.side * c.between(0.0, 0.12)
    xs = np.linspace(-5, c.width + 5, 60)
    top = deck - rise * (1 - (2 * xs / c.width - 1) ** 2)
    wall = ramp([scaled(stone, 0.75), scaled(stone, 1.15)], c.noise(24, 3, stretch=2))
    keep = c.image.copy()
    c.polygon(np.concatenate([np.stack([xs, top], 1), [[c.width + 5, water], [-5, water]]]), wall)
    turn = np.linspace(0, np.pi, 40)
    for k in range(count + 1):
        middle = start + (k + 0.5) * span
        half = span * 0.38
        high = min(half, (water - deck) * 0.85)
        hole = np.stack([middle + half * np.cos(turn), water - high * np.sin(turn)], 1)
        c.polygon(np.concatenate([hole, [[middle - half, water + 3], [middle + half, water + 3]]]), keep)
        c.stroke(hole, max(c.side * 0.02, 2), scaled(stone, 0.6))
        c.polygon(
            np.stack([middle + half * np.cos(turn), water + high * 0.8 * np.sin(turn)], 1), keep, opacity=0.3, blur=3
        )
    c.stroke(np.stack([xs, top], 1), max(c.side * 0.02, 2), scaled(stone, 1.15))

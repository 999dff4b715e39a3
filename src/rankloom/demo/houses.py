"""A house with roof, door and windows in a garden."""

from __future__ import annotations

from dataclasses import dataclass

from rankloom.demo.canvas import Canvas, Frame, box, smooth
from rankloom.demo.colors import NAMED, Color, mix, scaled
from rankloom.demo.sky import ANY, Mood, hills, sky, tree_crown


@dataclass(frozen=True)
class _Plan:
    """Where a house stands, mirrored or not, and how large its parts are."""

    at: Frame
    size: float
    wide: float
    tall: float
    pitch: float
    deep: float


def house(c: Canvas) -> None:
    """A house with roof, door and windows in a garden."""
    horizon = c.y(0.6, 0.75)
    mood = sky(c, ANY, horizon=horizon)
    green = c.pick([(0.34, 0.52, 0.22), (0.50, 0.54, 0.24), (0.90, 0.92, 0.96), (0.30, 0.44, 0.26)])
    hills(c, mood, green, horizon - 0.03 * c.side, layers=3, height=0.1)
    x, foot = c.x(0.3, 0.7), horizon + c.length(0.08, 0.16)
    size = c.length(0.2, 0.32)
    for _ in range(c.whole(0, 3)):
        side = c.pick([-1, 1])
        tx, ty = x + side * size * c.between(1.1, 1.7), foot - size * c.between(0.3, 0.7)
        tree_crown(c, tx, ty, size * c.between(0.3, 0.5), mood.lit((0.2, 0.4, 0.16)))
    wall = [[x - size * 0.9, foot], [x + size * 1.7, foot]]
    shadow = [*wall, [x + size * 1.5, foot + size * 0.18], [x - size * 0.7, foot + size * 0.14]]
    c.polygon(shadow, (0.03, 0.05, 0.03), opacity=0.4, blur=size * 0.05)
    wide, tall = size * c.between(0.75, 1.1), size * c.between(0.6, 1.1)
    pitch, deep = size * c.between(0.35, 0.75), size * c.between(0.3, 0.7)
    plan = _Plan(c.at(x, foot, flip=c.pick([-1.0, 1.0])), size, wide, tall, pitch, deep)
    _walls(c, plan, mood)
    _roof(c, plan, mood.lit(c.pick([(0.62, 0.25, 0.17), (0.30, 0.30, 0.34), (0.45, 0.30, 0.20), (0.24, 0.34, 0.40)])))
    _openings(c, plan, mood)
    door, bend, gate = size * 0.12, foot + size * 0.5, c.height + 9
    left, right = [[x + size * 0.1, gate], [x - size * 0.1, bend]], [[x + size * 0.3, bend], [x + size * 0.9, gate]]
    path = smooth([[x - door, foot], [x + door, foot], *right, *left], 50)
    c.polygon(path, mood.lit((0.72, 0.64, 0.52)), opacity=0.85)


def _walls(c: Canvas, p: _Plan, mood: Mood) -> None:
    name = c.pick(["white", "red", "yellow", "blue", "pink", "green", "brown", "orange"])
    c.note(colour=name)
    wall = mood.lit(mix(NAMED[name], (0.95, 0.92, 0.86), c.between(0.1, 0.5)))
    back = p.wide + p.deep
    flank = [[p.wide, 0], [back, -p.deep * 0.25], [back, -p.tall - p.deep * 0.2], [p.wide, -p.tall]]
    p.at.polygon(flank, scaled(wall, 0.66))
    front = [[-p.wide, 0], [p.wide, 0], [p.wide, -p.tall], [0, -p.tall - p.pitch], [-p.wide, -p.tall]]
    p.at.polygon(front, wall)


def _roof(c: Canvas, p: _Plan, tone: Color) -> None:
    top, over = -p.tall - p.pitch, p.size * 0.08
    eaves = -p.tall + over
    slope = [[0, top - over], [p.deep, top - over - p.deep * 0.2], [p.wide + p.deep + over, eaves - p.deep * 0.2]]
    p.at.polygon([*slope, [p.wide + over, eaves]], tone)
    gable = [[-p.wide - over, eaves], [0, top - over * 0.3], [p.wide + over, eaves]]
    p.at.stroke(gable, max(p.size * 0.09, 2), scaled(tone, 0.8))
    if c.chance(0.6):
        chimney = box(p.deep * 0.9, top - p.size * 0.28, p.deep * 1.25, top + p.size * 0.15)
        p.at.polygon(chimney, scaled(tone, 0.6))


def _openings(c: Canvas, p: _Plan, mood: Mood) -> None:
    """Windows, lit when it is dark, and a door."""
    lit = mood.dark or mood.name in ("dusk", "storm")
    glass = (1.0, 0.84, 0.50) if lit else scaled(mix(mood.stops[0], (0.2, 0.3, 0.4), 0.4), 0.9)
    trim, size = mood.lit((0.96, 0.95, 0.92)), p.size
    rows = (0.42, 0.85) if p.tall > 0.85 * size else (0.42,)
    spots = [(a * p.wide, -b * size, 0.15 * size) for b in rows for a in (-0.55, 0.55)]
    for a, b, s in [*spots, (0.0, -p.tall - 0.12 * size, 0.1 * size)]:
        p.at.polygon(box(a - s - 2, b - s - 2, a + s + 2, b + s + 2), trim)
        p.at.polygon(box(a - s, b - s, a + s, b + s), glass)
        p.at.strokes([[[a, b - s], [a, b + s]], [[a - s, b], [a + s, b]]], max(size * 0.02, 1), trim)
    door = mood.lit(NAMED[c.pick(["brown", "red", "blue", "green"])])
    p.at.polygon(box(-size * 0.13, -size * 0.46, size * 0.13, 0), door)
    p.at.disc(size * 0.08, -size * 0.22, size * 0.018, (0.95, 0.85, 0.5))

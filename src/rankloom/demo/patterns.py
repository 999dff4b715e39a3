"""Patterns and surfaces: mosaic, stripes, plaid, dots, checks, spirals, marble, wood, bricks."""

from __future__ import annotations

from math import cos, sin

import cv2
import numpy as np

from rankloom.demo.canvas import Array, Canvas, spread, tinted
from rankloom.demo.colors import PALETTES, Color, mix, ramp, scaled


def _plane(c: Canvas, tilt: float = 0.35) -> tuple[Array, Array]:
    """Coordinates of a sheet that is turned, often seen aslant, and sometimes not quite flat; the shorter side is 1."""
    x, y = c.grid()
    u, v = (x - c.width / 2) / c.side, (y - c.height / 2) / c.side
    angle = c.pick([0.0, 0.0, c.between(-0.25, 0.25), c.between(0, np.pi)])
    lean = c.between(-tilt, tilt) if c.chance(0.6) else 0.0
    deep = 1.0 / (1.0 + lean * v)
    u, v = u * deep, v * deep
    if c.chance(0.4):
        fold, cells = c.between(0.01, 0.04), c.between(1.5, 4)
        u, v = u + fold * np.sin(v * cells * 3 + c.between(0, 6)), v + fold * np.sin(u * cells * 3 + c.between(0, 6))
    c_, s_ = cos(angle), sin(angle)
    return (u * c_ - v * s_).astype(np.float32), (u * s_ + v * c_).astype(np.float32)


def _palette(c: Canvas) -> list[Color]:
    chosen = list(c.pick(PALETTES))
    c.rng.shuffle(chosen)
    return [tuple(color) for color in chosen]  # type: ignore[misc]


def _soft(value: Array, sharp: float) -> Array:
    """0 below, 1 above zero, with a smooth edge one pixel wide: `sharp` is pixels a unit."""
    return np.asarray(np.clip(value * np.float32(sharp) + 0.5, 0, 1), np.float32)


def _light(c: Canvas, strength: float = 0.35) -> None:
    """Light from one side and folds of cloth or unevenness of a wall."""
    x, y = c.grid()
    angle = c.between(0, 2 * np.pi)
    across = (x / c.width - 0.5) * cos(angle) + (y / c.height - 0.5) * sin(angle)
    relief = c.noise(c.between(1.5, 4), 3) - 0.5
    c.image *= spread(1 + strength * across + c.between(0.1, 0.5) * strength * 2 * relief)


def _weave(c: Canvas, amount: float) -> None:
    x, y = c.grid()
    pitch = c.between(2.2, 3.5)
    thread = np.sin(x * (2 * np.pi / pitch)) * np.sin(y * (2 * np.pi / pitch))
    c.image *= spread(1 + amount * thread)


def stripes(c: Canvas) -> None:
    """Stripes: broad or narrow, regular or not, straight or waving."""
    u, _v = _plane(c)
    palette = _palette(c)
    count = c.pick([2, 2, 3, 4])
    widths = np.ones(count) if c.chance(0.5) else c.rng.uniform(0.3, 1.5, count)
    edges = np.concatenate([[0], np.cumsum(widths)]) / widths.sum()
    pitch = c.between(0.08, 0.35)
    phase = (u / np.float32(pitch)) % 1.0
    c.image[:] = palette[0]
    for k in range(1, count):
        band = _soft(np.minimum(phase - edges[k], edges[k + 1] - phase), pitch * c.side)
        c.paint(band, palette[k])
    if c.chance(0.6):
        _weave(c, c.between(0.03, 0.1))
    _light(c)


def plaid(c: Canvas) -> None:
    """Tartan: bands that cross and let each other show through."""
    u, v = _plane(c)
    palette = _palette(c)
    c.image[:] = palette[0]
    pitch = c.between(0.2, 0.5)
    bands = [(c.between(0, 1), c.between(0.03, 0.3), palette[1 + k % 4]) for k in range(c.whole(3, 5))]
    for axis in (u, v):
        phase = (axis / np.float32(pitch)) % 1.0
        for at, half, color in bands:
            away = np.abs((phase - at + 0.5) % 1.0 - 0.5)
            c.paint(_soft(half / 2 - away, pitch * c.side) * np.float32(0.5), color)
    x, y = c.grid()
    c.image *= spread(1 + 0.10 * np.sign(np.sin((x + y) * c.between(0.9, 1.5))))
    _light(c)


def polka_dots(c: Canvas) -> None:
    """Dots in rows or staggered, one or several colours."""
    u, v = _plane(c)
    palette = _palette(c)
    c.image[:] = palette[0]
    pitch, radius = c.between(0.09, 0.3), c.between(0.16, 0.4)
    several = c.chance(0.45)
    rows = np.floor(v / pitch)
    shift = 0.5 * (rows % 2) if c.chance(0.6) else 0.0
    columns = np.floor(u / pitch - shift)
    du, dv = (u / pitch - shift) - columns - 0.5, v / pitch - rows - 0.5
    dots = _soft(radius - np.sqrt(du**2 + dv**2), pitch * c.side)
    which = ((columns * 7 + rows * 3) % 4).astype(int) if several else np.zeros(c.image.shape[:2], int)
    c.paint(dots, np.asarray(palette[1:], np.float32)[which])
    if c.chance(0.5):
        _weave(c, c.between(0.03, 0.08))
    _light(c)


def checkerboard(c: Canvas) -> None:
    """Squares of two colours, as a board, a floor or cloth."""
    u, v = _plane(c, tilt=0.8)
    light = [(0.95, 0.93, 0.88), (0.93, 0.86, 0.70), mix(c.pick(c.pick(PALETTES)), (1, 1, 1), 0.5)]
    dark = [(0.08, 0.08, 0.10), (0.35, 0.18, 0.10), scaled(c.pick(c.pick(PALETTES)), 0.65)]
    first, second = c.pick(light), c.pick(dark)
    pitch = c.between(0.07, 0.22)
    wave = np.sin(np.pi * u / pitch) * np.sin(np.pi * v / pitch)
    c.image[:] = first
    c.paint(_soft(wave, pitch * c.side * 0.45), second)
    if c.chance(0.5):
        vein = c.noise(5, 4) - 0.5
        c.image *= spread(1 + c.between(0.1, 0.4) * vein)
    _light(c)


def spirals(c: Canvas) -> None:
    """One large spiral or several small ones."""
    u, v = _plane(c, tilt=0.2)
    palette = _palette(c)
    arms, tight = c.pick([1, 2, 3, 4, 6]), c.between(5, 16)
    curl = c.pick([-1.0, 1.0])
    if c.chance(0.5):
        u, v = u - c.between(-0.25, 0.25), v - c.between(-0.25, 0.25)
    else:
        cell = c.between(0.4, 0.6)
        u, v = (u / cell + 0.5) % 1.0 - 0.5, (v / cell + 0.5) % 1.0 - 0.5
    radius = np.sqrt(u**2 + v**2) + 1e-4
    winding = np.log(radius) * tight * 0.45 if c.chance(0.5) else radius * tight * 2.2
    phase = (arms * np.arctan2(v, u) * curl + winding * max(arms * 0.6, 1) + 1.2 * c.time) / (2 * np.pi)
    turn = (phase % 1.0).astype(np.float32)
    colors = palette[: c.pick([2, 3, 4])]
    if c.chance(0.5):
        c.image[:] = ramp([*colors, colors[0]], turn)
    else:
        c.image[:] = np.asarray(colors, np.float32)[(turn * len(colors)).astype(int) % len(colors)]
    c.image[:] = cv2.GaussianBlur(c.image, (0, 0), 0.7)
    _light(c, 0.25)


def mosaic(c: Canvas) -> None:
    """Tiles of broken colour with grout between, laid in a picture of waves or rings."""
    count = c.whole(120, 700)
    points = (c.rng.random((count, 2)) * [c.width, c.height]).astype(np.float32)
    if c.chance(0.5):
        across = int(np.sqrt(count * c.width / c.height))
        gx, gy = np.meshgrid((np.arange(across) + 0.5) / across, (np.arange(count // across) + 0.5) / (count // across))
        points = (np.stack([gx.ravel(), gy.ravel()], 1) * [c.width, c.height]).astype(np.float32)
        points += c.rng.normal(0, 0.12 * c.width / across, points.shape).astype(np.float32)
    points = np.clip(points, 0, [c.width - 1, c.height - 1]).astype(np.float32)
    away, owner = _cells(c, points)
    palette = _palette(c)
    cx, cy = c.x(0.2, 0.8), c.y(0.2, 0.8)
    px, py = points[:, 0] - cx, points[:, 1] - cy
    rings, rays = np.hypot(px, py) / c.side * 3, np.arctan2(py, px) / np.pi * 2.5
    waves = py / c.side * 3 + 0.5 * np.sin(px / c.side * 6)
    design = c.pick([rings, rays, waves, c.rng.random(len(points)) * 5])
    index = np.floor(design * c.between(1.0, 2.0) + c.rng.normal(0, 0.25, len(points))).astype(int) % len(palette)
    tiles = np.asarray(palette, np.float32)[index] * c.rng.uniform(0.82, 1.15, (len(points), 1)).astype(np.float32)
    c.image[:] = tiles[owner]
    c.image *= spread(0.92 + 0.16 * c.noise(30, 2))
    grout = c.pick([(0.88, 0.86, 0.82), (0.20, 0.19, 0.18), (0.55, 0.52, 0.48), (0.85, 0.70, 0.35)])
    c.paint(np.clip(1.4 - away, 0, 1), grout)
    _light(c)


def _cells(c: Canvas, points: Array) -> tuple[Array, Array]:
    """Voronoi cells: of each pixel the distance to the next border and the number of its point."""
    lines = cv2.Subdiv2D((0, 0, c.width, c.height))
    lines.insert([(float(x), float(y)) for x, y in points])
    facets, _ = lines.getVoronoiFacetList([])
    owner = np.zeros((c.height, c.width), np.int32)
    mask = np.full((c.height, c.width), 255, np.uint8)
    for k, facet in enumerate(facets):
        corners = np.round(facet).astype(np.int32)
        cv2.fillConvexPoly(owner, corners, k % len(points))
    for facet in facets:
        cv2.polylines(mask, [np.round(np.asarray(facet) * 16).astype(np.int32)], True, 0, 1, cv2.LINE_8, 4)
    return cv2.distanceTransform(mask, cv2.DIST_L2, 3), owner


def marble(c: Canvas) -> None:
    """Stone with veins."""
    u, v = _plane(c, tilt=0.2)
    warp, fine = c.noise(c.between(1.2, 2.2), 4, gain=0.45), c.noise(c.between(2, 4), 6, gain=0.6)
    base = c.pick([
        (0.93, 0.92, 0.90), (0.14, 0.15, 0.17), (0.32, 0.48, 0.42), (0.80, 0.64, 0.56), (0.55, 0.60, 0.70),
        (0.85, 0.78, 0.64),
    ])  # fmt: skip
    vein = c.pick([scaled(base, 0.5), mix(base, (1, 1, 1), 0.7), (0.75, 0.58, 0.25), (0.35, 0.36, 0.40)])
    lines = np.abs(np.sin((u * c.between(0.5, 2.5) + warp * c.between(1.5, 3.5)) * np.pi))
    c.image[:] = ramp([scaled(base, 0.82), base, mix(base, (1, 1, 1), 0.25)], fine)
    c.paint((np.clip(1 - lines * c.between(2.0, 6.0), 0, 1) ** 1.5 * (0.35 + 0.65 * fine)).astype(np.float32), vein)
    second = np.abs(np.sin((v * c.between(1, 2) + warp * 2 + fine * 1.2) * np.pi))
    c.paint((np.clip(1 - second * 14, 0, 1) * 0.6).astype(np.float32), vein)
    _light(c, 0.2)


def wood(c: Canvas) -> None:
    """Grain of wood, in planks or one board, with knots."""
    u, v = _plane(c, tilt=0.3)
    tone = c.pick([
        (0.66, 0.44, 0.25), (0.46, 0.28, 0.15), (0.83, 0.66, 0.43), (0.28, 0.19, 0.13), (0.60, 0.57, 0.53),
        (0.55, 0.26, 0.16), (0.40, 0.48, 0.52),
    ])  # fmt: skip
    planks = c.pick([1, 3, 4, 6])
    board = np.floor(v * planks)
    offset = np.sin(board * 91.7) * 3.0
    warp = c.noise(3, 3, stretch=3.0)
    ring = v * c.between(4, 9) + warp * c.between(1.0, 2.5) + offset
    for _ in range(c.whole(0, 4)):
        ku, kv = c.between(-0.7, 0.7), c.between(-0.5, 0.5)
        ring = ring + 0.9 * np.exp(-(((u - ku) / 0.16) ** 2) - ((v - kv) / 0.06) ** 2)
    grain = 0.5 + 0.5 * np.sin(ring * 2 * np.pi * c.between(1.2, 2.5))
    straight = c.noise(60, 2, stretch=14)
    fiber = cv2.remap(straight, (u + 2) * c.side, (v + 2) * c.side, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
    shade = np.clip(0.55 * grain + 0.45 * fiber + 0.10 * np.sin(board * 37.3), 0, 1).astype(np.float32)
    c.image[:] = ramp([scaled(tone, 0.62), tone, mix(tone, (1, 0.9, 0.75), 0.25)], shade)
    if planks > 1:
        gap = np.abs((v * planks) % 1.0 - 0.5)
        c.paint(_soft(gap - 0.485, c.side / planks * 1.0) * np.float32(0.85), scaled(tone, 0.2))
    _light(c)


def bricks(c: Canvas) -> None:
    """A wall of bricks in a bond, old or painted."""
    u, v = _plane(c, tilt=0.5)
    tone = c.pick([
        (0.62, 0.28, 0.20), (0.72, 0.42, 0.28), (0.50, 0.22, 0.18), (0.85, 0.82, 0.76), (0.55, 0.53, 0.52),
        (0.40, 0.46, 0.52), (0.78, 0.66, 0.46),
    ])  # fmt: skip
    tall = c.between(0.06, 0.15)
    wide = tall * c.between(2.0, 3.2)
    row = np.floor(v / tall)
    shift = 0.5 * (row % 2)
    column = np.floor(u / wide + shift)
    inside_u, inside_v = (u / wide + shift) - column, v / tall - row
    edge = np.minimum(np.minimum(inside_u, 1 - inside_u) * wide, np.minimum(inside_v, 1 - inside_v) * tall)
    rough = c.noise(22, 4, gain=0.6)
    lottery = np.abs(np.sin(row * 12.9898 + column * 78.233) * 43758.5453) % 1.0
    shade = np.clip(0.65 * lottery + 0.5 * (rough - 0.25), 0, 1).astype(np.float32)
    c.image[:] = ramp([scaled(tone, 0.62), tone, mix(scaled(tone, 1.12), (0.9, 0.7, 0.55), 0.2)], shade)
    mortar = c.pick([(0.75, 0.72, 0.68), (0.45, 0.43, 0.42), (0.90, 0.88, 0.85)])
    joint = tall * c.between(0.05, 0.10)
    c.paint(1 - _soft(edge - joint + (rough - 0.5) * joint * 0.8, c.side), tinted(0.75 + 0.4 * rough, mortar))
    c.paint(_soft(joint * 1.6 - edge, c.side) * (inside_v > 0.5) * np.float32(0.25), (0, 0, 0))
    _light(c)

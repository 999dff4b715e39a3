"""In the sky: stars, aurora, fireworks, planets, balloons, kites."""

from __future__ import annotations

from math import cos, sin

import cv2
import numpy as np

from rankloom.demo.canvas import Canvas, smooth, spread, taper, tinted
from rankloom.demo.colors import NAMED, PALETTES, Color, mix, ramp, scaled
from rankloom.demo.sky import DAY, MOODS, below, conifer, hills, moon, ridge, sea, sky, stars


def starry_night(c: Canvas) -> None:
    """Stars, often a band of the Milky Way, a moon at times, a dark land below."""
    deep = c.pick([(0.02, 0.03, 0.10), (0.06, 0.02, 0.12), (0.01, 0.07, 0.12), (0.03, 0.03, 0.05)])
    low = c.pick([(0.12, 0.18, 0.36), (0.34, 0.18, 0.34), (0.10, 0.28, 0.34), (0.38, 0.26, 0.22)])
    c.image[:] = c.gradient([deep, mix(deep, low, 0.4), low])
    x, y = c.grid()
    slope, middle = c.between(-1.2, 1.2), c.y(0.2, 0.8)
    dust = c.noise(3, 5, gain=0.6)
    if c.chance(0.6):
        away = (y - middle - slope * (x - c.width / 2)) / (c.side * 0.22)
        band = np.exp(-(away**2)) * np.clip(dust * 1.5 - 0.35, 0, 1)
        c.image += tinted(band, c.pick([(0.42, 0.40, 0.55), (0.55, 0.36, 0.46), (0.30, 0.44, 0.52)]))
        c.note(detail="milky way")
    stars(c, c.whole(120, 320), c.height)
    if c.chance(0.5):
        moon(c, c.x(0.15, 0.85), c.y(0.15, 0.45), c.length(0.05, 0.13))
        c.note(detail="moon")
    _dark_land(c, scaled(deep, 0.6))
    c.note(time="night")


def _dark_land(c: Canvas, tone: Color) -> None:
    base = c.y(0.85, 1.0)
    style = c.whole(0, 2)
    if style == 0:
        sea(c, MOODS["night"], base, glint=c.x(0.2, 0.8))
        return
    c.polygon(below(c, ridge(c, base, 0.2 * c.side, c.between(1, 2), rough=0.5)), tone)
    if style == 2:
        for _ in range(c.whole(6, 20)):
            conifer(c, c.x(), base + 0.04 * c.side, c.length(0.1, 0.26), tone)


def aurora(c: Canvas) -> None:
    """Curtains of light over a dark land."""
    c.image[:] = c.gradient([(0.01, 0.02, 0.07), (0.03, 0.06, 0.14), (0.06, 0.12, 0.18)])
    stars(c, c.whole(60, 160), c.height * 0.9)
    name, first, second = c.pick([
        ("green", (0.20, 0.95, 0.50), (0.30, 0.30, 0.85)), ("green", (0.35, 1.0, 0.55), (0.85, 0.25, 0.60)),
        ("purple", (0.65, 0.35, 0.95), (0.95, 0.30, 0.50)), ("turquoise", (0.15, 0.85, 0.85), (0.35, 0.35, 0.95)),
        ("red", (0.95, 0.35, 0.35), (0.60, 0.20, 0.70)),
    ])  # fmt: skip
    c.note(colour=name, time="night")
    x, y = c.grid()
    for _ in range(c.whole(2, 4)):
        phase, cells = c.between(0, 6), c.between(1.5, 3.5)
        foot = c.y(0.4, 0.75) + c.side * 0.14 * np.sin(x / c.side * cells + phase + 0.3 * c.time)
        foot = foot + c.side * 0.05 * np.sin(x / c.side * cells * 2.7 + phase * 2)
        streaks = 0.35 + 0.65 * c.noise(9, 3, stretch=0.35, gain=0.7, drift=(0.4 * c.time, 0))[:1]
        height = c.length(0.35, 0.6) * (0.6 + 0.6 * streaks)
        above = (foot - y) / height
        light = np.where(above > 0, np.exp(-2.2 * above), np.exp(above * 14)) * streaks
        tint = ramp([first, first, second], np.clip(above, 0, 1).astype(np.float32))
        c.image += spread(light * c.between(0.35, 0.7)) * tint
    _dark_land(c, (0.01, 0.03, 0.05))


def fireworks(c: Canvas) -> None:
    """Bursts of sparks over a town or water."""
    low = c.pick([(0.14, 0.10, 0.20), (0.20, 0.12, 0.10), (0.05, 0.12, 0.18)])
    c.image[:] = c.gradient([(0.01, 0.01, 0.05), (0.05, 0.05, 0.14), low])
    base = c.y(0.8, 0.95)
    names = []
    for _ in range(c.whole(2, 6)):
        name = c.pick(["red", "yellow", "green", "blue", "purple", "pink", "white", "orange"])
        names.append(name)
        born = c.between(-2.2, 0.0) if c.time else -1.0
        _burst(c, NAMED[name], 1.0 if not c.time else ((c.time - born) % 2.2) / 1.6)
    c.note(colour=names[0], time="night")
    if c.chance(0.6):
        flipped = cv2.flip(c.image[: int(base)], 0)[: c.height - int(base)]
        sea(c, MOODS["night"], base)
        c.image[int(base) : int(base) + len(flipped)] += cv2.blur(flipped, (5, 15)) * 0.6
    else:
        c.polygon(below(c, ridge(c, base, 0.1 * c.side, 3, rough=0.5)), (0.02, 0.02, 0.04))
        dots = c.rng.random((60, 2)) * [c.width, c.height - base] + [0, base]
        for a, b in dots:
            c.glow(a, b, 1.2, (1.0, 0.75, 0.4), 0.6)


def _burst(c: Canvas, color: Color, age: float) -> None:
    x, y = c.x(0.12, 0.88), c.y(0.12, 0.6)
    reach, rays = c.length(0.14, 0.36), c.whole(24, 60)
    angles = c.rng.random(rays) * 2 * np.pi
    lengths = reach * (0.35 + 0.65 * np.sqrt(c.rng.random(rays)))
    grow, fade = min(age * 1.6, 1.0), max(0.0, 1.3 - age * 0.9) if c.time else 1.0
    start = min(age * 0.5, 0.6) if c.time else c.between(0.05, 0.4)
    s = np.linspace(start, max(grow, start + 0.02), 7)
    sparks = zip(angles, lengths, strict=True)
    lines = [np.stack([x + r * s * np.cos(a), y + r * s * np.sin(a) + 0.16 * reach * s**2], 1) for a, r in sparks]
    bright = mix(color, (1, 1, 1), 0.45)
    c.glow(x, y, reach * 0.6, color, 0.28 * fade)
    c.strokes(lines, max(c.side * 0.008, 1.5), color, opacity=0.55 * fade, blur=c.side * 0.006)
    c.strokes(lines, 1.0, bright, opacity=0.9 * fade)
    for line in lines[::2]:
        c.glow(line[-1][0], line[-1][1], 1.6, bright, 0.9 * fade)


def planets(c: Canvas) -> None:
    """Worlds in space: banded, cratered or ringed, before a nebula."""
    c.image[:] = c.gradient([(0.01, 0.01, 0.03), (0.02, 0.02, 0.06)])
    palette = c.pick(PALETTES)
    cloud = c.noise(2, 5, gain=0.6)
    c.image += tinted(np.clip(cloud - 0.45, 0, 1) ** 1.5 * c.between(0.4, 1.6), c.pick(palette))
    stars(c, c.whole(60, 150), c.height)
    light = c.between(-3.0, -0.2)
    count = c.whole(1, 3)
    for k in range(count):
        radius = c.side * (c.between(0.2, 0.36) if k == count - 1 else c.between(0.04, 0.1))
        name = c.pick(["red", "orange", "blue", "turquoise", "purple", "yellow", "brown", "green"])
        _planet(c, c.x(0.2, 0.8), c.y(0.25, 0.75), radius, name, light)
        c.note(colour=name)
    c.note(time="night")


def _planet(c: Canvas, x: float, y: float, radius: float, name: str, light: float) -> None:
    tilt, ringed = c.between(-0.5, 0.5), c.chance(0.4)
    banded = c.chance(0.5)
    gx, gy = c.grid()
    dx, dy = (gx - x) / radius, (gy - y) / radius
    across, along = dy * cos(tilt) - dx * sin(tilt), dx * cos(tilt) + dy * sin(tilt)
    wobble = c.noise(c.side / radius * 2.2, 4, drift=(0.1 * c.time, 0))
    pattern = 0.5 + 0.5 * np.sin(across * c.between(7, 15) + 2.5 * wobble) if banded else wobble
    base = NAMED[name]
    skin = ramp([scaled(base, 0.55), base, mix(base, (1, 0.95, 0.85), 0.6)], np.clip(pattern, 0, 1).astype(np.float32))
    distance = dx**2 + dy**2
    toward = 0.8 * (dx * cos(light) + dy * sin(light)) + 0.6 * np.sqrt(np.clip(1 - distance, 0, 1))
    mask = np.clip((1 - np.sqrt(distance)) * radius + 0.5, 0, 1).astype(np.float32)
    ring = np.sqrt(along**2 + (across / 0.28) ** 2)
    bands = (np.clip(1 - np.abs(ring - 1.75) / 0.35, 0, 1) ** 0.4 * (0.6 + 0.4 * np.sin(ring * 40))).astype(np.float32)
    ring_color = mix(base, (0.95, 0.88, 0.76), 0.6)
    if ringed:
        c.paint(bands * (across < 0) * np.float32(0.8), ring_color)
        c.note(detail="ring")
    c.glow(x, y, radius * 1.05, scaled(base, 0.5), 0.35)
    c.paint(mask, skin * spread(np.clip(0.04 + 1.15 * np.clip(toward, 0, 1), 0, 1.1)))
    if ringed:
        c.paint(bands * (across >= 0) * np.float32(0.85), ring_color)


def balloons(c: Canvas) -> None:
    """Hot-air balloons over hills."""
    horizon = c.y(0.72, 0.95)
    mood = sky(c, (*DAY, "sunset", "dusk"), horizon=horizon)
    hills(c, mood, c.pick([(0.34, 0.48, 0.24), (0.62, 0.46, 0.30), (0.30, 0.36, 0.40)]), horizon, height=0.2)
    count = c.whole(1, 5)
    c.note(count=str(count))
    for k in range(count):
        near = (k + 1) / count
        size = c.side * (c.between(0.16, 0.26) if k == count - 1 else c.between(0.05, 0.12))
        x, y = c.x(0.12, 0.88), c.y(0.22, 0.55)
        _balloon(c, x + 4 * c.time * near, y - 5 * c.time * near, size, mood.lit((1, 1, 1)), 0.45 * (1 - near))


def _balloon(c: Canvas, x: float, y: float, size: float, light: Color, far: float) -> None:
    palette = c.pick(PALETTES)
    first = c.pick(list(NAMED))
    c.note(colour=first)
    gores = c.whole(3, 5) * 2
    colors = [NAMED[first], c.pick(palette)]
    haze = MOODS[c.notes["time"]].haze
    turn = np.linspace(0, 1, 30)
    # The outline: a ball above, drawn in to a neck below.
    profile = np.where(turn < 0.55, np.sin(np.pi * turn / 1.1), np.cos((turn - 0.55) / 0.45 * 1.36))
    heights = y - size + 2.25 * size * (1 - np.cos(turn * np.pi * 0.83)) / 2
    for k in range(gores):
        a, b = np.sin(np.pi * (k / gores - 0.5)), np.sin(np.pi * ((k + 1) / gores - 0.5))
        left, right = np.stack([x + size * profile * a, heights], 1), np.stack([x + size * profile * b, heights], 1)
        shade = 1.08 - 0.5 * ((k + 0.5) / gores) ** 1.5
        tone = mix(scaled(scaled(colors[k % 2], light), shade), haze, far)
        c.polygon(np.concatenate([left, right[::-1]]), tone)
    low = float(heights[-1])
    half = size * 0.13
    basket = mix(scaled((0.42, 0.26, 0.13), light), haze, far)
    ropes = [[[x + side * size * 0.2, low], [x + side * half, low + size * 0.35]] for side in (-1, 1)]
    c.strokes(ropes, max(size * 0.02, 0.8), basket)
    top = low + size * 0.33
    c.polygon(taper(x, top, half, top + half * 1.5, half * 0.85), basket)


def kites(c: Canvas) -> None:
    """Kites with tails in a windy sky."""
    horizon = c.y(0.88, 1.1)
    mood = sky(c, (*DAY, "sunset"), horizon=horizon, clouds=c.between(0.3, 0.9))
    if horizon < c.height:
        hills(c, mood, c.pick([(0.36, 0.52, 0.24), (0.86, 0.76, 0.54)]), horizon, layers=2, height=0.08)
    count = c.whole(1, 4)
    c.note(count=str(count))
    for _ in range(count):
        x, y = c.x(0.15, 0.85), c.y(0.15, 0.6)
        _kite(c, x + 3 * np.sin(c.time), y + 4 * np.sin(1.7 * c.time), c.length(0.07, 0.16))


def _kite(c: Canvas, x: float, y: float, size: float) -> None:
    name = c.pick(list(NAMED))
    c.note(colour=name)
    palette = [NAMED[name], *c.rng.permutation(c.pick(PALETTES)).tolist()]
    angle = c.between(-0.7, 0.7)
    long = c.between(1.3, 1.9)
    *corners, middle = c.at(x, y, size, angle).points([[0, -1], [0.75, -0.25], [0, long], [-0.75, -0.25], [0, -0.25]])
    sway = c.between(1.5, 3) * size
    tail = [corners[2]]
    for k in range(1, 7):
        swing = np.sin(k * 1.3 + 2 * c.time + angle) * size * 0.35 - angle * sway * k / 6
        tail.append(corners[2] + [swing, k * size * 0.42])
    line = smooth(tail, 40, closed=False)
    c.stroke([middle, [c.x(0.2, 0.8), c.height + 5]], 0.8, (0.95, 0.95, 0.95), opacity=0.7)
    c.stroke(line, max(size * 0.05, 1), palette[1])
    for k in range(4):
        tone = palette[k % 2 * 2 if k < 2 else k]
        c.polygon([corners[k], corners[(k + 1) % 4], middle], scaled(tone, 1.0 - 0.12 * k))
    c.strokes([[corners[0], corners[2]], [corners[1], corners[3]]], max(size * 0.03, 1), (0.2, 0.14, 0.1), opacity=0.7)
    for k, (bow_x, bow_y) in enumerate(line[8::8]):
        bow = c.at(bow_x, bow_y, size * 0.16, 0.5)
        wings = [bow.points([[0, 0], [side, -0.6], [side, 0.6]]) for side in (1, -1)]
        c.polygons(wings, palette[1 + k % 4])

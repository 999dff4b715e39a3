"""At the water: sunset, sailing boat, lighthouse, fish."""

from __future__ import annotations

import numpy as np

from rankloom.demo.canvas import Canvas, box, smooth, taper, tinted
from rankloom.demo.colors import NAMED, PALETTES, Color, mix, ramp, scaled
from rankloom.demo.sky import ANY, Mood, below, ridge, sea, sky


def sunset_sea(c: Canvas) -> None:
    """The sun low over the sea, its light on the water."""
    horizon = c.y(0.45, 0.72)
    mood = sky(c, ("sunset", "golden evening", "dusk", "dawn", "pastel"), horizon=horizon, clouds=c.between(0.1, 0.85))
    x, y = c.x(0.15, 0.85), horizon - c.length(-0.02, 0.22) + 3 * c.time
    disc = mix(mood.haze, (1.0, 0.97, 0.84), c.between(0.75, 1.0))
    c.glow(x, y, c.length(0.3, 0.5), mood.haze, 0.16)
    c.glow(x, y, c.side * 0.14, (1.0, 0.7, 0.35), 0.22)
    c.disc(x, y, c.length(0.04, 0.10), disc, blur=0.8)
    if c.chance(0.4):
        line = ridge(c, horizon + 2, 0.16 * c.side, 1.5)
        c.polygon(np.concatenate([line, [[c.width, horizon + 1], [0, horizon + 1]]]), mood.lit((0.25, 0.2, 0.3), 0.4))
    sea(c, mood, horizon, glint=x)
    _foreground(c, mood)
    _birds(c, horizon)


def _foreground(c: Canvas, mood: Mood) -> None:
    style = c.whole(0, 2)
    if style == 0:
        dark = scaled(mood.stops[0], 0.35)
        for side in (-1, 1):
            if c.chance(0.5):
                x = c.width * (0.5 + side * c.between(0.35, 0.55))
                foot, reach = c.height + 9, c.side * 0.35
                rock = [[x + c.length(-0.3, 0.3), c.height + 5 - c.length(0.0, 0.2)] for _ in range(5)]
                c.polygon(smooth([[x - reach, foot], *sorted(rock), [x + reach, foot]]), dark)
    elif style == 1:
        sand = mood.lit((0.75, 0.60, 0.45))
        grain = c.noise(40, 3, stretch=3)
        line = ridge(c, c.y(0.9, 0.98), 0.08 * c.side, 0.7, rough=0.3, octaves=2)
        c.stroke(line, c.side * 0.02, (1, 0.97, 0.95), opacity=0.5, blur=1.5)
        c.polygon(below(c, line), ramp([scaled(sand, 0.75), sand], grain))


def _birds(c: Canvas, horizon: float) -> None:
    for _ in range(c.whole(0, 6)):
        x, y, size = c.x(0.1, 0.9), c.between(0.15, 0.8) * horizon, c.length(0.008, 0.022)
        flap = 0.5 + 0.4 * np.sin(8 * c.time + x)
        wing = [[-1, -flap], [-0.5, -0.75 * flap], [0, 0], [0.5, -0.75 * flap], [1, -flap]]
        c.at(x + 9 * c.time, y, size).stroke(wing, max(size * 0.2, 1), (0.12, 0.1, 0.14), opacity=0.8)


def sailing_boat(c: Canvas) -> None:
    """One or two boats under sail."""
    horizon = c.y(0.35, 0.6)
    mood = sky(c, ANY, horizon=horizon)
    if c.chance(0.4):
        line = ridge(c, horizon + 2, 0.14 * c.side, 1.5, rough=0.45)
        c.polygon(below(c, line), mood.lit((0.28, 0.36, 0.34), 0.55))
    sea(c, mood, horizon, glint=c.x(0.2, 0.8) if c.chance(0.5) else None)
    name = c.pick(["white", "red", "orange", "yellow", "blue", "brown", "turquoise"])
    c.note(colour=name)
    far = c.chance(0.4)
    if far:
        _boat(c, c.x(0.1, 0.9), horizon + 0.03 * c.side, c.length(0.05, 0.1), mood, "white")
    size = c.length(0.16, 0.34)
    _boat(c, c.x(0.25, 0.75), horizon + size * c.between(0.3, 0.8), size, mood, name)
    c.note(count="two" if far else "one")


def _boat(c: Canvas, x: float, y: float, size: float, mood: Mood, name: str) -> None:
    flip, lean = c.pick([-1.0, 1.0]), c.between(-0.10, 0.10) + 0.03 * np.sin(1.6 * c.time)
    x, y = x + flip * 7 * c.time * size / c.side * 3, y + 0.02 * size * np.sin(2 * c.time)
    hull = mood.lit(c.pick([(0.92, 0.90, 0.86), (0.40, 0.22, 0.12), (0.12, 0.20, 0.36), (0.62, 0.14, 0.12)]))
    sail = mood.lit(mix(NAMED[name], (1, 1, 1), 0.15))
    level, leaning, heeling = (c.at(x, y, size, angle, flip) for angle in (0, lean, lean * 0.6))
    reflection = [[-0.8, 0.06], [0.9, 0.06], [0.5, 1.2], [-0.3, 1.3]]
    level.polygon(reflection, sail, opacity=0.18, blur=size * 0.05)
    shadow = [[-0.9, 0.02], [0.9, 0.02], [0.7, 0.2], [-0.7, 0.2]]
    level.polygon(shadow, scaled(mood.stops[0], 0.6), opacity=0.4, blur=size * 0.03)
    leaning.stroke([[0, -0.05], [0, -1.55]], max(size * 0.025, 1), mood.lit((0.35, 0.24, 0.15)))
    bulge = c.between(0.15, 0.3)
    main = smooth([[0.03, -1.5], [0.35 + bulge, -0.75], [0.78, -0.24], [0.4, -0.2], [0.03, -0.22]], 40)
    jib = smooth([[-0.05, -1.35], [-0.3, -0.8], [-0.72, -0.2], [-0.3, -0.22], [-0.06, -0.3]], 40)
    leaning.polygon(main, c.gradient([mix(sail, (1, 1, 1), 0.25), sail, scaled(sail, 0.78)], y - 1.5 * size, y))
    leaning.polygon(jib, scaled(sail, 0.86) if c.chance(0.5) else mood.lit((0.9, 0.9, 0.88)))
    heeling.polygon([[-0.82, -0.16], [0.72, -0.14], [0.6, 0.08], [-0.55, 0.08]], hull)
    heeling.stroke([[-0.8, -0.12], [0.7, -0.10]], max(size * 0.03, 1), scaled(hull, 0.6))
    level.stroke([[-0.7, 0.1], [0.75, 0.1]], max(size * 0.03, 1), mix(mood.haze, (1, 1, 1), 0.5), opacity=0.5)


def lighthouse(c: Canvas) -> None:
    """A tower with bands on a rock by the sea."""
    horizon = c.y(0.5, 0.75)
    mood = sky(c, ANY, horizon=horizon)
    x = c.x(0.25, 0.75)
    sea(c, mood, horizon, glint=x if c.chance(0.4) else None)
    foot, size = horizon + c.length(-0.02, 0.08), c.length(0.32, 0.52)
    rock = mood.lit(c.pick([(0.34, 0.30, 0.28), (0.36, 0.44, 0.26), (0.45, 0.38, 0.32)]))
    side = c.pick([-1.0, 1.0])
    top = [[-0.5, 0.06], [-0.25, -0.03], [0.3, -0.02], [0.7, 0.06], [1.6, 0.12]]
    cliff = smooth([*top, [2.4, 0.9], [0.2, 0.75], [-0.4, 0.4]], 80)
    stone = ramp([scaled(rock, 0.6), scaled(rock, 1.2)], c.noise(12, 5, gain=0.6))
    c.at(x, foot, size, 0, side).polygon(cliff, stone)
    if mood.dark or mood.name in ("dusk", "storm"):
        _beam(c, x, foot - 1.03 * size, size)
    _tower(c, x, foot, size, mood)


def _beam(c: Canvas, x: float, y: float, size: float) -> None:
    angle = c.between(-0.4, 0.4) + 0.25 * c.time
    cone = [[0, -0.02], [3, -0.4], [3, 0.4], [0, 0.02]]
    for flip in (-1.0, 1.0):
        c.at(x, y, size, angle, flip).polygon(cone, (1, 0.95, 0.7), opacity=0.3, blur=size * 0.03)
    c.note(detail="beam")


def _tower(c: Canvas, x: float, foot: float, size: float, mood: Mood) -> None:
    name = c.pick(["red", "blue", "white", "yellow", "green", "brown"])
    c.note(colour=name)
    first, second = mood.lit(NAMED[name]), mood.lit((0.95, 0.94, 0.90))
    low, high = size * c.between(0.13, 0.17), size * 0.085
    bands = c.pick([1, 3, 5, 5, 7])
    for k in range(bands):
        a, b = k / bands, (k + 1) / bands
        wa, wb = low + (high - low) * a, low + (high - low) * b
        ya, yb = foot - size * 0.92 * a + 0.5, foot - size * 0.92 * b
        tone = first if k % 2 == 0 else second
        c.polygon(taper(x, ya, wa, yb, wb), tone)
        c.polygon(taper(x, ya, wa, yb, wb, 0.15), scaled(tone, 0.72), blur=size * 0.02)
    for k in range(3):
        y = foot - size * (0.2 + 0.22 * k)
        c.polygon(box(x - size * 0.02, y, x + size * 0.02, y - size * 0.06), (0.12, 0.12, 0.16))
    top = foot - size * 0.92
    c.polygon(taper(x, top, high * 1.45, top - size * 0.035, high * 1.3), (0.14, 0.14, 0.17))
    c.polygon(box(x - high * 0.8, top - 2, x + high * 0.8, top - size * 0.14), (1.0, 0.92, 0.62))
    bars = [[[x + k * high * 0.4, top], [x + k * high * 0.4, top - size * 0.14]] for k in (-2, -1, 0, 1, 2)]
    c.strokes(bars, max(size * 0.008, 1), (0.15, 0.15, 0.18))
    eaves = top - size * 0.13
    c.polygon([[x - high * 1.1, eaves], [x + high * 1.1, eaves], [x, top - size * 0.26]], scaled(first, 0.75))
    c.glow(x, top - size * 0.08, size * 0.09, (1.0, 0.85, 0.5), 0.8 if mood.dark else 0.2)


def fish(c: Canvas) -> None:
    """Fish in light from above, over sand, weeds and bubbles."""
    waters = [
        ((0.01, 0.12, 0.28), (0.20, 0.62, 0.78)), ((0.02, 0.20, 0.24), (0.35, 0.78, 0.70)),
        ((0.05, 0.08, 0.25), (0.35, 0.45, 0.80)), ((0.06, 0.16, 0.10), (0.50, 0.66, 0.36)),
    ]  # fmt: skip
    deep, bright = c.pick(waters)
    c.image[:] = c.gradient([bright, mix(bright, deep, 0.55), deep])
    ripple = c.noise(5, 3, stretch=0.4, drift=(0.3 * c.time, 0))
    _, y = c.grid()
    c.image += tinted(np.clip(ripple - 0.5, 0, 1) * np.clip(1 - y / c.height, 0, 1) * 0.6, bright)
    if c.chance(0.7):
        sand = mix((0.80, 0.70, 0.50), deep, 0.45)
        floor = below(c, ridge(c, c.height * 0.97, 0.12 * c.side, 1, rough=0.35, octaves=3))
        c.polygon(floor, ramp([scaled(sand, 0.7), sand], c.noise(30, 3)))
    _weeds(c, deep)
    names = [c.pick(["orange", "yellow", "blue", "red", "purple", "pink", "white", "turquoise"]) for _ in range(2)]
    count = c.pick([1, 1, 2, 3, 5, 8])
    c.note(colour=names[0], count=str(count))
    for k in range(count):
        size = c.side * (c.between(0.2, 0.3) if count < 3 else c.between(0.07, 0.15))
        _one_fish(c, c.x(0.2, 0.8), c.y(0.2, 0.75), size, names[k % 2])
    for _ in range(c.whole(5, 18)):
        x, r = c.x(), c.length(0.004, 0.016)
        at = (c.between(0, 1) - 0.12 * c.time) % 1.0 * c.height
        c.disc(x, at, r, (0.9, 1, 1), opacity=0.25)
        c.disc(x - r * 0.3, at - r * 0.3, r * 0.35, (1, 1, 1), opacity=0.8)


def _weeds(c: Canvas, deep: Color) -> None:
    tone = c.pick([(0.12, 0.42, 0.22), (0.55, 0.25, 0.32), (0.30, 0.42, 0.12), (0.75, 0.38, 0.30)])
    for _ in range(c.whole(4, 14)):
        x, height, bend = c.x(), c.length(0.15, 0.45), c.length(-0.06, 0.06)
        ys = np.linspace(0, 1, 8)
        half = (1 - ys) * c.side * 0.014
        sway = np.sin(ys * 5 + x + 1.5 * c.time) * c.side * 0.025 * ys + bend * ys
        left = np.stack([x + sway - half, c.height - height * ys], 1)
        right = np.stack([x + sway + half, c.height - height * ys], 1)
        c.polygon(smooth(np.concatenate([left, right[::-1]]), 60), mix(c.vary(tone), deep, c.between(0.1, 0.6)))


def _one_fish(c: Canvas, x: float, y: float, size: float, name: str) -> None:
    flip, angle, high = c.pick([-1.0, 1.0]), c.between(-0.3, 0.3), c.between(0.38, 0.75)
    x += -flip * 12 * c.time * size / c.side * 4
    wag = 0.15 * np.sin(6 * c.time + y)
    body = NAMED[name]
    fin = c.pick([scaled(body, 0.7), NAMED["yellow"], NAMED["white"], c.pick(c.pick(PALETTES))])
    tail = smooth([[0.75, 0], [1.35, -0.5 + wag], [1.2, wag], [1.35, 0.5 + wag]], 40)
    back = smooth([[-0.4, -high * 0.8], [0.1, -high * 1.35], [0.7, -high * 0.7], [0.5, -high * 0.3]], 40)
    belly = smooth([[-0.1, high * 0.7], [0.25, high * 1.25], [0.5, high * 0.5]], 30)
    at = c.at(x, y, size, angle, flip)
    for part in (tail, back, belly):
        at.polygon(part, fin, opacity=0.92)
    upper = [[-1, 0.03], [-0.55, -high * 0.7], [0.1, -high * 0.85], [0.85, -0.12]]
    lower = [[0.85, 0.12], [0.1, high * 0.85], [-0.55, high * 0.65]]
    shades = [scaled(body, 0.8), mix(body, (1, 1, 1), 0.2), mix(body, (1, 1, 0.95), 0.55)]
    at.polygon(smooth([*upper, *lower], 60), c.gradient(shades, y - high * size, y + high * size))
    for k in range(c.pick([0, 2, 3, 4])):
        a = -0.35 + 0.35 * k
        reach = high * 0.8 * np.sqrt(max(1 - a**2, 0.05)) * (1 if a < 0.3 else 0.7)
        front = [[a - 0.07, -reach], [a + 0.05, 0], [a - 0.07, reach]]
        rear = [[a + 0.07, reach], [a + 0.18, 0], [a + 0.07, -reach]]
        at.polygon(smooth([*front, *rear], 30), mix(fin, (1, 1, 1), 0.15), opacity=0.85)
    at.polygon(smooth([[-0.25, 0.1], [0.15, 0.0], [0.2, 0.3]], 20), fin, opacity=0.9)
    at.disc(-0.66, -0.1, size * 0.1, (0.98, 0.97, 0.9))
    at.disc(-0.66, -0.1, size * 0.055, (0.05, 0.05, 0.08))

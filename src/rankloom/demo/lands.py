"""Landscapes: mountains, forest, dunes, snow, flowers, rainbow, tree."""

from __future__ import annotations

import numpy as np

from rankloom.demo.canvas import Array, Canvas, ovals, smooth, spread, tinted
from rankloom.demo.colors import NAMED, Color, hsv, mix, ramp, scaled
from rankloom.demo.sky import ANY, DAY, MOODS, below, conifer, hills, moon, ridge, sea, sky, tree_crown


def mountains(c: Canvas) -> None:
    """Ranges one behind the other, mist between, snow on the peaks at times."""
    horizon = c.y(0.55, 0.8)
    mood = sky(c, ANY, horizon=horizon)
    _sun_or_moon(c, mood.name, horizon * 0.5)
    rock = c.pick([(0.30, 0.34, 0.42), (0.40, 0.33, 0.30), (0.24, 0.34, 0.30), (0.34, 0.30, 0.42)])
    layers, snow = c.whole(3, 5), c.chance(0.45)
    texture = c.noise(9, 5, stretch=0.7, gain=0.6)
    for layer in range(layers):
        near = (layer + 1) / layers
        height = c.length(0.35, 0.6) * (1.15 - 0.6 * near)
        line = ridge(c, horizon + (c.height - horizon) * near * 0.9, height, c.between(0.9, 1.8), rough=0.52)
        tone = mood.lit(rock, 0.8 * (1 - near))
        mist = mix(tone, mood.haze, 0.55)
        fill = c.gradient([tone, tone, mist], line[:, 1].min(), line[:, 1].max() + 0.12 * c.side)
        c.polygon(below(c, line), fill * spread(0.82 + 0.36 * texture))
        if snow and layer < layers - 1:
            _snow_caps(c, line, mix(mood.lit((0.96, 0.97, 1.0)), mood.haze, 0.35 * (1 - near)), texture)
    c.note(detail="snow" if snow else "mist")
    if c.chance(0.35):
        sea(c, mood, c.y(0.82, 0.92))
        c.note(detail="lake")


def _snow_caps(c: Canvas, line: Array, white: Color, texture: Array) -> None:
    top, bottom = float(line[:, 1].min()), float(line[:, 1].max())
    lower = line[::-1].copy()
    depth = np.clip((bottom - lower[:, 1]) / max(bottom - top, 1.0) - 0.35, 0, 1) * c.side * 0.22
    lower[:, 1] += depth * (0.5 + c.rng.random(len(lower)))
    c.polygon(np.concatenate([line, lower]), tinted(0.85 + 0.2 * texture, white), opacity=0.92)


def _sun_or_moon(c: Canvas, mood: str, y: float) -> None:
    x = c.x(0.15, 0.85)
    if mood == "night":
        moon(c, x, y * c.between(0.4, 0.9), c.length(0.04, 0.09))
    elif mood in ("sunset", "golden evening", "dawn", "dusk") and c.chance(0.7):
        c.glow(x, y, c.side * 0.3, MOODS[mood].haze, 0.45)
        c.disc(x, y, c.length(0.035, 0.06), (1.0, 0.95, 0.82), blur=1.0)


def forest(c: Canvas) -> None:
    """Trunks or firs in depth, light falling through."""
    mood = sky(c, ("clear day", "golden evening", "dawn", "fog", "overcast", "night", "pastel"), clouds=0.0)
    leaf = c.pick([(0.20, 0.42, 0.16), (0.10, 0.32, 0.20), (0.34, 0.46, 0.12), (0.72, 0.42, 0.10), (0.13, 0.30, 0.32)])
    c.note(colour="autumn" if leaf[0] > 0.6 else "green")
    back = c.noise(10, 4)
    veil = ramp([mood.lit(scaled(leaf, 0.8), 0.35), mood.lit(leaf, 0.55), mix(mood.haze, (1, 1, 0.9), 0.3)], back)
    c.paint(np.full((c.height, c.width), 0.75, np.float32), veil)
    (_firs if c.chance(0.5) else _trunks)(c, leaf)
    if mood.name in ("golden evening", "dawn", "clear day"):
        _beams(c)


def _firs(c: Canvas, leaf: Color) -> None:
    mood = MOODS[c.notes["time"]]
    for layer in range(5):
        near = (layer + 1) / 5
        base = c.height * (0.55 + 0.5 * near)
        tone = mood.lit(scaled(leaf, 1.1 - 0.45 * near), 0.75 * (1 - near))
        line = ridge(c, base - 0.22 * c.side, 0.06 * c.side, 2, rough=0.4, octaves=3)
        c.polygon(below(c, line), scaled(tone, 0.9))
        for _ in range(int((14 - 2 * layer) * c.width / c.side)):
            height = c.length(0.25, 0.42) * (0.5 + near)
            conifer(c, c.x(-0.05, 1.05), base - c.length(0.12, 0.24), height, c.vary(tone, 0.02))


def _trunks(c: Canvas, leaf: Color) -> None:
    mood = MOODS[c.notes["time"]]
    bark = c.pick([(0.26, 0.17, 0.11), (0.35, 0.30, 0.25), (0.82, 0.80, 0.74)])
    floor = c.y(0.72, 0.84)
    ground = c.noise(16, 4, stretch=2.5)
    for layer in range(4):
        near = (layer + 1) / 4
        foot = floor + (c.height - floor) * near * 0.8
        line = ridge(c, foot, 0.05 * c.side, 1.5, rough=0.4, octaves=4)
        earth = mood.lit(mix(leaf, (0.35, 0.24, 0.12), 0.4), 0.6 * (1 - near))
        for _ in range(int((15 - 3 * layer) * c.width / c.side)):
            x, half = c.x(), c.length(0.006, 0.018) * (0.4 + 1.5 * near)
            lean = c.length(-0.04, 0.04)
            tone = mood.lit(c.vary(bark, 0.03), 0.72 * (1 - near))
            tip = [x + lean + half * 0.7, -5]
            c.polygon([[x - half, foot], [x + half, foot], tip, [x + lean - half * 0.7, -5]], tone)
            c.polygon([[x, foot], [x + half, foot], tip, [x + lean, -5]], scaled(tone, 0.7))
        c.polygon(below(c, line), ramp([scaled(earth, 0.6), earth, scaled(earth, 1.3)], ground))
        crown = [c.x() for _ in range(6)]
        for x in crown:
            y, radius = c.y(-0.06, 0.22), c.length(0.09, 0.16) * (0.6 + 0.6 * near)
            tree_crown(c, x, y, radius, mood.lit(c.vary(leaf, 0.04), 0.6 * (1 - near)))


def _beams(c: Canvas) -> None:
    x, slant = c.x(), c.length(-0.5, 0.5)
    shapes = []
    for _ in range(6):
        start, width = x + c.length(-0.5, 0.5), c.length(0.02, 0.09)
        end = start + slant
        shapes.append([[start, -5], [start + width * 0.5, -5], [end + width * 2, c.height], [end, c.height]])
    c.polygons(shapes, (1.0, 0.95, 0.72), opacity=c.between(0.12, 0.25), blur=c.side * 0.02)


def dunes(c: Canvas) -> None:
    """Dunes with a lit and a shaded flank."""
    horizon = c.y(0.3, 0.55)
    mood = sky(c, ("clear day", "bright day", "golden evening", "sunset", "dusk", "night", "pastel"), horizon=horizon)
    _sun_or_moon(c, mood.name, horizon * 0.7)
    sand = c.pick([(0.93, 0.70, 0.42), (0.85, 0.52, 0.30), (0.93, 0.83, 0.66), (0.78, 0.44, 0.32)])
    grain = c.noise(60, 2, stretch=3) * 0.10 + c.noise(4, 3, stretch=2) * 0.12
    layers = c.whole(3, 5)
    for layer in range(layers):
        near = (layer + 1) / layers
        base = horizon + (c.height - horizon) * near * 0.85
        peak, spread = c.x(0.1, 0.9), c.length(0.5, 0.9)
        xs = np.linspace(-2, c.width + 2, 120)
        wave = np.exp(-(np.abs((xs - peak) / spread) ** 1.5)) * c.side * c.between(0.14, 0.3)
        sway = np.sin(xs / c.side * c.between(2, 4) + c.between(0, 6)) * c.side * 0.03
        line = np.stack([xs, base - wave - sway], axis=1)
        tone = mood.lit(c.vary(sand, 0.02), 0.5 * (1 - near))
        c.polygon(below(c, line), tinted(0.88 + grain, tone))
        top = int(np.argmin(line[:, 1]))
        flank = c.pick([-1, 1])
        edge = line[top:] if flank > 0 else line[: top + 1][::-1]
        bend = [[0.0, 0.0], [0.10 * flank, 0.14], [-0.02 * flank, 0.3], [0.3 * flank, 0.6]]
        shape = np.asarray(bend) * c.side + line[top]
        foot = smooth(np.concatenate([shape, [[edge[-1][0], c.height + 9]]]), 40, closed=False)
        shadow = mix(scaled(tone, 0.55), mood.stops[0], 0.25)
        c.polygon(np.concatenate([edge, foot[::-1]]), tinted(0.88 + grain, shadow), opacity=0.85, blur=0.6)
    c.note(detail="sand")


def snowy_hills(c: Canvas) -> None:
    """White hills with firs, sometimes a hut, often falling snow."""
    horizon = c.y(0.4, 0.6)
    mood = sky(c, ("clear day", "overcast", "dawn", "dusk", "night", "pastel", "fog", "storm"), horizon=horizon)
    hills(c, mood, (0.93, 0.95, 1.0), horizon, layers=c.whole(2, 4), height=0.22)
    pine = c.pick([(0.10, 0.24, 0.20), (0.14, 0.20, 0.24), (0.20, 0.26, 0.14)])
    for near in sorted(c.rng.random(c.whole(4, 16)).tolist()):
        base = horizon + (c.height - horizon) * (0.25 + 0.7 * near)
        height = c.side * (0.10 + 0.35 * near) * c.between(0.7, 1.2)
        x = c.x()
        shade = scaled(mood.stops[0], 0.7)
        c.ellipse(x + height * 0.2, base, height * 0.35, height * 0.05, shade, opacity=0.35, blur=2)
        conifer(c, x, base, height, mood.lit(pine, 0.5 * (1 - near)), snow=c.between(0.3, 0.9))
    if c.chance(0.75):
        _falling_snow(c)


def _falling_snow(c: Canvas) -> None:
    for size, count, speed in ((0.003, 90, 0.10), (0.006, 50, 0.2), (0.012, 16, 0.35)):
        x, y = c.rng.random((2, int(count * c.width / c.side)))
        y = (y + speed * c.time) % 1.0 * c.height
        x = (x + 0.02 * np.sin(6 * x + c.time)) % 1.0 * c.width
        flakes = ovals(x, y, size * c.side, size * c.side, 0, 8)
        c.polygons(flakes, (1, 1, 1), opacity=0.75, blur=40 * size)
    c.note(weather="snowfall")


def flower_field(c: Canvas) -> None:
    """A meadow full of blossoms that grow towards the viewer."""
    horizon = c.y(0.15, 0.45)
    mood = sky(c, (*DAY, "sunset"), horizon=horizon)
    hills(c, mood, (0.28, 0.46, 0.30), horizon, layers=2, height=0.12)
    green = c.pick([(0.24, 0.45, 0.14), (0.36, 0.50, 0.20), (0.16, 0.36, 0.20)])
    ground = c.noise(26, 3, stretch=1.6)
    _, y = c.grid()
    field = ramp([mood.lit(scaled(green, 0.7)), mood.lit(green), mood.lit(scaled(green, 1.4))], ground)
    c.paint(np.broadcast_to(np.clip((y - horizon) / 6, 0, 1), ground.shape).astype(np.float32), field)
    name = c.pick(["red", "yellow", "purple", "pink", "white", "blue", "orange"])
    hue = NAMED[name]
    second = NAMED[c.pick(["white", "yellow", "pink", "purple"])] if c.chance(0.5) else hue
    c.note(colour=name)
    rows = 16
    for row in range(rows):
        near = ((row + 0.5) / rows) ** 1.7
        base = horizon + 3 + (c.height - horizon) * near
        size = c.side * (0.006 + 0.045 * near)
        _blossoms(c, base, size, mood.lit(c.vary(hue if row % 3 else second, 0.04), 0.35 * (1 - near)), mood.lit(green))


def _blossoms(c: Canvas, base: float, size: float, tone: Color, green: Color) -> None:
    count = int(c.width / size / 2.6)
    xs = c.rng.random(count) * c.width
    ys = base + c.rng.normal(0, size * 1.1, count)
    if size > 0.02 * c.side:
        stems = [[[x, y], [x + size * 0.4, y + size * 5]] for x, y in zip(xs, ys, strict=True)]
        c.strokes(stems, max(size * 0.14, 1), scaled(green, 0.9))
    heads = ovals(xs, ys, size * 0.75, size * 0.55)
    if size < 0.02 * c.side:
        c.polygons(heads, tone)
        return
    turn = c.rng.random(count) * 6
    for k in np.arange(5) * 1.2566:
        x, y = xs + np.cos(turn + k) * size * 0.5, ys + np.sin(turn + k) * size * 0.36
        c.polygons(ovals(x, y, size * 0.42, size * 0.3, turn + k), tone)
    c.polygons(ovals(xs, ys, size * 0.26, size * 0.18), (0.95, 0.78, 0.2))


def rainbow(c: Canvas) -> None:
    """A bow, sometimes two, over hills or the sea."""
    horizon = c.y(0.6, 0.85)
    moods = ("storm", "overcast", "clear day", "bright day", "dawn", "golden evening")
    mood = sky(c, moods, horizon=horizon, clouds=c.between(0.2, 0.8))
    x, y = c.grid()
    cx, cy = c.x(0.2, 0.8), horizon + c.length(0, 0.2)
    radius = min(c.length(0.45, 0.9), 0.82 * cy)
    away = np.sqrt((x - cx) ** 2 + (y - cy) ** 2)
    width = c.length(0.05, 0.12)
    strength = c.between(0.45, 0.8)
    colors = [hsv(h, 0.85, 1.0) for h in (0.0, 0.07, 0.15, 0.33, 0.52, 0.62, 0.77)]
    for factor, faint, order in ((1.0, 1.0, -1), (1.32, 0.35, 1)):
        across = (away - radius * factor) / width + 0.5
        band = np.clip(1 - np.abs(across - 0.5) * 2, 0, 1) ** 0.6 * strength * faint
        c.paint(band.astype(np.float32), ramp(colors[::order], np.clip(across, 0, 1).astype(np.float32)))
        if c.chance(0.6):
            break
    if c.chance(0.4):
        sea(c, mood, horizon)
    else:
        hills(c, mood, c.pick([(0.32, 0.50, 0.20), (0.55, 0.50, 0.24), (0.24, 0.40, 0.26)]), horizon, height=0.18)


def lone_tree(c: Canvas) -> None:
    """One broad tree on a meadow, its shadow on the grass."""
    horizon = c.y(0.55, 0.8)
    mood = sky(c, ANY, horizon=horizon)
    grass = c.pick([(0.36, 0.52, 0.22), (0.66, 0.58, 0.28), (0.28, 0.42, 0.26), (0.85, 0.87, 0.9)])
    hills(c, mood, grass, horizon, height=0.1)
    name, leaf = c.pick([("green", (0.24, 0.48, 0.16)), ("orange", (0.86, 0.46, 0.10)), ("red", (0.72, 0.18, 0.12)),
                         ("pink", (0.95, 0.66, 0.76)), ("yellow", (0.90, 0.74, 0.20))])  # fmt: skip
    c.note(colour=name)
    x, foot = c.x(0.25, 0.75), horizon + (c.height - horizon) * c.between(0.35, 0.7)
    size = c.length(0.16, 0.3)
    c.ellipse(x + size * 0.4, foot, size * 1.1, size * 0.14, (0.05, 0.07, 0.05), opacity=0.45, blur=size * 0.06)
    bark = mood.lit((0.30, 0.20, 0.13))
    top = foot - size * c.between(1.0, 1.5)
    trunk = size * 0.11
    half, middle = np.asarray([1.6, 0.7, 0.5]) * trunk, np.asarray([foot, (foot + top) / 2, top])
    outline = np.concatenate([np.stack([x - half, middle], 1), np.stack([x + half, middle], 1)[::-1]])
    c.polygon(smooth(outline, 40), bark)
    for _ in range(c.whole(4, 7)):
        bx, by = x + c.between(-0.75, 0.75) * size, top + c.between(-0.55, 0.25) * size
        c.stroke([[x, (foot + 2 * top) / 3], [bx, by]], trunk * 0.5, bark)
        tree_crown(c, bx, by, size * c.between(0.45, 0.65), mood.lit(leaf))
    tree_crown(c, x, top - size * 0.2, size * 0.75, mood.lit(leaf))

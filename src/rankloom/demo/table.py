"""On the table: fruit, cake, cup, clock."""

from __future__ import annotations

import numpy as np

from rankloom.demo.canvas import Canvas, across, arc, box, oval, smooth
from rankloom.demo.colors import NAMED, PALETTES, Color, hsv, mix, ramp, scaled

# Apple, orange, pear, lemon, peach; grapes (4) have colours of their own.
FRUITS = {
    0: (0.80, 0.14, 0.12), 1: (0.95, 0.55, 0.12), 2: (0.55, 0.72, 0.22), 3: (0.95, 0.84, 0.25), 5: (0.85, 0.50, 0.35),
}  # fmt: skip


def _room(c: Canvas, level: float) -> None:
    """A wall (plain, striped, dotted or blurred) and a table (wood, cloth, stone)."""
    wall = c.pick([*(c.pick(PALETTES) for _ in range(3))])[c.whole(0, 4)]
    wall = mix(wall, c.pick([(0.9, 0.87, 0.8), (0.3, 0.3, 0.35), (0.7, 0.75, 0.78)]), c.between(0.2, 0.7))
    c.image[:] = c.gradient([scaled(wall, 1.1), wall, scaled(wall, 0.75)], 0, level)
    second = mix(wall, c.pick([(1, 1, 1), (0, 0, 0)]), c.between(0.06, 0.25))
    style, step = c.whole(0, 4), c.length(0.06, 0.14)
    if style == 0:
        c.polygons([box(a, -5, a + step / 2, level) for a in np.arange(0, c.width, step)], second)
    elif style == 1:
        rows, columns = np.arange(0, level, step * 0.8), np.arange(0, c.width + step, step)
        spots = [(a + (k % 2) * step / 2, b) for k, b in enumerate(rows) for a in columns]
        c.polygons([oval(a, b, step * 0.16, step * 0.16, 0, 10) for a, b in spots], second)
    elif style == 2:
        x, sill = c.x(0.05, 0.6), level * 0.75
        view = c.gradient([(0.7, 0.85, 0.98), (0.9, 0.95, 0.9), (0.5, 0.65, 0.4)], 0, sill)
        c.polygon(box(x, -5, x + c.side * 0.4, sill), view, blur=3)
    _table(c, level)


def _table(c: Canvas, level: float) -> None:
    woods, stones = (
        [(0.50, 0.32, 0.18), (0.72, 0.54, 0.34), (0.28, 0.18, 0.12)],
        [(0.92, 0.91, 0.88), (0.62, 0.64, 0.66)],
    )
    top = c.pick([*woods, *stones, c.pick(c.pick(PALETTES))])
    grain = c.noise(20, 4, stretch=c.pick([1.0, 9.0, 9.0]))
    board = ramp([scaled(top, 0.78), top, scaled(top, 1.12)], grain)
    c.polygon(box(-5, level, c.width + 5, c.height + 5), board)
    if c.chance(0.3):
        _cloth(c, level)
    _, y = c.grid()
    edge = np.exp(-(((y - level) / (0.05 * c.side)) ** 2)) * 0.35
    c.paint(np.broadcast_to(edge, c.image.shape[:2]).astype(np.float32), scaled(top, 0.4))


def _cloth(c: Canvas, level: float) -> None:
    """Crossing bands that grow towards the viewer."""
    color, step, middle = c.pick(c.pick(PALETTES)), c.length(0.08, 0.16), c.width / 2
    lines = level + (c.height - level) * np.linspace(0.02, 1, 6) ** 1.5
    c.polygons([box(-5, y, c.width + 5, y + (y - level + 8) * 0.18) for y in lines], color, opacity=0.5)
    columns = []
    for a in np.arange(-2 * c.width, 2 * c.width, step):
        b = a + step / 2
        far = [[middle + a * 0.6, level], [middle + b * 0.6, level]]
        columns.append([*far, [middle + b * 1.3, c.height], [middle + a * 1.3, c.height]])
    c.polygons(columns, color, opacity=0.5)


def _shadow(c: Canvas, x: float, y: float, width: float, height: float) -> None:
    c.ellipse(x + width * 0.18, y, width * 1.08, height, (0.02, 0.01, 0.01), opacity=0.5, blur=height * 0.45)


def fruit_bowl(c: Canvas) -> None:
    """A bowl heaped with apples, oranges, plums, lemons, grapes and bananas."""
    level = c.y(0.5, 0.7)
    _room(c, level)
    x, foot, size = c.x(0.4, 0.6), level + c.length(0.12, 0.22), c.length(0.3, 0.4)
    _shadow(c, x, foot, size * 0.8, size * 0.16)
    rim = foot - size * c.between(0.42, 0.55)
    name = c.pick(["white", "blue", "brown", "turquoise", "red", "green", "yellow"])
    bowl = mix(NAMED[name], (0.85, 0.82, 0.78), 0.2)
    c.ellipse(x, rim, size, size * 0.2, scaled(bowl, 0.5))
    for row, (count, lift) in enumerate(((5, 0.02), (4, 0.2), (2, 0.42))):
        spread = np.linspace(-0.66, 0.66, 5)[:count] + (0.66 - np.linspace(-0.66, 0.66, 5)[count - 1]) / 2
        for at in spread:
            fx, fy = x + size * (at + c.between(-0.05, 0.05)), rim - size * (lift + c.between(-0.03, 0.03))
            _fruit(c, fx, fy, size * c.between(0.2, 0.27), row)
    front = arc(x, rim, size, size * 0.2)
    waist, bottom = rim + (foot - rim) * 0.75, foot + size * 0.06
    left = [[x - size, rim], [x - size * 0.75, waist], [x - size * 0.35, bottom]]
    right = [[x + size * 0.35, bottom], [x + size * 0.75, waist], [x + size, rim]]
    body = smooth([*left, *right], 60, closed=False)
    gx, _ = c.grid()
    shade = np.clip(1.1 - 0.5 * ((gx - x) / size + 0.3) ** 2, 0.3, 1.15)
    c.polygon(np.concatenate([body, front]), across(c, shade, bowl))
    c.stroke(front, max(size * 0.035, 2), mix(bowl, (1, 1, 1), 0.4))
    c.note(colour=name, detail="fruit")


def _fruit(c: Canvas, x: float, y: float, size: float, row: int) -> None:
    kind = c.whole(0, 5)
    if kind == 5 and row == 2:
        outside, tip = [[-1.6, -0.3], [-0.8, 0.35], [0.2, 0.45], [1.3, -0.15]], [[1.45, -0.35], [1.2, -0.3]]
        banana = smooth([*outside, *tip, [0.2, 0.05], [-0.8, -0.05]], 50)
        for k in range(3):
            tone = scaled((0.95, 0.80, 0.20), 0.82 + 0.1 * k)
            c.at(x, y - size * 0.25 * k, size, 0.12 * k).polygon(banana, tone)
        return
    if kind == 4:
        tone = c.pick([(0.42, 0.16, 0.42), (0.60, 0.70, 0.30)])
        for _ in range(9):
            c.ball(x + c.between(-0.7, 0.7) * size, y + c.between(-0.6, 0.6) * size, size * 0.32, c.vary(tone, 0.03))
        return
    tone = FRUITS[kind]
    c.ball(x, y, size, c.vary(tone, 0.04))
    if kind in (0, 2):
        c.stroke([[x, y - size * 0.8], [x + size * 0.12, y - size * 1.25]], max(size * 0.08, 1), (0.3, 0.2, 0.1))
        leaf = smooth([[0, 0], [0.3, -0.18], [0.6, 0], [0.3, 0.12]], 20)
        c.at(x + size * 0.1, y - size * 1.1, size, -0.4).polygon(leaf, (0.3, 0.5, 0.18))


def cake(c: Canvas) -> None:
    """A cake of one to three tiers with icing, cherries or candles."""
    level = c.y(0.52, 0.7)
    _room(c, level)
    x, foot, size = (c.x(0.42, 0.58), level + c.length(0.14, 0.22), c.length(0.26, 0.36))
    _shadow(c, x, foot, size * 1.15, size * 0.2)
    c.ellipse(x, foot, size * 1.25, size * 0.3, (0.80, 0.80, 0.82))
    c.ellipse(x, foot - size * 0.02, size * 1.22, size * 0.28, (0.95, 0.95, 0.96))
    sponge = c.pick([(0.90, 0.72, 0.46), (0.38, 0.21, 0.13), (0.85, 0.45, 0.50), (0.95, 0.88, 0.72)])
    name = c.pick(["pink", "white", "brown", "yellow", "turquoise", "purple", "red"])
    icing = mix(NAMED[name], (1, 0.97, 0.93), 0.35)
    tiers = c.pick([1, 1, 2, 3])
    c.note(colour=name, count=f"{tiers} tiers" if tiers > 1 else "one tier")
    base, wide = foot, size
    for tier in range(tiers):
        tall = size * c.between(0.38, 0.6) * (0.9 if tier else 1)
        _tier(c, x, base, wide, tall, sponge, icing)
        base, wide = base - tall, wide * 0.68
    wide /= 0.68
    (_candles if c.chance(0.5) else _cherries)(c, x, base, wide, size)


def _tier(c: Canvas, x: float, foot: float, wide: float, tall: float, sponge: Color, icing: Color) -> None:
    top, deep = foot - tall, wide * 0.24
    gx, _ = c.grid()
    shade = np.clip(1.08 - 0.42 * ((gx - x) / wide + 0.3) ** 2, 0.4, 1.1)
    side = np.concatenate([arc(x, foot, wide, deep), [[x - wide, top], [x + wide, top]]])
    c.polygon(side, across(c, shade, sponge))
    for k in range(1, 3):
        layer = arc(x, foot - tall * k / 3, wide, deep)
        c.stroke(layer, max(tall * 0.07, 1.5), mix(icing, (1, 1, 1), 0.3))
    turn = np.linspace(0, np.pi, 90)
    drips = tall * (0.16 + 0.12 * np.sin(turn * c.whole(7, 13)) + 0.08 * np.sin(turn * 23 + c.between(0, 6)))
    rim, sag = x + wide * 1.01 * np.cos(turn), deep * np.sin(turn)
    front = np.stack([rim, top + sag + np.clip(drips, 0.03 * tall, None)], 1)
    back = np.stack([rim, top - sag], 1)[::-1]
    c.polygon(np.concatenate([front, back]), across(c, 0.12 + 0.86 * shade, icing))
    c.ellipse(x, top, wide * 0.97, deep * 0.93, mix(icing, (1, 1, 1), 0.25))
    sprinkle = [(c.between(-0.8, 0.8), c.between(-0.7, 0.7), c.between(0, 3)) for _ in range(26)]
    for k in range(3):
        places = [c.at(x + a * wide * 0.8, top + b * deep * 0.8, wide * 0.02, turn) for a, b, turn in sprinkle[k::3]]
        c.strokes([place.points([[-1, 0], [1, 0]]) for place in places], 1.6, hsv(0.33 * k + 0.05, 0.7, 0.9))


def _candles(c: Canvas, x: float, top: float, wide: float, size: float) -> None:
    count = c.whole(1, 7)
    for at in np.linspace(-0.7, 0.7, count) if count > 1 else [0.0]:
        a, b = x + wide * at, top - wide * 0.14 * np.sin(at * 9) * 0.4
        tall = size * 0.3
        tone = NAMED[c.pick(["red", "blue", "yellow", "white", "pink", "green"])]
        c.stroke([[a, b], [a, b - tall]], max(size * 0.05, 2), tone)
        flame = smooth([[0, 0.1], [0.22, -0.15], [0.03, -0.7], [-0.22, -0.15]], 24)
        c.glow(a, b - tall * 1.2, size * 0.16, (1.0, 0.7, 0.3), 0.6)
        flicker = 0.12 * np.sin(9 * c.time + at * 9)
        c.at(a, b - tall * 1.08, size * 0.17, flicker).polygon(flame, (1.0, 0.80, 0.25))
        c.ellipse(a, b - tall * 1.12, size * 0.014, size * 0.03, (1, 1, 0.9))
    c.note(detail="candles")


def _cherries(c: Canvas, x: float, top: float, wide: float, size: float) -> None:
    tone = c.pick([(0.75, 0.06, 0.12), (0.85, 0.15, 0.20), (0.25, 0.15, 0.45), (0.95, 0.6, 0.1)])
    count = c.whole(5, 10)
    for angle in sorted(np.arange(count) * 2 * np.pi / count, key=lambda a: float(np.sin(a))):
        a, b = x + wide * 0.74 * np.cos(angle), top + wide * 0.17 * np.sin(angle) - size * 0.04
        c.ellipse(a, b + size * 0.02, size * 0.1, size * 0.06, (1, 0.98, 0.95))
        c.ball(a, b - size * 0.05, size * 0.075, tone)
    c.note(detail="berries")


def cup(c: Canvas) -> None:
    """A cup or mug with coffee, tea or cocoa, steaming."""
    level = c.y(0.45, 0.68)
    _room(c, level)
    x, foot, size = (c.x(0.38, 0.62), level + c.length(0.14, 0.24), c.length(0.2, 0.32))
    name = c.pick(list(NAMED))
    c.note(colour=name)
    tone = mix(NAMED[name], (0.95, 0.94, 0.9), c.between(0, 0.3))
    tall, low = size * c.between(0.9, 1.7), size * c.between(0.5, 0.95)
    _shadow(c, x, foot, size * 1.1, size * 0.22)
    if c.chance(0.5):
        c.ellipse(x, foot, size * 1.5, size * 0.36, scaled(tone, 0.82))
        c.ellipse(x, foot - size * 0.03, size * 1.46, size * 0.33, scaled(tone, 1.02))
        c.ellipse(x, foot - size * 0.02, size * 0.9, size * 0.19, scaled(tone, 0.7))
    side = c.pick([-1.0, 1.0])
    bend = smooth([[0.88, -0.8], [1.25, -0.85], [1.45, -0.55], [1.2, -0.2], [0.8, -0.22]], 40, closed=False)
    handle = bend * np.asarray([size, tall], np.float32)
    c.at(x, foot, flip=side).stroke(handle, size * 0.16, scaled(tone, 0.75))
    c.at(x - size * 0.02, foot - size * 0.02, flip=side).stroke(handle, size * 0.08, scaled(tone, 1.0))
    _mug(c, x, foot, size, low, tall, tone)
    if c.chance(0.7):
        for k in range(3):
            ys = np.linspace(0, 1, 12)
            xs = x + size * (0.35 * (k - 1) + 0.14 * np.sin(ys * 7 + k * 2 - 2 * c.time))
            steam = np.stack([xs, foot - tall - size * (0.1 + 1.1 * ys)], 1)
            c.stroke(steam, size * 0.13, (1, 1, 1), opacity=0.28, blur=size * 0.07)
        c.note(detail="steam")


def _mug(c: Canvas, x: float, foot: float, size: float, low: float, tall: float, tone: Color) -> None:
    top = foot - tall
    gx, _ = c.grid()
    shade = np.clip(1.12 - 0.55 * ((gx - x) / size + 0.32) ** 2, 0.3, 1.15)
    wall = np.concatenate([arc(x, foot, low, low * 0.22), [[x - size, top], [x + size, top]]])
    c.polygon(wall, across(c, shade, tone))
    second = mix(c.pick(c.pick(PALETTES)), tone, 0.1)
    style = c.whole(0, 3)
    if style == 0:
        for k in range(1, 3):
            mid = size + (low - size) * k / 3
            band = arc(x, foot - tall * (1 - k / 3), mid, mid * 0.22)
            c.stroke(band, max(tall * 0.09, 2), across(c, shade, second))
    elif style == 1:
        for a, b in ((-0.5, 0.35), (0.0, 0.4), (0.5, 0.35), (-0.25, 0.68), (0.25, 0.68)):
            c.disc(x + size * a, foot - tall * b + size * 0.1, size * 0.1, second)
    c.ellipse(x, top, size, size * 0.26, mix(tone, (1, 1, 1), 0.35))
    c.ellipse(x, top + size * 0.01, size * 0.92, size * 0.22, scaled(tone, 0.6))
    drink = c.pick([(0.22, 0.12, 0.06), (0.55, 0.36, 0.20), (0.70, 0.40, 0.10), (0.45, 0.55, 0.25)])
    c.ellipse(x, top + size * 0.05, size * 0.88, size * 0.185, drink)
    gleam = mix(drink, (1, 1, 0.9), 0.5)
    c.ellipse(x - size * 0.25, top + size * 0.03, size * 0.3, size * 0.05, gleam, opacity=0.6, blur=size * 0.03)


def clock(c: Canvas) -> None:
    """A clock on a wall or a table, each with its own time and face."""
    level = c.y(0.8, 1.3)
    _room(c, level)
    size = c.length(0.24, 0.4)
    x, y = c.x(0.38, 0.62), min(c.y(0.4, 0.55), level - size)
    name = c.pick(list(NAMED))
    c.note(colour=name)
    case, square = NAMED[name], c.chance(0.25)
    face = c.pick([(0.97, 0.96, 0.92), (0.96, 0.90, 0.76), (0.12, 0.13, 0.17), mix(case, (1, 1, 1), 0.6)])
    ink = (0.95, 0.93, 0.88) if sum(face) < 1.2 else c.pick([(0.1, 0.1, 0.12), (0.35, 0.15, 0.10), (0.1, 0.15, 0.35)])
    _dial(c, x, y, size, case, face, square)
    ticks = c.pick([4, 12, 12, 60])
    for k in range(ticks):
        main = k * 4 % ticks == 0
        mark = [[0.66 if main else 0.72, 0], [0.8, 0]]
        c.at(x, y, size, 2 * np.pi * k / ticks).stroke(mark, size * (0.05 if main else 0.022), ink)
    _hands(c, x, y, size, ink)


def _dial(c: Canvas, x: float, y: float, size: float, case: Color, face: Color, square: bool) -> None:
    outline = box(-0.92, -0.92, 0.92, 0.92) if square else oval(0, 0, 1, 1, n=80)
    c.at(x + size * 0.07, y + size * 0.07, size).polygon(outline, (0, 0, 0), opacity=0.45, blur=size * 0.08)
    metal = c.gradient([mix(case, (1, 1, 1), 0.25), case, scaled(case, 0.6)], y - size, y + size)
    for share, paint in ((1, metal), (0.88, scaled(face, 0.85)), (0.86, face)):
        c.at(x, y, size * share).polygon(outline, paint)


def _hands(c: Canvas, x: float, y: float, size: float, ink: Color) -> None:
    minutes = c.whole(0, 719) + c.time
    for turn, reach, width in ((minutes / 720, 0.42, 0.07), (minutes / 60, 0.66, 0.045)):
        a = 2 * np.pi * turn - np.pi / 2
        hand = c.at(x, y, size, a).points([[-0.1, 0], [reach, 0]])
        c.stroke(hand + np.float32(2), size * width, (0, 0, 0), opacity=0.25, blur=1.5)
        c.stroke(hand, size * width, ink)
    if c.chance(0.6):
        a = c.between(0, 6.3) + c.time * 2 * np.pi / 60
        c.at(x, y, size, a).stroke([[-0.15, 0], [0.75, 0]], max(size * 0.015, 1), (0.85, 0.15, 0.12))
    c.disc(x, y, size * 0.045, ink)

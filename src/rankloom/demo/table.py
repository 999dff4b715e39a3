"""On the table: fruit, cake, cup, clock."""

from __future__ import annotations

import numpy as np

from rankloom.demo.canvas import Canvas, across, oval, smooth, turned
from rankloom.demo.colors import NAMED, PALETTES, Color, hsv, mix, ramp, scaled


def _room(c: Canvas, level: float) -> None:
    """A wall (plain, striped, dotted or blurred) and a table (wood, cloth, stone)."""
    wall = c.pick([*(c.pick(PALETTES) for _ in range(3))])[c.whole(0, 4)]
    wall = mix(wall, c.pick([(0.9, 0.87, 0.8), (0.3, 0.3, 0.35), (0.7, 0.75, 0.78)]), c.between(0.2, 0.7))
    c.image[:] = c.gradient([scaled(wall, 1.1), wall, scaled(wall, 0.75)], 0, level)
    second = mix(wall, c.pick([(1, 1, 1), (0, 0, 0)]), c.between(0.06, 0.25))
    style, step = c.whole(0, 4), c.side * c.between(0.06, 0.14)
    if style == 0:
        c.polygons(
            [[[a, -5], [a + step / 2, -5], [a + step / 2, level], [a, level]] for a in np.arange(0, c.width, step)],
            second,
        )
    elif style == 1:
        spots = [
            (a + (k % 2) * step / 2, b)
            for k, b in enumerate(np.arange(0, level, step * 0.8))
            for a in np.arange(0, c.width + step, step)
        ]
        c.polygons([oval(a, b, step * 0.16, step * 0.16, 0, 10) for a, b in spots], second)
    elif style == 2:
        x, width = c.between(0.05, 0.6) * c.width, c.side * 0.4
        c.polygon(
            [[x, -5], [x + width, -5], [x + width, level * 0.75], [x, level * 0.75]],
            c.gradient([(0.7, 0.85, 0.98), (0.9, 0.95, 0.9), (0.5, 0.65, 0.4)], 0, level * 0.75),
            blur=3,
        )
    _table(c, level)


def _table(c: Canvas, level: float) -> None:
    top = c.pick(
        [
            (0.50, 0.32, 0.18),
            (0.72, 0.54, 0.34),
            (0.28, 0.18, 0.12),
            (0.92, 0.91, 0.88),
            (0.62, 0.64, 0.66),
            c.pick(c.pick(PALETTES)),
        ]
    )
    grain = c.noise(20, 4, stretch=c.pick([1.0, 9.0, 9.0]))
    board = ramp([scaled(top, 0.78), top, scaled(top, 1.12)], grain)
    corners: list[list[float]] = [[-5, level], [c.width + 5, level], [c.width + 5, c.height + 5], [-5, c.height + 5]]
    c.polygon(corners, board)
    if c.chance(0.3):
        cloth, step = c.pick(c.pick(PALETTES)), c.side * c.between(0.08, 0.16)
        middle = c.width / 2
        rows = [
            [[-5, y], [c.width + 5, y], [c.width + 5, y + (y - level + 8) * 0.18], [-5, y + (y - level + 8) * 0.18]]
            for y in level + (c.height - level) * np.linspace(0.02, 1, 6) ** 1.5
        ]
        columns = [
            [
                [middle + a * 0.6, level],
                [middle + (a + step / 2) * 0.6, level],
                [middle + (a + step / 2) * 1.3, c.height],
                [middle + a * 1.3, c.height],
            ]
            for a in np.arange(-2 * c.width, 2 * c.width, step)
        ]
        c.polygons(rows, cloth, opacity=0.5)
        c.polygons(columns, cloth, opacity=0.5)
    _, y = c.grid()
    edge = np.exp(-(((y - level) / (0.05 * c.side)) ** 2)) * 0.35
    c.paint(np.broadcast_to(edge, c.image.shape[:2]).astype(np.float32), scaled(top, 0.4))


def _shadow(c: Canvas, x: float, y: float, width: float, height: float) -> None:
    c.ellipse(x + width * 0.18, y, width * 1.08, height, (0.02, 0.01, 0.01), opacity=0.5, blur=height * 0.45)


def fruit_bowl(c: Canvas) -> None:
    """A bowl heaped with apples, oranges, plums, lemons, grapes and bananas."""
    level = c.height * c.between(0.5, 0.7)
    _room(c, level)
    x, foot, size = c.between(0.4, 0.6) * c.width, level + c.side * c.between(0.12, 0.22), c.side * c.between(0.3, 0.4)
    _shadow(c, x, foot, size * 0.8, size * 0.16)
    rim = foot - size * c.between(0.42, 0.55)
    name = c.pick(["white", "blue", "brown", "turquoise", "red", "green", "yellow"])
    bowl = mix(NAMED[name], (0.85, 0.82, 0.78), 0.2)
    c.ellipse(x, rim, size, size * 0.2, scaled(bowl, 0.5))
    for row, (count, lift) in enumerate(((5, 0.02), (4, 0.2), (2, 0.42))):
        spread = np.linspace(-0.66, 0.66, 5)[:count] + (0.66 - np.linspace(-0.66, 0.66, 5)[count - 1]) / 2
        for at in spread:
            _fruit(
                c,
                x + size * (at + c.between(-0.05, 0.05)),
                rim - size * (lift + c.between(-0.03, 0.03)),
                size * c.between(0.2, 0.27),
                row,
            )
    up = np.linspace(0, np.pi, 40)
    front = np.stack([x + size * np.cos(up), rim + size * 0.2 * np.sin(up)], 1)
    body = smooth(
        [
            [x - size, rim],
            [x - size * 0.75, rim + (foot - rim) * 0.75],
            [x - size * 0.35, foot + size * 0.06],
            [x + size * 0.35, foot + size * 0.06],
            [x + size * 0.75, rim + (foot - rim) * 0.75],
            [x + size, rim],
        ],
        60,
        closed=False,
    )
    gx, _ = c.grid()
    shade = np.clip(1.1 - 0.5 * ((gx - x) / size + 0.3) ** 2, 0.3, 1.15)
    c.polygon(np.concatenate([body, front]), across(c, shade, bowl))
    c.stroke(front, max(size * 0.035, 2), mix(bowl, (1, 1, 1), 0.4))
    c.note(colour=name, detail="fruit")


def _fruit(c: Canvas, x: float, y: float, size: float, row: int) -> None:
    kind = c.whole(0, 5)
    if kind == 5 and row == 2:
        for k in range(3):
            curve = smooth(
                [
                    [-1.6, -0.3],
                    [-0.8, 0.35],
                    [0.2, 0.45],
                    [1.3, -0.15],
                    [1.45, -0.35],
                    [1.2, -0.3],
                    [0.2, 0.05],
                    [-0.8, -0.05],
                ],
                50,
            )
            c.polygon(turned(curve, x, y - size * 0.25 * k, size, 0.12 * k), scaled((0.95, 0.80, 0.20), 0.82 + 0.1 * k))
        return
    if kind == 4:
        tone = c.pick([(0.42, 0.16, 0.42), (0.60, 0.70, 0.30)])
        for _ in range(9):
            c.ball(x + c.between(-0.7, 0.7) * size, y + c.between(-0.6, 0.6) * size, size * 0.32, c.vary(tone, 0.03))
        return
    tone = [
        (0.80, 0.14, 0.12),
        (0.95, 0.55, 0.12),
        (0.55, 0.72, 0.22),
        (0.95, 0.84, 0.25),
        (0.4, 0.15, 0.4),
        (0.85, 0.50, 0.35),
    ][kind]
    c.ball(x, y, size, c.vary(tone, 0.04))
    if kind in (0, 2):
        c.stroke([[x, y - size * 0.8], [x + size * 0.12, y - size * 1.25]], max(size * 0.08, 1), (0.3, 0.2, 0.1))
        c.polygon(
            turned(
                smooth([[0, 0], [0.3, -0.18], [0.6, 0], [0.3, 0.12]], 20), x + size * 0.1, y - size * 1.1, size, -0.4
            ),
            (0.3, 0.5, 0.18),
        )


def cake(c: Canvas) -> None:
    """A cake of one to three tiers with icing, cherries or candles."""
    level = c.height * c.between(0.52, 0.7)
    _room(c, level)
    x, foot, size = (
        c.between(0.42, 0.58) * c.width,
        level + c.side * c.between(0.14, 0.22),
        c.side * c.between(0.26, 0.36),
    )
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
    down, deep = np.linspace(0, np.pi, 40), wide * 0.24
    curve = np.stack([x + wide * np.cos(down), foot + deep * np.sin(down)], 1)
    gx, _ = c.grid()
    shade = np.clip(1.08 - 0.42 * ((gx - x) / wide + 0.3) ** 2, 0.4, 1.1)
    side = np.concatenate([curve, [[x - wide, foot - tall], [x + wide, foot - tall]]])
    c.polygon(side, across(c, shade, sponge))
    for k in range(1, 3):
        layer = np.stack([x + wide * np.cos(down), foot - tall * k / 3 + deep * np.sin(down)], 1)
        c.stroke(layer, max(tall * 0.07, 1.5), mix(icing, (1, 1, 1), 0.3))
    turn = np.linspace(0, np.pi, 90)
    drips = tall * (0.16 + 0.12 * np.sin(turn * c.whole(7, 13)) + 0.08 * np.sin(turn * 23 + c.between(0, 6)))
    front = np.stack(
        [x + wide * 1.01 * np.cos(turn), foot - tall + deep * np.sin(turn) + np.clip(drips, 0.03 * tall, None)], 1
    )
    back = np.stack([x + wide * 1.01 * np.cos(turn[::-1]), foot - tall - deep * np.sin(turn[::-1])], 1)
    c.polygon(np.concatenate([front, back]), across(c, 0.12 + 0.86 * shade, icing))
    c.ellipse(x, foot - tall, wide * 0.97, deep * 0.93, mix(icing, (1, 1, 1), 0.25))
    sprinkle = [(c.between(-0.8, 0.8), c.between(-0.7, 0.7), c.between(0, 3)) for _ in range(26)]
    for k in range(3):
        c.strokes(
            [
                turned([[-1, 0], [1, 0]], x + a * wide * 0.8, foot - tall + b * deep * 0.8, wide * 0.02, t)
                for a, b, t in sprinkle[k::3]
            ],
            1.6,
            hsv(0.33 * k + 0.05, 0.7, 0.9),
        )


def _candles(c: Canvas, x: float, top: float, wide: float, size: float) -> None:
    count = c.whole(1, 7)
    for at in np.linspace(-0.7, 0.7, count) if count > 1 else [0.0]:
        a, b = x + wide * at, top - wide * 0.14 * np.sin(at * 9) * 0.4
        tall = size * 0.3
        tone = NAMED[c.pick(["red", "blue", "yellow", "white", "pink", "green"])]
        c.stroke([[a, b], [a, b - tall]], max(size * 0.05, 2), tone)
        flame = smooth([[0, 0.1], [0.22, -0.15], [0.03, -0.7], [-0.22, -0.15]], 24)
        c.glow(a, b - tall * 1.2, size * 0.16, (1.0, 0.7, 0.3), 0.6)
        c.polygon(turned(flame, a, b - tall * 1.08, size * 0.17, 0.12 * np.sin(9 * c.time + at * 9)), (1.0, 0.80, 0.25))
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
    level = c.height * c.between(0.45, 0.68)
    _room(c, level)
    x, foot, size = (
        c.between(0.38, 0.62) * c.width,
        level + c.side * c.between(0.14, 0.24),
        c.side * c.between(0.2, 0.32),
    )
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
    handle = smooth(
        [[0.88, -0.8], [1.25, -0.85], [1.45, -0.55], [1.2, -0.2], [0.8, -0.22]], 40, closed=False
    ) * np.asarray([size, tall], np.float32)
    c.stroke(turned(handle, x, foot, 1, 0, side), size * 0.16, scaled(tone, 0.75))
    c.stroke(turned(handle, x - size * 0.02, foot - size * 0.02, 1, 0, side), size * 0.08, scaled(tone, 1.0))
    _mug(c, x, foot, size, low, tall, tone)
    if c.chance(0.7):
        for k in range(3):
            ys = np.linspace(0, 1, 12)
            xs = x + size * (0.35 * (k - 1) + 0.14 * np.sin(ys * 7 + k * 2 - 2 * c.time))
            c.stroke(
                np.stack([xs, foot - tall - size * (0.1 + 1.1 * ys)], 1),
                size * 0.13,
                (1, 1, 1),
                opacity=0.28,
                blur=size * 0.07,
            )
        c.note(detail="steam")


def _mug(c: Canvas, x: float, foot: float, size: float, low: float, tall: float, tone: Color) -> None:
    down = np.linspace(0, np.pi, 40)
    bottom = np.stack([x + low * np.cos(down), foot + low * 0.22 * np.sin(down)], 1)
    gx, _ = c.grid()
    shade = np.clip(1.12 - 0.55 * ((gx - x) / size + 0.32) ** 2, 0.3, 1.15)
    wall = np.concatenate([bottom, [[x - size, foot - tall], [x + size, foot - tall]]])
    skin = across(c, shade, tone)
    c.polygon(wall, skin)
    second = mix(c.pick(c.pick(PALETTES)), tone, 0.1)
    style = c.whole(0, 3)
    if style == 0:
        for k in range(1, 3):
            mid = size + (low - size) * k / 3
            band = np.stack([x + mid * np.cos(down), foot - tall * (1 - k / 3) + mid * 0.22 * np.sin(down)], 1)
            c.stroke(band, max(tall * 0.09, 2), across(c, shade, second))
    elif style == 1:
        for a, b in ((-0.5, 0.35), (0.0, 0.4), (0.5, 0.35), (-0.25, 0.68), (0.25, 0.68)):
            c.ellipse(x + size * a, foot - tall * b + size * 0.1, size * 0.1, None, second)
    c.ellipse(x, foot - tall, size, size * 0.26, mix(tone, (1, 1, 1), 0.35))
    c.ellipse(x, foot - tall + size * 0.01, size * 0.92, size * 0.22, scaled(tone, 0.6))
    drink = c.pick([(0.22, 0.12, 0.06), (0.55, 0.36, 0.20), (0.70, 0.40, 0.10), (0.45, 0.55, 0.25)])
    c.ellipse(x, foot - tall + size * 0.05, size * 0.88, size * 0.185, drink)
    c.ellipse(
        x - size * 0.25,
        foot - tall + size * 0.03,
        size * 0.3,
        size * 0.05,
        mix(drink, (1, 1, 0.9), 0.5),
        opacity=0.6,
        blur=size * 0.03,
    )


def clock(c: Canvas) -> None:
    """A clock on a wall or a table, each with its own time and face."""
    level = c.height * c.between(0.8, 1.3)
    _room(c, level)
    size = c.side * c.between(0.24, 0.4)
    x, y = c.between(0.38, 0.62) * c.width, min(c.between(0.4, 0.55) * c.height, level - size)
    name = c.pick(list(NAMED))
    c.note(colour=name)
    case, square = NAMED[name], c.chance(0.25)
    face = c.pick([(0.97, 0.96, 0.92), (0.96, 0.90, 0.76), (0.12, 0.13, 0.17), mix(case, (1, 1, 1), 0.6)])
    ink = (0.95, 0.93, 0.88) if sum(face) < 1.2 else c.pick([(0.1, 0.1, 0.12), (0.35, 0.15, 0.10), (0.1, 0.15, 0.35)])
    _dial(c, x, y, size, case, face, square)
    ticks = c.pick([4, 12, 12, 60])
    for k in range(ticks):
        main = k * 4 % ticks == 0
        mark = turned([[0.66 if main else 0.72, 0], [0.8, 0]], x, y, size, 2 * np.pi * k / ticks)
        c.stroke(mark, size * (0.05 if main else 0.022), ink)
    _hands(c, x, y, size, ink)


def _dial(c: Canvas, x: float, y: float, size: float, case: Color, face: Color, square: bool) -> None:
    corners = [[-0.92, -0.92], [0.92, -0.92], [0.92, 0.92], [-0.92, 0.92]]
    outline = np.asarray(corners, np.float32) if square else oval(0, 0, 1, 1, n=80)
    c.polygon(turned(outline, x + size * 0.07, y + size * 0.07, size), (0, 0, 0), opacity=0.45, blur=size * 0.08)
    metal = c.gradient([mix(case, (1, 1, 1), 0.25), case, scaled(case, 0.6)], y - size, y + size)
    c.polygon(turned(outline, x, y, size), metal)
    c.polygon(turned(outline, x, y, size * 0.88), scaled(face, 0.85))
    c.polygon(turned(outline, x, y, size * 0.86), face)


def _hands(c: Canvas, x: float, y: float, size: float, ink: Color) -> None:
    minutes = c.whole(0, 719) + c.time
    for turn, reach, width in ((minutes / 720, 0.42, 0.07), (minutes / 60, 0.66, 0.045)):
        a = 2 * np.pi * turn - np.pi / 2
        hand = turned([[-0.1, 0], [reach, 0]], x, y, size, a)
        c.stroke(hand + np.float32(2), size * width, (0, 0, 0), opacity=0.25, blur=1.5)
        c.stroke(hand, size * width, ink)
    if c.chance(0.6):
        a = c.between(0, 6.3) + c.time * 2 * np.pi / 60
        c.stroke(turned([[-0.15, 0], [0.75, 0]], x, y, size, a), max(size * 0.015, 1), (0.85, 0.15, 0.12))
    c.ellipse(x, y, size * 0.045, None, ink)

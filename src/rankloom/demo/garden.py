"""In the garden: a flower from near, fallen leaves, a butterfly, mushrooms."""

from __future__ import annotations

import numpy as np

from rankloom.demo.canvas import Array, Canvas, Frame, Points, across, oval, smooth
from rankloom.demo.colors import NAMED, PALETTES, Color, mix, ramp, scaled

GREENS = [(0.16, 0.34, 0.14), (0.30, 0.44, 0.20), (0.10, 0.26, 0.20), (0.42, 0.46, 0.24)]
DISTANT = [(0.20, 0.28, 0.44), (0.50, 0.36, 0.26), (0.55, 0.50, 0.60), (0.62, 0.70, 0.78), (0.70, 0.48, 0.20)]


def _soft_background(c: Canvas) -> None:
    """What lies behind a thing seen from near: blurred colours and discs of light."""
    near, far = c.pick(GREENS), c.pick([*GREENS, *DISTANT])
    cloud = c.noise(2.2, 3)
    c.image[:] = ramp([scaled(near, 0.6), near, far, mix(far, (1, 1, 0.85), 0.35)], cloud)
    for _ in range(c.whole(0, 14)):
        x, y, r = c.x(), c.y(), c.length(0.03, 0.1)
        c.disc(x, y, r, mix(far, (1, 1, 0.9), 0.6), opacity=c.between(0.08, 0.3), blur=r * 0.12)


def flower(c: Canvas) -> None:
    """One blossom from near: few or many petals, one or two rings, seen from the front or the side."""
    _soft_background(c)
    name = c.pick(["red", "yellow", "blue", "white", "pink", "purple", "orange"])
    c.note(colour=name)
    x, y, size = c.x(0.35, 0.65), c.y(0.35, 0.6), c.length(0.24, 0.42)
    stem = c.pick(GREENS)
    bend = c.between(-0.3, 0.3) * size
    stalk = smooth([[x, y], [x + bend, y + size], [x + bend * 0.5, c.height + 20]], 20, closed=False)
    c.stroke(stalk, size * 0.09, scaled(stem, 1.1))
    leaf = smooth([[0, 0], [0.5, -0.28], [1.1, -0.3], [0.6, 0.12]], 40)
    for side in (-1.0, 1.0):
        at = c.at(x + bend, y + size * c.between(1.0, 1.4), size * 0.8, 0.2 * side, side)
        at.polygon(leaf, c.vary(scaled(stem, 1.15), 0.03))
    _corolla(c, x, y, size, NAMED[name])


def _corolla(c: Canvas, x: float, y: float, size: float, color: Color) -> None:
    count, rings = c.pick([5, 5, 6, 8, 12, 16, 21]), c.pick([1, 2, 2, 3])
    squash, turn = c.between(0.6, 1.0), c.between(0, 6) + 0.05 * np.sin(c.time)
    wide = min(2.4 / count, 0.42) * c.between(0.9, 1.25)
    pointed = c.chance(0.4)
    tip = [[1.0, 0.0]] if pointed else [[0.97, -wide * 0.35], [0.97, wide * 0.35]]
    left, right = [[0.5, -wide * 0.85], [0.82, -wide * 0.8]], [[0.82, wide * 0.8], [0.5, wide * 0.85]]
    petal = smooth([[0.08, 0], *left, *tip, *right], 36)
    heart = c.pick([(0.95, 0.75, 0.15), (0.35, 0.20, 0.08), (0.85, 0.85, 0.40), (0.25, 0.10, 0.25)])
    squeeze = np.asarray([1.0, squash], np.float32)
    for ring in range(rings):
        reach = size * (1 - 0.22 * ring)
        for k in range(count):
            angle = turn + (k + 0.5 * (ring % 2)) * 2 * np.pi / count
            middle = c.at(0, 0, reach * c.between(0.93, 1.04), angle)
            shape = middle.points(petal) * squeeze + np.asarray([x, y], np.float32)
            tone = scaled(c.vary(color, 0.03), 0.84 + 0.2 * np.cos(angle + 2.2) + 0.06 * ring)
            c.polygon(shape + np.float32(size * 0.02), (0, 0, 0), opacity=0.22, blur=size * 0.02)
            c.polygon(shape, tone)
            rays = [
                c.at(0, 0, reach, angle).points([[0.2, v * 0.2], [0.85, v]]) for v in (-wide * 0.3, 0.0, wide * 0.3)
            ]
            veins = [np.asarray([[x, y]]) + ray * squeeze for ray in rays]
            c.strokes(veins, max(size * 0.008, 1), scaled(tone, 0.7), opacity=0.45)
    core = size * c.between(0.14, 0.3)
    c.ellipse(x, y, core, core * squash, scaled(heart, 0.8))
    golden = np.arange(1, 70) * 2.39996
    spread = np.sqrt(np.arange(1, 70) / 70) * core * 0.95
    seeds = zip(x + spread * np.cos(golden), y + spread * np.sin(golden) * squash, strict=True)
    dots = [oval(a, b, core * 0.09, core * 0.09, 0, 7) for a, b in seeds]
    c.polygons(dots[::2], mix(heart, (1, 1, 0.8), 0.35))
    c.polygons(dots[1::2], scaled(heart, 0.55))


def autumn_leaves(c: Canvas) -> None:
    """Fallen leaves of maple, oak and beech, one over the other or a few on a ground."""
    earth = c.pick([(0.26, 0.20, 0.14), (0.22, 0.30, 0.14), (0.42, 0.42, 0.44), (0.55, 0.46, 0.36), (0.16, 0.18, 0.24)])
    c.image[:] = ramp([scaled(earth, 0.6), earth, scaled(earth, 1.35)], c.noise(18, 4))
    tones = c.pick([
        [(0.80, 0.22, 0.08), (0.90, 0.48, 0.10), (0.95, 0.72, 0.18), (0.60, 0.20, 0.10)],
        [(0.95, 0.75, 0.20), (0.85, 0.62, 0.14), (0.72, 0.66, 0.22)],
        [(0.62, 0.12, 0.14), (0.78, 0.20, 0.18), (0.45, 0.10, 0.16)],
        [(0.45, 0.55, 0.18), (0.70, 0.62, 0.16), (0.90, 0.50, 0.12)],
    ])  # fmt: skip
    count = c.pick([4, 8, 16, 30])
    size = c.side * {4: 0.24, 8: 0.2, 16: 0.16, 30: 0.14}[count]
    for _ in range(count):
        shape = c.pick([_maple, _oak, _beech])(c)
        x, y, angle, scale = c.x(), c.y(), c.between(0, 6.3), size * c.between(0.7, 1.2)
        _leaf(c, shape, x, y, angle, scale, c.vary(c.pick(tones), 0.05))
    c.note(detail="fallen leaves")


def _leaf(c: Canvas, shape: Array, x: float, y: float, angle: float, scale: float, tone: Color) -> None:
    shadow, at = c.at(x + scale * 0.06, y + scale * 0.08, scale, angle), c.at(x, y, scale, angle)
    shadow.polygon(shape, (0, 0, 0), opacity=0.4, blur=scale * 0.05)
    at.polygon(shape, tone)
    half = shape[shape[:, 1] >= -0.01]
    if len(half) > 3:
        at.polygon(half, scaled(tone, 0.86))
    veins = [[[-1.25, 0], [0.85, 0]]] + [[[k, 0], [k + 0.35, s * 0.42]] for k in (-0.5, -0.15, 0.2) for s in (-1, 1)]
    at.strokes(veins, max(scale * 0.02, 1), mix(tone, (1, 0.9, 0.6), 0.4), opacity=0.7)


def _maple(c: Canvas) -> Array:
    turn = np.linspace(-np.pi, np.pi, 90, endpoint=False)
    lobes = np.abs(np.cos(turn * 2.5)) ** 0.8 * (0.75 + 0.25 * np.cos(turn))
    reach = 0.38 + 0.66 * lobes + 0.06 * np.cos(turn * 25) * lobes
    return np.stack([reach * np.cos(turn), reach * np.sin(turn)], 1).astype(np.float32)


def _oak(c: Canvas) -> Array:
    along = np.linspace(-1, 1, 40)
    half = (0.42 * np.sqrt(np.clip(1 - along**2, 0, 1)) * (0.8 + 0.3 * along)) * (1 + 0.32 * np.sin(along * 13))
    return np.concatenate([np.stack([along, half], 1), np.stack([along, -half], 1)[::-1]]).astype(np.float32)


def _beech(c: Canvas) -> Array:
    wide = c.between(0.35, 0.6)
    return smooth([[-0.95, 0], [-0.4, -wide], [0.4, -wide * 0.8], [1.05, 0], [0.4, wide * 0.8], [-0.4, wide]], 50)


def butterfly(c: Canvas) -> None:
    """A butterfly with patterned wings, on a blossom or in the air."""
    _soft_background(c)
    name = c.pick(["orange", "blue", "yellow", "white", "red", "purple", "turquoise", "brown"])
    c.note(colour=name)
    x, y, size = c.x(0.35, 0.65), c.y(0.35, 0.6), c.length(0.24, 0.38)
    angle = c.between(-0.7, 0.7)
    if c.chance(0.6):
        bloom = NAMED[c.pick(["pink", "purple", "yellow", "white", "red"])]
        cx, cy = x + c.between(-0.2, 0.2) * size, y + size * 0.75
        c.stroke([[cx, cy], [cx + size * 0.2, c.height + 9]], size * 0.07, c.pick(GREENS))
        petal = smooth([[0, 0], [0.4, -0.14], [0.75, 0], [0.4, 0.14]], 24)
        for k in range(11):
            c.at(cx, cy, size * 0.8, k * 0.571).polygon(petal, scaled(c.vary(bloom), 0.8))
        c.ellipse(cx, cy, size * 0.16, size * 0.14, (0.80, 0.62, 0.2))
        c.note(detail="on a flower")
    _wings(c, x, y, size, angle, NAMED[name])
    body = smooth([[0, -0.42], [0.06, -0.2], [0.045, 0.45], [0, 0.6], [-0.045, 0.45], [-0.06, -0.2]], 40)
    c.at(x, y, size, angle).polygon(body, (0.10, 0.08, 0.07))
    feeler = smooth([[0, -0.38], [0.1, -0.65], [0.26, -0.82]], 14, closed=False)
    for side in (-1.0, 1.0):
        c.at(x, y, size, angle, side).stroke(feeler, max(size * 0.014, 1), (0.1, 0.08, 0.07))


def _wings(c: Canvas, x: float, y: float, size: float, angle: float, color: Color) -> None:
    open_ = c.between(0.65, 1.0) * (1 - 0.35 * abs(np.sin(4 * c.time)))
    lean = c.between(-0.15, 0.15)
    second = c.pick([mix(color, (1, 1, 1), 0.55), NAMED["yellow"], NAMED["white"], c.pick(c.pick(PALETTES))])
    rim = c.pick([(0.08, 0.06, 0.06), (0.22, 0.12, 0.06), scaled(color, 0.35)])
    tip = [[0.45, -0.85 + lean], [1.0, -0.9 + lean], [1.02, -0.5]]
    fore = smooth([[0.03, -0.2], *tip, [0.6, -0.05], [0.05, 0.02]], 60)
    hind = smooth([[0.03, 0.0], [0.55, -0.05], [0.85, 0.25], [0.7, 0.72 + lean], [0.35, 0.7], [0.06, 0.25]], 60)
    spots = [(c.between(0.35, 0.85), c.between(-0.7, -0.25), c.between(0.05, 0.1)) for _ in range(c.whole(1, 4))]
    spots += [(c.between(0.3, 0.65), c.between(0.15, 0.5), c.between(0.06, 0.12)) for _ in range(c.whole(1, 3))]
    for side in (-1.0, 1.0):

        def placed(points: Points, side: float = side) -> Array:
            return c.at(x, y, size, angle, side).points(np.asarray(points) * [open_, 1])

        for wing in (hind, fore):
            center = wing.mean(axis=0)
            c.polygon(placed(wing) + np.float32(size * 0.05), (0, 0, 0), opacity=0.25, blur=size * 0.04)
            c.polygon(placed(wing), rim)
            c.polygon(placed(center + (wing - center) * 0.84), scaled(color, 0.95 if side < 0 else 0.82))
            inner = placed(center * 0.8 + (wing - center) * 0.45)
            c.polygon(inner, mix(color, second, 0.6), opacity=0.8, blur=size * 0.02)
            c.strokes([placed([[0.04, 0], wing[k]]) for k in range(6, 48, 7)], max(size * 0.01, 1), rim, opacity=0.7)
        for a, b, r in spots:
            c.polygon(placed(oval(a, b, r, r, 0, 20)), rim)
            c.polygon(placed(oval(a, b, r * 0.6, r * 0.6, 0, 16)), second)


def mushrooms(c: Canvas) -> None:
    """Mushrooms in moss or fallen leaves."""
    _soft_background(c)
    floor = c.y(0.72, 0.88)
    moss = c.pick([(0.30, 0.42, 0.14), (0.36, 0.26, 0.16), (0.22, 0.32, 0.20), (0.55, 0.34, 0.14)])
    tuft = c.noise(30, 3)
    _, y = c.grid()
    edge = np.clip((y - floor + (tuft - 0.5) * 0.12 * c.side) / 5, 0, 1)
    c.paint(edge.astype(np.float32), ramp([scaled(moss, 0.45), moss, scaled(moss, 1.5)], tuft))
    name = c.pick(["red", "red", "brown", "orange", "white", "purple", "yellow", "blue"])
    count = c.pick([1, 2, 3, 5])
    c.note(colour=name, count=str(count))
    for _ in range(count):
        size = c.side * (c.between(0.26, 0.4) if count < 3 else c.between(0.14, 0.24))
        x, foot = c.x(0.2, 0.8), floor + c.length(0.02, 0.1)
        _mushroom(c, x, foot, size, c.vary(NAMED[name], 0.04))
    foot, reach = c.height + 4, c.side * 0.16
    blades = [(share * c.width, (lean - 0.5) * 20, height) for share, lean, height in c.rng.random((60, 3))]
    grass = [[[x, foot], [x + lean, c.height - reach * height]] for x, lean, height in blades]
    c.strokes(grass, 1.6, scaled(moss, 1.25), opacity=0.8)


def _mushroom(c: Canvas, x: float, foot: float, size: float, cap: Color) -> None:
    flat, tilt = c.between(0.4, 0.8), c.between(-0.2, 0.2)
    tall = size * c.between(0.8, 1.3)
    stalk = c.pick([(0.94, 0.90, 0.80), (0.82, 0.74, 0.62)])
    c.ellipse(x + size * 0.15, foot, size * 0.7, size * 0.1, (0, 0, 0), opacity=0.45, blur=size * 0.06)
    left, right = [[-0.16, 0.02], [-0.1, -0.4], [-0.11, -1]], [[0.11, -1], [0.1, -0.4], [0.17, 0.02]]
    shape = smooth([*left, *right], 50) * np.asarray([1, tall / size])
    at = c.at(x, foot, size, tilt * 0.5)
    at.polygon(shape, stalk)
    at.polygon(shape[shape[:, 0] > 0.02], scaled(stalk, 0.7), blur=size * 0.02)
    _cap(c, c.at(x + tall * np.sin(tilt * 0.5), foot - tall * np.cos(tilt * 0.5), size, tilt), flat, cap, stalk)


def _cap(c: Canvas, at: Frame, flat: float, color: Color, stalk: Color) -> None:
    size = at.size
    at.polygon(smooth([[-0.72, 0], [0, -0.1], [0.72, 0], [0, 0.2]], 40), scaled(stalk, 0.75))
    light = np.clip(1.15 - 0.55 * np.abs((c.grid()[0] - at.x + size * 0.3) / size), 0.45, 1.2)
    dome = [[-0.6, -flat * 0.6], [0, -flat], [0.6, -flat * 0.6]]
    at.polygon(smooth([[-0.75, 0.02], *dome, [0.75, 0.02], [0.35, 0.12], [-0.35, 0.12]], 70), across(c, light, color))
    gleam = smooth([[-0.45, -flat * 0.6], [-0.15, -flat * 0.9], [0.1, -flat * 0.85], [-0.2, -flat * 0.6]], 24)
    at.polygon(gleam, (1, 1, 1), opacity=0.22, blur=size * 0.03)
    if c.chance(0.6):
        for _ in range(c.whole(6, 12)):
            a, b, r = c.between(-0.55, 0.55), c.between(0.1, 0.85), c.between(0.03, 0.075)
            at.polygon(oval(a, -flat * b * (1 - a * a), r, r * 0.8, 0, 14), (0.97, 0.95, 0.90), opacity=0.95)

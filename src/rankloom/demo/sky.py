"""What many scenes share: skies in many moods, clouds, stars, ridges, water, trees, hills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankloom.demo.canvas import Array, Canvas, ovals, spread, tinted
from rankloom.demo.colors import Color, mix, ramp, rgb, scaled


@dataclass(frozen=True)
class Mood:
    """The light of a scene: colours of the sky from top to horizon, what it does to colours, what it is called."""

    name: str
    stops: tuple[Color, ...]
    light: Color
    dark: bool = False

    @property
    def haze(self) -> Color:
        """What far things fade into."""
        return self.stops[-1]

    def lit(self, color: Sequence[float], far: float = 0.0) -> Color:
        """A colour in this light, faded with distance (0 near, 1 gone)."""
        return mix(scaled(color, self.light), self.haze, far)


def _mood(name: str, stops: str, light: str, dark: bool = False) -> Mood:
    return Mood(name, tuple(rgb(stop) for stop in stops.split()), rgb(light), dark)


MOODS: dict[str, Mood] = {
    mood.name: mood
    for mood in (
        _mood("clear day", "2f74c0 6fa8dc cfe6f2", "ffffff"),
        _mood("bright day", "4a9bd9 9fd0ee f2f7f4", "fffcf0"),
        _mood("golden evening", "5b7aa8 d9b98a fbd38a", "ffe0b0"),
        _mood("sunset", "2f2350 b0435a f47c48 ffd27a", "f0b090"),
        _mood("dusk", "161a3d 50407a c9748f f2b39a", "9a8ab0"),
        _mood("dawn", "6f86b5 d8a8b8 fbd9c0", "f2d8dc"),
        _mood("overcast", "7d8a96 a9b4bc d3d8d9", "c9cdd0"),
        _mood("storm", "262f3a 4b5863 8b979c", "8f9aa0"),
        _mood("pastel", "9fb8e8 e3c6e6 fde0da", "fbeaf2"),
        _mood("night", "050a1c 0e1c40 2a3f6b", "66769c", dark=True),
        _mood("fog", "b4bfc4 c9d1d2 dfe3e0", "cfd4d4"),
    )
}
DAY = ("clear day", "bright day", "golden evening", "dawn", "overcast", "pastel", "storm", "fog")
ANY = (*DAY, "sunset", "dusk", "night")


def sky(c: Canvas, moods: Sequence[str] = ANY, *, horizon: float | None = None, clouds: float | None = None) -> Mood:
    """Fill the canvas with a sky down to the horizon, with clouds, and return its mood."""
    mood = MOODS[c.pick(moods)]
    c.note(time=mood.name)
    bottom = c.height if horizon is None else horizon
    stops = [c.vary(stop, 0.02) for stop in mood.stops]
    c.image[:] = c.gradient(stops, 0, bottom * c.between(0.9, 1.1))
    amount = c.between(0.0, 0.8) if clouds is None else clouds
    cloud_layer(c, mood, amount, bottom)
    if mood.dark:
        stars(c, c.whole(30, 120), bottom * 0.9)
    return mood


def cloud_layer(c: Canvas, mood: Mood, amount: float, bottom: float) -> None:
    """Clouds that grow flatter to the horizon; `amount` from 0 (none) to 1 (closed)."""
    field = c.noise(c.between(1.5, 3.5), 5, stretch=c.between(1.8, 3.6), drift=(c.time * 0.12, 0.0), gain=0.55)
    if amount < 0.08:
        return
    low = 0.92 - 0.62 * amount
    cover = np.clip((field - low) / 0.35, 0, 1)
    cover = cover * cover * (3 - 2 * cover) * 0.9
    _, y = c.grid()
    cover *= np.clip(1.25 - y / max(bottom, 1.0), 0, 1) ** 0.5
    bright = mix(mood.haze, (1.0, 1.0, 1.0), 0.1 if mood.dark else 0.55)
    under = mix(mood.stops[0], mood.haze, 0.45)
    shade = np.clip((field - low) / 0.7, 0, 1)
    c.paint(cover.astype(np.float32), ramp([bright, bright, under], shade))


def stars(c: Canvas, count: int, bottom: float) -> None:
    """Small lights, a few of them large."""
    xs, ys = c.rng.random(count) * c.width, c.rng.random(count) * bottom
    sizes = c.rng.gamma(1.2, 0.35, count)
    phase = c.rng.random(count) * 6.3
    for x, y, size, at in zip(xs, ys, sizes, phase, strict=True):
        twinkle = 0.8 + 0.2 * np.sin(at + 3 * c.time)
        tint = (1.0, 0.9, 0.8) if at > 5 else (0.85, 0.92, 1.0)
        c.glow(x, y, 0.6 + 0.5 * size, tint, min(0.25 + 0.5 * size, 1.0) * twinkle)


def moon(c: Canvas, x: float, y: float, radius: float) -> None:
    """A moon with maria, full or a crescent."""
    c.glow(x, y, radius * 3, (0.30, 0.33, 0.40), 0.7)
    maria = c.noise(c.side / radius * 1.3, 3)
    face = ramp([(0.72, 0.72, 0.70), (0.98, 0.97, 0.92)], np.clip(maria * 1.4, 0, 1))
    phase = c.between(-1.0, 1.0)
    if c.chance(0.5):
        c.disc(x, y, radius, face)
        return
    turn = np.linspace(-np.pi / 2, np.pi / 2, 40)
    height = y + radius * np.sin(turn)
    edge, inner = (np.stack([x + reach * np.cos(turn), height], axis=1) for reach in (radius, radius * phase))
    c.polygon(np.concatenate([edge, inner[::-1]]), face)


def ridge(c: Canvas, base: float, height: float, cells: float, *, rough: float = 0.5, octaves: int = 6) -> Array:
    """The points of a skyline of hills from left to right: heights are noise in one dimension."""
    xs = np.linspace(-2, c.width + 2, 160)
    ys = np.zeros(len(xs))
    weight, total = 1.0, 0.0
    for octave in range(octaves):
        knots = c.rng.random(int(cells * 2**octave * c.width / c.side) + 4)
        at = np.linspace(0, len(knots) - 1.001, len(xs))
        i = at.astype(int)
        u = at - i
        if rough < 0.45:
            u = u * u * (3 - 2 * u)
        ys += weight * (knots[i] * (1 - u) + knots[i + 1] * u)
        total += weight
        weight *= rough
    return np.stack([xs, base - height * ys / total], axis=1).astype(np.float32)


def below(c: Canvas, line: Array) -> Array:
    """The polygon under a line, down to the edge of the canvas."""
    return np.concatenate([line, [[c.width + 3, c.height + 3], [-3, c.height + 3]]]).astype(np.float32)


def hills(c: Canvas, mood: Mood, color: Sequence[float], base: float, layers: int = 3, height: float = 0.2) -> None:
    """Rolling hills behind each other, the far ones hazy, the near ones textured."""
    texture = c.noise(14, 4)
    for layer in range(layers):
        near = (layer + 1) / layers
        foot, rise = base + near * (c.height - base) * 0.45, height * c.side * (0.6 + 0.4 * near)
        line = ridge(c, foot, rise, 1.2, rough=0.35, octaves=3)
        tone = mood.lit(c.vary(color, 0.03), 0.75 * (1 - near))
        depth = 0.08 if min(color) > 0.8 else 0.30  # snow is smoother than grass
        low, high = scaled(tone, 1 - depth * near), scaled(tone, 1 + 0.12 * near)
        c.polygon(below(c, line), ramp([low, high], texture))


def sea(c: Canvas, mood: Mood, horizon: float, *, glint: float | None = None) -> None:
    """Water from the horizon down: it mirrors the sky, ripples, and glitters under a light at x = `glint`."""
    own = c.pick([(0.05, 0.25, 0.40), (0.06, 0.38, 0.46), (0.10, 0.20, 0.30), (0.12, 0.42, 0.40)])
    far, near = mix(mood.haze, scaled(own, mood.light), 0.45), mix(mood.stops[0], scaled(own, mood.light), 0.65)
    height = c.height - int(horizon)
    if height < 2:
        return
    y = np.linspace(0, 1, height, dtype=np.float32)[:, None]
    # Ripples: noise whose rows are squeezed towards the horizon.
    flat = c.noise(14, 3, stretch=4.5, drift=(0.25 * c.time, 0.35 * c.time), gain=0.65)
    rows = np.clip((y[:, 0] ** 0.55) * (c.height - 1), 0, c.height - 1).astype(int)
    waves = flat[rows] - 0.5
    water = ramp([far, mix(far, near, 0.6), near], np.clip(y**0.7 + waves * (0.12 + 0.35 * y), 0, 1))
    water = water * spread(1 + (0.10 + 0.35 * y) * waves)
    if glint is not None:
        x = np.arange(c.width, dtype=np.float32)[None, :] - glint
        band = np.exp(-((x / (c.side * (0.05 + 0.16 * y))) ** 2))
        sparkle = np.clip((waves - 0.02) * 5, 0, 1) * band
        water = water + tinted(sparkle * 0.8, mix(mood.haze, (1, 1, 0.9), 0.4))
        water = water + tinted(band * 0.22, mood.haze)
    c.image[int(horizon) :] = water
    c.stroke([[0, horizon], [c.width, horizon]], 1.2, mood.haze, opacity=0.4)


def conifer(c: Canvas, x: float, base: float, height: float, color: Sequence[float], *, snow: float = 0.0) -> None:
    """A fir of ragged tiers, snow on them if asked."""
    tiers = c.whole(5, 8)
    width = height * c.between(0.17, 0.26)
    c.polygon([[x - width * 0.10, base], [x + width * 0.10, base], [x, base - height * 0.6]], scaled(color, 0.6))
    for tier in range(tiers):
        low, top = 0.08 + 0.86 * tier / tiers, min(0.08 + 0.86 * (tier + 1.9) / tiers, 1.0)
        half = width * (1 - low) * c.between(0.9, 1.1)
        y0, y1 = base - height * low, base - height * top
        hem = [[x - half, y0], [x - half * 0.45, y0 - height * 0.012], [x, y0 + height * 0.012], [x + half, y0]]
        c.polygon([*hem, [x, y1]], scaled(color, 0.78 + 0.35 * tier / tiers))
        if snow > 0:
            cap = [
                [x - half * 0.9, y0 - 1],
                [x - half * 0.2, y0 - height * 0.045],
                [x + half * 0.5, y0 - height * 0.03],
            ]
            c.polygon([*cap, [x, y1]], (0.93, 0.95, 0.98), opacity=snow)


def tree_crown(c: Canvas, x: float, y: float, radius: float, color: Sequence[float], light: float = -2.2) -> None:
    """Leaves: many small blots, dark below and bright towards the light."""
    count = int(min(40 + radius * 1.6, 190))
    angle = c.rng.random(count) * 2 * np.pi
    reach = np.sqrt(c.rng.random(count)) * radius * 0.85
    xs, ys = x + reach * np.cos(angle), y + reach * np.sin(angle) * 0.85
    toward = ((xs - x) * np.cos(light) + (ys - y) * np.sin(light)) / radius
    sizes = radius * c.rng.uniform(0.10, 0.26, count)
    c.ellipse(x, y, radius * 0.82, radius * 0.72, scaled(color, 0.55))
    order = np.argsort(toward + c.rng.normal(0, 0.12, count))
    for group in np.array_split(order, 7):
        tone = scaled(c.vary(color, 0.025), 0.66 + 0.52 * (float(toward[group].mean()) + 0.7) / 1.4)
        c.polygons(ovals(xs[group], ys[group], sizes[group], sizes[group] * 0.8, angle[group]), tone, opacity=0.9)

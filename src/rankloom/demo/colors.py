"""Colours of the sample collection: names, mixing, palettes."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Color = tuple[float, float, float]

NAMED: dict[str, Color] = {
    "red": (0.82, 0.12, 0.14),
    "orange": (0.95, 0.50, 0.10),
    "yellow": (0.97, 0.80, 0.16),
    "green": (0.24, 0.60, 0.25),
    "turquoise": (0.12, 0.66, 0.66),
    "blue": (0.14, 0.34, 0.78),
    "purple": (0.48, 0.22, 0.66),
    "pink": (0.94, 0.48, 0.66),
    "white": (0.95, 0.94, 0.91),
    "brown": (0.46, 0.29, 0.17),
}


def rgb(text: str) -> Color:
    """The colour of six hexadecimal digits.

    >>> rgb("ff0033")
    (1.0, 0.0, 0.2)
    """
    red, green, blue = (int(text[i : i + 2], 16) / 255 for i in (0, 2, 4))
    return red, green, blue


# Colours that look well together; patterns, mosaics and small things draw from one palette.
PALETTES: list[list[Color]] = [
    [rgb(digits) for digits in row.split()]
    for row in (
        "264653 2a9d8f e9c46a f4a261 e76f51",
        "0b3954 087e8b bfd7ea ff5a5f c81d25",
        "f4f1de e07a5f 3d405b 81b29a f2cc8f",
        "22223b 4a4e69 9a8c98 c9ada7 f2e9e4",
        "606c38 283618 fefae0 dda15e bc6c25",
        "cdb4db ffc8dd ffafcc bde0fe a2d2ff",
        "003049 d62828 f77f00 fcbf49 eae2b7",
        "355070 6d597a b56576 e56b6f eaac8b",
        "132a13 31572c 4f772d 90a955 ecf39e",
        "03045e 0077b6 00b4d8 90e0ef caf0f8",
        "590d22 a4133c ff4d6d ff8fa3 fff0f3",
        "10002b 3c096c 7b2cbf c77dff e0aaff",
        "1a1a1a 4d4d4d 8c8c8c cccccc f5f5f5",
        "5f0f40 9a031e fb8b24 e36414 0f4c5c",
        "f8f4e3 d4cdc3 706c61 e1f4f3 333333",
        "2b2d42 8d99ae edf2f4 ef233c d90429",
    )
]


def hsv(hue: float, saturation: float, value: float) -> Color:
    """A colour by hue (any number, 1 is once around), saturation and value."""
    return colorsys.hsv_to_rgb(hue % 1.0, min(max(saturation, 0.0), 1.0), min(max(value, 0.0), 1.0))


def mix(first: Sequence[float], second: Sequence[float], share: float) -> Color:
    """The colour between two: `share` 0 is the one, 1 the other.

    >>> mix((0, 0, 0), (1, 0.5, 0), 0.5)
    (0.5, 0.25, 0.0)
    """
    red, green, blue = (float(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def scaled(color: Sequence[float], factor: float | Sequence[float]) -> Color:
    """A colour times a number, or times a light, cut at 1."""
    factors = (factor,) * 3 if isinstance(factor, (int, float)) else factor
    red, green, blue = (float(min(a * b, 1.0)) for a, b in zip(color, factors, strict=True))
    return red, green, blue


def ramp(stops: Sequence[Sequence[float]], values: NDArray[Any]) -> NDArray[np.float32]:
    """Colours of an array of values from 0 to 1, along evenly spaced stops."""
    table = np.asarray(stops, np.float32)
    at = np.linspace(0.0, 1.0, len(table))
    lut = np.stack([np.interp(np.linspace(0.0, 1.0, 256), at, table[:, i]) for i in range(3)], axis=1)
    index = np.clip(values * 255.0, 0, 255).astype(np.uint8)
    return np.asarray(lut.astype(np.float32).take(index, axis=0))

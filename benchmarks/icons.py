"""Draw the icons of the installed page from icon.svg, at the sizes that systems want. `python -m benchmarks.icons`."""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

STATIC = Path(__file__).resolve().parents[1] / "src" / "rankloom" / "server" / "static"
SIDE, STROKE = 32, 2.4  # of icon.svg
FINER = 4  # drawn so much larger, then made smaller
STEPS = np.linspace(0, 1, 60)[:, None]
Points = NDArray[np.float64]


def curve(path: str) -> Points:
    """The points of a path of icon.svg, which is made of M, c, s and h."""
    numbers = [
        (command, [float(n) for n in re.findall(r"-?[\d.]+", rest)])
        for command, rest in re.findall(r"([Mcsh])([^Mcsh]*)", path)
    ]
    points, handle = np.array([numbers[0][1]]), np.zeros(2)
    for command, values in numbers[1:]:
        start = points[-1]
        if command == "h":
            points = np.vstack([points, start + np.array([values[0], 0.0])])
            continue
        pairs = np.array(values).reshape(-1, 2)
        first = start + (pairs[0] if command == "c" else handle)
        second, end = start + pairs[-2], start + pairs[-1]
        handle = end - second
        bezier = (1 - STEPS) ** 3 * start + 3 * (1 - STEPS) ** 2 * STEPS * first
        points = np.vstack([points, bezier + 3 * (1 - STEPS) * STEPS**2 * second + STEPS**3 * end])
    return points


def drawn(side: int, *, maskable: bool = False) -> NDArray[np.uint8]:
    """The icon with an alpha channel; a maskable one fills its square, and keeps the drawing in the middle of it."""
    svg = (STATIC / "icon.svg").read_text(encoding="utf-8")
    color = [int(re.search(r'fill="#(\w{6})"', svg)[1][at : at + 2], 16) for at in (4, 2, 0)]  # type: ignore[index]
    large, scale = side * FINER, side * FINER / SIDE
    canvas = np.zeros((large, large, 4), np.uint8)
    radius = 0 if maskable else round(8 * scale)
    for begin, end in (((radius, 0), (large - radius, large)), ((0, radius), (large, large - radius))):
        cv2.rectangle(canvas, begin, end, (*color, 255), -1)
    for x in (radius, large - radius):
        for y in (radius, large - radius):
            cv2.circle(canvas, (x, y), radius, (*color, 255), -1)
    share = 0.72 if maskable else 1.0  # inside the circle that no mask cuts
    for path, faint in re.findall(r'<path d="([^"]+)"( opacity=".6")?/>', svg):
        points = ((curve(path) - SIDE / 2) * share + SIDE / 2) * scale
        white = np.array([255, 255, 255]) if not faint else 0.6 * 255 + 0.4 * np.array(color)
        shade = (*(int(value) for value in white), 255)
        cv2.polylines(canvas, [np.rint(points).astype(np.int32)], False, shade, round(STROKE * share * scale))
    return np.asarray(cv2.resize(canvas, (side, side), interpolation=cv2.INTER_AREA), np.uint8)


def main() -> None:
    """Write the files."""
    folder = STATIC / "icons"
    folder.mkdir(exist_ok=True)
    for name, picture in (("192", drawn(192)), ("512", drawn(512)), ("maskable", drawn(512, maskable=True))):
        cv2.imwrite(str(folder / f"{name}.png"), picture, [cv2.IMWRITE_PNG_COMPRESSION, 9])


if __name__ == "__main__":
    main()

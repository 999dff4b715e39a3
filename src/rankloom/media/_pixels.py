"""Pictures of any mode as RGB: large ones tile by tile, so that the decoded picture is all that takes memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

WHOLE_PIXELS = 8_000_000  # so many are converted at once; of fractions, which take most, that is some 400 MB
_TILE = 1024  # of larger pictures, about so many pixels wide and high


def to_rgb(image: Any, size: tuple[int, int]) -> Any:
    """A decoded picture in the mode RGB, made smaller to a size; transparency is laid on white.

    Parameters
    ----------
    image : a picture of Pillow.
    size : width and height of the result, at most those of the picture.
    """
    from PIL import Image

    convert = _converter(image)
    if image.width * image.height <= WHOLE_PIXELS or (image.size == size and convert is _plain):
        rgb = convert(image)
    else:
        rgb = _by_tiles(image, (max(1, image.width // size[0]), max(1, image.height // size[1])), convert)
    return rgb if rgb.size == size else rgb.resize(size, Image.Resampling.BOX)


def _by_tiles(image: Any, factor: tuple[int, int], convert: Callable[[Any], Any]) -> Any:
    """Convert a picture tile by tile, and make it smaller by whole factors."""
    from PIL import Image

    across, down = factor
    rgb = Image.new("RGB", (-(-image.width // across), -(-image.height // down)))
    for box in _tiles(image.size, factor):
        rgb.paste(convert(image.crop(box)).reduce(factor), (box[0] // across, box[1] // down))
    return rgb


def _tiles(size: tuple[int, int], factor: tuple[int, int] = (1, 1)) -> Iterator[tuple[int, int, int, int]]:
    """The boxes of tiles: left, top, right and bottom, the first two multiples of the factors."""
    width, height = (max(1, _TILE // step) * step for step in factor)
    for top in range(0, size[1], height):
        for left in range(0, size[0], width):
            yield left, top, min(left + width, size[0]), min(top + height, size[1])


def _converter(image: Any) -> Callable[[Any], Any]:
    """What makes RGB of the picture, or of a part of it."""
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        return _on_white
    if image.mode.startswith(("I", "F")):
        return partial(_eight_bits, ends=_ends(image))
    return _plain


def _plain(image: Any) -> Any:
    return image if image.mode == "RGB" else image.convert("RGB")


def _on_white(image: Any) -> Any:
    from PIL import Image

    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")


def _finite(image: Any) -> NDArray[np.float64]:
    return np.nan_to_num(np.asarray(image).astype(np.float64), posinf=0.0, neginf=0.0)


def _ends(image: Any) -> tuple[float, float]:
    """The values that become black and white: 16-bit numbers by their range, fractions 0 and 1, else the extremes."""
    low, high = np.inf, -np.inf
    for box in _tiles(image.size):
        values = _finite(image.crop(box))
        low, high = min(low, float(values.min())), max(high, float(values.max()))
    kind = np.asarray(image.crop((0, 0, 1, 1))).dtype
    if low >= 0 and kind.kind in "iu" and high <= 65535:
        return 0.0, 65535.0 if high > 255 or kind.itemsize == 2 else 255.0
    if low >= 0 and kind.kind == "f" and high <= 255:
        return 0.0, 1.0 if high <= 1 else 255.0
    return low, high


def _eight_bits(image: Any, ends: tuple[float, float]) -> Any:
    from PIL import Image

    low, high = ends
    values = (_finite(image) - low) * (255 / max(high - low, 1e-9)) + 0.5
    return Image.fromarray(values.clip(0, 255).astype(np.uint8)).convert("RGB")

"""What happens between a scene and its picture: viewpoint, light, style, blur, vignette, grain."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom.demo.canvas import Canvas, spread, tinted
from rankloom.demo.styles import apply_style


def finish(c: Canvas, *, styled: bool = True) -> NDArray[np.uint8]:
    """Develop the picture: the same drawing looks different each time. Returns RGB bytes."""
    _viewpoint(c)
    _light(c)
    if styled:
        apply_style(c)
    if c.chance(0.15):
        c.image = cv2.GaussianBlur(c.image, (0, 0), c.between(0.8, 2.0))
    if c.chance(0.6):
        _vignette(c)
    grain = c.rng.random((c.height, c.width), dtype=np.float32) - np.float32(0.5)
    c.image += spread(grain * np.float32(c.pick([0.014, 0.028, 0.042, 0.10])))
    return cv2.convertScaleAbs(np.clip(c.image, 0, 1), alpha=255.0)  # type: ignore[no-any-return]


def _viewpoint(c: Canvas) -> None:
    """Mirror, turn a little, come nearer."""
    mirror, turned = c.chance(0.5), c.chance(0.5)
    angle, zoom = c.between(-5, 5), c.between(1.05, 1.28)
    x, y = c.x(-0.05, 0.05), c.y(-0.05, 0.05)
    if mirror:
        c.image = cv2.flip(c.image, 1)
    if turned:
        where = cv2.getRotationMatrix2D((c.width / 2 + x, c.height / 2 + y), angle, zoom)
        c.image = cv2.warpAffine(
            c.image, where, (c.width, c.height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT
        )


def _light(c: Canvas) -> None:
    """Exposure, contrast, saturation and the balance of colours."""
    image = np.clip(c.image, 0, 1)
    image = cv2.pow(image, c.between(0.75, 1.35))
    contrast = c.between(0.85, 1.12)
    gray = spread(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
    image = gray + (image - gray) * np.float32(c.between(0.65, 1.2))
    gains = [float(contrast * gain) for gain in np.exp(c.rng.normal(0, 0.045, 3))]
    c.image = tinted(np.ones(image.shape[:2], np.float32), gains) * image + np.float32(0.5 * (1 - contrast))


def _vignette(c: Canvas) -> None:
    x, y = c.grid()
    away = ((x / c.width - 0.5) ** 2 + (y / c.height - 0.5) ** 2) * 2
    c.image = c.image * spread(1 - np.float32(c.between(0.15, 0.5)) * away)

"""Texture: local binary patterns, Gabor filters, GIST, wavelets."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import cv2
import numpy as np
import pywt
from numpy.typing import NDArray

from rankloom.descriptors._prepared import SIDE, Image, Prepared, Vector, cells, prepare, rooted

Filters = NDArray[np.float32]

NEGLIGIBLE = 1e-12  # of a filter, whose largest number is about 1


def lbp(image: Image | Prepared) -> Vector:
    r"""Roots of the shares of the 59 uniform local binary patterns of 8 neighbours at radius 2, in a 2 x 2 grid.

    \(\sum_{p=0}^{7} [g_p \ge g_c]\, 2^p\); patterns with more than two changes between 0 and 1 around share a bin.

    References
    ----------
    Ojala, Pietikäinen & Mäenpää, Multiresolution gray-scale and rotation invariant texture classification with local
    binary patterns, PAMI 24 (2002) 971-987; bins and cells: Ahonen, Hadid & Pietikäinen, PAMI 28 (2006) 2037-2041.

    Examples
    --------
    >>> patterns = lbp(np.zeros((8, 8, 3), np.uint8)).reshape(4, 59)
    >>> patterns.sum(1).tolist(), int((patterns > 0).sum())
    ([0.25, 0.25, 0.25, 0.25], 4)
    """
    gray = prepare(image).gray.astype(np.float32)
    patterns = cells(_uniform_bins()[local_patterns(gray, 2)], 2)
    return rooted(np.bincount((patterns + 59 * np.arange(4)[:, None]).ravel(), minlength=4 * 59))


def local_patterns(gray: NDArray[np.float32], radius: int) -> Image:
    """The pattern of each pixel whose circle lies within the picture, as a number below 256."""
    inner = slice(radius, -radius)
    # A neighbour between pixels of the centre's grey level must count as equal in spite of rounding.
    center = gray[inner, inner] - np.float32(1e-3)
    code = np.zeros(center.shape, np.uint8)
    for p in range(8):
        angle = 2 * np.pi * p / 8
        neighbor = _shifted(gray, -radius * np.sin(angle), radius * np.cos(angle), radius)
        code |= (neighbor >= center).astype(np.uint8) << np.uint8(p)
    return code


def _shifted(gray: NDArray[np.float32], down: float, right: float, margin: int) -> NDArray[np.float32]:
    """The picture at a fixed step from every inner pixel, between pixels by bilinear interpolation."""
    down, right = round(down, 5), round(right, 5)
    top, left = int(np.floor(down)), int(np.floor(right))
    y, x = np.float32(down - top), np.float32(right - left)
    side = gray.shape[0] - 2 * margin

    def at(row: int, column: int) -> NDArray[np.float32]:
        return gray[margin + row : margin + row + side, margin + column : margin + column + side]

    if x == 0 and y == 0:
        return at(top, left)
    upper = at(top, left) * (1 - x) + at(top, left + 1) * x
    lower = at(top + 1, left) * (1 - x) + at(top + 1, left + 1) * x
    return np.asarray(upper * (1 - y) + lower * y)


@cache
def _uniform_bins() -> NDArray[np.intp]:
    """The bin of each of the 256 patterns: 58 uniform ones in numeric order, then the rest."""
    changes = [bin(code ^ ((code >> 1) | ((code & 1) << 7))).count("1") for code in range(256)]
    uniform = [code for code in range(256) if changes[code] <= 2]
    bins = np.full(256, len(uniform), np.intp)
    bins[uniform] = np.arange(len(uniform))
    return bins


def gabor(image: Image | Prepared) -> Vector:
    """Mean and standard deviation of the magnitude behind 24 Gabor filters: 4 scales x 6 orientations.

    Their square roots, so that the strong coarse scales do not drown the fine ones.

    References
    ----------
    Manjunath & Ma, Texture features for browsing and retrieval of image data, PAMI 18 (1996) 837-842, eq. 1-4 and 7.

    Examples
    --------
    >>> texture = gabor(np.zeros((8, 8, 3), np.uint8))
    >>> texture.shape, float(texture.max())
    ((48,), 0.0)
    """
    gray = prepare(image).gray.astype(np.float32) / np.float32(255)
    magnitude = _magnitudes(gray, gabor_bank)
    statistics = np.concatenate([magnitude.mean((1, 2)), magnitude.std((1, 2))])
    return np.asarray(np.sqrt(statistics), np.float32)


@cache
def gabor_bank(
    side: int = SIDE, scales: int = 4, orientations: int = 6, low: float = 0.05, high: float = 0.4
) -> Filters:
    r"""Filters in the frequency domain whose half-peak ellipses touch, between the centre frequencies low and high."""
    a = (high / low) ** (1 / (scales - 1))
    log2 = 2 * np.log(2)
    fy, fx = np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side), indexing="ij")
    bank = []
    for center in high / a ** np.arange(scales):
        sigma_u = (a - 1) * center / ((a + 1) * np.sqrt(log2))
        sigma_v = np.tan(np.pi / (2 * orientations)) * (center - log2 * sigma_u**2 / center)
        sigma_v /= np.sqrt(log2 - (log2 * sigma_u / center) ** 2)
        for theta in np.pi * np.arange(orientations) / orientations:
            u = fx * np.cos(theta) + fy * np.sin(theta)
            v = -fx * np.sin(theta) + fy * np.cos(theta)
            bank.append(np.exp(-((u - center) ** 2 / sigma_u**2 + v**2 / sigma_v**2) / 2))
    filters = np.array(bank, np.float32)
    filters[:, 0, 0] = 0  # no answer to a constant: brightness is not texture
    return filters


def _magnitudes(plane: NDArray[np.float32], bank: Callable[[], Filters]) -> NDArray[np.float32]:
    """The magnitude of a picture behind each filter; one after the other, so that all at work stays in the cache."""
    spectrum = cv2.dft(plane, flags=cv2.DFT_COMPLEX_OUTPUT)
    filters = _for_pairs(bank)
    magnitudes, product = np.empty(filters.shape[:-1], np.float32), np.empty_like(filters[0])
    for response, magnitude in zip(filters, magnitudes, strict=True):
        waves = np.asarray(cv2.idft(np.multiply(spectrum, response, out=product), flags=cv2.DFT_SCALE), np.float32)
        np.abs(waves.view(np.complex64)[..., 0], out=magnitude)
    return magnitudes


@cache
def _for_pairs(bank: Callable[[], Filters]) -> Filters:
    """Filters with every number twice, for the real and the imaginary parts of a spectrum.

    What is nothing beside the rounding becomes 0: numbers too small for a float's full precision take long.
    """
    filters = bank()
    return np.repeat(np.where(filters < NEGLIGIBLE, np.float32(0), filters)[..., None], 2, axis=-1)


GIST_SIDE, GIST_MARGIN = 48, 8  # the transform has 64: a finer picture ranks no better


def gist(image: Image | Prepared) -> Vector:
    """The spatial envelope: mean magnitude behind 24 filters (8 orientations at 3 scales) in a 4 x 4 grid.

    The contrast is evened out locally first, as in the authors' program.

    References
    ----------
    Oliva & Torralba, Modeling the shape of the scene: a holistic representation of the spatial envelope, IJCV 42 (2001)
    145-175.

    Examples
    --------
    >>> gist(np.full((8, 8, 3), 90, np.uint8)).shape
    (384,)
    """
    small = cv2.resize(prepare(image).gray, (GIST_SIDE, GIST_SIDE), interpolation=cv2.INTER_AREA)
    margin = GIST_MARGIN
    padded = cv2.copyMakeBorder(_even_contrast(small), margin, margin, margin, margin, cv2.BORDER_REFLECT)
    means = _gist_means()
    return np.asarray(means @ (_magnitudes(padded, gist_bank) @ means.T), np.float32).ravel()


@cache
def _gist_means() -> Filters:
    """What makes the means of the cells of a line, without its margins: shape (4, pixels)."""
    side = GIST_SIDE // 4
    return np.pad(np.kron(np.eye(4), np.full(side, 1 / side)), ((0, 0), (GIST_MARGIN, GIST_MARGIN))).astype(np.float32)


def _even_contrast(gray: Image) -> NDArray[np.float32]:
    """Log brightness without its slow part, divided by its local deviation (`prefilt` of the authors, 4 cycles)."""
    sigma = GIST_SIDE * np.sqrt(2) / (2 * np.pi * 4 / np.sqrt(np.log(2)))

    def blurred(plane: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma, borderType=cv2.BORDER_REFLECT), np.float32)

    log = np.log1p(gray.astype(np.float32))
    fast = log - blurred(log)
    return np.asarray(fast / (0.2 + np.sqrt(np.maximum(blurred(fast * fast), 0))), np.float32)


@cache
def gist_bank(side: int = GIST_SIDE + 2 * GIST_MARGIN, orientations: tuple[int, ...] = (8, 8, 8)) -> Filters:
    """The authors' filters in the frequency domain: Gaussian in the relative frequency and in the angle."""
    fy, fx = np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side), indexing="ij")
    frequency, angle = np.hypot(fx, fy), np.arctan2(fy, fx)
    bank = []
    for scale, n in enumerate(orientations):
        for k in range(n):
            turned = (angle + np.pi * k / n + np.pi) % (2 * np.pi) - np.pi
            radial = 3.5 * (frequency / (0.3 / 1.85**scale) - 1) ** 2
            bank.append(np.exp(-radial - 2 * np.pi * (16 * n**2 / 32**2) * turned**2))
    return np.array(bank, np.float32)


def wavelet(image: Image | Prepared) -> Vector:
    """Mean magnitude and deviation of the 9 detail bands of a 3-level Haar transform of Y, Cr, Cb in a 2 x 2 grid.

    Their square roots, so that the strong coarse bands do not drown the fine ones.

    References
    ----------
    Smith & Chang, Transform features for texture classification and discrimination in large image databases, ICIP 1994;
    Mallat, A theory for multiresolution signal decomposition: the wavelet representation, PAMI 11 (1989) 674-693.

    Examples
    --------
    >>> wavelet(np.zeros((8, 8, 3), np.uint8)).shape
    (216,)
    """
    planes = np.stack(cv2.split(cv2.cvtColor(prepare(image).square, cv2.COLOR_RGB2YCrCb))).astype(np.float32)
    planes /= np.float32(255)
    _, *levels = pywt.wavedec2(planes, "haar", level=3)  # what is left of the coarse band is colour, not texture
    blocks = [band.reshape(3, 2, len(band[0]) // 2, 2, -1) for level in levels for band in level]
    statistics = [np.stack([np.abs(block).mean((2, 4)), block.std((2, 4))]) for block in blocks]
    return np.sqrt(np.asarray(statistics, np.float32)).ravel()

"""Colour: histograms, moments, correlogram, layout, self-similarity."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from rankloom.descriptors._prepared import SIDE, Image, Prepared, Vector, cells, normalized, prepare, rooted

GRAY = 26  # a saturation below this is a grey: its hue is noise


def hsv_histogram(image: Image | Prepared) -> Vector:
    """Square roots of the shares of 166 colours: 18 hues x 3 saturations x 3 values, and 4 greys.

    References
    ----------
    Swain & Ballard, Color indexing, IJCV 7 (1991) 11-32. The 166 colours: Smith & Chang, VisualSEEk, ACM Multimedia
    1996, section 3.1.

    Examples
    --------
    >>> red = np.zeros((8, 8, 3), np.uint8); red[..., 0] = 255
    >>> histogram = hsv_histogram(red)
    >>> histogram.shape, int(histogram.argmax()), float(histogram.max())
    ((166,), 8, 1.0)
    """
    return rooted(np.bincount(quantized(prepare(image), 18, 3, 3, 4).ravel(), minlength=166))


def spatial_color_histogram(image: Image | Prepared) -> Vector:
    """Roots of the shares of 31 colours (7 hues x 2 saturations x 2 values, and 3 greys) in the cells of a 4 x 4 grid.

    References
    ----------
    Stricker & Dimai, Color indexing with weak spatial constraints, SPIE 2670 (1996) 29-40.

    Examples
    --------
    >>> spatial_color_histogram(np.zeros((8, 8, 3), np.uint8)).reshape(16, 31).sum(1).tolist() == [1 / 16] * 16
    True
    """
    counts = _pairs(_cell_numbers(), quantized(prepare(image), 7, 2, 2, 3), 16, 31)
    return rooted(counts)


@cache
def _cell_numbers() -> Image:
    """The number of the cell of each pixel of the square, in a 4 x 4 grid."""
    rows = np.arange(SIDE) * 4 // SIDE
    return np.asarray(rows[:, None] * 4 + rows, np.uint8)


def color_similarity(image: Image | Prepared) -> Vector:
    r"""Colour self-similarity: how alike the mean colours of each two cells of a 5 x 5 grid are.

    \(e^{-d / (\bar d + 0.02)}\) of the distance d of two mean colours in L, a, b, against the mean of d; 0.02
    keeps the noise of a plain picture small. It does not say which colours there are: a red car and a blue one on a
    road have the same parts that match.

    References
    ----------
    Walk, Majer, Schindler & Schiele, New features and insights for pedestrian detection, CVPR 2010, section 3.2, with
    mean colours instead of histograms.

    Examples
    --------
    >>> similar = color_similarity(np.zeros((8, 8, 3), np.uint8))
    >>> similar.shape, float(similar.min())
    ((300,), 1.0)
    """
    from scipy.spatial.distance import pdist  # takes long, and searches import this module too

    small = cv2.resize(prepare(image).square, (5, 5), interpolation=cv2.INTER_AREA)
    distances = pdist(cv2.cvtColor(small, cv2.COLOR_RGB2LAB).reshape(25, 3) / 255.0)
    return np.asarray(np.exp(-distances / (distances.mean() + 0.02)), np.float32)


def color_moments(image: Image | Prepared) -> Vector:
    """Mean, standard deviation and cube root of the third moment of L, a, b in each cell of a 4 x 4 grid.

    References
    ----------
    Stricker & Orengo, Similarity of color images, SPIE 2420 (1995) 381-392, eq. 6-8; in cells as in NUS-WIDE
    (Chua et al., CIVR 2009).

    Examples
    --------
    >>> moments = color_moments(np.full((8, 8, 3), 255, np.uint8)).reshape(3, 3, 16)
    >>> moments[:, 0, 0].tolist()
    [1.0, 0.0, 0.0]
    """
    lab = cv2.cvtColor(prepare(image).square, cv2.COLOR_RGB2LAB)
    blocks = np.stack([cells(plane, 4) for plane in cv2.split(lab)]).astype(np.float32) / np.float32(255)
    mean = blocks.mean(2)
    centered = blocks - mean[..., None]
    squares = centered * centered
    deviation = np.sqrt(squares.mean(2))
    squares *= centered
    skew = np.cbrt(squares.mean(2))
    mean[1:] -= np.float32(128 / 255)  # OpenCV stores a and b with 128 added
    return np.stack([mean, deviation, skew]).astype(np.float32).ravel()


def color_correlogram(image: Image | Prepared) -> Vector:
    r"""How often a pixel of a colour meets its own colour at distance 1, 3, 5 and 7, for 32 HSV colours.

    \(\alpha_c^{(k)} = \Pr[\, I(p') = c \mid I(p) = c,\ |p - p'|_\infty = k \,]\), all of them scaled to the sum 1.

    References
    ----------
    Huang, Kumar, Mitra, Zhu & Zabih, Image indexing using color correlograms, CVPR 1997, eq. 2-4.

    Examples
    --------
    >>> correlogram = color_correlogram(np.zeros((8, 8, 3), np.uint8)).reshape(4, 32)
    >>> correlogram[:, 28].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    return normalized(same_shares(quantized(prepare(image), 7, 2, 2, 4), (1, 3, 5, 7)))


def same_shares(colors: Image, distances: tuple[int, ...], n_colors: int = 32) -> NDArray[np.float64]:
    """For each (chessboard) distance and colour the share of the pixels there from one of its pixels that have it too.

    Parameters
    ----------
    colors : the number of each pixel's colour, below 254.
    distances : at most 15 each.
    n_colors : how many colours there are.
    """
    height, width = colors.shape
    reach = max(distances)
    wide = width + reach  # a step over the edge ends in the margin, where nothing is the same
    here = cv2.copyMakeBorder(colors, 0, 0, 0, reach, cv2.BORDER_CONSTANT, value=255).ravel()
    there = cv2.copyMakeBorder(colors, 0, reach + 1, 0, reach, cv2.BORDER_CONSTANT, value=254).ravel()
    equal, same = np.empty(here.size, bool), np.zeros((len(distances), height, wide), np.uint8)
    for plane, distance in zip(same.reshape(len(distances), -1), distances, strict=True):
        for down, right in _half_ring(distance):
            step = down * wide + right
            np.equal(here, there[step : step + here.size], out=equal)
            np.add(plane, equal.view(np.uint8), out=plane)
    numbers = np.arange(4.0 * reach + 1)  # a ring has 8 pixels for each step of its distance, half of it 4
    inner = (np.ascontiguousarray(plane[:, :width]) for plane in same)
    counts = [_pairs(colors, plane, n_colors, len(numbers)) @ numbers for plane in inner]
    places, sizes = _ring_sizes(height, width, distances)
    possible = (_pairs(colors, places, n_colors, len(sizes)) @ sizes).T
    return 2 * np.array(counts) / np.maximum(possible, 1)  # a pair is met once and counts for both of its pixels


def _pairs(first: Image, second: Image, n_first: int, n_second: int) -> NDArray[np.float64]:
    """How many pixels have each pair of numbers, which are below so many: shape (n_first, n_second)."""
    counts = cv2.calcHist([first, second], [0, 1], None, [n_first, n_second], [0, n_first, 0, n_second])
    return np.asarray(counts, np.float64)


@cache
def _ring_sizes(height: int, width: int, distances: tuple[int, ...]) -> tuple[Image, NDArray[np.float64]]:
    """How many pixels lie at distances from each pixel: that hangs on how near the edges are, a number for each pixel.

    Returns these numbers, and the sizes by them: shape (numbers, distances).
    """
    reach = max(distances)
    step = reach + 1

    def edge(side: int) -> NDArray[np.intp]:
        position = np.arange(side)
        return np.minimum(np.minimum(position, position[::-1]), step - 1)

    def within(side: int, far: int) -> NDArray[np.float64]:
        position = np.arange(side)
        return np.minimum(position + far, side - 1) - np.maximum(position - far, 0) + 1.0

    places = (edge(height)[:, None] * step + edge(width)).astype(np.uint8)
    sizes = np.zeros((step * step, len(distances)))
    for column, far in enumerate(distances):
        square = np.outer(within(height, far), within(width, far))
        sizes[places, column] = square - np.outer(within(height, far - 1), within(width, far - 1))
    return places, sizes


@cache
def _half_ring(distance: int) -> tuple[tuple[int, int], ...]:
    """One of each two opposite steps to the pixels at a distance: a pair is met once and holds both directions."""
    ring = range(-distance, distance + 1)
    steps = [(down, right) for down in ring for right in ring if max(abs(down), abs(right)) == distance]
    return tuple(step for step in steps if step > (0, 0))


def color_layout(image: Image | Prepared) -> Vector:
    """The first 21 luma and 10 + 10 chroma coefficients (zigzag order) of the cosine transform of 8 x 8 mean colours.

    The mean brightness is counted from mid-grey and by half, or it would drown what lies where.

    References
    ----------
    Kasutani & Yamada, The MPEG-7 color layout descriptor, ICIP 2001; ISO/IEC 15938-3, section 6.6. Not quantised.

    Examples
    --------
    >>> color_layout(np.full((8, 8, 3), 255, np.uint8))[:2].round(3).tolist()
    [2.0, 0.0]
    """
    small = cv2.resize(prepare(image).square, (8, 8), interpolation=cv2.INTER_AREA)
    planes = cv2.cvtColor(small, cv2.COLOR_RGB2YCrCb).astype(np.float32) / np.float32(255)
    planes[..., 1:] -= np.float32(128 / 255)
    order = _zigzag(8)
    waves = [cv2.dct(planes[..., i].copy()).ravel()[order[:n]] for i, n in ((0, 21), (2, 10), (1, 10))]
    waves[0][0] = (waves[0][0] - 4) / 2
    return np.concatenate(waves)


@cache
def _zigzag(n: int) -> NDArray[np.intp]:
    """The numbers of the entries of an n x n matrix along its anti-diagonals, as JPEG orders coefficients.

    >>> _zigzag(3).tolist()
    [0, 1, 3, 6, 4, 2, 5, 7, 8]
    """
    entries = [(row, column) for row in range(n) for column in range(n)]
    entries.sort(key=lambda e: (sum(e), e[0] if sum(e) % 2 else e[1]))
    return np.array([row * n + column for row, column in entries], np.intp)


def quantized(picture: Prepared, hues: int, saturations: int, values: int, grays: int) -> Image:
    """The number of the HSV colour of each pixel of the square; the greys have the last numbers."""
    hue, saturation, value = cv2.split(picture.hsv)
    by_hue, by_saturation, by_value, by_gray = _tables(hues, saturations, values, grays)
    color = cv2.add(cv2.add(cv2.LUT(hue, by_hue), cv2.LUT(saturation, by_saturation)), cv2.LUT(value, by_value))
    is_gray = cv2.compare(saturation, GRAY, cv2.CMP_LT)
    return np.asarray(cv2.copyTo(cv2.LUT(value, by_gray), is_gray, color), np.uint8)


@cache
def _tables(hues: int, saturations: int, values: int, grays: int) -> tuple[Image, ...]:
    level = np.arange(256)
    # Hue bins are centred on their colour: pure red, hue 0, must not fall apart into the first and the last one.
    hue = ((level * hues + 90) // 180) % hues * (saturations * values)
    saturation = np.clip((level - GRAY) * saturations // (256 - GRAY), 0, None) * values
    tables = (hue, saturation, level * values // 256, hues * saturations * values + level * grays // 256)
    return tuple(table.astype(np.uint8) for table in tables)

"""Descriptors against independent implementations, and the checks that every one has to pass."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import pywt
import scipy.fft
import scipy.ndimage
import skimage.color
import skimage.data
import skimage.feature
import skimage.filters

from rankloom.checks import DESCRIPTOR_CHECKS, check_descriptor
from rankloom.checks.descriptor import odd_images, sample_images
from rankloom.descriptors import (
    CLASSICAL,
    DESCRIPTORS,
    PRESETS,
    Descriptor,
    Prepared,
    Vocabulary,
    color,
    dense,
    describe,
    edge,
    faces,
    get_descriptor,
    hamming,
    hash_number,
    hashes,
    texture,
    train_vocabulary,
    words,
    words_descriptor,
)
from rankloom.descriptors._prepared import SIDE
from rankloom.media import find_files, read_image
from tests.data import SHARED, needs_shared

PICTURES = sample_images(3, random_state=5)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    yield
    cv2.setNumThreads(before)


@pytest.fixture(params=range(3))
def picture(request) -> Prepared:
    return Prepared(PICTURES[request.param])


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabulary(PICTURES, n_words=32)


class TestChecks:
    @pytest.mark.parametrize("name", DESCRIPTORS)
    @pytest.mark.parametrize("check", DESCRIPTOR_CHECKS)
    def test_all(self, name: str, check, vocabulary: Vocabulary) -> None:
        check(words_descriptor(vocabulary) if name == "sift_words" else DESCRIPTORS[name])

    @pytest.mark.parametrize("name", DESCRIPTORS)
    def test_docstrings_name_their_paper(self, name: str) -> None:
        text = DESCRIPTORS[name].function.__doc__ or ""
        assert "References\n" in text
        assert ">>>" in text

    @pytest.mark.parametrize(
        ("function", "dimension", "kind", "message"),
        [
            (lambda image: np.zeros(3), 3, "vector", "float64"),
            (lambda image: np.zeros(2, np.float32), 3, "vector", "shape"),
            (lambda image: np.full(3, np.nan, np.float32), 3, "vector", "not finite"),
            (lambda image: np.full(3, -1, np.float32), 3, "histogram", "negative"),
            (lambda image: np.full(3, 1, np.float32), 3, "histogram", "sum"),
            (lambda image: np.full(3, 1, np.float32), 3, "embedding", "length"),
            (lambda image: np.full(3, 2, np.float32), 3, "hash", "0 and 1"),
            (lambda image: np.ones(3, np.float32), 3, "vector", "same vector"),
            (lambda image: np.random.default_rng().random(3).astype(np.float32), 3, "vector", "Arrays are not equal"),
        ],
    )
    def test_bad_descriptors_are_found(self, function, dimension: int, kind, message: str) -> None:
        with pytest.raises(AssertionError, match=message):
            check_descriptor(Descriptor("mine", function, dimension, "1", kind))


class TestRegistry:
    def test_presets(self) -> None:
        assert len(CLASSICAL) >= 12
        assert {name for preset in PRESETS.values() for name in preset} <= set(DESCRIPTORS)
        assert [len(PRESETS[name]) for name in ("fast", "paper36")] == [8, 9]
        assert set(PRESETS["full"]) == {*CLASSICAL, "semantic"}
        assert all(name == one.name for name, one in DESCRIPTORS.items())

    def test_unknown_name_lists_the_known(self) -> None:
        with pytest.raises(ValueError, match="unknown descriptor 'x'; known are hsv_histogram"):
            describe(PICTURES[0], ["x"])

    def test_describe_takes_descriptors_of_your_own(self) -> None:
        mine = Descriptor("mean", lambda image: np.float32([np.mean(image.rgb)]), 1, "1", "vector")
        found = describe(PICTURES[0], ["hog", mine])
        assert found["mean"] == pytest.approx(PICTURES[0].mean(), rel=1e-6)
        np.testing.assert_array_equal(found["hog"], get_descriptor("hog").function(PICTURES[0]))

    def test_threads_agree(self, vocabulary: Vocabulary) -> None:
        names = [*(name for name in CLASSICAL if name != "sift_words"), words_descriptor(vocabulary), "faces"]
        expected = [describe(image, names) for image in PICTURES]
        found: dict[int, dict] = {}

        def work(number: int) -> None:
            found[number] = describe(PICTURES[number % 3], names)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number, vectors in found.items():
            for name, vector in vectors.items():
                np.testing.assert_array_equal(vector, expected[number % 3][name])


def hsv_color(h: int, s: int, v: int, hues: int, saturations: int, values: int, greys: int) -> int:
    """The number of a colour, literally."""
    if s < color.GRAY:
        return hues * saturations * values + v * greys // 256
    hue = int(h * hues / 180 + 0.5) % hues
    saturation = (s - color.GRAY) * saturations // (256 - color.GRAY)
    return (hue * saturations + saturation) * values + v * values // 256


def roots(counts: np.ndarray) -> np.ndarray:
    """The square roots of counts, scaled to the sum 1."""
    return np.sqrt(counts) / np.sqrt(counts).sum()


class TestColor:
    def test_hsv_histogram(self, picture: Prepared) -> None:
        counts = np.zeros(166)
        for h, s, v in picture.hsv.reshape(-1, 3).tolist():
            counts[hsv_color(h, s, v, 18, 3, 3, 4)] += 1
        np.testing.assert_allclose(color.hsv_histogram(picture), roots(counts), atol=1e-7)

    def test_hsv_histogram_against_calc_hist(self, picture: Prepared) -> None:
        """Summed over hues and saturations, the coloured pixels by value are what OpenCV counts."""
        mask = (picture.hsv[..., 1] >= color.GRAY).astype(np.uint8)
        # Values 0..85, 86..170 and 171..255 share a bin.
        fine = cv2.calcHist([picture.hsv], [2], mask, [256], [0, 256]).ravel() / SIDE**2
        shares = color.hsv_histogram(picture).astype(float) ** 2
        by_value = (shares / shares.sum())[:162].reshape(18, 3, 3).sum((0, 1))
        np.testing.assert_allclose(by_value, [fine[:86].sum(), fine[86:171].sum(), fine[171:].sum()], atol=1e-6)

    def test_spatial_color_histogram(self, picture: Prepared) -> None:
        found = color.spatial_color_histogram(picture).reshape(4, 4, 31)
        counts = np.zeros((4, 4, 31))
        for row, column in np.ndindex(4, 4):
            block = picture.hsv[32 * row : 32 * row + 32, 32 * column : 32 * column + 32]
            for h, s, v in block.reshape(-1, 3).tolist():
                counts[row, column, hsv_color(h, s, v, 7, 2, 2, 3)] += 1
        np.testing.assert_allclose(found, roots(counts), atol=1e-7)

    def test_color_similarity(self, picture: Prepared) -> None:
        """Against Lab of scikit-image and cells cut by hand, which have no 8-bit rounding."""
        edges = np.linspace(0, SIDE, 6)
        share = np.clip(
            np.minimum(edges[1:, None], np.arange(1, SIDE + 1)) - np.maximum(edges[:-1, None], np.arange(SIDE)), 0, 1
        )
        means = np.einsum("iy,jx,yxc->ijc", share, share, picture.square) / (SIDE / 5) ** 2
        lab = skimage.color.rgb2lab(means / 255).reshape(25, 3) * [1 / 100, 1 / 255, 1 / 255]
        distances = np.array([np.linalg.norm(a - b) for a, b in itertools.combinations(lab, 2)])
        expected = np.exp(-distances / (distances.mean() + 0.02))
        np.testing.assert_allclose(color.color_similarity(picture), expected, atol=0.03)

    def test_color_similarity_does_not_say_which_colours(self) -> None:
        inside = np.zeros((SIDE, SIDE, 1), bool)
        inside[26:77, 52:103] = True  # whole cells of the grid, nearly
        red_on_green = np.where(inside, [220, 20, 20], [20, 200, 20]).astype(np.uint8)
        blue_on_grey = np.where(inside, [20, 20, 220], [90, 90, 90]).astype(np.uint8)
        first, second = color.color_similarity(red_on_green), color.color_similarity(blue_on_grey)
        np.testing.assert_allclose(first, second, atol=0.1)
        elsewhere = color.color_similarity(np.roll(red_on_green, 51, axis=0))
        assert np.abs(first - elsewhere).max() > 0.7

    def test_color_moments(self, picture: Prepared) -> None:
        """Against Lab of scikit-image, which has no 8-bit rounding."""
        lab = skimage.color.rgb2lab(picture.square) * [1 / 100, 1 / 255, 1 / 255]
        found = color.color_moments(picture).reshape(3, 3, 4, 4)
        for row, column in ((0, 0), (2, 1), (3, 3)):
            block = lab[32 * row : 32 * row + 32, 32 * column : 32 * column + 32].reshape(-1, 3)
            mean, deviation = block.mean(0), block.std(0)
            np.testing.assert_allclose(found[0, :, row, column], mean, atol=0.005)
            np.testing.assert_allclose(found[1, :, row, column], deviation, atol=0.005)
            skew = ((block - mean) ** 3).mean(0)
            np.testing.assert_allclose(found[2, :, row, column] ** 3, skew, atol=2e-4)

    @pytest.mark.parametrize("distance", [1, 3])
    def test_correlogram_kernel(self, distance: int) -> None:
        colors = np.random.default_rng(0).integers(0, 4, (9, 13), np.uint8)
        same, all_ = np.zeros(32), np.zeros(32)
        for y, x in np.ndindex(colors.shape):
            for v, u in np.ndindex(colors.shape):
                if max(abs(y - v), abs(x - u)) == distance:
                    all_[colors[y, x]] += 1
                    same[colors[y, x]] += colors[y, x] == colors[v, u]
        shares = color.same_shares(colors, (2, distance))[1]
        np.testing.assert_allclose(shares, same / np.maximum(all_, 1), atol=1e-12)

    def test_color_correlogram(self, picture: Prepared) -> None:
        quantized = color.quantized(picture, 7, 2, 2, 4)
        expected = np.stack([color.same_shares(quantized, (distance,))[0] for distance in (1, 3, 5, 7)])
        np.testing.assert_allclose(color.color_correlogram(picture), (expected / expected.sum()).ravel(), atol=1e-6)

    def test_color_layout(self, picture: Prepared) -> None:
        means = picture.square.reshape(8, 16, 8, 16, 3).mean((1, 3)).round()
        y = means @ [0.299, 0.587, 0.114]
        cb, cr = (means[..., 2] - y) * 0.564 / 255, (means[..., 0] - y) * 0.713 / 255
        found = color.color_layout(picture)
        zigzag = [0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40]
        for plane, start, n in ((y / 255, 0, 21), (cb, 21, 10), (cr, 31, 10)):
            expected = scipy.fft.dctn(plane, norm="ortho").ravel()[zigzag[:n]]
            if start == 0:
                expected[0] = (expected[0] - 4) / 2
            np.testing.assert_allclose(found[start : start + n], expected, atol=0.02)


class TestEdge:
    def test_edge_histogram(self, picture: Prepared) -> None:
        filters = {
            0: [[1, -1], [1, -1]],
            1: [[1, 1], [-1, -1]],
            2: [[2**0.5, 0], [0, -(2**0.5)]],
            3: [[0, 2**0.5], [-(2**0.5), 0]],
            4: [[2, -2], [-2, 2]],
        }
        grey = picture.gray.astype(float)
        counts = np.zeros((4, 4, 6))
        for row, column in np.ndindex(32, 32):
            block = grey[4 * row : 4 * row + 4, 4 * column : 4 * column + 4].reshape(2, 2, 2, 2).mean((1, 3))
            strength = [abs((block * f).sum()) for f in filters.values()]
            kind = int(np.argmax(strength)) if max(strength) >= edge.EDGE_THRESHOLD else 5
            counts[row // 8, column // 8, kind] += 1
        np.testing.assert_allclose(edge.edge_histogram(picture), counts.ravel() / 1024, atol=1e-7)

    def test_edges_have_their_directions(self) -> None:
        y, x = np.mgrid[:128, :128]
        for kind, field in ((0, x), (1, y), (2, x + y), (3, x - y)):
            stripes = np.where((field // 6) % 2, 220, 30).astype(np.uint8)
            assert edge.edge_histogram(stripes).reshape(16, 6).sum(0)[:4].argmax() == kind

    def test_hog(self, picture: Prepared) -> None:
        """Votes of every pixel to its two nearest directions and four nearest cells, as in Dalal's thesis."""
        roots = np.sqrt(cv2.resize(picture.square, (80, 80), interpolation=cv2.INTER_AREA).astype(float))
        padded = np.pad(roots, ((1, 1), (1, 1), (0, 0)), mode="reflect")
        dx, dy = padded[1:-1, 2:] - padded[1:-1, :-2], padded[2:, 1:-1] - padded[:-2, 1:-1]
        steepest = np.hypot(dx, dy).argmax(2)[..., None]
        dx, dy = (np.take_along_axis(d, steepest, 2)[..., 0] for d in (dx, dy))
        magnitude, angle = np.hypot(dx, dy), np.arctan2(dy, dx) % np.pi * 12 / np.pi - 0.5
        found = edge.hog(picture).reshape(4, 4, 2, 2, 12)  # OpenCV counts blocks and cells by columns
        for block_x, block_y in ((0, 0), (2, 1), (3, 3)):
            votes = np.zeros((2, 2, 12))
            for y, x in np.ndindex(32, 32):
                at = 16 * block_y + y, 16 * block_x + x
                weight = magnitude[at] * np.exp(-((y - 16) ** 2 + (x - 16) ** 2) / (2 * 8**2))
                direction = int(np.floor(angle[at]))
                for d in (direction, direction + 1):
                    for cy, cx in np.ndindex(2, 2):
                        near = [1 - abs((y + 0.5) / 16 - 0.5 - cy), 1 - abs((x + 0.5) / 16 - 0.5 - cx)]
                        votes[cx, cy, d % 12] += weight * (1 - abs(angle[at] - d)) * max(near[0], 0) * max(near[1], 0)
            votes /= np.linalg.norm(votes) + votes.size * 0.1
            votes = np.minimum(votes, 0.2)
            votes /= np.linalg.norm(votes) + 1e-3
            np.testing.assert_allclose(found[block_x, block_y], votes, atol=5e-4)  # OpenCV's angles are near

    def test_hog_against_scikit_image(self, picture: Prepared) -> None:
        """It votes for one cell and one direction and without the Gaussian, so alike and not equal."""
        small = cv2.resize(picture.square, (80, 80), interpolation=cv2.INTER_AREA)
        expected = skimage.feature.hog(
            np.sqrt(small.astype(float)),
            12,
            (16, 16),
            (2, 2),
            block_norm="L2-Hys",
            feature_vector=False,
            channel_axis=2,
        )
        found = edge.hog(picture).reshape(4, 4, 2, 2, 12).transpose(1, 0, 3, 2, 4)
        assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.7


class TestTexture:
    def test_lbp_against_scikit_image(self) -> None:
        for image in PICTURES:
            grey = Prepared(image).gray
            expected = skimage.feature.local_binary_pattern(grey, 8, 2, "default")[2:-2, 2:-2]
            found = texture.local_patterns(grey.astype(np.float32), 2)
            assert (found == expected).mean() > 0.99  # neighbours that equal the centre but for rounding

    def test_lbp_bins_against_scikit_image(self, picture: Prepared) -> None:
        patterns = skimage.feature.local_binary_pattern(picture.gray, 8, 2, "nri_uniform")[2:-2, 2:-2].astype(int)
        counts = np.stack(
            [
                np.bincount(block.ravel(), minlength=59)
                for half in np.split(patterns, 2)
                for block in np.split(half, 2, 1)
            ]
        )
        shares = texture.lbp(picture).astype(float).reshape(4, 59) ** 2
        shares /= shares.sum()
        # The bins have another order: compare what does not depend on it.
        np.testing.assert_allclose(np.sort(shares, axis=1), np.sort(counts / counts.sum(), axis=1), atol=0.005)

    @pytest.mark.slow
    def test_gabor_against_scikit_image(self) -> None:
        """The filters in the frequency domain are scikit-image's kernels, convolved around the borders."""
        grey = Prepared(PICTURES[0]).gray / 255.0
        grey -= grey.mean()  # ours ignore the constant
        found = texture.gabor(Prepared(PICTURES[0])) ** 2
        a, log2 = 2.0, 2 * np.log(2)
        for scale, orientation in ((0, 0), (0, 4), (1, 2), (2, 1)):
            centre = 0.4 / a**scale
            sigma_u = (a - 1) * centre / ((a + 1) * log2**0.5)
            sigma_v = np.tan(np.pi / 12) * (centre - log2 * sigma_u**2 / centre)
            sigma_v /= (log2 - (log2 * sigma_u / centre) ** 2) ** 0.5
            kernel = skimage.filters.gabor_kernel(
                centre,
                np.pi * orientation / 6,
                sigma_x=1 / (2 * np.pi * sigma_u),
                sigma_y=1 / (2 * np.pi * sigma_v),
                n_stds=6,
            )
            real, imaginary = (scipy.ndimage.convolve(grey, part, mode="wrap") for part in (kernel.real, kernel.imag))
            magnitude = np.hypot(real, imaginary)
            number = 6 * scale + orientation
            # A kernel of scale 0 reaches beyond the highest frequency, and in space that part comes in again.
            near = 0.15 if scale == 0 else 0.01
            assert found[number] == pytest.approx(magnitude.mean(), rel=near)
            assert found[24 + number] == pytest.approx(magnitude.std(), rel=near)

    def test_gabor_knows_directions_and_scales(self) -> None:
        y, x = np.mgrid[:SIDE, :SIDE]
        for number, wave in ((0, 0.4 * x), (3, 0.4 * y), (6, 0.2 * x), (9, 0.2 * y)):
            stripes = (127 + 100 * np.cos(2 * np.pi * wave)).astype(np.uint8)
            assert texture.gabor(stripes)[:24].argmax() == number

    def test_gist_against_the_authors_program(self, picture: Prepared) -> None:
        """A literal transcription of gistGabor.m and createGabor.m, on the picture with its contrast evened out."""
        small = cv2.resize(picture.gray, (48, 48), interpolation=cv2.INTER_AREA)
        padded = np.pad(texture._even_contrast(small).astype(float), 8, mode="symmetric")
        n = 64
        fx, fy = np.meshgrid(np.arange(-n // 2, n // 2), np.arange(-n // 2, n // 2))
        fr, t = np.fft.fftshift(np.hypot(fx, fy)), np.fft.fftshift(np.angle(fx + 1j * fy))
        expected = []
        for i, orientations in enumerate((8, 8, 8)):
            for j in range(orientations):
                tr = t + np.pi / orientations * j
                tr = tr + 2 * np.pi * (tr < -np.pi) - 2 * np.pi * (tr > np.pi)
                radial = -10 * 0.35 * (fr / n / (0.3 / 1.85**i) - 1) ** 2
                g = np.exp(radial - 2 * (16 * orientations**2 / 32**2) * np.pi * tr**2)
                magnitude = np.abs(np.fft.ifft2(np.fft.fft2(padded) * g))[8:-8, 8:-8]
                expected.append(magnitude.reshape(4, 12, 4, 12).mean((1, 3)))
        np.testing.assert_allclose(texture.gist(picture), np.ravel(expected), rtol=1e-3, atol=1e-5)

    @pytest.mark.parametrize("bank", [texture.gabor_bank, texture.gist_bank])
    def test_magnitudes_are_those_of_the_whole_transform(self, bank: Callable[[], np.ndarray]) -> None:
        plane = np.random.default_rng(0).random(bank().shape[1:], np.float32)
        expected = np.abs(scipy.fft.ifft2(scipy.fft.fft2(plane.astype(float)) * bank()))
        np.testing.assert_allclose(texture._magnitudes(plane, bank), expected, atol=1e-6)

    def test_gist_evens_out_the_contrast(self, picture: Prepared) -> None:
        """As with prefilt.m: half the contrast changes far less than another picture does."""
        pale = Prepared((picture.square // 2 + 60).astype(np.uint8))
        other = Prepared(PICTURES[1] if picture.image is not PICTURES[1] else PICTURES[2])
        moved = np.abs(texture.gist(pale) - texture.gist(picture)).sum()
        assert moved < 0.7 * np.abs(texture.gist(other) - texture.gist(picture)).sum()

    def test_wavelet(self, picture: Prepared) -> None:
        luma = picture.square @ [0.299, 0.587, 0.114] / 255
        found = texture.wavelet(picture).reshape(9, 2, 3, 2, 2)[:, :, 0] ** 2
        bands = []
        for _ in range(3):
            a, b, c, d = luma[::2, ::2], luma[::2, 1::2], luma[1::2, ::2], luma[1::2, 1::2]
            bands[:0] = [(a + b - c - d) / 2, (a - b + c - d) / 2, (a - b - c + d) / 2]
            luma = (a + b + c + d) / 2
        blocks = [band.reshape(2, len(band) // 2, 2, len(band) // 2) for band in bands]
        expected = [[np.abs(block).mean((1, 3)), block.std((1, 3))] for block in blocks]
        np.testing.assert_allclose(found, expected, atol=0.005)
        assert pywt.Wavelet("haar").orthogonal


class TestDenseWords:
    def test_a_patch_literally(self, picture: Prepared) -> None:
        """Lowe's 4 x 4 x 8 histogram with linear shares in place and direction, and without the Gaussian."""
        grey = np.pad(picture.gray / 255.0, 1, mode="reflect")
        dx, dy = grey[1:-1, 2:] - grey[1:-1, :-2], grey[2:, 1:-1] - grey[:-2, 1:-1]
        strength, turn = np.hypot(dx, dy), np.arctan2(dy, dx) % (2 * np.pi) * 8 / (2 * np.pi)
        places, points = dense.dense_points(picture)
        for width, centre in ((4, (54, 60)), (8, (52, 76))):
            patch = np.zeros((4, 4, 8))
            for y, x in np.ndindex(SIDE, SIDE):
                for i, j in np.ndindex(4, 4):
                    away = abs(y - centre[0] - (i - 1.5) * width), abs(x - centre[1] - (j - 1.5) * width)
                    if max(away) < width:
                        share = strength[y, x] * (1 - away[0] / width) * (1 - away[1] / width)
                        low = int(turn[y, x])
                        patch[i, j, low % 8] += share * (low + 1 - turn[y, x])
                        patch[i, j, (low + 1) % 8] += share * (turn[y, x] - low)
            expected = np.sqrt(patch.ravel() / patch.sum())
            at = np.flatnonzero(np.abs(places - (np.array(centre) + 0.5) / SIDE).max(1) < 1e-6)
            assert len(at) >= 1
            assert min(np.abs(points[k] - expected).max() for k in at) < 2e-3  # OpenCV's angles are near

    def test_crossings_alone_have_the_votes_of_all_pixels(self, picture: Prepared) -> None:
        votes = dense._direction_votes(picture.gray.astype(np.float32) / 255)
        few, all_pixels = dense._grid(SIDE, 8, 8), dense._grid(SIDE, 8, 1)
        assert few.lines is not None
        assert all_pixels.lines is None
        everywhere = dense._shared(votes, all_pixels).reshape(SIDE, SIDE, 8)
        np.testing.assert_allclose(dense._shared(votes, few), everywhere[::8, ::8].reshape(-1, 8), atol=1e-6)

    def test_nearest_word_in_its_cell(self, picture: Prepared) -> None:
        words = dense._vocabulary()
        assert words.shape == (64, 128)
        np.testing.assert_allclose(np.linalg.norm(words, axis=1), 1, atol=1e-3)
        counts = np.zeros((3, 3, 64))
        for (y, x), point in zip(*dense.dense_points(picture), strict=True):
            counts[int(3 * y), int(3 * x), ((words - point) ** 2).sum(1).argmin()] += 1
        # A point between two words may fall to either.
        assert np.abs(dense.dense_words(picture) - roots(counts).ravel()).sum() < 0.05

    def test_brightness_and_contrast_do_not_matter(self, picture: Prepared) -> None:
        smooth = cv2.GaussianBlur(picture.square, (0, 0), 2)
        pale = (smooth // 2 + 60).astype(np.uint8)
        found = dense.dense_words(smooth)
        others = [cv2.GaussianBlur(other, (0, 0), 2) for other in PICTURES if other is not picture.image]
        nearest = min(np.abs(found - dense.dense_words(other)).sum() for other in others)
        assert np.abs(found - dense.dense_words(pale)).sum() < 0.7 * nearest

    def test_a_mirrored_picture_has_mirrored_cells(self, picture: Prepared) -> None:
        """The patches of a mirrored picture lie in the mirrored cells, as many as before."""
        cells = dense.dense_words(picture).reshape(3, 3, 64)
        mirrored = dense.dense_words(np.ascontiguousarray(picture.square[:, ::-1])).reshape(3, 3, 64)
        np.testing.assert_allclose((mirrored**2).sum(2) / (mirrored**2).sum(),
                                   (cells**2).sum(2)[:, ::-1] / (cells**2).sum(), atol=0.06)  # fmt: skip

    def test_words_are_learned_alike(self) -> None:
        first = dense.learn_dense_words(PICTURES, 8)
        np.testing.assert_array_equal(dense.learn_dense_words(iter(PICTURES), 8), first)
        assert (dense.learn_dense_words(PICTURES, 8, random_state=1) != first).any()
        np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-5)


class TestWords:
    def test_nearest_word(self, vocabulary: Vocabulary) -> None:
        points = words.sift_points(PICTURES[0])
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-5)
        distances = ((points[:, None] - vocabulary.words[None]) ** 2).sum(2)
        expected = np.bincount(distances.argmin(1), minlength=len(vocabulary)) / len(points)
        np.testing.assert_allclose(words.sift_words(PICTURES[0], vocabulary), expected, atol=1e-6)

    def test_same_pictures_same_words(self, vocabulary: Vocabulary) -> None:
        again = train_vocabulary(iter(PICTURES), n_words=32)
        np.testing.assert_array_equal(again.words, vocabulary.words)
        assert again.version == vocabulary.version
        assert train_vocabulary(PICTURES, n_words=32, random_state=1).version != vocabulary.version

    def test_save_and_load(self, vocabulary: Vocabulary, tmp_path: Path) -> None:
        vocabulary.save(tmp_path / "words.npy")
        assert Vocabulary.load(tmp_path / "words.npy").version == vocabulary.version
        np.save(tmp_path / "bad.npy", np.zeros((2, 3)))
        with pytest.raises(ValueError, match="not a vocabulary"):
            Vocabulary.load(tmp_path / "bad.npy")
        np.save(tmp_path / "pickle.npy", np.array([{}], dtype=object), allow_pickle=True)
        with pytest.raises(ValueError, match="pickle"):
            Vocabulary.load(tmp_path / "pickle.npy")

    def test_few_points_few_words(self) -> None:
        with pytest.raises(ValueError, match="no SIFT points"):
            train_vocabulary([np.zeros((50, 50, 3), np.uint8)])
        with pytest.raises(ValueError, match="needs a vocabulary"):
            describe(PICTURES[0], ["sift_words"])
        points = len(words.sift_points(PICTURES[0]))
        assert len(train_vocabulary(PICTURES[:1], n_words=10**6)) <= points

    def test_the_sample_of_points_is_bounded(self) -> None:
        assert len(train_vocabulary(PICTURES, n_words=10**6, max_points=20)) <= 20


class TestHash:
    def test_against_scipy(self, picture: Prepared) -> None:
        small = cv2.resize(picture.gray, (32, 32), interpolation=cv2.INTER_AREA).astype(float)
        low = scipy.fft.dctn(small, norm="ortho")[1:9, 1:9].round(2).ravel()
        found = hashes.perceptual_hash(picture)
        assert (found == (low > np.median(low))).sum() >= 63  # one may lie at the median but for rounding
        assert 24 <= found.sum() <= 32

    def test_copies_are_near_and_others_far(self) -> None:
        def number(image: np.ndarray) -> int:
            return hash_number(hashes.perceptual_hash(image))

        images = sample_images(8, random_state=3)
        for image in images:
            smaller = cv2.resize(image, (190, 140), interpolation=cv2.INTER_AREA)
            jpeg = cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 40])[1], cv2.IMREAD_COLOR)
            brighter = cv2.convertScaleAbs(image, alpha=0.8, beta=25)
            assert max(hamming(number(image), number(copy)) for copy in (smaller, jpeg, brighter)) <= 10
        pairs = [hamming(number(a), number(b)) for i, a in enumerate(images) for b in images[:i]]
        assert np.median(pairs) > 20

    def test_constant_pictures_are_one(self) -> None:
        assert {hash_number(hashes.perceptual_hash(np.full((9, 7, 3), v, np.uint8))) for v in (0, 99, 255)} == {0}


class TestFaces:
    def test_astronaut_and_cat(self) -> None:
        astronaut = skimage.data.astronaut()
        assert faces.faces(astronaut).tolist() == [1.0]
        two = np.hstack([astronaut, astronaut[:, ::-1]])
        assert faces.faces(two).tolist() == [2.0]
        assert faces.faces(skimage.data.coffee()).tolist() == [0.0]

    def test_boxes_are_shares_of_the_picture_whatever_its_size(self) -> None:
        astronaut = skimage.data.astronaut()
        wide = np.pad(astronaut, ((0, 0), (0, 512), (0, 0)))
        for picture, width in ((astronaut, 1), (cv2.resize(astronaut, (200, 300)), 1), (wide, 2)):
            (face,) = faces.detect_faces(picture)
            assert face.left * width == pytest.approx(0.35, abs=0.05)
            assert face.width * width == pytest.approx(0.16, abs=0.06)
            assert face.top == pytest.approx(0.12, abs=0.06)
            assert face.height == pytest.approx(0.2, abs=0.06)
            assert faces.LEAST_SCORE <= face.score <= 1

    def test_a_face_at_the_border_ends_there(self) -> None:
        left_half = skimage.data.astronaut()[60:, 190:]
        for face in faces.detect_faces(left_half):
            assert min(face) >= 0
            assert max(face.left + face.width, face.top + face.height) <= 1 + 1e-9

    @pytest.mark.parametrize("size", [(320, 320), (300, 200), (290, 130)])
    def test_rows_are_those_of_opencv_with_the_packaged_file(self, size: tuple[int, int]) -> None:
        astronaut = skimage.data.astronaut()
        picture = cv2.resize(np.hstack([astronaut, astronaut[:, ::-1]]), size, interpolation=cv2.INTER_AREA)
        detector = cv2.FaceDetectorYN.create(str(faces.YUNET.checked()), "", size, faces.LEAST_SCORE, faces.OVERLAP)
        expected = detector.detect(cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))[1]
        rows = np.array([row for _, row in faces.detect_with_landmarks(picture)])
        assert len(rows) == 2
        np.testing.assert_allclose(rows[rows[:, 0].argsort()], expected[expected[:, 0].argsort()], atol=1e-3)

    @pytest.mark.parametrize("shape", [(1, 1, 3), (4000, 3, 3), (15, 15, 3), (17, 4000, 3), (16, 16)])
    def test_odd_shapes_have_no_face(self, shape: tuple[int, ...]) -> None:
        assert faces.detect_faces(np.full(shape, 90, np.uint8)) == []


class TestPrepared:
    def test_odd_images_have_all_parts(self) -> None:
        for image in odd_images().values():
            prepared = Prepared(image)
            assert prepared.square.shape == (SIDE, SIDE, 3)
            assert prepared.hsv.shape == (SIDE, SIDE, 3)
            assert 1 <= min(prepared.detail.shape) <= max(prepared.detail.shape) <= 224

    def test_errors_say_what_was_got(self) -> None:
        with pytest.raises(
            TypeError, match=r"uint8 array of RGB values, got float64 array; read files with rankloom\.media"
        ):
            describe(np.zeros((4, 4, 3)), ["hog"])
        with pytest.raises(ValueError, match=r"got \(4, 4, 4\)"):
            describe(np.zeros((4, 4, 4), np.uint8), ["hog"])


@pytest.mark.slow
@needs_shared
@pytest.mark.shared
def test_pictures_of_a_class_are_nearer() -> None:
    """On photographs every classical descriptor finds pictures of the same class nearer more often than chance."""
    folder = SHARED / "images-caltech101" / "images"
    classes = ["Leopards", "airplanes", "car_side", "grand_piano", "sunflower", "Motorbikes"]
    images, labels = [], []
    for name in classes:
        for file in list(find_files(folder / name))[:8]:
            images.append(read_image(file.path))
            labels.append(name)
    same = np.equal.outer(labels, labels)
    names = [name for name in CLASSICAL if name != "sift_words"]
    vocabulary = words_descriptor(train_vocabulary(images[::4], 64))
    described = [describe(image, [*names, vocabulary]) for image in images]
    off = ~np.eye(len(images), dtype=bool)
    for name in CLASSICAL:
        vectors = np.stack([vector[name] for vector in described])
        distances = np.abs(vectors[:, None] - vectors[None]).sum(2)
        inside, outside = distances[same & off], distances[~same]
        auc = (inside[:, None] < outside[None, :]).mean()
        assert auc > 0.58, f"{name}: {auc:.3f}"

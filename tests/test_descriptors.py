"""Descriptors against independent implementations, and the checks that every one has to pass."""

from __future__ import annotations

import threading
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

from rankloom.descriptor_checks import DESCRIPTOR_CHECKS, check_descriptor, odd_images, sample_images
from rankloom.descriptors import (
    CLASSICAL,
    DESCRIPTORS,
    PRESETS,
    Descriptor,
    Prepared,
    Vocabulary,
    color,
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
        assert [len(PRESETS[name]) for name in ("fast", "paper36")] == [7, 9]
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
    if s < color.GREY:
        return hues * saturations * values + v * greys // 256
    hue = int(h * hues / 180 + 0.5) % hues
    saturation = (s - color.GREY) * saturations // (256 - color.GREY)
    return (hue * saturations + saturation) * values + v * values // 256


class TestColor:
    def test_hsv_histogram(self, picture: Prepared) -> None:
        counts = np.zeros(166)
        for h, s, v in picture.hsv.reshape(-1, 3).tolist():
            counts[hsv_color(h, s, v, 18, 3, 3, 4)] += 1
        np.testing.assert_allclose(color.hsv_histogram(picture), counts / counts.sum(), atol=1e-7)

    def test_hsv_histogram_against_calc_hist(self, picture: Prepared) -> None:
        """Summed over hues and saturations, the coloured pixels by value are what OpenCV counts."""
        mask = (picture.hsv[..., 1] >= color.GREY).astype(np.uint8)
        # Values 0..85, 86..170 and 171..255 share a bin.
        fine = cv2.calcHist([picture.hsv], [2], mask, [256], [0, 256]).ravel() / SIDE**2
        by_value = color.hsv_histogram(picture)[:162].reshape(18, 3, 3).sum((0, 1))
        np.testing.assert_allclose(by_value, [fine[:86].sum(), fine[86:171].sum(), fine[171:].sum()], atol=1e-6)

    def test_spatial_color_histogram(self, picture: Prepared) -> None:
        found = color.spatial_color_histogram(picture).reshape(4, 4, 31)
        for row, column in ((0, 0), (1, 3), (3, 2)):
            counts = np.zeros(31)
            block = picture.hsv[32 * row : 32 * row + 32, 32 * column : 32 * column + 32]
            for h, s, v in block.reshape(-1, 3).tolist():
                counts[hsv_color(h, s, v, 7, 2, 2, 3)] += 1
            np.testing.assert_allclose(found[row, column], counts / 1024 / 16, atol=1e-7)

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
        np.testing.assert_allclose(color.same_at(colors, distance), same / np.maximum(all_, 1), atol=1e-12)

    def test_color_correlogram(self, picture: Prepared) -> None:
        quantized = color.quantized(picture, 7, 2, 2, 4)
        expected = np.stack([color.same_at(quantized, distance) for distance in (1, 3, 5, 7)])
        np.testing.assert_allclose(color.color_correlogram(picture), (expected / expected.sum()).ravel(), atol=1e-6)

    def test_color_layout(self, picture: Prepared) -> None:
        means = picture.square.reshape(8, 16, 8, 16, 3).mean((1, 3)).round()
        y = means @ [0.299, 0.587, 0.114]
        cb, cr = (means[..., 2] - y) * 0.564 / 255, (means[..., 0] - y) * 0.713 / 255
        found = color.color_layout(picture)
        zigzag = [0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40]
        for plane, start, n in ((y / 255, 0, 21), (cb, 21, 10), (cr, 31, 10)):
            expected = scipy.fft.dctn(plane, norm="ortho").ravel()[zigzag[:n]]
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
        grey = picture.grey.astype(float)
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
        grey = cv2.resize(picture.grey, (64, 64), interpolation=cv2.INTER_AREA).astype(float)
        padded = np.pad(grey, 1, mode="reflect")
        dx, dy = padded[1:-1, 2:] - padded[1:-1, :-2], padded[2:, 1:-1] - padded[:-2, 1:-1]
        magnitude, angle = np.hypot(dx, dy), np.arctan2(dy, dx) % np.pi * 9 / np.pi - 0.5
        found = edge.hog(picture).reshape(3, 3, 2, 2, 9)  # OpenCV counts blocks and cells by columns
        for block_x, block_y in ((0, 0), (2, 1)):
            votes = np.zeros((2, 2, 9))
            for y, x in np.ndindex(32, 32):
                at = 16 * block_y + y, 16 * block_x + x
                weight = magnitude[at] * np.exp(-((y - 16) ** 2 + (x - 16) ** 2) / (2 * 8**2))
                direction = int(np.floor(angle[at]))
                for d in (direction, direction + 1):
                    for cy, cx in np.ndindex(2, 2):
                        near = [1 - abs((y + 0.5) / 16 - 0.5 - cy), 1 - abs((x + 0.5) / 16 - 0.5 - cx)]
                        votes[cx, cy, d % 9] += weight * (1 - abs(angle[at] - d)) * max(near[0], 0) * max(near[1], 0)
            votes /= np.linalg.norm(votes) + votes.size * 0.1
            votes = np.minimum(votes, 0.2)
            votes /= np.linalg.norm(votes) + 1e-3
            np.testing.assert_allclose(found[block_x, block_y], votes, atol=5e-4)  # OpenCV's angles are near

    def test_hog_against_scikit_image(self, picture: Prepared) -> None:
        """It votes for one cell and one direction and without the Gaussian, so alike and not equal."""
        small = cv2.resize(picture.grey, (64, 64), interpolation=cv2.INTER_AREA)
        expected = skimage.feature.hog(small, 9, (16, 16), (2, 2), block_norm="L2-Hys", feature_vector=False)
        found = edge.hog(picture).reshape(3, 3, 2, 2, 9).transpose(1, 0, 3, 2, 4)
        assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.7


class TestTexture:
    def test_lbp_against_scikit_image(self) -> None:
        for image in PICTURES:
            grey = Prepared(image).grey
            expected = skimage.feature.local_binary_pattern(grey, 8, 2, "default")[2:-2, 2:-2]
            found = texture.local_patterns(grey.astype(np.float32), 2)
            assert (found == expected).mean() > 0.99  # neighbours that equal the centre but for rounding

    def test_lbp_bins_against_scikit_image(self, picture: Prepared) -> None:
        patterns = skimage.feature.local_binary_pattern(picture.grey, 8, 2, "nri_uniform")[2:-2, 2:-2].astype(int)
        counts = np.stack(
            [
                np.bincount(block.ravel(), minlength=59)
                for half in np.split(patterns, 2)
                for block in np.split(half, 2, 1)
            ]
        )
        found = texture.lbp(picture).reshape(4, 59)
        # The bins have another order: compare what does not depend on it.
        np.testing.assert_allclose(np.sort(found, axis=1), np.sort(counts / counts.sum(), axis=1), atol=0.005)

    def test_gabor_against_scikit_image(self) -> None:
        """The filters in the frequency domain are scikit-image's kernels, convolved around the borders."""
        grey = Prepared(PICTURES[0]).grey / 255.0
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
        small = cv2.resize(picture.grey, (96, 96), interpolation=cv2.INTER_AREA)
        padded = np.pad(texture._even_contrast(small).astype(float), 16, mode="symmetric")
        n = 128
        fx, fy = np.meshgrid(np.arange(-n // 2, n // 2), np.arange(-n // 2, n // 2))
        fr, t = np.fft.fftshift(np.hypot(fx, fy)), np.fft.fftshift(np.angle(fx + 1j * fy))
        expected = []
        for i, orientations in enumerate((8, 8, 4)):
            for j in range(orientations):
                tr = t + np.pi / orientations * j
                tr = tr + 2 * np.pi * (tr < -np.pi) - 2 * np.pi * (tr > np.pi)
                radial = -10 * 0.35 * (fr / n / (0.3 / 1.85**i) - 1) ** 2
                g = np.exp(radial - 2 * (16 * orientations**2 / 32**2) * np.pi * tr**2)
                magnitude = np.abs(np.fft.ifft2(np.fft.fft2(padded) * g))[16:-16, 16:-16]
                expected.append(magnitude.reshape(4, 24, 4, 24).mean((1, 3)))
        np.testing.assert_allclose(texture.gist(picture), np.ravel(expected), rtol=1e-3, atol=1e-5)

    def test_gist_evens_out_the_contrast(self, picture: Prepared) -> None:
        """As with prefilt.m: half the contrast changes far less than another picture does."""
        pale = Prepared((picture.square // 2 + 60).astype(np.uint8))
        other = Prepared(PICTURES[1] if picture.image is not PICTURES[1] else PICTURES[2])
        moved = np.abs(texture.gist(pale) - texture.gist(picture)).sum()
        assert moved < 0.7 * np.abs(texture.gist(other) - texture.gist(picture)).sum()

    def test_wavelet(self, picture: Prepared) -> None:
        luma = picture.square @ [0.299, 0.587, 0.114] / 255
        found = texture.wavelet(picture).reshape(10, 2, 3)[:, :, 0] ** 2
        bands = []
        for _ in range(3):
            a, b, c, d = luma[::2, ::2], luma[::2, 1::2], luma[1::2, ::2], luma[1::2, 1::2]
            bands[:0] = [(a + b - c - d) / 2, (a - b + c - d) / 2, (a - b - c + d) / 2]
            luma = (a + b + c + d) / 2
        bands.insert(0, luma)
        expected = [[np.abs(band).mean(), band.std()] for band in bands]
        np.testing.assert_allclose(found, expected, atol=0.005)
        assert pywt.Wavelet("haar").orthogonal


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
        small = cv2.resize(picture.grey, (32, 32), interpolation=cv2.INTER_AREA).astype(float)
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

"""What every descriptor must do. `check_descriptor(my_descriptor)` runs all checks, for ours and for yours.

    import pytest
    from rankloom.checks import DESCRIPTOR_CHECKS

    @pytest.mark.parametrize("check", DESCRIPTOR_CHECKS)
    def test_my_descriptor(check):
        check(my_descriptor)

A check raises an AssertionError that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import cv2
import numpy as np

from rankloom.descriptors import Descriptor, Image, Prepared, get_descriptor, train_vocabulary, words_descriptor


def odd_images() -> dict[str, Image]:
    """Pictures that break careless code: tiny, thin, constant, black, grey, of two dimensions, not contiguous."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (61, 83, 3), np.uint8)
    return {
        "one pixel": np.full((1, 1, 3), 200, np.uint8),
        "one row": rng.integers(0, 256, (1, 300, 3), np.uint8),
        "one column": rng.integers(0, 256, (700, 1, 3), np.uint8),
        "two pixels": np.array([[[0, 0, 0], [255, 255, 255]]], np.uint8),
        "black": np.zeros((40, 50, 3), np.uint8),
        "white": np.full((50, 40, 3), 255, np.uint8),
        "one colour": np.tile(np.array([200, 30, 90], np.uint8), (33, 65, 1)),
        "grey": np.repeat(noise[..., :1], 3, axis=2),
        "two dimensions": noise[..., 0],
        "noise": noise,
        "not contiguous": noise[::-1, ::-2],
        "very thin": rng.integers(0, 256, (3, 4000, 3), np.uint8),
    }


def sample_images(n: int = 6, random_state: int = 0) -> list[Image]:
    """Pictures made of soft colours, shapes and grain, no two alike."""
    rng = np.random.default_rng(random_state)
    images = []
    for _ in range(n):
        soft = cv2.resize(rng.integers(0, 256, (4, 5, 3), np.uint8), (300, 220), interpolation=cv2.INTER_CUBIC)
        for _ in range(int(rng.integers(3, 9))):
            center = int(rng.integers(20, 280)), int(rng.integers(20, 200))
            color = [int(c) for c in rng.integers(0, 256, 3)]
            size = int(rng.integers(8, 60))
            if rng.random() < 0.5:
                cv2.circle(soft, center, size, color, -1)
            else:
                cv2.rectangle(soft, center, (center[0] + size, center[1] + size // 2), color, -1)
        grain = rng.normal(0, rng.uniform(0, 12), soft.shape)
        images.append(np.clip(soft + grain, 0, 255).astype(np.uint8))
    return images


def _vector(descriptor: Descriptor, image: Image) -> np.ndarray:
    return np.asarray(descriptor.function(image))


def check_vector(descriptor: Descriptor) -> None:
    """It gives a float32 vector of its declared length with finite numbers, on good pictures and on odd ones."""
    assert descriptor.dimension > 0, "the dimension is not known yet; check the descriptor after training"
    for what, image in {**odd_images(), "sample": sample_images(1)[0]}.items():
        vector = _vector(descriptor, image)
        assert vector.shape == (descriptor.dimension,), f"{what}: shape {vector.shape}, declared {descriptor.dimension}"
        assert vector.dtype == np.float32, f"{what}: {vector.dtype} instead of float32"
        assert np.isfinite(vector).all(), f"{what}: numbers that are not finite"


def check_kind(descriptor: Descriptor) -> None:
    """The numbers are what its kind says."""
    for what, image in {**odd_images(), "sample": sample_images(1)[0]}.items():
        vector = _vector(descriptor, image).astype(np.float64)
        if descriptor.kind == "histogram":
            assert vector.min() >= 0, f"{what}: a histogram with a negative component"
            total = vector.sum()
            assert abs(total - 1) < 1e-4 or total == 0, f"{what}: a histogram with the sum {total:.6g}"
        elif descriptor.kind == "embedding":
            length = float(np.linalg.norm(vector))
            assert abs(length - 1) < 1e-3 or length == 0, f"{what}: an embedding of the length {length:.6g}"
        elif descriptor.kind == "hash":
            assert set(np.unique(vector)) <= {0.0, 1.0}, f"{what}: a hash has the components 0 and 1"
        elif descriptor.kind == "count":
            assert (vector >= 0).all(), f"{what}: a negative count"


def check_reproducible(descriptor: Descriptor) -> None:
    """The same picture gives the same numbers, bit for bit, also prepared; and it is left unchanged."""
    image = sample_images(1)[0]
    before = image.copy()
    first = _vector(descriptor, image)
    _vector(descriptor, sample_images(1, random_state=9)[0])
    np.testing.assert_array_equal(_vector(descriptor, image), first)
    np.testing.assert_array_equal(np.asarray(descriptor.function(Prepared(image))), first)
    np.testing.assert_array_equal(image, before, "the picture was changed")


def check_reencoding(descriptor: Descriptor) -> None:
    """Saving a picture as JPEG moves it little against its distance to other pictures; a count does not change."""
    images = sample_images()
    vectors = np.stack([_vector(descriptor, image) for image in images])
    again = np.stack([_vector(descriptor, _saved(image)) for image in images])
    if descriptor.kind == "count":
        np.testing.assert_array_equal(again, vectors)
        return
    moved = float(np.median(np.abs(again - vectors).sum(1)))
    pairs = np.triu_indices(len(images), 1)
    apart = float(np.median(np.abs(vectors[pairs[0]] - vectors[pairs[1]]).sum(1)))
    assert apart > 0, "different pictures have the same vector"
    assert moved < 0.5 * apart, f"JPEG moves a picture by {moved / apart:.0%} of the distance between pictures"


def _saved(image: Image) -> Image:
    data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 90])[1]
    return np.asarray(cv2.cvtColor(cv2.imdecode(data, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB), np.uint8)


def check_bad_input(descriptor: Descriptor) -> None:
    """What is not an image is refused with a TypeError or a ValueError."""
    for bad in (np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8), np.zeros((4, 4, 4), np.uint8), "a.jpg"):
        refused = False
        try:
            descriptor.function(bad)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            refused = True
        assert refused, f"{getattr(bad, 'shape', bad)} was accepted as an image"


def check_docstring(descriptor: Descriptor) -> None:
    """The function says what it does."""
    function = descriptor.function.func if isinstance(descriptor.function, partial) else descriptor.function
    assert (function.__doc__ or "").strip(), f"the function of {descriptor.name} has no docstring"


DESCRIPTOR_CHECKS: tuple[Callable[[Descriptor], None], ...] = (
    check_vector,
    check_kind,
    check_reproducible,
    check_reencoding,
    check_bad_input,
    check_docstring,
)


def check_descriptor(descriptor: str | Descriptor) -> None:
    """Run all checks on a descriptor; the first that fails raises an AssertionError.

    "sift_words" is checked with a small vocabulary.

    >>> check_descriptor("hog")
    """
    checked = get_descriptor(descriptor)
    if checked.name == "sift_words" and checked.dimension == 0:
        checked = words_descriptor(train_vocabulary(sample_images(4), n_words=16))
    for check in DESCRIPTOR_CHECKS:
        check(checked)

"""All classical descriptors of a picture together, against OpenCV's SIFT alone on the same picture."""

from __future__ import annotations

import cv2
import numpy as np

from benchmarks.harness import SHARED, Bar, at_most, seconds
from rankloom.descriptors import (
    CLASSICAL,
    DESCRIPTORS,
    PRESETS,
    Prepared,
    describe,
    semantic_network,
    train_vocabulary,
    words_descriptor,
)
from rankloom.media import find_files, read_image

TITLE = "Descriptors"
N_PICTURES = 48  # spread evenly over the classes


def run() -> list[Bar]:
    folder = SHARED / "images-caltech101" / "images"
    if not folder.is_dir():
        return [Bar("5a", "classical descriptors against SIFT", "-", "no ../shared/data", None)]
    cv2.setNumThreads(1)
    files = [file.path for file in find_files(folder)]
    images = [read_image(path) for path in files[:: len(files) // N_PICTURES]]
    vocabulary = train_vocabulary(images)
    known = {**DESCRIPTORS, "sift_words": words_descriptor(vocabulary)}
    return [*together(images, known), *one_by_one(images, known)]


def together(images: list[np.ndarray], known: dict) -> list[Bar]:
    sift = cv2.SIFT_create()
    greys = [cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in images]
    classical = [known[name] for name in CLASSICAL]
    hashed = [*classical, known["perceptual_hash"]]
    faces = [*hashed, known["faces"]]
    fast = [known[name] for name in PRESETS["fast"] if name != "semantic"]
    alone, ours, with_faces, quick = seconds(
        lambda: [sift.detectAndCompute(grey, None) for grey in greys],
        lambda: [describe(image, hashed) for image in images],
        lambda: [describe(image, faces) for image in images],
        lambda: [describe(image, fast) for image in images],
    )
    each = 1e3 / len(images)
    return [
        at_most("5a", f"{len(classical)} classical descriptors and the hash / OpenCV's SIFT alone", ours / alone, 2.5),
        Bar("5a", "the same with faces counted / OpenCV's SIFT alone", "-", f"{with_faces / alone:.3g}x", None),
        Bar("5a", "OpenCV's SIFT alone", "-", f"{alone * each:.1f} ms", None),
        Bar("5a", "classical descriptors and the hash", "-", f"{ours * each:.1f} ms", None),
        Bar("5a", f"the {len(fast)} classical descriptors of the preset fast", "-", f"{quick * each:.1f} ms", None),
    ]


def one_by_one(images: list[np.ndarray], known: dict) -> list[Bar]:
    """What each descriptor adds when the picture is already prepared."""
    prepared = [Prepared(image) for image in images]
    for picture in prepared:
        describe(picture, ["hsv_histogram", "hog", "perceptual_hash"])
    network = semantic_network()
    names = [name for name in known if name != "semantic"]
    calls = [lambda one=known[name]: [one.function(picture) for picture in prepared] for name in names]
    *times, single, batch = seconds(
        *calls,
        lambda: [network.describe([image]) for image in images],
        lambda: network.describe(images),
        repeats=3,
    )
    rows = [*zip(names, times, strict=True), ("semantic", single), ("semantic, 16 at a time", batch)]
    return [Bar("each", name, "-", f"{1e3 * taken / len(images):.2f} ms", None) for name, taken in rows]

"""The map from words to looks, learned from captioned photos: canonical correlation, then contrast."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.collection import Collection
from rankloom.collection.record_kinds import SOURCE
from rankloom.collection.refined_map import caption_pairs
from rankloom.core import FloatArray, IntArray
from rankloom.descriptors.tags import class_words
from rankloom.experts.contrast import Adam, Batches, contrast
from rankloom.experts.looks import DIMENSION, WordMap, rooted
from rankloom.text import SentenceEncoder, parse_query
from rankloom.text.tokens import fold, place_terms

PICTURE_RIDGE, SENTENCE_RIDGE = 2.0, 0.3  # times the mean eigenvalue
POWER = 0.75  # of the correlations, which scale the dimensions
WORD_WEIGHT = 0.2  # of a picture with a single word of its captions, against one with a whole caption
LEAST_CAPTIONS = 1000
LEAST_COUNT = 10  # captions that have a word, for it to be learned
RATE, STEPS, BATCH = 0.03, 200, 1000
_ENCODED_AT_ONCE = 256


class CaptionedPhotos(NamedTuple):
    """Semantic vectors, the captions, and the row of the vector that each caption belongs to."""

    vectors: NDArray[Any]
    captions: Sequence[str]
    rows: IntArray


def captioned_photos(folders: Iterable[str | os.PathLike[str]]) -> CaptionedPhotos:
    """The photos of some collections that have captions, in the order of the collections."""
    vectors: list[NDArray[Any]] = []
    captions: list[str] = []
    rows: list[int] = []
    for folder in folders:
        with Collection(folder) as collection:
            pairs = caption_pairs(collection)
            items = sorted({pair.item for pair in pairs})
            row = {item: sum(map(len, vectors)) + at for at, item in enumerate(items)}
            captions += [pair.text for pair in pairs]
            rows += [row[pair.item] for pair in pairs]
            vectors.append(np.asarray(collection.vectors(SOURCE)[np.array(items, np.int64) - 1]))
    if len(rows) < LEAST_CAPTIONS:
        raise ValueError(f"{len(rows):,} captions are too few to learn from: give {LEAST_CAPTIONS:,} or more")
    return CaptionedPhotos(np.concatenate(vectors), captions, np.array(rows, np.int64))


def train_words(
    photos: CaptionedPhotos,
    *,
    random_state: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> WordMap:
    r"""Learn where words and pictures meet.

    Regularised canonical correlation analysis of semantic vectors \(x\) (roots of them) and sentence vectors \(v\)
    gives the start: the singular vectors of \(L_x^{-1} C_{xv} L_v^{-\top}\), with \(L L^\top\) the covariances and a
    ridge on each. Single words of the captions count as captions of little weight. Then both maps are moved to make
    each caption of a batch nearer to its own photo than to those of the others, and each photo to its caption
    (`rankloom.experts.contrast`), with a part of the components set to 0 at random.

    Parameters
    ----------
    photos : the data; some thousand are needed.
    random_state : which captions come together in a batch.
    progress : called with a text before each step of the work.

    References
    ----------
    Hardoon, Szedmak & Shawe-Taylor 2004. Y. Gong, Q. Ke, M. Isard, S. Lazebnik. A multi-view embedding space for
    modeling internet images, tags, and their semantics. IJCV 106(2), 2014.
    """
    encoder = SentenceEncoder()
    progress("encoding captions")
    sentences = encoded(encoder, photos.captions)
    words, of_caption, of_word = single_words(photos.captions)
    word_vectors = encoded(encoder, words)
    names = encoded(encoder, [", ".join(entry.names) for entry in class_words()])
    x = rooted(photos.vectors).astype(np.float64)
    progress("correlating")
    start = correlated(
        [(x[photos.rows], sentences, 1.0), (x[photos.rows[of_caption]], word_vectors[of_word], WORD_WEIGHT)]
    )
    progress("contrasting")
    pictures, texts = contrasted(x, sentences, photos.rows, start, random_state)
    maps = (np.asarray(array, np.float32) for array in (start.picture_mean, pictures, start.sentence_mean, texts))
    learned = WordMap("", *maps, class_names=names)  # type: ignore[misc]
    version = hashlib.sha256(learned.to_bytes()).hexdigest()[:12]
    # What is stored is what is used: a map that was just learned scores as one that was read.
    return WordMap.from_bytes(replace(learned, version=version).to_bytes())


def encoded(encoder: SentenceEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The sentence vectors of many texts."""
    parts = [encoder.encode(texts[at : at + _ENCODED_AT_ONCE]) for at in range(0, len(texts), _ENCODED_AT_ONCE)]
    return np.concatenate([np.zeros((0, 512), np.float32), *parts])


def single_words(captions: Sequence[str]) -> tuple[list[str], IntArray, IntArray]:
    """Words that some captions have, stop words left out; and pairs of a caption and a word."""
    split = [_content_words(text) for text in captions]
    counts = Counter(word for words in split for word in words)
    kept = sorted(word for word, count in counts.items() if count >= LEAST_COUNT)
    number = {word: at for at, word in enumerate(kept)}
    pairs = [(at, number[word]) for at, words in enumerate(split) for word in sorted(words) if word in number]
    of_caption, of_word = np.array(pairs, np.int64).reshape(-1, 2).T
    return kept, of_caption, of_word


def _content_words(caption: str) -> set[str]:
    terms = {word: place_terms(word).terms for word in fold(caption).split() if word.isalpha()}
    kept = {*parse_query(caption).words}
    return {word for word, of_word in terms.items() if kept.intersection(of_word)}


class Correlated(NamedTuple):
    """The means and the two matrices of a canonical correlation analysis."""

    picture_mean: FloatArray
    pictures: FloatArray
    sentence_mean: FloatArray
    sentences: FloatArray


def correlated(parts: Sequence[tuple[FloatArray, NDArray[Any], float]], dimension: int = DIMENSION) -> Correlated:
    """Regularised canonical correlation analysis of weighted parts of pairs."""
    total = sum(weight * len(x) for x, _, weight in parts)
    x_mean = sum(weight * x.sum(axis=0) for x, _, weight in parts) / total
    v_mean = sum(weight * v.sum(axis=0, dtype=np.float64) for _, v, weight in parts) / total
    xx, vv, xv = (np.zeros((a, b)) for a, b in ((len(x_mean),) * 2, (len(v_mean),) * 2, (len(x_mean), len(v_mean))))
    for x, v, weight in parts:
        centered, words = x - x_mean, v - v_mean
        xx += weight / total * centered.T @ centered
        vv += weight / total * words.T @ words
        xv += weight / total * centered.T @ words
    xx += PICTURE_RIDGE * np.trace(xx) / len(xx) * np.eye(len(xx))
    vv += SENTENCE_RIDGE * np.trace(vv) / len(vv) * np.eye(len(vv))
    x_factor, v_factor = np.linalg.cholesky(xx), np.linalg.cholesky(vv)
    whitened = np.linalg.solve(v_factor, np.linalg.solve(x_factor, xv).T).T
    left, correlations, right = np.linalg.svd(whitened, full_matrices=False)
    scale = correlations[:dimension] ** POWER
    pictures = np.linalg.solve(x_factor.T, left[:, :dimension]) * scale
    sentences = np.linalg.solve(v_factor.T, right[:dimension].T) * scale
    return Correlated(np.asarray(x_mean), pictures, np.asarray(v_mean), sentences)


def contrasted(
    x: FloatArray, sentences: NDArray[np.float32], rows: IntArray, start: Correlated, random_state: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Both maps after contrastive steps from the start, as the average of the last ones."""
    photo_vectors = (x - start.picture_mean).astype(np.float32)
    caption_vectors = (sentences - start.sentence_mean).astype(np.float32)
    pictures = Adam(_of_unit_size(start.pictures, photo_vectors), RATE)
    words = Adam(_of_unit_size(start.sentences, caption_vectors), RATE)
    averages = pictures.matrix.copy(), words.matrix.copy()
    batches = Batches(rows, BATCH, random_state)
    for step in range(1, STEPS + 1):
        photos, captions = batches.next()
        batch = batches.dropped(photo_vectors[photos]), batches.dropped(caption_vectors[captions])
        gradients = contrast(batch[0] @ pictures.matrix, batch[1] @ words.matrix)
        share = 1 - 0.9 * step / STEPS
        for learner, average, part, gradient in zip((pictures, words), averages, batch, gradients, strict=True):
            learner.step(part.T @ gradient, share)
            average += (learner.matrix - average) * max(0.02, 1 / step)
    return averages


def _of_unit_size(matrix: FloatArray, data: NDArray[np.float32]) -> NDArray[np.float32]:
    """The matrix, scaled so that what it maps has unit length on average."""
    small = matrix.astype(np.float32)
    return np.asarray(small / np.linalg.norm(data @ small, axis=1).mean(), np.float32)

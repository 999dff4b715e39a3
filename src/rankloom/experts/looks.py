r"""How words reach what pictures show: both become vectors that can be compared.

There are two ways, each an expert. *Class names* (ConSE): a picture is the sum of the sentence vectors of the names of
its ten likeliest ImageNet classes, weighted by the square root of their probability, and words are compared with that
sum. *The learned map*: a linear map of the semantic descriptor and another of sentence vectors into one space of 256
dimensions, learned from captioned photos (`rankloom train-words`); words and pictures are compared there. Both scores
are cosines: they depend on the words and on the picture alone.

References
----------
M. Norouzi et al. Zero-shot learning by convex combination of semantic embeddings. ICLR 2014, eq. 2-4.
D. R. Hardoon, S. Szedmak, J. Shawe-Taylor. Canonical correlation analysis: an overview with application to learning
methods. Neural Computation 16(12), 2004.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray, IntArray
from rankloom.experts.threads import in_threads

DIMENSION = 256
N_CLASSES = 10
# What is kept of each picture: a component of the map is a multiple of 1 / STEPS, cut at 127 / STEPS.
RECORD = np.dtype([("map", "i1", (DIMENSION,)), ("classes", "<u2", (N_CLASSES,)), ("weights", "<f4", (N_CLASSES,))])
STEPS = 360.0
_QUERY_STEPS = 32767.0
_WEIGHT_STEPS = 8192.0
# The classifier takes embeddings as long as the network makes them; stored ones have unit length, and this is usual.
_LENGTH = 16.7
_FEW = 5000  # pictures, up to which NumPy compares them with words
_BLOCK = 512  # rows at a time: names of ten classes each take 20 KB a row


class WordVector(NamedTuple):
    """Words as pictures are compared with them: whole numbers in the space of the map, and a score per class."""

    map: NDArray[np.int32]
    scale: float
    classes: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class WordMap:
    """The learned map and the vectors of class names.

    Parameters
    ----------
    version : changes with the numbers.
    picture_mean, pictures : of roots of semantic vectors, and what these are multiplied with.
    sentence_mean, sentences : the same for sentence vectors.
    class_names : the sentence vectors of the names of the classes of ImageNet.
    """

    version: str
    picture_mean: NDArray[np.float32]
    pictures: NDArray[np.float32]
    sentence_mean: NDArray[np.float32]
    sentences: NDArray[np.float32]
    class_names: NDArray[np.float32]

    @classmethod
    def from_bytes(cls, data: bytes) -> WordMap:
        """Read what `to_bytes` wrote."""
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        names = arrays["class_names"].astype(np.float32) / 127.0 * arrays["class_sizes"][:, None]
        maps = ("picture_mean", "pictures", "sentence_mean", "sentences")
        return cls(
            str(arrays["version"]), **{name: arrays[name].astype(np.float32) for name in maps}, class_names=names
        )

    def to_bytes(self) -> bytes:
        """The map as a file of NumPy: half precision, and a byte per component of class names."""
        sizes = np.abs(self.class_names).max(axis=1)
        file = io.BytesIO()
        np.savez_compressed(
            file,
            version=np.array(self.version),
            picture_mean=self.picture_mean.astype(np.float16),
            pictures=self.pictures.astype(np.float16),
            sentence_mean=self.sentence_mean.astype(np.float16),
            sentences=self.sentences.astype(np.float16),
            class_names=np.rint(self.class_names / sizes[:, None] * 127.0).astype(np.int8),
            class_sizes=sizes.astype(np.float32),
        )
        return file.getvalue()

    @cached_property
    def _class_mean(self) -> NDArray[np.float32]:
        """What all class names share, and which tells nothing apart."""
        return np.asarray(self.class_names.mean(axis=0), np.float32)

    @cached_property
    def _classes(self) -> NDArray[np.float32]:
        """Class names around their mean, of unit length."""
        return unit(self.class_names - self._class_mean)

    def refined(self, correction: NDArray[np.float32] | None) -> WordMap:
        """The map with what a collection adds to its sentences."""
        return self if correction is None else replace(self, sentences=self.sentences + correction)

    def pictured(self, vectors: NDArray[Any]) -> NDArray[np.float32]:
        """Semantic vectors in the space of the map, of unit length."""
        return unit((rooted(vectors) - self.picture_mean) @ self.pictures)

    def looks(self, vectors: NDArray[Any]) -> NDArray[np.void]:
        """What is kept of pictures, given their semantic vectors; of a vector of zeros, zeros."""
        records = np.zeros(len(vectors), RECORD)
        for start in range(0, len(vectors), _BLOCK):
            block = np.asarray(vectors[start : start + _BLOCK], np.float32)
            part = records[start : start + _BLOCK]
            known = np.flatnonzero(block.any(axis=1))
            if len(known):
                part["map"][known] = np.clip(np.rint(STEPS * self.pictured(block[known])), -127, 127)
                part["classes"][known], part["weights"][known] = self._likeliest(block[known])
        return records

    def _likeliest(self, vectors: NDArray[np.float32]) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
        """The likeliest classes, and weights that give the sum of their names unit length."""
        weight, bias = classifier()
        logits = _LENGTH * (vectors @ weight.T) + bias
        top = np.argsort(-logits, axis=1, kind="stable")[:, :N_CLASSES]
        best = np.take_along_axis(logits, top, axis=1)
        # The root of the probability; its denominator is the same for all classes of a picture.
        roots = np.exp((best - best[:, :1]) / 2)
        sums = np.einsum("nk,nkd->nd", roots, self._classes[top])
        length = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
        # Rounded, so that the last bit of a product, which depends on the rows beside, does not show.
        return top.astype(np.uint16), (np.rint(roots / length * _WEIGHT_STEPS) / _WEIGHT_STEPS).astype(np.float32)

    def words(self, sentence: NDArray[Any]) -> WordVector:
        """Words, given their sentence vector (zeros where there are no words), as pictures are compared with them."""
        sentence = np.asarray(sentence, np.float32)
        if not sentence.any():
            return WordVector(np.zeros(DIMENSION, np.int32), 0.0, np.zeros(len(self._classes), np.float32))
        # Sums without BLAS, whose threads take longer to meet than this takes.
        place = unit(np.einsum("i,ij->j", sentence - self.sentence_mean, self.sentences))
        names = np.einsum("ij,j->i", self._classes, unit(sentence - self._class_mean))
        largest = float(np.abs(place).max()) or 1.0
        whole = np.rint(place / largest * _QUERY_STEPS).astype(np.int32)
        return WordVector(whole, largest / _QUERY_STEPS / STEPS, names)


def look_scores(
    words: WordVector, looks: NDArray[np.void], rows: IntArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """The cosines of words and pictures: in the space of the map, and with the names of their likeliest classes.

    Whole numbers are summed, and names in the order of the classes, so that a picture has the same scores whatever else
    is asked for.

    Parameters
    ----------
    words : to compare with.
    looks : what is kept of all pictures.
    rows : the pictures, unless all.
    """
    n_wanted = len(looks) if rows is None else len(rows)
    if n_wanted <= _FEW:  # to load the compiled code takes longer, which a search in the shell would wait for
        chosen = looks if rows is None else looks[rows]
        cosines = (chosen["map"].astype(np.int32) @ words.map) * words.scale
        sums = np.zeros(n_wanted, np.float32)
        for classes, weights in zip(chosen["classes"].T, chosen["weights"].T, strict=True):
            sums += words.classes[classes] * weights
        return np.asarray(cosines, np.float64), sums.astype(np.float64)
    from rankloom.experts._look_kernels import compared

    cosines, by_names = np.empty(n_wanted), np.empty(n_wanted)
    numbers = np.empty(0, np.int64) if rows is None else np.ascontiguousarray(rows, np.int64)
    flat = looks.view(np.int8).reshape(len(looks), RECORD.itemsize)
    asked = (numbers, words.map.astype(np.int16), words.scale, words.classes)
    kernel = partial(compared, flat, looks["classes"], looks["weights"], *asked, cosines, by_names)
    in_threads([kernel], n_wanted, RECORD.itemsize)
    return cosines, by_names


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Vectors of unit length, in single precision; zeros stay."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-12), np.float32)


def rooted(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Square roots of the components, none of which is negative, of unit length: few large ones no longer rule."""
    return unit(np.sqrt(np.maximum(np.asarray(vectors, np.float32), 0.0)))


@cache
def classifier() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The last layer of the semantic network: a row of weights for each class, and the biases."""
    from rankloom.descriptors._lite0 import read_weights, weights_file

    weights = read_weights(weights_file())
    return np.asarray(weights["_fc.weight"], np.float32), np.asarray(weights["_fc.bias"], np.float32)


@cache
def word_map() -> WordMap:
    """The map that comes with the package."""
    return WordMap.from_bytes(files("rankloom.experts").joinpath("word_map.npz").read_bytes())

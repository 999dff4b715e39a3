"""Automatic tags: words for what the network sees, and their broader kinds, so that "dog" finds a beagle."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ClassWords(NamedTuple):
    """The words of a class: its WordNet 3.0 synset, its names (the usual one first), broader kinds (nearest first)."""

    synset: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]


@cache
def class_words() -> tuple[ClassWords, ...]:
    """The 1,000 classes of ImageNet in the order of the network.

    >>> class_words()[162]
    ClassWords(synset='n02088364', names=('beagle',), kinds=('hound', 'hunting dog', 'dog', 'animal', 'mammal'))
    """
    text = files("rankloom.descriptors").joinpath("data", "imagenet.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return tuple(ClassWords(synset, _split(names), _split(kinds)) for synset, names, kinds in rows)


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split("|")) if text else ()


@cache
def _kinds() -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """All broader kinds, and which classes belong to each: a 0-1 matrix (1000, kinds)."""
    words = class_words()
    kinds = sorted({kind for word in words for kind in word.kinds})
    column = {kind: number for number, kind in enumerate(kinds)}
    member = np.zeros((len(words), len(kinds)), np.float32)
    for row, word in enumerate(words):
        # A class whose own name is a kind (the cup among the cups) belongs to it too.
        for kind in {*word.kinds, *(name for name in word.names if name in column)}:
            member[row, column[kind]] = 1
    return tuple(kinds), member


def tags(
    probabilities: NDArray[np.float32],
    *,
    least: float = 0.15,
    least_kind: float = 0.3,
    most: int = 12,
    synonyms: bool = False,
) -> list[tuple[str, float]]:
    """Words for a picture with their probabilities, the surest first; of words equally sure, the most specific.

    A kind has the sum of the probabilities of its classes: one may waver between breeds and yet be sure of a dog.

    Parameters
    ----------
    probabilities : array of shape (1000,), of `SemanticNetwork.describe`
    least, least_kind : classes and kinds less probable than this are left out
    most : so many words at most
    synonyms : give the other names of a class too, such as "orca" for a killer whale

    Examples
    --------
    >>> probabilities = np.zeros(1000, np.float32)
    >>> probabilities[[162, 163]] = 0.5, 0.25  # beagle, bloodhound
    >>> tags(probabilities, most=4)
    [('hound', 0.75), ('hunting dog', 0.75), ('dog', 0.75), ('animal', 0.75)]
    >>> dict(tags(probabilities))["beagle"]
    0.5
    """
    probabilities = np.asarray(probabilities, np.float32)
    words = class_words()
    if probabilities.shape != (len(words),):
        raise ValueError(
            f"expected {len(words)} class probabilities of one picture, got the shape {probabilities.shape}"
        )
    scores: dict[str, float] = {}
    for row in np.flatnonzero(probabilities >= least):
        for name in words[row].names if synonyms else words[row].names[:1]:
            scores[name] = max(scores.get(name, 0.0), float(probabilities[row]))
    kinds, member = _kinds()
    for kind, sure in zip(kinds, probabilities @ member, strict=True):
        if sure >= least_kind:
            scores[kind] = max(scores.get(kind, 0.0), min(float(sure), 1.0))
    nearest = words[int(probabilities.argmax())].kinds

    def breadth(tag: str) -> int:
        """0 for the name of a class, then the steps above the likeliest one."""
        return nearest.index(tag) + 1 if tag in nearest else len(nearest) + 1 if tag in kinds else 0

    return sorted(scores.items(), key=lambda tag: (-round(tag[1], 2), breadth(tag[0]), tag[0]))[:most]

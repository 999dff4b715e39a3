"""Automatic tags: words for what the network sees, and their broader kinds, so that "dog" finds a beagle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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


class _Kinds(NamedTuple):
    """All broader kinds, and who belongs to which: pairs of a class and a kind, by their numbers."""

    names: tuple[str, ...]
    classes: NDArray[np.intp]
    kinds: NDArray[np.intp]


@cache
def _kinds() -> _Kinds:
    words = class_words()
    names = sorted({kind for word in words for kind in word.kinds})
    number = {kind: place for place, kind in enumerate(names)}
    # A class whose own name is a kind (the cup among the cups) belongs to it too.
    pairs = [
        (row, number[kind])
        for row, word in enumerate(words)
        for kind in sorted({*word.kinds, *(name for name in word.names if name in number)})
    ]
    classes, kinds = np.array(pairs, np.intp).T
    return _Kinds(tuple(names), classes, kinds)


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
    kinds, members, kind_of_member = _kinds()
    sums = np.bincount(kind_of_member, weights=probabilities[members], minlength=len(kinds))
    for number in np.flatnonzero(sums >= least_kind):
        scores[kinds[number]] = max(scores.get(kinds[number], 0.0), min(float(sums[number]), 1.0))
    nearest = words[int(probabilities.argmax())].kinds

    def breadth(tag: str) -> int:
        """0 for the name of a class, then the steps above the likeliest one."""
        return nearest.index(tag) + 1 if tag in nearest else len(nearest) + 1 if tag in kinds else 0

    return sorted(scores.items(), key=lambda tag: (-round(tag[1], 2), breadth(tag[0]), tag[0]))[:most]


def specific_first(words: Sequence[str]) -> list[str]:
    """Tags of a picture as people read them: the likeliest class, its kinds from the narrowest on, then the next class.

    Other names of a class, which are there to be found by, are left out.

    Parameters
    ----------
    words : as `tags` orders them.

    Examples
    --------
    >>> specific_first(["dog", "animal", "hound", "hunting dog", "beagle", "bloodhound", "sleuthhound", "my own"])
    ['beagle', 'hound', 'hunting dog', 'dog', 'animal', 'bloodhound', 'my own']
    >>> specific_first(["animal", "mammal", "dog", "hunting dog"])  # no class of them is likely enough
    ['hunting dog', 'dog', 'mammal', 'animal']
    """
    usual = _by_usual_name()
    classes = [usual[word] for word in words if word in usual]
    ordered = [tag for found in classes for tag in (found.names[0], *found.kinds) if tag in words]
    synonyms = {name for found in classes for name in found.names[1:]}
    kinds = _classes_of_kinds()
    others = sorted((word for word in words if word not in synonyms), key=lambda word: kinds.get(word, len(usual)))
    return [*dict.fromkeys([*ordered, *others])]


@cache
def _classes_of_kinds() -> Counter[str]:
    """How many classes each kind has: the fewer, the narrower it is."""
    return Counter(kind for word in class_words() for kind in word.kinds)


@cache
def _by_usual_name() -> dict[str, ClassWords]:
    return {word.names[0]: word for word in class_words()}

"""Words for people, asked of the number of faces in a picture."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from rankloom.core import FloatArray
from rankloom.text.tokens import place_terms

# In the languages of our captions: any number of people, one of them, and many.
_PEOPLE = """
face faces person people man men woman women boy boys girl girls child children
gesicht leute mensch menschen mann frau kind kinder
visage personne personnes gens homme hommes femme femmes enfant enfants
cara persona personas gente hombre hombres mujer mujeres niño niña niños niñas
人 脸 人物 男人 女人 孩子
"""
_ALONE = "portrait selfie porträt retrato ritratto 肖像 自拍"
_MANY = (
    "crowd group team family audience menge gruppe familie foule groupe famille multitud grupo familia 人群 家庭 合影"
)
_NUMBERS = (
    (2, "two couple pair zwei paar deux dos pareja 二 两 两个"),
    (3, "three drei trois tres 三 三个"),
    (4, "four vier quatre cuatro 四 四个"),
    (5, "five fünf cinq cinco 五 五个"),
)
MANY = 5.0  # faces from which on there are many


class PeopleWords(NamedTuple):
    """What a query says of people: how many words do, a number of people, and whether there are many."""

    n_words: int
    number: int | None
    many: bool


@cache
def _terms(words: str) -> frozenset[str]:
    return frozenset(place_terms(words).terms)


def people_words(text: str) -> PeopleWords:
    """What the words of a query say of people.

    >>> people_words("two people on a bench"), people_words("portrait"), people_words("a crowd").many
    (PeopleWords(n_words=2, number=2, many=False), PeopleWords(n_words=1, number=1, many=False), True)
    >>> people_words("two dogs")
    PeopleWords(n_words=0, number=None, many=False)
    """
    terms = {*place_terms(text).terms}
    people, alone, many = (terms & _terms(words) for words in (_PEOPLE, _ALONE, _MANY))
    n_words = len(people | alone | many)
    if not n_words:
        return PeopleWords(0, None, False)
    numbers = [(number, terms & _terms(words)) for number, words in _NUMBERS if terms & _terms(words)]
    if len(numbers) == 1:
        return PeopleWords(n_words + len(numbers[0][1]), numbers[0][0], bool(many))
    return PeopleWords(n_words, 1 if alone else None, bool(many))


def face_scores(counts: FloatArray, people: PeopleWords) -> FloatArray:
    """How well numbers of faces fit words: near a number, many, or any at all."""
    if people.number is not None:
        return np.where(counts > 0, np.exp(-np.abs(counts - people.number)), 0.0)
    return np.asarray(1.0 - np.exp(-counts / (MANY if people.many else 1.0)))

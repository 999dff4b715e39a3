"""Texts of any language as terms: folded words, and pairs of characters where a script has no spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from rankloom.text.stemming import stem

# Raise it with every change of what `place_terms` returns: a saved index then is made anew.
VERSION = 1

MOST_CHARACTERS = 1 << 18  # of a text; what follows is not searched
LONGEST_WORD = 64  # characters; longer ones are cut
_MOST_MARKS = 8  # on one letter; normalising takes quadratic time in their number
_MOST_CACHED = 1 << 16

_ASCII_WORDS = re.compile(f"([a-z0-9]{{1,{LONGEST_WORD}}})[a-z0-9]*")
_MANY_MARKS = re.compile(f"m{{{_MOST_MARKS + 1},}}")
_PIECES = re.compile("(?P<word>w[wm]*)|(?P<hangul>k+)|(?P<run>(?:hm*)+)")
_CLUSTERS = re.compile("hm*")

# Letters of Latin that do not decompose into a letter and a mark.
_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"}

# Marks that people leave out when they search: accents of Latin, Greek and Cyrillic, vowel signs of Hebrew and Arabic.
_OPTIONAL = (
    (0x0300, 0x036F),
    (0x0483, 0x0487),
    (0x0591, 0x05BD),
    (0x05BF, 0x05C7),
    (0x0640, 0x0640),
    (0x064B, 0x0652),
    (0x0670, 0x0670),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
)
_HANGUL = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF))
_WITHOUT_SPACES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3040, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x3FFFF),
)


class PlacedTerms(NamedTuple):
    """The terms of a text, where each stands, and the number of places. Terms may share a place."""

    terms: list[str]
    places: list[int]
    length: int


class Phrase(NamedTuple):
    """Terms at given distances from the first."""

    terms: tuple[str, ...]
    offsets: tuple[int, ...]


def tokenize(text: str) -> list[str]:
    """All terms under which a text is found.

    Compatibility forms, case and accents are folded, words are stemmed, and digits of any script become 0-9. A run of
    Han, Kana, Thai, Lao, Khmer or Myanmar gives its characters, with the marks on them, and their pairs; a word of
    Hangul gives itself, its first syllable and its pairs, so that a particle does not hide a noun.

    Examples
    --------
    >>> tokenize("Two RED Flowers, l'été 2024")
    ['two', 'red', 'flower', 'l', 'ete', '2024']
    >>> tokenize("白孔雀")
    ['白', '白孔', '孔', '孔雀', '雀']
    >>> tokenize("꽃이 고양이가")
    ['꽃이', '꽃', '고양이가', '고', '고양', '양이', '이가']
    """
    return place_terms(text).terms


def place_terms(text: str) -> PlacedTerms:
    """The terms of `tokenize` with their places: a word takes one, a run or a word of Hangul one per character."""
    if text.isascii():
        words = list(map(stem, _ASCII_WORDS.findall(fold(text))))
        return PlacedTerms(words, list(range(len(words))), len(words))
    terms: list[str] = []
    places: list[int] = []
    position = 0
    for kind, parts in _pieces(text):
        if kind == "word":
            terms.append(stem(parts[0]))
            places.append(position)
            position += 1
            continue
        if kind == "hangul":
            placed = _hangul(parts)
        else:
            placed = [(term, i) for i, part in enumerate(parts) for term in (part, "".join(parts[i : i + 2]))]
            placed.pop()  # the last character starts no pair
        terms.extend(term for term, _ in placed)
        places.extend(position + i for _, i in placed)
        position += len(parts)
    return PlacedTerms(terms, places, position)


def query_terms(text: str) -> list[str]:
    """The terms that stand for the words of a query: pairs, and single characters only where they stand alone.

    >>> query_terms("flowers 白孔雀 雀 고양이")
    ['flower', '白孔', '孔雀', '雀', '고양이', '고양', '양이']
    """
    terms = []
    for kind, parts in _pieces(text):
        if kind == "word":
            terms.append(stem(parts[0]))
            continue
        if kind == "hangul" and len(parts) > 2:
            terms.append("".join(parts)[:LONGEST_WORD])
        terms.extend(_pairs(parts))
    return terms


def phrase_terms(text: str) -> Phrase:
    """The terms of a phrase; the pairs of a run stand for it, so that a phrase may start or end inside of one.

    >>> phrase_terms("red 白孔雀")
    Phrase(terms=('red', '白孔', '孔雀'), offsets=(0, 1, 2))
    """
    terms: list[str] = []
    offsets: list[int] = []
    position = 0
    for kind, parts in _pieces(text):
        stems = [stem(parts[0])] if kind == "word" else _pairs(parts)
        terms.extend(stems)
        offsets.extend(range(position, position + len(stems)))
        position += 1 if kind == "word" else len(parts)
    return Phrase(tuple(terms), tuple(offsets))


def last_word(text: str) -> tuple[str, str]:
    """A folded text in two parts: the word at its very end, and what is before it.

    A run of a script without spaces is no word here: it is found inside of others anyway.

    >>> last_word("Red Süd"), last_word("red!"), last_word("白孔")
    (('red ', 'sud'), ('red!', ''), ('白孔', ''))
    """
    folded = fold(text)
    pieces = list(_PIECES.finditer(folded.translate(_CLASSES)))
    if not pieces or pieces[-1].end() < len(folded) or pieces[-1].lastgroup == "run":
        return folded, ""
    last = pieces[-1]
    return folded[: last.start()], folded[last.start() :][:LONGEST_WORD]


def fold(text: str) -> str:
    """Case, accents, digits and compatibility forms folded, invisible characters dropped.

    >>> fold("Élan Ａ３ Straße")
    'elan a3 strasse'
    """
    if text.isascii():
        return text[:MOST_CHARACTERS].lower()
    text = _with_few_marks(text[:MOST_CHARACTERS].translate(_CLEAN))
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", text.translate(_CLEAN))[:MOST_CHARACTERS]


def _pieces(text: str) -> Iterator[tuple[str, list[str]]]:
    """Words, and runs and words of Hangul as their characters."""
    folded = fold(text)
    classes = folded.translate(_CLASSES)
    for piece in _PIECES.finditer(classes):
        start, end = piece.span()
        if piece.lastgroup == "run" and "m" in piece[0]:
            yield (
                "run",
                [folded[start + cluster.start() : start + cluster.end()] for cluster in _CLUSTERS.finditer(piece[0])],
            )
        elif piece.lastgroup == "word":
            yield "word", [folded[start : min(end, start + LONGEST_WORD)]]
        else:
            yield str(piece.lastgroup), list(folded[start:end])


def _pairs(parts: list[str]) -> list[str]:
    return [first + second for first, second in pairwise(parts)] if len(parts) > 1 else parts[:]


def _hangul(parts: list[str]) -> list[tuple[str, int]]:
    """The word, its first syllable and its pairs, each once at a place."""
    joined = ("".join(parts)[:LONGEST_WORD], 0)
    pairs = [(pair, i) for i, pair in enumerate(_pairs(parts))]
    return list(dict.fromkeys([joined, (parts[0], 0), *pairs]))


def _with_few_marks(text: str) -> str:
    classes = text.translate(_CLASSES)
    kept, after = [], 0
    for many in _MANY_MARKS.finditer(classes):
        kept.append(text[after : many.start() + _MOST_MARKS])
        after = many.end()
    return "".join([*kept, text[after:]]) if after else text


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)


class _Table(dict[int, str]):
    """A table for `str.translate` that fills itself; bounded, for a text may hold all of Unicode."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _MOST_CACHED:
            self.clear()
        value = self[code] = self.value(code)
        return value

    def value(self, code: int) -> str:
        raise NotImplementedError


class _Clean(_Table):
    """What a character becomes; nothing for invisible ones."""

    def value(self, code: int) -> str:
        letter = chr(code)
        category = unicodedata.category(letter)
        if category == "Nd":
            return str(unicodedata.decimal(letter))
        if code == 0x200B or category in ("Cc", "Cs"):  # a zero-width space parts words, as in Khmer
            return " "
        if category == "Cf" or _within(code, _OPTIONAL):
            return ""
        return _LETTERS.get(letter, letter)


class _Classes(_Table):
    """w in words, h in scripts without spaces, k Hangul, m mark, and a space for what separates words."""

    def value(self, code: int) -> str:
        letter = chr(code)
        category = unicodedata.category(letter)
        if category.startswith("M"):
            return "m"
        if category == "Nd" or not letter.isalnum():
            return "w" if category == "Nd" else " "
        if _within(code, _HANGUL):
            return "k"
        return "h" if _within(code, _WITHOUT_SPACES) else "w"


_CLEAN = _Clean()
_CLASSES = _Classes()

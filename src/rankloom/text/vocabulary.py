"""The words of texts as people wrote them: which begin so, and which are spelled nearly so."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rankloom.text.stop_words import sure_stop_words
from rankloom.text.tokens import fold

MOST_WORDS = 200_000  # that are kept, the most frequent first
SHORTEST, LONGEST = 2, 40  # characters of a word
SHORTEST_CORRECTED = 4
TWO_WRONG = 8  # from so many letters on, two may be wrong
_LETTER_BITS = 64
TEXTS_AT_ONCE = 1000

_BETWEEN = re.compile(r"[\s/\\_.-]+")
_WORDS = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")


def found_words(text: str, begin: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
    """The words of a part of a text, with their places."""
    return _WORDS.finditer(text, begin, len(text) if end is None else end)


class PrefixIndex:
    """Texts by how they begin, or a later word of them; case and accents do not matter.

    Parameters
    ----------
    weights : of the texts; of many that begin so the heaviest come first.

    Examples
    --------
    >>> index = PrefixIndex({"Summer in Rome": 3, "Röder": 9, "rome": 1})
    >>> index.starting("ro", 2), index.starting("Summer i", 2), index.starting("", 2), index.starting("x", 2)
    (['Röder', 'Summer in Rome'], ['Summer in Rome'], [], [])
    """

    def __init__(self, weights: Mapping[str, float]):
        self.texts = [*weights]
        places = sorted((key, place) for place, text in enumerate(self.texts) for key in _beginnings(text))
        self._keys = [key for key, _ in places]
        self._places = np.array([place for _, place in places], np.int64)
        self._weights = np.fromiter(weights.values(), np.float64, len(weights))[self._places]

    def starting(self, prefix: str, most: int) -> list[str]:
        """The heaviest texts that begin so, at most so many."""
        wanted = _parted(prefix)
        if not wanted:
            return []
        first = bisect_left(self._keys, wanted)
        end = bisect_left(self._keys, wanted + chr(0x10FFFF), lo=first)
        weights = self._weights[first:end]
        spare = 4 * most  # a text may begin so at several of its words
        heaviest = np.argpartition(-weights, spare)[:spare] if len(weights) > spare else np.arange(len(weights))
        order = heaviest[np.lexsort((heaviest, -weights[heaviest]))]
        places = dict.fromkeys(self._places[first + order].tolist())
        return [self.texts[place] for place in [*places][:most]]


class Vocabulary(PrefixIndex):
    """Words with how often each occurs.

    Parameters
    ----------
    counts : of the words in small letters; of those that differ in accents alone the most frequent stands for all.

    Examples
    --------
    >>> words = Vocabulary({"lighthouse": 7, "light": 9, "ligne": 1, "été": 2, "ete": 1})
    >>> words.starting("lig", 5), words.near("lihgthouse"), words.near("lighthouses"), words.near("zebra")
    (['light', 'lighthouse', 'ligne'], ['lighthouse'], ['lighthouse'], [])
    >>> words.count("ETE")
    3
    """

    def __init__(self, counts: Mapping[str, int]):
        frequent = Counter(counts).most_common(MOST_WORDS)
        totals: Counter[str] = Counter()
        spelled: dict[str, str] = {}
        for word, count in frequent:
            key = fold(word)
            totals[key] += count
            spelled.setdefault(key, word)
        self._totals = totals
        self._spelled = spelled
        super().__init__({spelled[key]: float(total) for key, total in totals.items()})

    @classmethod
    def of(cls, texts: Iterable[str]) -> Vocabulary:
        """The words of texts that say something.

        >>> Vocabulary.of(["L'été à Saint-Malo, 2024", "IMG_1234: a café"]).texts
        ["l'été", 'saint-malo', 'img', 'café']
        """
        counts: Counter[str] = Counter()
        rest = iter(texts)
        while several := [*islice(rest, TEXTS_AT_ONCE)]:
            counts.update(_WORDS.findall("\n".join(several).lower()))
        nothing = sure_stop_words()
        return cls({word: n for word, n in counts.items() if _is_word(word) and fold(word) not in nothing})

    def __len__(self) -> int:
        """How many words there are."""
        return len(self._totals)

    def count(self, word: str) -> int:
        """How often a word occurs."""
        return self._totals[fold(word)]

    def near(self, word: str, most: int = 3) -> list[str]:
        """Words that are spelled nearly so: one letter wrong, missing, too much or swapped, in long words two.

        The nearest come first; of those as near, such as begin with the same letter, then the more frequent.
        """
        wanted = fold(word)
        if not SHORTEST_CORRECTED <= len(wanted) <= LONGEST:
            return []
        wrong = 2 if len(wanted) >= TWO_WRONG else 1
        found: list[tuple[int, bool, int, str]] = []
        for length in range(len(wanted) - wrong, len(wanted) + wrong + 1):
            if length in self._by_length:
                keys, codes, letters = self._by_length[length]
                # A wrong letter changes at most two of the letters that a word has.
                alike = np.flatnonzero(_bits(letters ^ _letters(wanted)) <= 2 * wrong)
                steps = _distances(_codes(wanted), codes[alike])
                for place, step in zip(alike.tolist(), steps.tolist(), strict=True):
                    if 0 < step <= wrong:
                        key = keys[place]
                        found.append((step, key[0] != wanted[0], -self._totals[key], key))
        return [self._spelled[key] for *_, key in sorted(found)[:most]]

    @cached_property
    def _by_length(self) -> dict[int, tuple[list[str], NDArray[np.uint32], NDArray[np.uint64]]]:
        """Words by their length: themselves, their characters as numbers, and which letters they have."""
        by_length: dict[int, list[str]] = {}
        for key in self._totals:
            by_length.setdefault(len(key), []).append(key)
        return {
            length: (
                keys,
                np.array([_codes(key) for key in keys]),
                np.array([_letters(key) for key in keys], np.uint64),
            )
            for length, keys in by_length.items()
            if length
        }


def _is_word(text: str) -> bool:
    return SHORTEST <= len(text) <= LONGEST


def _beginnings(text: str) -> list[str]:
    """A folded text from each of its words on."""
    words = _parted(text).split()
    return [" ".join(words[place:]) for place in range(len(words))]


def _parted(text: str) -> str:
    """A folded text with spaces where its words part, also in paths and names of files."""
    return " ".join(_BETWEEN.sub(" ", fold(text)).split())


def _codes(word: str) -> NDArray[np.uint32]:
    return np.frombuffer(word.encode("utf-32-le", "surrogatepass"), np.uint32)


def _letters(word: str) -> np.uint64:
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) % _LETTER_BITS)
    return np.uint64(bits)


def _bits(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """How many bits of each number are set."""
    pairs = numbers - ((numbers >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + ((pairs >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bytes_ = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.asarray((bytes_ * np.uint64(0x0101010101010101)) >> np.uint64(56), np.uint64)


def _distances(word: NDArray[np.uint32], others: NDArray[np.uint32]) -> NDArray[np.int64]:
    """How many letters must be changed, added, left out or swapped with the next (optimal string alignment).

    Parameters
    ----------
    word : its characters.
    others : one word per row, all of the same length.
    """
    n, length = others.shape
    rows: Sequence[NDArray[np.int64]] = [np.tile(np.arange(length + 1, dtype=np.int64)[:, None], n)]
    for i, letter in enumerate(word, 1):
        row = np.empty((length + 1, n), np.int64)
        row[0] = i
        for j in range(1, length + 1):
            same = others[:, j - 1] == letter
            row[j] = np.minimum(np.minimum(rows[-1][j], row[j - 1]) + 1, rows[-1][j - 1] + ~same)
            if i > 1 and j > 1:
                swapped = _swapped(word, others, i, j)
                row[j] = np.where(swapped, np.minimum(row[j], rows[-2][j - 2] + 1), row[j])
        rows = [*rows[-1:], row]
    return rows[-1][length]


def _swapped(word: NDArray[np.uint32], others: NDArray[np.uint32], i: int, j: int) -> NDArray[np.bool_]:
    """Whether the last two letters of each other word up to `j` are those of the word up to `i`, swapped."""
    return np.asarray((others[:, j - 1] == word[i - 2]) & (others[:, j - 2] == word[i - 1]), bool)

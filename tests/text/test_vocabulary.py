"""Words by their beginning and by their spelling, against a literal twin."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.text.query import wanted_spans
from rankloom.text.vocabulary import LONGEST, MOST_WORDS, PrefixIndex, Vocabulary

few = st.text("abcd", min_size=1, max_size=9)


def distance(one, other):
    """Optimal string alignment, by its definition."""

    @cache
    def step(i, j):
        if not i or not j:
            return i + j
        least = min(step(i - 1, j) + 1, step(i, j - 1) + 1, step(i - 1, j - 1) + (one[i - 1] != other[j - 1]))
        if i > 1 and j > 1 and one[i - 2 : i] == other[j - 1] + other[j - 2]:
            least = min(least, step(i - 2, j - 2) + 1)
        return least

    return step(len(one), len(other))


@given(st.dictionaries(few, st.integers(1, 9), max_size=30), few)
def test_words_that_are_spelled_nearly_so(counts, asked):
    wrong = 0 if len(asked) < 4 else 1 if len(asked) < 8 else 2
    near = [word for word in counts if 0 < distance(asked, word) <= wrong]
    expected = sorted(near, key=lambda word: (distance(asked, word), word[0] != asked[0], -counts[word], word))
    assert Vocabulary(counts).near(asked, 30) == expected


@given(st.dictionaries(few, st.integers(1, 9), max_size=30), st.text("abcd", max_size=3), st.integers(1, 4))
def test_words_that_begin_so_the_most_frequent_first(counts, prefix, most):
    found = Vocabulary(counts).starting(prefix, most)
    begin = [word for word in counts if prefix and word.startswith(prefix)]
    assert len(found) == min(most, len(begin))
    assert set(found) <= set(begin)
    assert [counts[word] for word in found] == sorted((counts[word] for word in begin), reverse=True)[:most]


def test_names_are_found_by_each_of_their_words():
    names = PrefixIndex({"pictures/old_town": 1, "Été à Rome": 2, "rome rome rome": 3})
    assert names.starting("Old T", 5) == names.starting("pictures/old", 5) == ["pictures/old_town"]
    assert names.starting("ete a r", 5) == ["Été à Rome"]
    assert names.starting("ro", 5) == ["rome rome rome", "Été à Rome"]
    assert names.starting("ro", 1) == ["rome rome rome"]
    assert names.starting(" /-", 5) == []


def test_words_that_differ_in_accents_are_one():
    words = Vocabulary.of(["Café café", "cafe Ångström", "x" * (LONGEST + 1)])
    assert len(words) == 2
    assert (words.starting("CAF", 3), words.count("café"), words.near("angstrm")) == (["café"], 3, ["ångström"])


@pytest.mark.slow
def test_a_vocabulary_is_bounded():
    many = {f"w{'abcdefghij'[i % 10]}{i}": 1 for i in range(MOST_WORDS + 10)}
    words = Vocabulary({**many, "often": 9})
    assert len(words) == MOST_WORDS
    assert words.count("often") == 9


def test_odd_texts():
    assert len(Vocabulary.of(["", "1234 __ -- \x00 x"])) == 0
    assert Vocabulary({}).near("lighthouse") == Vocabulary({}).starting("l", 3) == []
    assert Vocabulary({"lighthouse": 1}).near("x" * 500) == []
    assert wanted_spans('-"a b" c* 5" "d') == [(10, 11), (14, 15)]

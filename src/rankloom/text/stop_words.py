"""Words that say nothing of a picture, in the languages of our captions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

from rankloom.text.tokens import fold, place_terms

# Before the bar words that mean nothing in any of these languages; after it words that mean something in another one:
# "die", "hat", "son" and "pour" are dropped only beside a sure word of their language.
_WORDS = {
    "en": "a an the of in on at to and or with by for from is are was were be been it its this that these those some "
    "into onto my your his her our their as | has have there out up",
    "de": "der das des dem ein eine einen einem einer eines und oder mit im am auf von vom zu zum zur bei nach aus für "
    "über unter vor ist sind ich wir ihr sein mein meine | die den hat war an in man um seine",
    "fr": "le la les un une des du de et ou avec dans sur au aux en par est sont qui que ce cette ces mon ma mes sa "
    "ses leur | son pour l d",
    "es": "el la los las un una unos unas del de y o con en al por para es que su sus mi mis este esta | son sin dos",
    "it": "il lo la gli le un uno una del della dei delle di e o con in nel nella al alla da dal per su è sono che | i "
    "come sole",
    "pt": "o a os as um uma do da dos das de e ou com em no na nos nas ao à por para é são que | sem",
    "ru": "и в во на с со по у к о об из за для от до не это как",
}


@cache
def _lists() -> list[tuple[frozenset[str], frozenset[str], frozenset[str]]]:
    """For each language, as terms: the sure words, those of them that no other language has, and the others."""
    parts = [[frozenset(place_terms(part).terms) for part in words.split("|")] for words in _WORDS.values()]
    sure = [part[0] for part in parts]
    return [
        (words, words.difference(*sure[:at], *sure[at + 1 :]), parts[at][1] if len(parts[at]) > 1 else frozenset())
        for at, words in enumerate(sure)
    ]


@cache
def sure_stop_words() -> frozenset[str]:
    """The words that mean nothing in any of these languages, folded."""
    return frozenset().union(*(fold(words.partition("|")[0]).split() for words in _WORDS.values()))


def without_stop_words(words: Sequence[str], meant: Collection[str] = ()) -> list[str]:
    """The terms of a query without those that say nothing and are not meant; all of them, if there are no others.

    >>> without_stop_words(["a", "dog", "on", "the", "beach"]), without_stop_words(["the"])
    (['dog', 'beach'], ['the'])
    >>> without_stop_words(["a", "hat"]), without_stop_words(["der", "hund", "hat", "die", "katze"])
    (['hat'], ['hund', 'katze'])
    """
    dropped: set[str] = set()
    for sure, own, others in _lists():
        dropped |= sure
        if own.intersection(words):
            dropped |= others
    return [word for word in words if word in meant or word not in dropped] or [*words]

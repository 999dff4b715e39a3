"""What somebody may have meant who asks for words that nothing has."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from rankloom.descriptors.tags import class_words
from rankloom.engine.snapshot import Snapshot
from rankloom.text import tokenize
from rankloom.text.query import wanted_spans
from rankloom.text.sentences import sentence_encoder
from rankloom.text.vocabulary import Vocabulary, found_words


def did_you_mean(text: str, snapshot: Snapshot, vocabulary: Callable[[], Vocabulary]) -> str | None:
    """The query with words that the collection has in place of misspelled ones; None if there is nothing to offer.

    A word counts as misspelled if no text or tag has it and it is in no dictionary: what a word stands for is found by
    looks as well, and must not be taken for another word that happens to be spelled alike.

    Parameters
    ----------
    text : what was asked for; what is not wanted (-word) and beginnings (word*) stay.
    snapshot : whose texts.
    vocabulary : the words of these texts; asked for only if there is a misspelled one.
    """
    corrected, done = [], 0
    for begin, end in wanted_spans(text):
        for word in found_words(text, begin, end):
            if _occurs(snapshot, word.group()) or (snapshot.words_reach_pictures and _in_dictionary(word.group())):
                continue
            near = vocabulary().near(word.group(), 1)
            if near:
                corrected += [text[done : word.start()], near[0]]
                done = word.end()
    return "".join([*corrected, text[done:]]) if corrected else None


def _occurs(snapshot: Snapshot, word: str) -> bool:
    return all(snapshot.texts.text.has(term) or snapshot.texts.tags.has(term) for term in tokenize(word))


def _in_dictionary(word: str) -> bool:
    return word.lower() in _classes() or sentence_encoder().knows(word)


@cache
def _classes() -> frozenset[str]:
    """The words of what is recognized in pictures."""
    names = (name for entry in class_words() for name in (*entry.names, *entry.kinds))
    return frozenset(word for name in names for word in name.lower().split())

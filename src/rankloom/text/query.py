"""What a person types, as a query: words, "exact phrases", beginnings of words*, and -what is not wanted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from rankloom.text.stop_words import without_stop_words
from rankloom.text.tokens import Phrase, last_word, phrase_terms, query_terms

MOST_CHARACTERS = 10_000
MOST_PARTS = 256
MOST_PREFIXES = 16

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂「」『』", '"'))
_MINUS = "-−－–"
# A sign after a letter or a digit is no minus and opens no phrase: T-shirt, 5" disk.
_PARTS = re.compile(rf'(?:(?<![^\s"])(?P<minus>[{_MINUS}]))?(?:(?<![0-9A-Za-z])"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))')
_STAR = re.compile(r"[*＊][^\w*＊]*$")


@dataclass(frozen=True)
class TextQuery:
    """A query in terms of `rankloom.text.tokens`.

    Parameters
    ----------
    words : each is evidence, none is needed; stop words are left out, unless there are no others.
    prefixes : folded beginnings of words; what begins so counts as one word.
    phrases : evidence, and each is needed.
    minus, minus_prefixes : what an item must not have.
    """

    words: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    minus: tuple[Phrase, ...] = ()
    minus_prefixes: tuple[str, ...] = ()

    @property
    def n_parts(self) -> int:
        """How many words, prefixes and phrases there are."""
        return len(self.words) + len(self.prefixes) + len(self.phrases)

    @property
    def has_evidence(self) -> bool:
        """Whether anything can score above 0."""
        return bool(self.words or self.prefixes or self.phrases)


@lru_cache(256)  # every expert reads it
def parse_query(text: str) -> TextQuery:
    """Read a query. Every text is a query: signs that mean nothing where they stand are passed over.

    Examples
    --------
    >>> parse_query('red sun* -dogs "old town"')
    TextQuery(words=('red',), prefixes=('sun',), phrases=(Phrase(terms=('old', 'town'), offsets=(0, 1)),),
              minus=(Phrase(terms=('dog',), offsets=(0,)),), minus_prefixes=())
    >>> parse_query("the letter A").words, parse_query("A letter").words
    (('letter', 'a'), ('letter',))
    >>> parse_query('- * "').has_evidence
    False
    """
    words: dict[str, None] = {}
    meant: set[str] = set()
    prefixes: dict[str, None] = {}
    phrases: dict[Phrase, None] = {}
    minus: dict[Phrase, None] = {}
    minus_prefixes: dict[str, None] = {}
    for part in _PARTS.finditer(text[:MOST_CHARACTERS].translate(_QUOTES)):
        if part["phrase"] is not None:
            (minus if part["minus"] else phrases)[phrase_terms(part["phrase"])] = None
            continue
        before, prefix = _prefix(part["word"])
        if part["minus"]:
            minus[phrase_terms(before)] = None
            minus_prefixes[prefix] = None
        else:
            words.update(dict.fromkeys(query_terms(before)))
            if part.start() and len(part["word"]) == 1 and part["word"].isupper():
                meant.update(query_terms(before))  # the letter A, vitamin C
            prefixes[prefix] = None
    nothing = Phrase((), ())
    return TextQuery(
        words=tuple(without_stop_words([*words], meant)[:MOST_PARTS]),
        prefixes=tuple(prefix for prefix in prefixes if prefix)[:MOST_PREFIXES],
        phrases=tuple(phrase for phrase in phrases if phrase != nothing)[:MOST_PARTS],
        minus=tuple(phrase for phrase in minus if phrase != nothing)[:MOST_PARTS],
        minus_prefixes=tuple(prefix for prefix in minus_prefixes if prefix)[:MOST_PREFIXES],
    )


def wanted_words(text: str) -> str:
    """What a query asks for as a plain sentence: without signs, and without what is not wanted.

    >>> wanted_words('red sun* -dogs "old town"')
    'red sun old town'
    """
    parts = _PARTS.finditer(text[:MOST_CHARACTERS].translate(_QUOTES))
    wanted = (part["word"] if part["phrase"] is None else part["phrase"] for part in parts if not part["minus"])
    return " ".join(" ".join(wanted).replace("*", " ").replace("＊", " ").split())


def wanted_spans(text: str) -> list[tuple[int, int]]:
    """Where a query asks for whole words, single ones or in phrases: begin and end of each part.

    >>> text = 'red sun* -dogs "old town"'
    >>> [text[begin:end] for begin, end in wanted_spans(text)]
    ['red', 'old town']
    """
    spans = []
    for part in _PARTS.finditer(text[:MOST_CHARACTERS].translate(_QUOTES)):
        kind = "word" if part["phrase"] is None else "phrase"
        if not part["minus"] and not (kind == "word" and _STAR.search(part["word"])):
            spans.append(part.span(kind))
    return spans


def _prefix(word: str) -> tuple[str, str]:
    """The text before the last word, and that word, if a star follows it; else all of the text and nothing."""
    star = _STAR.search(word)
    return (word, "") if star is None else last_word(word[: star.start()])

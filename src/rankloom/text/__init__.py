"""Text search: terms of texts in any language, queries as people type them, an inverted index scored with BM25, and
sentences as vectors.

It knows texts by row number, and nothing of pictures, of where texts come from or of how scores are combined.
"""

from rankloom.text.index import TextIndex
from rankloom.text.query import TextQuery, parse_query, wanted_words
from rankloom.text.sentences import SentenceEncoder
from rankloom.text.stemming import stem
from rankloom.text.tokens import Phrase, tokenize

__all__ = ["Phrase", "SentenceEncoder", "TextIndex", "TextQuery", "parse_query", "stem", "tokenize", "wanted_words"]

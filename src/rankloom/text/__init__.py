"""Text search: terms of texts in any language, queries as people type them, and an inverted index scored with BM25.

It knows texts by row number, and nothing of pictures, of where texts come from or of how scores are combined.
"""

from rankloom.text.index import TextIndex
from rankloom.text.query import TextQuery, parse_query
from rankloom.text.stemming import stem
from rankloom.text.tokens import Phrase, tokenize

__all__ = ["Phrase", "TextIndex", "TextQuery", "parse_query", "stem", "tokenize"]

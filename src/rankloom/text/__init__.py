"""Text search: terms of texts in any language, queries as people type them, and an inverted index scored with BM25."""

from rankloom.text.index import TextIndex
from rankloom.text.query import TextQuery, parse_query
from rankloom.text.stemming import stem
from rankloom.text.tokens import Phrase, tokenize

__all__ = ["Phrase", "TextIndex", "TextQuery", "parse_query", "stem", "tokenize"]

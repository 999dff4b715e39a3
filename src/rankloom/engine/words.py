"""The experts that compare the words of a query with what pictures show."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from rankloom.collection import Collection
from rankloom.collection.query import Query
from rankloom.collection.record_kinds import colors_kind, looks_kind
from rankloom.collection.refined_map import RefinedMap, nearness_kind
from rankloom.core import FloatArray, IntArray
from rankloom.engine.records import ItemRecords, taken
from rankloom.experts import color_words
from rankloom.experts.looks import WordMap, WordVector, look_scores
from rankloom.experts.nearness import TextBank
from rankloom.text import parse_query, wanted_words
from rankloom.text.sentences import sentence_encoder

_REFERENCE = 500  # items whose mean share of a color is the usual one


class Looks(NamedTuple):
    """What words are compared with, of all items.

    Parameters
    ----------
    pictures : in the space of the map, with their likeliest classes.
    shares : of colors.
    near : how near pictures are to captions, and these; None if the collection has learned nothing of it.
    """

    pictures: ItemRecords
    shares: ItemRecords
    near: tuple[ItemRecords, TextBank] | None

    @classmethod
    def of(cls, collection: Collection, n_items: int, refined: RefinedMap, before: Looks | None) -> Looks:
        """See what there is; records that an earlier snapshot has are used again."""
        pictures = ItemRecords(collection, looks_kind(), n_items, None if before is None else before.pictures)
        shares = ItemRecords(collection, colors_kind(), n_items, None if before is None else before.shares)
        kind = nearness_kind(refined)
        if kind is None or refined.bank is None:
            return cls(pictures, shares, None)
        known = None if before is None or before.near is None else before.near[0]
        return cls(pictures, shares, (ItemRecords(collection, kind, n_items, known), refined.bank))


class WordExperts:
    """The columns of phi for the words of one query; those of all items are computed once, and only if asked for.

    Parameters
    ----------
    query : whose words.
    looks : what they are compared with.
    word_map : by which.
    """

    def __init__(self, query: Query, looks: Looks, word_map: WordMap):
        self._query, self._looks, self._map = query, looks, word_map
        self._text = wanted_words(query.text)

    @cached_property
    def _vector(self) -> WordVector:
        return self._map.words(sentence_encoder().encode([self._text])[0])

    @cached_property
    def _of_all(self) -> tuple[FloatArray, FloatArray]:
        return self._scores(None)

    def map(self, rows: IntArray) -> FloatArray:
        """By the learned map."""
        return self._column(0, rows)

    def names(self, rows: IntArray) -> FloatArray:
        """By the names of the likeliest classes."""
        return self._column(1, rows)

    def _column(self, place: int, rows: IntArray) -> FloatArray:
        if not self._text:
            return np.zeros(len(rows))
        known = "_of_all" in vars(self) or len(rows) == len(self._looks.pictures.records)
        return taken(self._of_all[place], rows) if known else self._scores(rows)[place]

    def _scores(self, rows: IntArray | None) -> tuple[FloatArray, FloatArray]:
        by_map, by_names = look_scores(self._vector, self._looks.pictures.records, rows)
        if self._looks.near is not None:
            near, bank = self._looks.near
            by_map -= bank.weight * ((near.records if rows is None else near.records[rows]) - bank.usual)
        if self._query.text_weight != 1.0:
            by_map *= self._query.text_weight
            by_names *= self._query.text_weight
        return by_map, by_names


class ColorExpert:
    """The column of phi for the colors that the words of a query name.

    Parameters
    ----------
    query : whose words.
    shares : of colors, of all items.
    counted : how many of the first items say what is usual.
    """

    def __init__(self, query: Query, shares: ItemRecords, counted: int):
        n_words = max(1, parse_query(query.text).n_parts)
        self._shares = shares
        self._counted = counted
        self._colors = color_words.colors_of(wanted_words(query.text)) if query.text.strip() else ()
        self._weight = query.text_weight * min(1.0, len(self._colors) / n_words)  # a part of what is asked for

    @cached_property
    def _usual(self) -> list[float]:
        """The mean share of each color; of items evenly spread over those that statistics are taken from."""
        step = max(1, self._counted // _REFERENCE)
        reference = self._shares.records[: self._counted : step]
        return [float(color_words.shares_of(reference, color).mean()) for color in self._colors]

    def __call__(self, rows: IntArray) -> FloatArray:
        """How much of these colors items have."""
        if not self._colors:
            return np.zeros(len(rows))
        return self._weight * color_words.color_scores(taken(self._shares.records, rows), self._colors, self._usual)

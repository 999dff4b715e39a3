"""What is searched for: words, examples, and what the results must be."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from math import isfinite
from typing import Any

from numpy.typing import NDArray

from rankloom.collection.rectangles import rectangle


@dataclass(frozen=True, eq=False)
class Example:
    """A picture that shows what is wanted: an item of the collection, a file, or an array of RGB bytes.

    Parameters
    ----------
    item : number of an item.
    path : a picture file.
    image : array of shape (height, width, 3), bytes.
    picture : the key of a picture that an engine keeps for queries.
    region : left, top, right and bottom of the part that counts, as shares of width and height.
    weight : how much it counts; below 0 it shows what is not wanted.
    """

    item: int | None = None
    path: str | os.PathLike[str] | None = None
    image: NDArray[Any] | None = None
    picture: str | None = None
    region: tuple[float, float, float, float] | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        given = [name for name in ("item", "path", "image", "picture") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"an example is an item, a path, an image or a picture; got {' and '.join(given) or 'none'}"
            )
        if self.region is not None:
            check_region(self.region)
        if not isfinite(self.weight) or self.weight == 0:
            raise ValueError(f"the weight of an example must be a number other than 0, got {self.weight}")


def check_region(region: Sequence[float]) -> None:
    """Refuse what is no part of a picture.

    >>> check_region((0.5, 0, 0.2, 1))
    Traceback (most recent call last):
    ValueError: a region is left, top, right, bottom from 0 to 1, got (0.5, 0, 0.2, 1)
    """
    if len(region) == 4:
        left, top, right, bottom = region
        if 0 <= left < right <= 1 and 0 <= top < bottom <= 1:
            return
    raise ValueError(f"a region is left, top, right, bottom from 0 to 1, got {region}")


@dataclass(frozen=True)
class Filters:
    """What results must be.

    Parameters
    ----------
    folder : only files below it.
    kind : "picture" or "shot".
    after, before : only items of the start of this date on, or before it: when they were taken or, where that is not
        known, when their file was changed. `collection.dates` says what a date may be; relative ones count back from
        the day of the search.
    has_text : only items with (or without) a text that is not an automatic tag or a name.
    stars : only items with at least as many stars.
    tag : only items with this tag of the owner.
    album : only items of the album with this number.
    within : only items that were taken inside a rectangle of the map: west, south, east and north in degrees; where
        west is greater than east, it crosses the date line.
    marked : only items that are marked (or not) in this search, which has something to rank by then.
    hidden : only hidden items; they are in no other results.
    """

    folder: str | None = None
    kind: str | None = None
    after: str | None = None
    before: str | None = None
    has_text: bool | None = None
    stars: int | None = None
    tag: str | None = None
    album: int | None = None
    within: tuple[float, float, float, float] | None = None
    marked: bool | None = None
    hidden: bool | None = None

    def __post_init__(self) -> None:
        if self.kind not in (None, "picture", "shot"):
            raise ValueError(f"kind must be 'picture' or 'shot', got {self.kind!r}")
        if self.stars is not None and not 0 <= self.stars <= 5:
            raise ValueError(f"stars must be from 0 to 5, got {self.stars!r}")
        if self.within is not None:
            object.__setattr__(self, "within", rectangle(self.within))

    @property
    def given(self) -> bool:
        """Whether there is any."""
        return any(value is not None for value in vars(self).values())


@dataclass(frozen=True)
class Query:
    """Words, examples, a concept and filters; any of them may be left out, but not all.

    Filters alone list the items that pass them, the newest first; there is nothing to rank them by, or to mark.

    Parameters
    ----------
    text : words, "a phrase", begin*, -without.
    examples : what is wanted, and what is not.
    filters : what results must be.
    text_weight : how much the words count.
    concept : the name of a concept that results should show.

    Examples
    --------
    >>> query = Query("red flower", (Example(item=17),))
    >>> query.to_json()
    {'text': 'red flower', 'examples': [{'item': 17}]}
    >>> Query.from_json(query.to_json()).qid == query.qid
    True
    """

    text: str = ""
    examples: tuple[Example, ...] = ()
    filters: Filters = field(default_factory=Filters)
    text_weight: float = 1.0
    concept: str | None = None

    def __post_init__(self) -> None:
        if not isfinite(self.text_weight):
            raise ValueError(f"text_weight must be a finite number, got {self.text_weight}")

    @property
    def empty(self) -> bool:
        """Whether there is nothing to rank items by."""
        return not self.text.strip() and not self.examples and self.concept is None

    @property
    def lists(self) -> bool:
        """Whether there are filters alone."""
        return self.empty and self.filters.given

    @cached_property
    def qid(self) -> str:
        """What stands for the query in the log of marks: the same for the same question, whatever the filters."""
        asked = {**self.to_json(), "text": " ".join(self.text.split())}
        asked.pop("filters", None)
        if set(asked) == {"text"}:
            return str(asked["text"])
        return "q" + sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """The query as plain values; examples must be items or kept pictures."""
        plain: dict[str, Any] = {"text": self.text}
        if self.text_weight != 1.0:
            plain["text_weight"] = self.text_weight
        if self.concept is not None:
            plain["concept"] = self.concept
        examples = []
        for example in self.examples:
            if example.item is None and example.picture is None:
                raise ValueError("only items and kept pictures have a JSON form; keep the picture with engine.upload")
            kind = {"picture": example.picture} if example.item is None else {"item": example.item}
            part = {} if example.region is None else {"region": [*example.region]}
            examples.append({**kind, **part, **({} if example.weight == 1.0 else {"weight": example.weight})})
        if examples:
            plain["examples"] = examples
        filters = {name: value for name, value in vars(self.filters).items() if value is not None}
        if filters:
            plain["filters"] = filters
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Query:
        """Read what `to_json` wrote."""
        try:
            examples = tuple(_example(example) for example in plain.get("examples", ()))
            rest = {key: value for key, value in plain.items() if key not in ("examples", "filters")}
            return cls(examples=examples, filters=Filters(**plain.get("filters", {})), **rest)
        except TypeError as error:
            raise ValueError(f"this is no query: {error}") from None


def _example(plain: Mapping[str, Any]) -> Example:
    region = plain.get("region")
    return Example(**{**plain, "region": None if region is None else tuple(region)})

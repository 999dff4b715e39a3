"""What is searched for: words, examples, and what the results must be."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

__all__ = ["Example", "Filters", "Query"]


@dataclass(frozen=True, eq=False)
class Example:
    """A picture that shows what is wanted: an item of the collection, a file, or an array of RGB bytes.

    Parameters
    ----------
    item : number of an item.
    path : a picture file.
    image : array of shape (height, width, 3), bytes.
    region : left, top, right and bottom of the part that counts, as shares of width and height; not for items.
    weight : how much it counts; below 0 it shows what is not wanted.
    """

    item: int | None = None
    path: str | os.PathLike[str] | None = None
    image: NDArray[Any] | None = None
    region: tuple[float, float, float, float] | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        given = [name for name in ("item", "path", "image") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"an example is an item, a path or an image; got {' and '.join(given) or 'none'}")
        if self.region is not None:
            left, top, right, bottom = self.region
            if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
                raise ValueError(f"a region is left, top, right, bottom from 0 to 1, got {self.region}")
            if self.item is not None:
                raise ValueError("a region needs the picture: give the path of the item instead of its number")


@dataclass(frozen=True)
class Filters:
    """What results must be. Dates are compared as text: "2024" < "2024-05-01".

    Parameters
    ----------
    folder : only files below it.
    kind : "picture" or "shot".
    after, before : only items taken from this date on, or before this date; items without a date are left out then.
    has_text : only items with (or without) a text that is not an automatic tag or a name.
    """

    folder: str | None = None
    kind: str | None = None
    after: str | None = None
    before: str | None = None
    has_text: bool | None = None

    def __post_init__(self) -> None:
        if self.kind not in (None, "picture", "shot"):
            raise ValueError(f"kind must be 'picture' or 'shot', got {self.kind!r}")


@dataclass(frozen=True)
class Query:
    """Words, examples and filters; any of them may be left out, but not words and examples both.

    >>> Query("red flower").text
    'red flower'
    """

    text: str = ""
    examples: tuple[Example, ...] = ()
    filters: Filters = field(default_factory=Filters)
    text_weight: float = 1.0

"""What requests hold that browse and organize a collection."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from rankloom.collection.albums import LONGEST_NAME
from rankloom.collection.browsing import Sort
from rankloom.collection.organizing import LONGEST_CAPTION, LONGEST_TAG, MOST_STARS, MOST_TAGS, clean_tag
from rankloom.server.schemas import MOST, Date, FiltersModel, ItemId, MarkId, QueryModel, StrictModel, Within

MOST_PAGE = 1000
MOST_CELLS = 32  # of the map, in a row or column
Tag = Annotated[str, Field(max_length=LONGEST_TAG), AfterValidator(clean_tag)]
Items = Annotated[list[ItemId], Field(min_length=1, max_length=MOST)]
AlbumName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class Listed(BaseModel):
    """What is listed, in which order: filters as the parts of an address have them."""

    model_config = ConfigDict(extra="forbid")

    folder: str | None = Field(None, max_length=1000)
    kind: Literal["picture", "shot"] | None = None
    after: Date | None = None
    before: Date | None = None
    has_text: bool | None = None
    stars: int | None = Field(None, ge=0, le=MOST_STARS)
    tag: Tag | None = None
    album: int | None = Field(None, ge=1, le=2**53)
    within: Within | None = None
    hidden: bool | None = None
    sort: Sort = "newest"

    def filters(self) -> FiltersModel:
        """The filters as a search has them."""
        names = FiltersModel.model_fields.keys() & type(self).model_fields.keys()
        return FiltersModel(**{name: getattr(self, name) for name in names})


class MapView(Listed):
    """A part of the map, and the grid in whose cells items are put together."""

    view: Within | None = None
    columns: int = Field(12, ge=1, le=MOST_CELLS)
    rows: int = Field(8, ge=1, le=MOST_CELLS)


class Page(Listed):
    """A stretch of a listing."""

    offset: int = Field(0, ge=0, le=2**31 - 1)
    k: int = Field(200, ge=1, le=MOST_PAGE)


class Stretch(Listed):
    """A stretch of a listing of which only the numbers of items are asked for."""

    offset: int = Field(0, ge=0, le=2**31 - 1)
    k: int = Field(MOST, ge=1, le=MOST)


class ItemsRequest(StrictModel):
    """Some items."""

    items: Items


class RateRequest(ItemsRequest):
    """Stars for items; 0 takes them away."""

    stars: int = Field(ge=0, le=MOST_STARS)


class HideRequest(ItemsRequest):
    """Items that no search and no list shows, or that all show again."""

    hidden: bool = True


class TagsRequest(ItemsRequest):
    """Tags that items get, and that they lose."""

    add: list[Tag] = Field(default_factory=list, max_length=MOST_TAGS)
    remove: list[Tag] = Field(default_factory=list, max_length=MOST_TAGS)


class CaptionRequest(StrictModel):
    """The owner's caption of an item; an empty one takes it away."""

    item: ItemId
    caption: str = Field(max_length=LONGEST_CAPTION)


class AlbumRequest(StrictModel):
    """A new album; with a query, which may be a concept, it suggests members."""

    name: AlbumName
    items: list[ItemId] = Field(default_factory=list, max_length=MOST)
    query: QueryModel | None = None


class AlbumChange(StrictModel):
    """Another name, order or cover of an album."""

    name: AlbumName | None = None
    by_hand: bool | None = None
    cover: ItemId | None = None


class MembersRequest(StrictModel):
    """Items that an album gets or loses, and suggested ones that it does not want."""

    add: list[ItemId] = Field(default_factory=list, max_length=MOST)
    remove: list[ItemId] = Field(default_factory=list, max_length=MOST)
    refuse: list[ItemId] = Field(default_factory=list, max_length=MOST)


class MoveRequest(ItemsRequest):
    """Items that stand before another one of their album from now on, or at its end."""

    before: ItemId | None = None


class DownloadRequest(StrictModel):
    """Files of items, or sidecars with what the owner says of them, to be downloaded in one archive."""

    items: list[ItemId] | None = Field(None, min_length=1, max_length=MOST, description="Of sidecars all unless given.")
    what: Literal["files", "xmp"] = "files"

    @model_validator(mode="after")
    def _which_files(self) -> Self:
        if self.what == "files" and self.items is None:
            raise ValueError(f"items: say which files go into the archive, at most {MOST:,}")
        return self


__all__ = [
    "AlbumChange", "AlbumRequest", "CaptionRequest", "DownloadRequest", "HideRequest", "ItemsRequest", "Listed",
    "MarkId", "MembersRequest", "MoveRequest", "Page", "RateRequest", "Stretch", "TagsRequest",
]  # fmt: skip


CopyKey = Annotated[str, Field(pattern=r"^[0-9a-f]{24}$")]


class TrashGroup(StrictModel):
    """The file of a group that is kept, and those that are moved to the bin, by their keys."""

    keep: CopyKey
    trash: list[CopyKey] = Field(min_length=1, max_length=1000)


class TrashRequest(StrictModel):
    """What to keep and what to move."""

    groups: list[TrashGroup] = Field(min_length=1, max_length=1000)

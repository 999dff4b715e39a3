"""What requests and responses hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from rankloom.collection.dates import start_of
from rankloom.collection.names import LONGEST, check_name
from rankloom.collection.query import check_region
from rankloom.collection.rectangles import rectangle
from rankloom.engine import SearchOptions
from rankloom.engine.explanation import Kind
from rankloom.engine.sorting import Order

MOST, MOST_EXPLAINED = 10_000, 200
ItemId = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]
MarkId = Annotated[int, Field(ge=1, le=2**53, strict=True)]
Weight = Annotated[float, Field(ge=-10, le=10, allow_inf_nan=False)]
Key = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[0-9A-Za-z_-]+$")]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")]
Method = Annotated[str, Field(max_length=40, pattern=r"^[a-z0-9_]+$")]


def _date(text: str) -> str:
    start_of(text)  # raises
    return text


def _place(text: str) -> str:
    rectangle(text)  # raises
    return text


Within = Annotated[str, Field(max_length=120, description="west,south,east,north in degrees."), AfterValidator(_place)]
Date = Annotated[
    str, Field(max_length=40, description="2024, 2024-05, 2024-05-17, 2024-05-17T12:30, today, yesterday, 30d ..."),
    AfterValidator(_date),
]  # fmt: skip


def _name(what: str) -> AfterValidator:
    return AfterValidator(lambda name: check_name(name, what))


def _region(region: list[float]) -> list[float]:
    check_region(region)
    return region


Region = Annotated[
    list[float], AfterValidator(_region),
    Field(description="Left, top, right and bottom of the part that counts, as shares of width and height."),
]  # fmt: skip


class StrictModel(BaseModel):
    """What a request holds: nothing else, and no type for another."""

    model_config = ConfigDict(extra="forbid", strict=True)  # no 10.0, "10" or true where a whole number is expected


class ErrorBody(BaseModel):
    """Every error: one line."""

    error: str


class ExampleModel(StrictModel):
    """A picture, or a part of it, that shows what is wanted: an item, or one that was uploaded; against it below 0."""

    item: ItemId | None = None
    picture: Key | None = None
    region: Region | None = None
    weight: Weight = 1.0

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.item is None) == (self.picture is None):
            raise ValueError("an example is an item or a picture")
        return self


class FiltersModel(StrictModel):
    """What results must be; without words, examples and a concept the items that pass are listed, newest first."""

    folder: str | None = Field(None, max_length=1000, description="As /api/collection names folders.")
    kind: Literal["picture", "shot"] | None = None
    after: Date | None = None
    before: Date | None = None
    has_text: bool | None = None
    stars: int | None = Field(None, ge=0, le=5, description="At least as many.")
    tag: str | None = Field(None, min_length=1, max_length=100, description="A tag of the owner.")
    album: MarkId | None = None
    within: Within | None = None
    marked: bool | None = Field(None, description="Only what is marked, or not marked, in this search.")
    hidden: bool | None = Field(None, description="Hidden items, which nothing else shows.")


class QueryModel(StrictModel):
    """Words, examples, a concept, filters."""

    text: str = Field("", max_length=1000)
    text_weight: Weight = 1.0
    examples: list[ExampleModel] = Field(default_factory=list, max_length=20)
    concept: Name | None = None
    filters: FiltersModel = Field(default_factory=lambda: FiltersModel.model_validate({}))


class Scored(StrictModel):
    """The options of a search that its scores depend on; who explains or exports them must give the same."""

    diffusion: bool = True
    collapse: bool = False
    method: Method = "experts"

    def options(self, user: str) -> SearchOptions:
        """The options as the engine takes them."""
        return SearchOptions(user=user, diffusion=self.diffusion, collapse=self.collapse, method=self.method)


class _Arranged(Scored):
    """The options of a search that its order depends on."""

    diversity: float = Field(0.0, ge=0, le=1, allow_inf_nan=False)

    def options(self, user: str) -> SearchOptions:
        """The options as the engine takes them."""
        return replace(super().options(user), diversity=self.diversity)


class SearchRequest(_Arranged):
    """A search."""

    query: QueryModel
    k: int = Field(200, ge=1, le=MOST)
    offset: int = Field(0, ge=0, le=1_000_000)
    order: Order = "score"
    explain: bool = False

    @model_validator(mode="after")
    def _few_with_reasons(self) -> Self:
        if self.explain and self.k > MOST_EXPLAINED:
            raise ValueError(f"k: with explain at most {MOST_EXPLAINED}, got {self.k}; ask for the next with offset")
        return self

    def options(self, user: str) -> SearchOptions:
        """The options as the engine takes them."""
        return replace(super().options(user), offset=self.offset, explain=self.explain)


class InterleaveRequest(StrictModel):
    """Two models in one list: the one in use, and another by its number, null for the weights that follow marks."""

    query: QueryModel
    against: int | None = Field(None, ge=1, le=2**31 - 1)
    k: int = Field(200, ge=1, le=1000)


class Contribution(BaseModel):
    """A part of a score; all of them sum to it."""

    name: str
    kind: Kind
    value: float
    item: int | None = None


class MatchedModel(BaseModel):
    """A text that was read in a picture or heard in a video and has words of the query."""

    source: str
    text: str


class HitModel(BaseModel):
    """A result."""

    rank: int
    id: int
    name: str
    folder: str
    score: float
    mark: float | None
    contradicted: bool = Field(False, description="Whether the other marks of this search say otherwise.")
    kind: Literal["picture", "shot"]
    start: float | None
    end: float | None
    taken: str | None
    changed: str | None = Field(None, description="When its file was changed, where it is not known when it was taken.")
    caption: str | None
    width: int
    height: int
    literal: bool | None
    stars: int = 0
    hidden: bool = False
    why: list[Contribution] | None = None
    matched: MatchedModel | None = None


class SearchResponse(BaseModel):
    """Results, best first."""

    total: int
    cutoff: int | None
    likely: int | None
    diffused: bool
    marks: int
    contradicted: int
    learning: bool
    literal: int | None = Field(description="How many have words of the query in their texts or automatic tags.")
    in_texts: int | None = Field(None, description="How many have all words of the query in their texts.")
    in_tags: int | None = Field(None, description="How many more have them with their automatic tags.")
    orders: list[Order] = Field(description="Those that these results can have.")
    did_you_mean: str | None = Field(None, description="The words of the query as the collection spells them.")
    seconds: float
    hits: list[HitModel]


class MarkModel(StrictModel):
    """What is said of an item: 1 right, 0 wrong, or any grade."""

    item: ItemId
    grade: float = Field(1.0, ge=0, le=100, allow_inf_nan=False)


class FeedbackRequest(StrictModel):
    """Marks of the results of a query, and the items in the order in which they were seen."""

    query: QueryModel
    marks: list[MarkModel] = Field(min_length=1, max_length=1000)
    shown: list[ItemId] = Field(default_factory=list, max_length=MOST)


class PreferRequest(StrictModel):
    """One item is better than another."""

    query: QueryModel
    better: ItemId
    worse: ItemId


class UndoRequest(StrictModel):
    """Undo one mark by its number, or the last one (of a query)."""

    query: QueryModel | None = None
    mark: MarkId | None = None


class MarksRequest(StrictModel):
    """Whose marks: of a query, or of all queries of this user."""

    query: QueryModel | None = None


class ExplainRequest(Scored):
    """Why is this item where it is; on request also where it stands in what each group of experts says."""

    query: QueryModel
    item: ItemId
    standing: bool = False


class CompareRequest(Scored):
    """Why is one item above another."""

    query: QueryModel
    a: ItemId
    b: ItemId


class ExportRequest(_Arranged):
    """Results of a search, some items, or this user's marks, as a file."""

    what: Literal["results", "items", "marks"] = "results"
    format: Literal["json", "csv", "trec"] = "json"
    query: QueryModel | None = None
    items: list[ItemId] | None = Field(None, max_length=MOST, description="All unless given.")
    k: int = Field(1000, ge=1, le=MOST)


class ExpertsRequest(StrictModel):
    """New weights, locks, or all weights as they were at the start."""

    weights: dict[Name, Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False)]] = Field(
        default_factory=dict, max_length=1000
    )
    lock: dict[Name, bool] = Field(default_factory=dict, max_length=1000)
    reset: bool = False


class TrainRequest(StrictModel):
    """Train a model from all marks."""

    ranker: Method = "rlr"


class UseRequest(StrictModel):
    """Use a model; none goes back to the one before."""

    id: MarkId | None = None


class ConceptRequest(StrictModel):
    """A concept from examples: items, or the marks of a query."""

    name: Annotated[str, Field(max_length=LONGEST), _name("a concept")]
    positive: list[ItemId] = Field(default_factory=list, max_length=MOST)
    negative: list[ItemId] = Field(default_factory=list, max_length=MOST)
    query: QueryModel | None = None
    method: Method = "linear"


class SavedRequest(StrictModel):
    """A search to keep under a name."""

    name: Annotated[str, Field(max_length=LONGEST), _name("a saved search")]
    query: QueryModel


class PersonRequest(StrictModel):
    """The name of a person; an empty one takes it away."""

    name: str = Field(max_length=LONGEST)


class GroupingRequest(StrictModel):
    """Whether faces are told apart from now on; if not, all that is known of people may be deleted."""

    on: bool
    delete: bool = False


class MergeRequest(StrictModel):
    """People whose faces are of the same person."""

    others: list[MarkId] = Field(min_length=1, max_length=100)


class SplitRequest(StrictModel):
    """Faces that are of another person."""

    faces: list[MarkId] = Field(min_length=1, max_length=1000)


class AddRequest(StrictModel):
    """A folder to add, as /api/roots names it."""

    folder: str = Field(min_length=1, max_length=4000)


class CancelRequest(StrictModel):
    """The job to end: the one that runs or, by its place, one that waits."""

    waiting: int | None = Field(None, ge=0, le=1000)


class RestoreRequest(StrictModel):
    """The backup to go back to, as /api/upkeep names it."""

    backup: str = Field(min_length=1, max_length=100)
    merge: bool = Field(True, description="Keep what came since then: marks, captions, albums, items.")


class ProfileRequest(StrictModel):
    """A profile of this browser, as /api/session names it; none begins a new one."""

    profile: str | None = Field(None, max_length=32, pattern=r"^[0-9a-f]+$")


class TokenRequest(StrictModel):
    """The token of the server."""

    token: str = Field(max_length=500)

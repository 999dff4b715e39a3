"""What all routes share: the engine, the threads, and how items and folders are shown."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rankloom.collection import Collection
from rankloom.collection.browsing import Catalogue
from rankloom.collection.contents import counters
from rankloom.collection.filtering import naming
from rankloom.collection.matching import matched_texts
from rankloom.collection.overview import folders_with_files, has_files_in, indexed_roots, item_summaries
from rankloom.collection.places import Atlas
from rankloom.collection.query import Example, Filters, Query
from rankloom.collection.rectangles import rectangle
from rankloom.core import Remembered
from rankloom.engine import Engine, Explanation, SearchHit
from rankloom.server.adding import Indexing
from rankloom.server.errors import OTHER, Refused
from rankloom.server.health import Health
from rankloom.server.jobs import Jobs
from rankloom.server.metrics import Metrics
from rankloom.server.schemas import ExampleModel, FiltersModel, MatchedModel, QueryModel
from rankloom.server.settings import ServerSettings
from rankloom.server.upkeep import Upkeep
from rankloom.server.work import Work

_SHOWN = 20_000  # items of which is remembered what is shown


@dataclass(frozen=True)
class Context:
    """An engine and what serves it."""

    engine: Engine
    settings: ServerSettings
    work: Work
    health: Health
    jobs: Jobs
    indexing: Indexing
    upkeep: Upkeep
    id: str  # of the collection
    hidden: tuple[str, ...]  # folders of this machine that errors may name, but not to clients
    catalogue: Catalogue
    atlas: Atlas
    metrics: Metrics = field(default_factory=Metrics)
    shown: Remembered[dict[str, Any]] = field(default_factory=lambda: Remembered(_SHOWN))
    written: Remembered[str] = field(default_factory=lambda: Remembered(_SHOWN))

    @property
    def collection(self) -> Collection:
        """What is searched."""
        return self.engine.collection

    def own(self, collection: str | None) -> bool:
        """Whether an address names this collection: what it shows may be kept. One that names another is refused."""
        if collection not in (None, self.id):
            raise Refused(409, OTHER)
        return collection is not None

    # Folders: requests name them by labels; only paths of the database are ever used ----------------------------------

    def roots(self) -> dict[str, str]:
        """Label -> folder, for the folders that were indexed."""
        labels: dict[str, str] = {}
        for root in indexed_roots(self.collection):
            name = os.path.basename(root) or "files"
            label, number = name, 1
            while label in labels:
                number += 1
                label = f"{name} ({number})"
            labels[label] = root
        return labels

    def label(self, folder: str, roots: dict[str, str]) -> str:
        """How a folder is shown: the name of the folder that was indexed, and what lies below it."""
        inside = [
            (root, name) for name, root in roots.items() if folder == root or folder.startswith(f"{root}{os.sep}")
        ]
        if not inside:
            return os.path.basename(folder)
        root, name = max(inside, key=lambda pair: len(pair[0]))
        below = folder[len(root) :].strip(os.sep)
        return f"{name}/{below}".rstrip("/")

    def folder(self, label: str) -> str:
        """The folder of a label, if the collection has files there."""
        name, _, below = label.partition("/")
        root = self.roots().get(name)
        path = root if root is None or not below else f"{root}{os.sep}{below}"
        if path is None or not has_files_in(self.collection, path):
            raise Refused(422, f"filters.folder: no indexed file is in it; {naming(self.folders())}")
        return path

    def folders(self) -> list[str]:
        """The folders that hold files, and those above them, as labels."""
        roots = self.roots()
        labels = {self.label(folder, roots) for folder in folders_with_files(self.collection)}
        above = {label.rsplit("/", depth)[0] for label in labels for depth in range(1, label.count("/") + 1)}
        return sorted(labels | above)

    # Queries ----------------------------------------------------------------------------------------------------------

    def query(self, model: QueryModel) -> Query:
        """A query as the engine takes it."""
        return Query(
            text=model.text,
            examples=tuple(_example(example) for example in model.examples),
            filters=self.filters(model.filters),
            text_weight=model.text_weight,
            concept=model.concept,
        )

    def filters(self, model: FiltersModel) -> Filters:
        """Filters as the engine takes them."""
        given = model.model_dump()
        folder = None if model.folder is None else self.folder(model.folder)
        within = None if model.within is None else rectangle(model.within)
        return Filters(**{**given, "folder": folder, "within": within})

    def query_json(self, query: Query) -> dict[str, Any]:
        """A query as the page takes it, its folder by label."""
        plain = query.to_json()
        if query.filters.folder is not None:
            plain["filters"] = {**plain["filters"], "folder": self.label(query.filters.folder, self.roots())}
        if query.filters.within is not None:
            plain["filters"] = {**plain["filters"], "within": rectangle(query.filters.within).text}
        return plain

    # Results ----------------------------------------------------------------------------------------------------------

    def hits_json(self, results: Iterable[SearchHit], words: str = "") -> str:
        """Write hits as a JSON list of `HitModel`, with the OCR or speech that matched words.

        What is shown of an item is written once and kept: a search has many hits, most of them known.
        """
        hits = [*results]
        matched = self.matched((hit.id for hit in hits), words)
        written = self.written.get(self._state(), (hit.id for hit in hits), self._write_details)
        return (
            f"[{','.join(_hit_json(hit, written[hit.id], matched.get(hit.id)) for hit in hits if hit.id in written)}]"
        )

    def _write_details(self, ids: list[int]) -> dict[int, str]:
        return {item: json.dumps(shown)[1:-1] for item, shown in self._read_details(ids).items()}

    def matched(self, ids: Iterable[int], words: str) -> dict[int, MatchedModel]:
        """What was read or heard in items that has words of a query."""
        texts = matched_texts(self.collection, ids, words) if words else {}
        return {item: MatchedModel(**text._asdict()) for item, text in texts.items()}

    def details(self, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
        """What is shown of items, by their numbers."""
        return self.shown.get(self._state(), ids, self._read_details)

    def _state(self) -> tuple[int, int]:
        """What is shown of items depends on these."""
        now = counters(self.collection)
        return now.contents, now.organizing

    def _read_details(self, ids: list[int]) -> dict[int, dict[str, Any]]:
        roots = self.roots()
        details: dict[int, dict[str, Any]] = {}
        for item in item_summaries(self.collection, ids).values():
            folder, name = os.path.split(item.path)
            details[item.id] = {
                "id": item.id, "name": name, "folder": self.label(folder, roots) if item.path else "",
                "kind": item.kind, "start": item.start, "end": item.end, "taken": item.taken,
                "changed": item.changed, "caption": item.caption, "width": item.width, "height": item.height,
                "stars": item.stars, "hidden": bool(item.hidden),
            }  # fmt: skip
        return details

    @staticmethod
    def parts(why: Explanation) -> list[dict[str, Any]]:
        """The parts of a score, the largest first; only those of items name one."""
        return [{key: value for key, value in part._asdict().items() if value is not None} for part in why.largest()]


def _example(model: ExampleModel) -> Example:
    region = None if model.region is None else tuple(model.region)
    return Example(**{**model.model_dump(), "region": region})


_LITERALS = {None: "null", True: "true", False: "false"}


def _hit_json(hit: SearchHit, shown: str, matched: MatchedModel | None) -> str:
    """A `HitModel` as JSON; `shown` is what is shown of the item."""
    mark = "null" if hit.mark is None else repr(hit.mark)
    why = "null" if hit.why is None else json.dumps([part._asdict() for part in hit.why.largest()])
    text = "null" if matched is None else matched.model_dump_json()
    return (
        f'{{"rank":{hit.rank},"score":{hit.score!r},"mark":{mark},"literal":{_LITERALS[hit.literal]},{shown},'
        f'"contradicted":{_LITERALS[hit.contradicted]},"why":{why},"matched":{text}}}'
    )

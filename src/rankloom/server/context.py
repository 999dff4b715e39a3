"""What all routes share: the engine, the threads, and how items and folders are shown."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankloom.collection import Collection
from rankloom.collection.query import Example, Filters, Query
from rankloom.engine import Engine
from rankloom.engine.answers import kind_of
from rankloom.engine.filtering import naming
from rankloom.server.errors import Refused
from rankloom.server.metrics import Metrics
from rankloom.server.schemas import Contribution, Hit, QueryModel
from rankloom.server.settings import ServerSettings
from rankloom.server.work import Jobs, Work

__all__ = ["Context"]

# The text that stands under a picture: what a person wrote before what a program found.
SOURCES = ("caption", "embedded", "sidecar", "subtitle", "tag")


@dataclass(frozen=True)
class Context:
    """An engine and what serves it."""

    engine: Engine
    settings: ServerSettings
    work: Work
    metrics: Metrics = field(default_factory=Metrics)
    jobs: Jobs = field(default_factory=Jobs)

    @property
    def collection(self) -> Collection:
        """What is searched."""
        return self.engine.collection

    # Folders: requests name them by labels; only paths of the database are ever used ----------------------------------

    def roots(self) -> dict[str, str]:
        """Label -> folder, for the folders that were indexed."""
        row = self.collection.db.execute("SELECT value FROM meta WHERE key = 'roots'").fetchone()
        found: dict[str, str] = {}
        for root in json.loads(row[0]) if row else ():
            name = os.path.basename(root) or "files"
            label, number = name, 1
            while label in found:
                number += 1
                label = f"{name} ({number})"
            found[label] = root
        return found

    def label(self, folder: str, roots: dict[str, str]) -> str:
        """How a folder is shown: the name of the folder that was indexed, and what lies below it."""
        inside = [
            (root, name) for name, root in roots.items() if folder == root or folder.startswith(f"{root}{os.sep}")
        ]
        if not inside:
            return os.path.basename(folder)
        root, name = max(inside, key=lambda one: len(one[0]))
        below = folder[len(root) :].strip(os.sep)
        return f"{name}/{below}".rstrip("/")

    def folder(self, label: str) -> str:
        """The folder of a label, if the collection has files there."""
        name, _, below = label.partition("/")
        for known, root in self.roots().items():
            if known == name:
                path = f"{root}{os.sep}{below}" if below else root
                prefix = path + os.sep
                query = "SELECT 1 FROM files WHERE path > ? AND path < ? LIMIT 1"
                if self.collection.db.execute(query, (prefix, path + chr(ord(os.sep) + 1))).fetchone():
                    return path
        raise Refused(422, f"filters.folder: no indexed file is in it; {naming(self.folders())}")

    def folders(self) -> list[str]:
        """The folders that hold files, and those above them, as labels."""
        roots = self.roots()
        folders = {os.path.dirname(path) for (path,) in self.collection.db.execute("SELECT path FROM files")}
        labels = {self.label(folder, roots) for folder in folders}
        above = {label.rsplit("/", depth)[0] for label in labels for depth in range(1, label.count("/") + 1)}
        return sorted(labels | above)

    # Queries ----------------------------------------------------------------------------------------------------------

    def query(self, model: QueryModel) -> Query:
        """A query as the engine takes it."""
        filters = model.filters
        folder = None if filters.folder is None else self.folder(filters.folder)
        return Query(
            text=model.text,
            examples=tuple(Example(item=e.item, picture=e.picture, weight=e.weight) for e in model.examples),
            filters=Filters(folder, filters.kind, filters.after, filters.before, filters.has_text),
            text_weight=model.text_weight,
            concept=model.concept,
        )

    def query_json(self, query: Query) -> dict[str, Any]:
        """A query as the page takes it, its folder by label."""
        found = query.to_json()
        if query.filters.folder is not None:
            found["filters"] = {**found["filters"], "folder": self.label(query.filters.folder, self.roots())}
        return found

    # Results ----------------------------------------------------------------------------------------------------------

    def hits(self, found: Sequence[Any]) -> list[Hit]:
        """Results with what is shown beside them."""
        details = self.details(one.id for one in found)
        return [
            Hit(
                rank=one.rank, score=one.score, mark=one.mark, **details[one.id],
                why=None if one.why is None else self.contributions(one.why),
            )
            for one in found if one.id in details
        ]  # fmt: skip

    def details(self, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
        """What is shown of items, by their numbers, in a few questions to the database however many there are."""
        wanted = json.dumps(list(ids))
        db = self.collection.db
        roots = self.roots()
        captions: dict[int, tuple[int, str]] = {}
        rows = db.execute(
            "SELECT item, source, text FROM texts WHERE item IN (SELECT value FROM json_each(?)) ORDER BY rowid",
            (wanted,),
        )
        for item, source, text in rows.fetchall():
            if source in SOURCES:
                place = SOURCES.index(source)
                if item not in captions or place < captions[item][0]:
                    captions[item] = (place, text)
                elif place == captions[item][0] == len(SOURCES) - 1:
                    captions[item] = (place, f"{captions[item][1]}, {text}")
        rows = db.execute(
            'SELECT id, shot, start, "end", width, height, taken, '
            "(SELECT min(path) FROM files WHERE files.hash = items.hash) "
            "FROM items WHERE id IN (SELECT value FROM json_each(?))", (wanted,)
        )  # fmt: skip
        found: dict[int, dict[str, Any]] = {}
        for number, shot, start, end, width, height, taken, path in rows.fetchall():
            folder, name = os.path.split(path or "")
            found[number] = {
                "id": number, "name": name, "folder": self.label(folder, roots) if path else "",
                "kind": "picture" if shot is None else "shot", "start": start, "end": end, "taken": taken,
                "caption": captions[number][1][:300] if number in captions else None, "width": width, "height": height,
            }  # fmt: skip
        return found

    def contributions(self, why: dict[str, float]) -> list[Contribution]:
        """The parts of a score, the largest first."""
        parts = [(name, value, *kind_of(name)) for name, value in why.items()]
        parts.sort(key=lambda part: -abs(part[1]))
        return [Contribution(name=name, value=value, kind=kind, item=item) for name, value, kind, item in parts]

"""The state of the collection, its errors, and what to try first."""

from __future__ import annotations

import os
from typing import Any

from fastapi import APIRouter

from rankloom.server.context import Context
from rankloom.server.errors import without_folders
from rankloom.server.starters import Starters

MOST_FOLDERS = 500
MOST_ERRORS = 5000


def collection_routes(context: Context) -> APIRouter:
    """The routes about the collection."""
    router = APIRouter(prefix="/api", tags=["collection"])
    work, starters, folders = context.work, Starters(context.engine), _Folders(context)

    @router.get("/collection")
    async def state() -> dict[str, Any]:
        """Counts, descriptors, folders, and the long job that runs now."""
        return await work.read(_state, context, folders)

    @router.get("/examples")
    async def examples() -> dict[str, Any]:
        """Searches to try first, made from the words and pictures of the collection."""
        return await work.search(starters.current)

    @router.get("/errors")
    async def errors() -> list[dict[str, str]]:
        """The files that could not be read, with the reasons."""
        return await work.read(_errors, context)

    return router


class _Folders:
    """The folders of the collection as labels, listed again when files were added or removed."""

    def __init__(self, context: Context):
        self._context = context
        self._listed: tuple[tuple[int, int], list[str]] = ((-1, -1), [])

    def current(self, n_files: int, n_items: int) -> list[str]:
        if self._listed[0] != (n_files, n_items):
            self._listed = ((n_files, n_items), self._context.folders()[:MOST_FOLDERS])
        return self._listed[1]


def _state(context: Context, folders: _Folders) -> dict[str, Any]:
    info = context.collection.info()
    job = context.jobs.current
    total = max(len(context.collection), 1)
    return {
        "id": context.id, "name": context.collection.folder.name,
        "files": info.files, "pictures": info.pictures, "videos": info.videos, "items": info.items,
        "shots": info.shots, "hidden": info.hidden, "duplicates": info.duplicates, "texts": info.texts,
        "errors": info.errors, "marks": info.marks, "bytes": info.bytes,
        "descriptors": [
            {**descriptor._asdict(), "share": descriptor.rows / total} for descriptor in info.descriptors
        ],
        "neighbours": context.engine.graph_ready,
        "folders": folders.current(info.files, info.items),
        "job": None if job is None else vars(job),
        "jobs": [vars(last) for last in context.jobs.last()],
    }  # fmt: skip


def _errors(context: Context) -> list[dict[str, str]]:
    roots = context.roots()
    return [
        {
            "name": os.path.basename(path), "folder": context.label(os.path.dirname(path), roots),
            "reason": without_folders(reason, roots.values()),
        }
        for path, reason in context.collection.errors()[:MOST_ERRORS]
    ]  # fmt: skip

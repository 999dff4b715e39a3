"""Files that show the same, side by side, and moving the needless ones to the bin of the system."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from threading import Lock
from typing import Annotated, Any

from fastapi import APIRouter, Query

from rankloom.collection.contents import counters
from rankloom.collection.copies import Choice, CopiedFile, CopyGroup, copy_groups, trash_copies
from rankloom.server.context import Context
from rankloom.server.errors import Refused, without_folders
from rankloom.server.organizing_schemas import MOST_PAGE, TrashRequest

ELSEWHERE = "only a server that this machine alone reaches moves files to the bin; or use: rankloom duplicates --trash"


def duplicate_routes(context: Context) -> APIRouter:
    """The routes of duplicates."""
    router = APIRouter(prefix="/api", tags=["duplicates"])
    groups = _Groups(context)

    @router.get("/duplicates")
    async def duplicates(
        offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0, k: Annotated[int, Query(ge=1, le=MOST_PAGE)] = 50
    ) -> dict[str, Any]:
        """Groups of files that show the same, those that would free most bytes first; the first file is the best."""
        return await context.work.train(_shown, context, groups, offset, k)

    @router.post("/duplicates/trash")
    async def trash(asked: TrashRequest) -> dict[str, Any]:
        """Move files to the bin of the system; of each group one is kept. The collection follows."""
        if not context.settings.local:
            raise Refused(403, ELSEWHERE)
        return await context.work.train(_trash, context, groups, asked)

    return router


class _Groups:
    """The groups of a collection, found again when it has changed."""

    def __init__(self, context: Context):
        self._context = context
        self._lock = Lock()
        self._found: tuple[int, list[CopyGroup]] = (-1, [])

    def current(self) -> list[CopyGroup]:
        with self._lock:
            changes = counters(self._context.collection).contents
            if self._found[0] != changes:
                self._found = (changes, copy_groups(self._context.collection))
            return self._found[1]


def _shown(context: Context, groups: _Groups, offset: int, k: int) -> dict[str, Any]:
    found, roots = groups.current(), context.roots()
    others = [file for group in found for file in group.files[1:]]
    return {
        "total": len(found), "files": len(others), "bytes": sum(file.bytes for file in others),
        "bin": context.settings.local and not context.settings.read_only,
        "groups": [
            {"kind": group.kind, "why": group.why, "files": [_file(context, file, roots) for file in group.files]}
            for group in found[offset : offset + k]
        ],
    }  # fmt: skip


def _file(context: Context, file: CopiedFile, roots: dict[str, str]) -> dict[str, Any]:
    folder, name = os.path.split(file.path)
    modified = datetime.fromtimestamp(file.mtime_ns / 1e9, UTC).isoformat(timespec="seconds")
    return {
        "key": file.key, "item": file.item, "name": name, "folder": context.label(folder, roots),
        "width": file.width, "height": file.height, "bytes": file.bytes, "modified": modified,
    }  # fmt: skip


def _trash(context: Context, groups: _Groups, asked: TrashRequest) -> dict[str, Any]:
    paths = {file.key: file.path for group in groups.current() for file in group.files}
    choices = []
    for group in asked.groups:
        keys = (group.keep, *group.trash)
        if any(key not in paths for key in keys):
            raise Refused(409, "a file is no copy any more; look at the duplicates again")
        choices.append(Choice(paths[group.keep], tuple(paths[key] for key in group.trash)))
    done, roots = trash_copies(context.collection, choices), context.roots()

    def label(path: str) -> str:
        return f"{context.label(os.path.dirname(path), roots)}/{os.path.basename(path)}"

    return {
        "moved": [label(path) for path in done.moved], "handed": done.handed,
        "left": [
            {"file": label(path), "reason": without_folders(why, roots.values())} for path, why in done.left
        ],
    }  # fmt: skip

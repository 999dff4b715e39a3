"""Many files in one archive: what is wanted is sent first, and has an address of its own for a while."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from fastapi import APIRouter, Path, Request
from starlette.responses import StreamingResponse

from rankloom.collection.organizing import check_items, noted_items
from rankloom.collection.originals import open_indexed
from rankloom.collection.overview import IndexedFile, files_of, indexed_roots
from rankloom.collection.xmp import sidecars
from rankloom.core import LRU
from rankloom.server.archives import Entry, Streams
from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import visitor_of
from rankloom.server.organizing_schemas import DownloadRequest

KEPT = 100  # addresses, of all browsers
KEY = Path(pattern=r"^[0-9a-f]{32}$")


class _Wanted(NamedTuple):
    """What a browser wants to download."""

    visitor: str
    items: list[int] | None
    what: str


def download_routes(context: Context) -> APIRouter:
    """The routes of downloads."""
    router = APIRouter(prefix="/api", tags=["items"])
    wanted: LRU[str, _Wanted] = LRU(KEPT)
    streams = Streams()

    @router.post("/downloads")
    async def prepare(asked: DownloadRequest, request: Request) -> dict[str, Any]:
        """Say what is to be downloaded; the archive is at `/api/downloads/{key}` then, for this browser."""
        files = await context.work.read(_count, context, asked)
        key = secrets.token_hex(16)
        wanted.put(key, _Wanted(visitor_of(request), asked.items, asked.what))
        return {"key": key, "files": files}

    @router.get("/downloads/{key}", response_class=StreamingResponse)
    async def download(request: Request, key: str = KEY) -> StreamingResponse:
        """An archive (zip) of the original files, each as it was indexed; or of XMP sidecars."""
        known = wanted.get(key)
        if known is None or known.visitor != visitor_of(request):
            raise Refused(404, "there is no such download; ask for it again")
        pieces = streams.zipped(_entries(context, known.items, known.what))
        headers = {"Content-Disposition": f'attachment; filename="rankloom-{known.what}.zip"'}
        return StreamingResponse(pieces, media_type="application/zip", headers=headers)

    return router


def _count(context: Context, asked: DownloadRequest) -> int:
    if asked.items is not None:
        check_items(context.collection.db, asked.items)
    count = sum(1 for _ in _entries(context, asked.items, asked.what))
    if not count:
        what = "a file" if asked.what == "files" else "a caption, tags or stars"
        raise Refused(422, f"items: none of them has {what}" if asked.items else f"no item has {what}")
    return count


def _entries(context: Context, items: list[int] | None, what: str) -> Iterator[Entry]:
    """The files, each once, by the names that the archive has for them; opened one after the other.

    Without items these are all of which the owner says something.
    """
    items = noted_items(context.collection) if items is None else items
    if what == "xmp":
        roots = context.roots()
        for path, packet in sidecars(context.collection, items):
            folder, name = os.path.split(path)
            yield Entry(f"{context.label(folder, roots)}/{name}", partial(io.BytesIO, packet))
        return
    places = indexed_roots(context.collection)
    seen: set[str] = set()
    for item in items:
        files = files_of(context.collection, item)
        if files and files[0].path not in seen:
            seen.add(files[0].path)
            yield Entry(os.path.basename(files[0].path), partial(_opened, files, places))


def _opened(files: list[IndexedFile], roots: list[str]) -> Any:
    """The first of some equal files that is still as it was indexed."""
    return next((file for indexed in files if (file := open_indexed(indexed, roots)) is not None), None)

"""Items and their files: details, thumbnails, pictures, videos; and pictures that are sent to be searched with."""

from __future__ import annotations

import io
import os
import stat
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi import Path as InPath
from starlette.responses import FileResponse

from rankloom.collection.decoding import picture_reader
from rankloom.collection.overview import shots_of
from rankloom.media import MediaError
from rankloom.server.context import Context
from rankloom.server.errors import Refused

VIEW_SIDE = 1600
FOREVER = "private, max-age=31536000, immutable"
ITEM = InPath(ge=1, le=2**31 - 1)
IMAGE = {"requestBody": {"required": True, "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}}}
# First bytes -> type. What is not here is sent as bytes to be saved, not shown.
PICTURES = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"GIF8", "image/gif"))
VIDEOS = (
    (b"\x1aE\xdf\xa3", "video/webm"), (b"OggS", "video/ogg"), (b"\x00\x00\x01\xba", "video/mpeg"),
    (b"\x00\x00\x01\xb3", "video/mpeg"), (b"FLV\x01", "video/x-flv"),
)  # fmt: skip


def sniff(head: bytes) -> str:
    """What a file is by its first bytes; its name is not asked.

    >>> sniff(b"GIF89a"), sniff(b"....ftypisom"), sniff(b"<script>")
    ('image/gif', 'video/mp4', 'application/octet-stream')
    """
    for magic, kind in (*PICTURES, *VIDEOS):
        if head.startswith(magic):
            return kind
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"AVI ": "video/x-msvideo"}.get(head[8:12], "application/octet-stream")
    if head[4:8] == b"ftyp":
        brand = head[8:12]
        if brand in (b"avif", b"avis"):
            return "image/avif"
        if brand in (b"heic", b"heix", b"mif1", b"heim", b"heis", b"hevc"):
            return "image/heic"
        return "video/quicktime" if brand == b"qt  " else "video/mp4"
    return "application/octet-stream"


class _OneRange(FileResponse):
    """A file, or one part of it; several parts at once cost much and no browser asks for them."""

    max_ranges = 1


def media_routes(context: Context) -> APIRouter:
    """The routes of items and their files."""
    router = APIRouter(prefix="/api", tags=["items"])
    collection, work = context.collection, context.work

    @router.get("/items/{item}")
    async def details(item: int = ITEM) -> dict[str, Any]:
        """All that is known of an item: files, texts with their sources, the other shots of its video."""
        return await work.read(_details, context, item)

    @router.get("/items/{item}/thumbnail", response_class=Response)
    async def thumbnail(request: Request, item: int = ITEM) -> Response:
        """A small JPEG. What an item shows never changes, so it may be kept for ever."""
        return _kept(request, f'"t{item}"', await work.read(collection.thumbnail, item))

    @router.get("/items/{item}/view", response_class=Response)
    async def view(request: Request, item: int = ITEM) -> Response:
        """The picture as a JPEG that every browser shows, at most 1600 pixels wide or high; of a shot the thumbnail."""
        tag = f'"v{item}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag, "Cache-Control": FOREVER})
        return _kept(request, tag, await work.read(_view, context, item))

    @router.get("/items/{item}/file", response_class=Response)
    async def file(item: int = ITEM) -> Response:
        """The file itself; parts of it by Range, as players of videos ask."""
        path, kind, status = await work.read(_file, context, item)
        shown = kind.startswith(("image/", "video/"))
        return _OneRange(
            path, media_type=kind, stat_result=status, filename=os.path.basename(path),
            content_disposition_type="inline" if shown else "attachment",
            headers={"Cache-Control": "private, max-age=3600"},
        )  # fmt: skip

    @router.post("/upload", openapi_extra=IMAGE)
    async def upload(request: Request, region: str | None = None) -> dict[str, str]:
        """Send a picture (its bytes as they are) to search with; answers with the key for `examples`."""
        if not request.headers.get("content-type", "").lower().startswith(("image/", "application/octet-stream")):
            raise Refused(415, "send the bytes of a picture, with a Content-Type of image/...")
        part = None if region is None else _region(region)
        return {"picture": await work.write(_upload, context, await request.body(), part)}

    @router.get("/pictures/{key}/thumbnail", response_class=Response)
    async def picture(request: Request, key: str = InPath(pattern=r"^[0-9A-Za-z_-]{1,100}$")) -> Response:
        """A picture that was sent, as a JPEG."""
        return _kept(request, f'"p{key}"', await work.read(_picture, context, key))

    return router


def _upload(context: Context, data: bytes, region: tuple[float, float, float, float] | None) -> str:
    try:
        image = picture_reader().read(data, max_pixels=context.settings.upload_pixels)
    except MediaError as error:
        raise Refused(422, f"this picture cannot be used: {error}") from None
    return context.engine.upload(image, region)


def _picture(context: Context, key: str) -> bytes:
    try:
        return context.engine.picture(key)
    except (KeyError, ValueError):
        raise Refused(404, "there is no such picture; send it again") from None


def _kept(request: Request, tag: str, data: bytes) -> Response:
    """A JPEG that never changes, or a word that the browser has it."""
    if not data:
        raise Refused(404, "there is no picture of it")
    headers = {"ETag": tag, "Cache-Control": FOREVER}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type="image/jpeg", headers=headers)


def _details(context: Context, number: int) -> dict[str, Any]:
    item = context.collection.items([number])[0]
    roots = context.roots()
    files = [
        {
            "name": os.path.basename(path), "folder": context.label(os.path.dirname(path), roots),
            "there": os.path.isfile(path),
        }
        for path in item.paths
    ]  # fmt: skip
    return {
        "id": item.id, "kind": item.kind, "files": files, "start": item.start, "end": item.end, "width": item.width,
        "height": item.height, "taken": item.taken, "faces": item.faces,
        "texts": [{"text": text, "source": source} for text, source in context.collection.texts(number)],
        "shots": [shot._asdict() for shot in shots_of(context.collection, number)],
    }  # fmt: skip


def _file(context: Context, number: int) -> tuple[str, str, os.stat_result]:
    """The file of an item: a path of the database, never one of a request."""
    for path in context.collection.items([number])[0].paths:
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                continue
            with open(path, "rb") as file:
                return path, sniff(file.read(16)), status
        except OSError:
            continue
    raise Refused(404, "its file is not there any more; run 'rankloom index' to bring the collection up to date")


def _view(context: Context, number: int) -> bytes:
    if context.collection.items([number])[0].kind == "shot":
        return context.collection.thumbnail(number)
    path, _, _ = _file(context, number)
    from PIL import Image

    try:
        image = Image.fromarray(picture_reader().read(path, max_side=VIEW_SIDE))
    except MediaError:
        return context.collection.thumbnail(number)
    file = io.BytesIO()
    image.save(file, "JPEG", quality=88)
    return file.getvalue()


def _region(text: str) -> tuple[float, float, float, float]:
    try:
        left, top, right, bottom = (float(part) for part in text.split(","))
    except ValueError:
        raise Refused(422, "region: left,top,right,bottom from 0 to 1") from None
    if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
        raise Refused(422, "region: left,top,right,bottom from 0 to 1")
    return left, top, right, bottom

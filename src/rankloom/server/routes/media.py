"""Items and their files: details, thumbnails, pictures, videos; and pictures that are sent to be searched with."""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath

from rankloom.collection.albums import albums_of
from rankloom.collection.decoding import picture_reader
from rankloom.collection.organizing import Notes, notes_of
from rankloom.collection.originals import GONE, is_there, open_original
from rankloom.collection.overview import boxes_of, cues_of, files_of, shots_of, subtitles_of_shots
from rankloom.collection.pictures import record_upload
from rankloom.collection.places import position_of
from rankloom.collection.query import check_region
from rankloom.descriptors.tags import specific_first
from rankloom.media import Cue, MediaError
from rankloom.server.context import Context
from rankloom.server.desktop import asks_from_here, has_file_manager
from rankloom.server.errors import Refused
from rankloom.server.files import OpenedFileResponse
from rankloom.server.guard import visitor_of

VIEW_SIDE = 1600
VIEW_BYTES = 200_000_000
# What an item shows never changes; but the address of an item is its own only together with the collection.
FOREVER, HOUR, ASK = "private, max-age=31536000, immutable", "private, max-age=3600", "private, no-cache"
OF = Query(None, max_length=100, description="The id of the collection; what an address with it shows may be kept.")
ITEM = InPath(ge=1, le=2**31 - 1)
KEY = InPath(pattern=r"^[0-9A-Za-z_-]{1,100}$")
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


def media_routes(context: Context) -> APIRouter:
    """The routes of items and their files."""
    router = APIRouter(prefix="/api", tags=["items"])
    work = context.work

    @router.get("/items/{item}")
    async def details(request: Request, item: int = ITEM) -> dict[str, Any]:
        """All that is known of an item: files, texts, places of text and faces, shots and speech of its video.

        A browser on the server's own machine is told the whole paths of files, and whether it may `reveal` them.
        """
        return await work.read(_details, context, item, asks_from_here(request, context.settings))

    @router.get("/items/{item}/thumbnail", response_class=Response)
    async def thumbnail(request: Request, item: int = ITEM, collection: str | None = OF) -> Response:
        """A small JPEG."""
        headers = _headers(context, f"t{item}", FOREVER if context.own(collection) else ASK)
        return _jpeg(request, headers, await work.read(context.collection.thumbnail, item))

    @router.get("/items/{item}/view", response_class=Response)
    async def view(request: Request, item: int = ITEM, collection: str | None = OF) -> Response:
        """The picture as a JPEG that every browser shows, at most 1600 pixels wide or high; of a shot the thumbnail."""
        headers = _headers(context, f"v{item}", FOREVER if context.own(collection) else ASK)
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return _jpeg(request, headers, await work.read(_view, context, item))

    @router.get("/items/{item}/file", response_class=Response)
    async def file(item: int = ITEM, collection: str | None = OF) -> Response:
        """The file itself, while it is as it was indexed; parts of it by Range, as players of videos ask."""
        headers = _headers(context, f"f{item}", HOUR if context.own(collection) else ASK)
        return await work.read(_file_response, context, item, headers)

    @router.post("/upload", openapi_extra=IMAGE)
    async def upload(request: Request, region: str | None = None) -> dict[str, str]:
        """Send a picture (its bytes as they are) to search with; answers with the key for `examples`."""
        if not request.headers.get("content-type", "").lower().startswith(("image/", "application/octet-stream")):
            raise Refused(415, "send the bytes of a picture, with a Content-Type of image/...")
        part = None if region is None else _region(region)
        key = await work.upload(_upload, context, await request.body(), part)
        await work.upload(record_upload, context.collection, key, visitor_of(request), context.settings.uploads)
        return {"picture": key}

    @router.get("/pictures/{key}/thumbnail", response_class=Response)
    async def picture(request: Request, key: str = KEY, collection: str | None = OF) -> Response:
        """A picture that was sent, as a JPEG."""
        headers = _headers(context, f"p{key}", FOREVER if context.own(collection) else ASK)
        return _jpeg(request, headers, await work.read(_picture, context, key))

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


def _headers(context: Context, tag: str, kept: str) -> dict[str, str]:
    return {"ETag": f'"{context.id}-{tag}"', "Cache-Control": kept}


def _jpeg(request: Request, headers: dict[str, str], data: bytes) -> Response:
    """A JPEG, or a word that the browser has it."""
    if not data:
        raise Refused(404, "there is no picture of it")
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type="image/jpeg", headers=headers)


def _details(context: Context, number: int, here: bool) -> dict[str, Any]:
    item = context.collection.items([number])[0]
    roots, files, texts = context.roots(), [], context.collection.texts(number)
    place = position_of(context.collection, number)
    for indexed in files_of(context.collection, number):
        folder, name = os.path.split(indexed.path)
        whole = {"path": indexed.path} if here else {}
        there = is_there(indexed, roots.values())
        files.append({"name": name, "folder": context.label(folder, roots), "there": there, **whole})
    reveal = here and not context.settings.read_only and has_file_manager()
    return {
        "id": item.id, "kind": item.kind, "files": files, "reveal": reveal, "start": item.start, "end": item.end,
        "width": item.width, "height": item.height, "taken": item.taken, "faces": item.faces,
        "place": None if place is None else place._asdict(),
        "texts": [{"text": text, "source": source} for text, source in texts],
        "tags": specific_first([text for text, source in texts if source == "tag"]),
        "shots": [shot._asdict() for shot in shots_of(context.collection, number)],
        "boxes": [box._asdict() for box in boxes_of(context.collection, number)],
        "speech": [cue._asdict() for cue in _said(context, number)],
        "notes": notes_of(context.collection, [number]).get(number, Notes())._asdict(),
        "albums": [{"id": album, "name": name} for album, name in albums_of(context.collection, number)],
    }  # fmt: skip


def _said(context: Context, number: int) -> list[Cue]:
    """What is said in the video of a shot: as it was heard, else its subtitles."""
    return cues_of(context.collection, number) or subtitles_of_shots(context.collection, number)


def _file(context: Context, number: int) -> tuple[str, BinaryIO]:
    """The name of a file of an item, and the file: a path of the database, never one of a request."""
    original = open_original(context.collection, number)
    if original is None:
        raise Refused(404, GONE)
    return os.path.basename(original.path), original.file


def _file_response(context: Context, number: int, headers: dict[str, str]) -> Response:
    name, file = _file(context, number)
    kind = sniff(file.read(16))
    place = "inline" if kind.startswith(("image/", "video/")) else "attachment"
    return OpenedFileResponse(file, media_type=kind, filename=name, content_disposition_type=place, headers=headers)


def _view(context: Context, number: int) -> bytes:
    if context.collection.items([number])[0].kind == "shot":
        return context.collection.thumbnail(number)
    _, file = _file(context, number)
    with file:
        data = file.read(VIEW_BYTES)
    from PIL import Image

    try:
        image = Image.fromarray(picture_reader().read(data, max_side=VIEW_SIDE))
    except MediaError:
        return context.collection.thumbnail(number)
    jpeg = io.BytesIO()
    image.save(jpeg, "JPEG", quality=88)
    return jpeg.getvalue()


def _region(text: str) -> tuple[float, float, float, float]:
    try:
        left, top, right, bottom = (float(part) for part in text.split(","))
        check_region((left, top, right, bottom))
    except ValueError:
        raise Refused(422, "region: left,top,right,bottom from 0 to 1") from None
    return left, top, right, bottom

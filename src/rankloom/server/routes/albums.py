"""Albums: made by hand, or living around a search or a concept that suggests members."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Path, Request, Response
from fastapi import Query as InAddress

from rankloom.collection.albums import (
    Album,
    add_to_album,
    album,
    albums,
    change_album,
    delete_album,
    make_album,
    move_in_album,
    remove_from_album,
)
from rankloom.engine.sorting import suggested_members
from rankloom.server.context import Context
from rankloom.server.guard import user_of
from rankloom.server.organizing_schemas import AlbumChange, AlbumRequest, MembersRequest, MoveRequest
from rankloom.server.schemas import HitModel

ALBUM = Path(ge=1, le=2**53)
SUGGESTED = InAddress(24, ge=1, le=200, description="How many suggestions at most.")


def album_routes(context: Context) -> APIRouter:
    """The routes of albums."""
    router = APIRouter(prefix="/api", tags=["albums"])
    work = context.work

    @router.get("/albums")
    async def list_albums() -> list[dict[str, Any]]:
        """All albums, by name; items of one are listed by the filter `album`."""
        return await work.read(_albums, context)

    @router.post("/albums")
    async def make(asked: AlbumRequest) -> dict[str, Any]:
        """Make an album of items; with a query it suggests more."""
        return await work.write(_make, context, asked)

    @router.post("/albums/{number}")
    async def change(asked: AlbumChange, number: int = ALBUM) -> dict[str, Any]:
        """Give an album another name, cover or order."""
        return await work.write(_change, context, number, asked)

    @router.delete("/albums/{number}")
    async def delete(number: int = ALBUM) -> list[dict[str, Any]]:
        """Delete an album; its items stay."""
        return await work.write(_delete, context, number)

    @router.post("/albums/{number}/items")
    async def members(asked: MembersRequest, number: int = ALBUM) -> dict[str, Any]:
        """Add items to an album or confirm suggested ones, take items out, refuse suggested ones."""
        return await work.write(_members, context, number, asked)

    @router.post("/albums/{number}/order")
    async def move(asked: MoveRequest, number: int = ALBUM) -> dict[str, Any]:
        """Put items of an album before another one, or at its end; it has this order from now on."""
        return await work.write(_move, context, number, asked)

    @router.get("/albums/{number}/suggestions", response_model=list[HitModel])
    async def suggestions(request: Request, number: int = ALBUM, n: int = SUGGESTED) -> Response:
        """What a living album's search finds and the album neither has nor refused."""
        return await work.search(_suggestions, context, number, n, user_of(request))

    return router


def album_json(context: Context, album: Album) -> dict[str, Any]:
    """An album as the page takes it."""
    query = None if album.query is None else context.query_json(album.query)
    return {**album._asdict(), "query": query}


def _albums(context: Context) -> list[dict[str, Any]]:
    return [album_json(context, album) for album in albums(context.collection)]


def _album(context: Context, number: int) -> dict[str, Any]:
    return album_json(context, album(context.collection, number))


def _make(context: Context, asked: AlbumRequest) -> dict[str, Any]:
    query = None if asked.query is None else context.query(asked.query)
    return _album(context, make_album(context.collection, asked.name, asked.items, query))


def _change(context: Context, number: int, asked: AlbumChange) -> dict[str, Any]:
    change_album(context.collection, number, asked.name, asked.by_hand, asked.cover)
    return _album(context, number)


def _delete(context: Context, number: int) -> list[dict[str, Any]]:
    delete_album(context.collection, number)
    return _albums(context)


def _members(context: Context, number: int, asked: MembersRequest) -> dict[str, Any]:
    if asked.add:
        add_to_album(context.collection, number, asked.add)
    if asked.remove:
        remove_from_album(context.collection, number, asked.remove)
    if asked.refuse:
        remove_from_album(context.collection, number, asked.refuse, refuse=True)
    return _album(context, number)


def _move(context: Context, number: int, asked: MoveRequest) -> dict[str, Any]:
    move_in_album(context.collection, number, asked.items, asked.before)
    return _album(context, number)


def _suggestions(context: Context, number: int, n: int, user: str) -> Response:
    living = album(context.collection, number)
    words = "" if living.query is None else living.query.text
    hits = suggested_members(context.engine, living, n, user)
    return Response(context.hits_json(hits, words), media_type="application/json")

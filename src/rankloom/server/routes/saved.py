"""Searches that a user saved."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import user_of
from rankloom.server.schemas import SavedRequest


def saved_routes(context: Context) -> APIRouter:
    """The routes of saved searches."""
    router = APIRouter(prefix="/api", tags=["saved"])
    work = context.work

    @router.get("/saved")
    async def saved(request: Request) -> list[dict[str, Any]]:
        """The searches that this user saved."""
        return await work.read(_saved, context, user_of(request))

    @router.post("/saved")
    async def save(asked: SavedRequest, request: Request) -> list[dict[str, Any]]:
        """Save a search under a name; one of the same name is replaced."""
        return await work.write(_save, context, asked, user_of(request))

    @router.delete("/saved/{name:path}")
    async def forget(name: str, request: Request) -> list[dict[str, Any]]:
        """Delete a saved search."""
        return await work.write(_forget, context, name, user_of(request))

    return router


def _saved(context: Context, user: str) -> list[dict[str, Any]]:
    return [
        {"name": search.name, "query": context.query_json(search.query), "at": search.at}
        for search in context.engine.saved(user)
    ]


def _save(context: Context, asked: SavedRequest, user: str) -> list[dict[str, Any]]:
    context.engine.save_search(asked.name, context.query(asked.query), user)
    return _saved(context, user)


def _forget(context: Context, name: str, user: str) -> list[dict[str, Any]]:
    if name not in {search.name for search in context.engine.saved(user)}:
        raise Refused(404, "there is no saved search of that name")
    context.engine.forget_search(name, user)
    return _saved(context, user)

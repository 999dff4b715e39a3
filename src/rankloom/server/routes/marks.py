"""Marks: given, preferred, undone, listed."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from rankloom.collection import Mark
from rankloom.collection.query import Query
from rankloom.engine.second_looks import second_looks
from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import user_of
from rankloom.server.schemas import FeedbackRequest, MarksRequest, PreferRequest, QueryModel, UndoRequest


def mark_routes(context: Context) -> APIRouter:
    """The routes of marks."""
    router = APIRouter(prefix="/api", tags=["marks"])
    work = context.work

    @router.post("/feedback")
    async def feedback(asked: FeedbackRequest, request: Request) -> dict[str, Any]:
        """Mark results right or wrong; the marks are on disk when this answers."""
        return await work.write(_feedback, context, asked, user_of(request))

    @router.post("/prefer")
    async def prefer(asked: PreferRequest, request: Request) -> dict[str, Any]:
        """Say that one item is better than another."""
        return await work.write(_prefer, context, asked, user_of(request))

    @router.post("/undo")
    async def undo(asked: UndoRequest, request: Request) -> dict[str, Any]:
        """Undo a mark."""
        return await work.write(_undo, context, asked, user_of(request))

    @router.post("/marks")
    async def marks(asked: MarksRequest, request: Request) -> list[dict[str, Any]]:
        """The active marks of this user, the newest first; of all queries, or of one."""
        return await work.read(_marks, context, asked, user_of(request))

    return router


def _query(context: Context, model: QueryModel | None) -> Query | None:
    return None if model is None else context.query(model)


def _count(context: Context, query: Query | None, user: str) -> int:
    return len(context.engine.marks(query, user=user))


def _feedback(context: Context, asked: FeedbackRequest, user: str) -> dict[str, Any]:
    query = context.query(asked.query)
    given = [Mark(mark.item, mark.grade) for mark in asked.marks]
    ids = context.engine.feedback(query, given, user, shown=asked.shown)
    return {"ids": ids, "marks": _count(context, query, user)}


def _prefer(context: Context, asked: PreferRequest, user: str) -> dict[str, Any]:
    query = context.query(asked.query)
    number = context.engine.prefer(query, asked.better, asked.worse, user)
    return {"ids": [number], "marks": _count(context, query, user)}


def _undo(context: Context, asked: UndoRequest, user: str) -> dict[str, Any]:
    query = _query(context, asked.query)
    own = {mark.id: mark for mark in context.engine.marks(query, user=user)}
    if asked.mark is not None and asked.mark not in own:
        raise Refused(404, f"you have no mark {asked.mark}")
    undone = context.engine.undo(query, user, mark=asked.mark)
    item = own[undone].item if undone in own else None
    return {"undone": undone, "item": item, "marks": _count(context, query, user)}


def _marks(context: Context, asked: MarksRequest, user: str) -> list[dict[str, Any]]:
    query = _query(context, asked.query)
    marks = context.engine.marks(query, user=user)
    details = context.details({mark.item for mark in marks})
    odd = second_looks(context.engine, marks, query)
    return [
        {
            "id": mark.id, "qid": mark.qid, "item": mark.item, "grade": mark.grade, "over": mark.over, "at": mark.at,
            "name": details.get(mark.item, {}).get("name", ""),
            "caption": details.get(mark.item, {}).get("caption"),
            "contradicted": mark.id in odd,
        }
        for mark in reversed(marks)
    ]  # fmt: skip

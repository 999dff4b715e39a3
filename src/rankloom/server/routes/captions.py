"""Captions of many files from a table that is sent."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from rankloom.collection.captions import add_captions
from rankloom.media import MediaError
from rankloom.media.captions import decoded_table
from rankloom.server.context import Context
from rankloom.server.errors import Refused

TABLE = {"requestBody": {"required": True, "content": {"text/csv": {"schema": {"type": "string", "format": "binary"}}}}}


def caption_routes(context: Context) -> APIRouter:
    """The route of tables of captions."""
    router = APIRouter(prefix="/api", tags=["adding"])

    @router.post("/captions", openapi_extra=TABLE)
    async def captions(request: Request) -> dict[str, Any]:
        """Take the captions of a CSV or TSV table with the columns path and caption; says which rows had no file."""
        return await context.work.train(_store, context, await request.body())

    return router


def _store(context: Context, data: bytes) -> dict[str, Any]:
    try:
        stored = add_captions(context.collection, decoded_table(data))
    except MediaError as error:
        raise Refused(422, f"these captions cannot be used: {error}") from None
    return {
        "rows": stored.rows, "matched": stored.matched, "files": stored.files,
        "unmatched": [path[:200] for path in stored.unmatched], "cut": len(stored.warnings),
    }  # fmt: skip

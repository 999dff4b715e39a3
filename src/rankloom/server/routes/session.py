"""The server itself: whether it is well, who may ask, and what it counts."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any

from fastapi import APIRouter, Request, Response

from rankloom import __version__
from rankloom.collection.marks import count_marks
from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import SESSION, USER, cookie, session_of, user_of
from rankloom.server.schemas import TokenRequest


def session_routes(context: Context) -> APIRouter:
    """The routes about the server."""
    router = APIRouter(prefix="/api", tags=["server"])
    work, settings = context.work, context.settings

    @router.get("/health")
    async def health() -> dict[str, str]:
        """Whether the server answers and can read the collection."""
        await work.read(len, context.collection)
        return {"status": "ok", "version": __version__}

    @router.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Counts and times for Prometheus."""
        return Response(await work.read(_metrics, context), media_type="text/plain; version=0.0.4; charset=utf-8")

    @router.get("/session")
    async def session(request: Request) -> dict[str, Any]:
        """Whether this client may ask, and what it may do."""
        given = request.cookies.get(SESSION, "").encode()
        token, user = settings.token, user_of(request)
        known = token is None or hmac.compare_digest(session_of(token, user).encode(), given)
        return _session(context, known)

    @router.post("/session")
    async def sign_in(asked: TokenRequest, request: Request, response: Response) -> dict[str, Any]:
        """Give the token once; the browser then keeps a cookie that proves it."""
        token = settings.token
        if token is not None:
            given, expected = (sha256(text.encode("utf-8", "replace")).digest() for text in (asked.token, token))
            if not hmac.compare_digest(given, expected):
                raise Refused(401, "this is not the token")
            user, secure = user_of(request), request.url.scheme == "https"
            response.headers.append("Set-Cookie", cookie(USER, user, secure))
            response.headers.append("Set-Cookie", cookie(SESSION, session_of(token, user), secure))
        return _session(context, known=True)

    return router


def _session(context: Context, known: bool) -> dict[str, Any]:
    about = {"read_only": context.settings.read_only, "version": __version__, "collection": context.id}
    return {"authorized": known, **about}


def _metrics(context: Context) -> str:
    return context.metrics.text(
        {
            "rankloom_items": ("Items.", len(context.collection)),
            "rankloom_marks": ("Active marks.", count_marks(context.collection)),
        }
    )

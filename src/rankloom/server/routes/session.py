"""The server itself: whether it is well, who may ask, and what it counts."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from rankloom import __version__
from rankloom.collection.marks import count_marks
from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import SESSION, USER, cookie, same, session_of, visitor_of
from rankloom.server.health import DAMAGED, OK, REASONS
from rankloom.server.schemas import TokenRequest


def session_routes(context: Context) -> APIRouter:
    """The routes about the server."""
    router = APIRouter(prefix="/api", tags=["server"])
    work, settings = context.work, context.settings

    @router.get("/health")
    async def health(response: Response) -> dict[str, str]:
        """Whether the server answers, can read the collection ("damaged" if not) and has room ("disk full" if not)."""
        status = await work.read(context.health.check)
        if status == DAMAGED:
            response.status_code = 503
        about = {"status": status, "version": __version__}
        return about if status == OK else {**about, "error": REASONS[status]}

    @router.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Counts and times for Prometheus."""
        return Response(await work.read(_metrics, context), media_type="text/plain; version=0.0.4; charset=utf-8")

    @router.get("/session")
    async def session(request: Request) -> dict[str, Any]:
        """Whether this client may ask, and what it may do."""
        token, given = settings.token, request.cookies.get(SESSION, "")
        return _session(context, token is None or same(given, session_of(token, visitor_of(request))))

    @router.post("/session")
    async def sign_in(asked: TokenRequest, request: Request, response: Response) -> dict[str, Any]:
        """Give the token once; the browser then keeps a cookie that proves it."""
        token = settings.token
        if token is not None:
            if not same(asked.token, token):
                raise Refused(401, "this is not the token")
            visitor, secure = visitor_of(request), request.url.scheme == "https"
            response.headers.append("Set-Cookie", cookie(USER, visitor, secure))
            response.headers.append("Set-Cookie", cookie(SESSION, session_of(token, visitor), secure))
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

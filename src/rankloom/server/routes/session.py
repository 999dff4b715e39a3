"""The server itself: whether it is well, who may ask, and what it counts."""

from __future__ import annotations

import secrets
from typing import Any

from fastapi import APIRouter, Request, Response

from rankloom import __version__
from rankloom.collection.marks import count_marks
from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import PROFILES, SESSION, USER, VALID_USER, cookie, same, session_of, visitor_of
from rankloom.server.health import DAMAGED, OK, REASONS, UNREACHABLE
from rankloom.server.schemas import ProfileRequest, TokenRequest

MOST_PROFILES = 8  # of a browser
SHORT = 8  # characters of a profile's name: enough to know it again, too few to be it


def session_routes(context: Context) -> APIRouter:
    """The routes about the server."""
    router = APIRouter(prefix="/api", tags=["server"])
    work, settings = context.work, context.settings

    @router.get("/health")
    async def health(response: Response) -> dict[str, str]:
        """Whether the server answers, can read the collection and has room: ok, damaged, unreachable or disk full."""
        status = await work.read(context.health.check)
        if status in (DAMAGED, UNREACHABLE):
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
        known = token is None or same(given, session_of(token, visitor_of(request)))
        return _session(context, visitor_of(request), _own_profiles(request), known=known)

    @router.post("/session")
    async def sign_in(asked: TokenRequest, request: Request, response: Response) -> dict[str, Any]:
        """Give the token once; the browser then keeps a cookie that proves it."""
        token, visitor = settings.token, visitor_of(request)
        if token is not None:
            if not same(asked.token, token):
                raise Refused(401, "this is not the token")
            secure = request.url.scheme == "https"
            response.headers.append("Set-Cookie", cookie(USER, visitor, secure))
            response.headers.append("Set-Cookie", cookie(SESSION, session_of(token, visitor), secure))
        return _session(context, visitor, _own_profiles(request), known=True)

    @router.post("/session/profile")
    async def switch(asked: ProfileRequest, request: Request, response: Response) -> dict[str, Any]:
        """Go on as another profile of this browser, or as a new one; those of other browsers cannot be taken."""
        if not settings.profiles or not VALID_USER.fullmatch(visitor_of(request)):
            raise Refused(409, "only browsers of a server with --profiles have profiles")
        own = _own_profiles(request)
        if asked.profile is None and len(own) >= MOST_PROFILES:
            raise Refused(409, f"a browser has at most {MOST_PROFILES} profiles")
        chosen = secrets.token_hex(16)
        if asked.profile is not None:
            known = {name[:SHORT]: name for name in own}
            if asked.profile not in known:
                raise Refused(404, "this browser has no such profile")
            chosen = known[asked.profile]
        own = [*dict.fromkeys([*own, chosen])]
        kept = {USER: chosen, PROFILES: ".".join(own)}
        if settings.token is not None:
            kept[SESSION] = session_of(settings.token, chosen)
        for name, value in kept.items():
            response.headers.append("Set-Cookie", cookie(name, value, request.url.scheme == "https"))
        return _session(context, chosen, own, known=True)

    return router


def _own_profiles(request: Request) -> list[str]:
    """The profiles of a browser: what its cookies say, which no script can read; the one in use among them."""
    kept = request.cookies.get(PROFILES, "").split(".")[:MOST_PROFILES]
    return [*dict.fromkeys(name for name in (*kept, visitor_of(request)) if VALID_USER.fullmatch(name))]


def _session(context: Context, visitor: str, own: list[str], *, known: bool) -> dict[str, Any]:
    settings = context.settings
    return {
        "authorized": known, "read_only": settings.read_only, "version": __version__, "collection": context.id,
        "demo": settings.demo, "profile": visitor[:SHORT] if settings.profiles else None,
        "profiles": [name[:SHORT] for name in own] if settings.profiles else [],
    }  # fmt: skip


def _metrics(context: Context) -> str:
    return context.metrics.text(
        {
            "rankloom_items": ("Items.", len(context.collection)),
            "rankloom_marks": ("Active marks.", count_marks(context.collection)),
        }
    )

"""The door: who may ask, from where, how often, how much; the headers of every response; the access log."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import re
import secrets
import socket
from functools import lru_cache
from hashlib import sha256
from time import perf_counter
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rankloom.collection.profiles import OWNER
from rankloom.server.errors import OTHER, Refused, log_failure
from rankloom.server.limits import Buckets
from rankloom.server.metrics import Metrics
from rankloom.server.settings import LIMITS, ServerSettings, is_loopback

HEADER = "X-Rankloom"
COLLECTION = "X-Rankloom-Collection"
USER, SESSION, PROFILES = "rankloom_user", "rankloom_session", "rankloom_profiles"
YEAR = 365 * 24 * 3600
JSON_BYTES = 1_000_000
UPLOADS = ("/api/upload", "/api/captions")  # what takes files
SAFE = ("GET", "HEAD", "OPTIONS")
OPEN = ("/api/health", "/api/session")  # what may be asked without the token
# Which calls are limited, and by which rate.
EXPENSIVE = {
    "/api/search": "search", "/api/explain": "search", "/api/compare": "search", "/api/suggest": "search",
    "/api/export": "search", "/api/upload": "upload", "/api/feedback": "mark", "/api/prefer": "mark",
    "/api/undo": "mark", "/api/models/train": "train", "/api/concepts": "train", "/api/errors/retry": "train",
    "/api/session": "token", "/api/browse": "search", "/api/browse/months": "search", "/api/browse/items": "search",
    "/api/downloads": "search", "/api/items/rate": "mark", "/api/items/hide": "mark", "/api/items/tags": "mark",
    "/api/items/caption": "mark", "/api/interleave": "search", "/api/roots": "mark", "/api/places": "search",
    "/api/upkeep/backups": "train", "/api/people": "train", "/api/captions": "train",
    "/api/duplicates": "search", "/api/duplicates/trash": "mark",
}  # fmt: skip
# What is no write though it is posted: these questions do not fit into an address.
READING = (
    "/api/search", "/api/explain", "/api/compare", "/api/export", "/api/marks",
    "/api/session", "/api/session/profile", "/api/items/paths", "/api/downloads",
)  # fmt: skip
POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "media-src 'self'",
        "connect-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    )
)  # fmt: skip
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
NEEDED = "a token is needed: send it as 'Authorization: Bearer TOKEN', or give it to the page"
VALID_USER = re.compile(r"[0-9a-f]{32}")
access = logging.getLogger("rankloom.server.access")


def session_of(token: str, visitor: str) -> str:
    """What a browser keeps instead of the token: it proves that the token was known, and holds for one browser."""
    return hmac.new(token.encode(), f"session {visitor}".encode(), sha256).hexdigest()


class Guard:
    """Middleware in front of everything else.

    Parameters
    ----------
    app : what is guarded.
    settings : of the server.
    metrics : where requests are counted.
    collection : the id of the collection that is served.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings, metrics: Metrics, collection: str):
        self.app, self.settings, self.metrics, self.collection = app, settings, metrics, collection
        self._buckets = {name: Buckets(rate) for name, rate in {**LIMITS, **settings.limits}.items()}
        self._names = {"localhost", *(name.lower() for name in settings.names)}
        if not is_loopback(settings.host):
            self._names |= {settings.host.lower(), socket.gethostname().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        began = perf_counter()
        answer = _Answer(send, scope)
        self.metrics.in_flight += 1
        try:
            self._check(scope, Headers(scope=scope), answer)
            await self.app(scope, receive, answer)
        except ClientDisconnect:
            pass  # it is gone, or took too long: there is nobody to answer
        except Refused as error:
            self.metrics.refused({401: "token", 403: "forbidden", 429: "rate"}.get(error.status, "request"))
            await error.response()(scope, receive, answer)
        except Exception as error:
            line = log_failure(error)
            if not answer.status:
                await Refused(500, line).response()(scope, receive, answer)
        finally:
            self.metrics.in_flight -= 1
            seconds = perf_counter() - began
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.seen(_method(scope), route, answer.status, seconds)
            # The path stands in its encoded form and without the query: no line can be forged, no words are kept.
            path = scope.get("raw_path", b"").decode("ascii", "replace")[:200]
            access.info("%s %s %s %d %.1f ms", _client(scope), _method(scope), path, answer.status, 1000 * seconds)

    def _check(self, scope: Scope, headers: Headers, answer: _Answer) -> None:
        path, method = scope["path"], scope["method"]
        self._check_host(headers)
        api = path.startswith("/api/")
        if api and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refused(403, "other sites may not ask this server")
        if method not in SAFE:
            self._check_writer(path, headers)
        visitor = self._check_token(scope, headers, answer, needed=api and path not in OPEN)
        user = visitor if self.settings.profiles else OWNER
        scope.setdefault("state", {}).update(visitor=visitor, user=user)
        limited = _limit(path)
        if limited is not None and (method not in SAFE or limited in ("view", "search")):
            self._check_rate(limited, _client(scope), visitor)

    def _check_host(self, headers: Headers) -> None:
        """A name that is not ours means that somebody's DNS points here: a page of theirs would be our origin."""
        host = headers.get("host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.removeprefix("[").removesuffix("]").lower().rstrip(".")
        if name not in self._names and not _is_address(name):
            raise Refused(421, "this server is not called that; use its address, or serve with --allow-host NAME")

    def _check_writer(self, path: str, headers: Headers) -> None:
        """Requests that change something come from our page or from a program, never from another site's page."""
        origin = headers.get("origin")
        if origin is not None and origin.split("://", 1)[-1].lower() != headers.get("host", "").lower():
            raise Refused(403, "other sites may not ask this server")
        if HEADER not in headers:
            raise Refused(403, f"requests that change something need the header {HEADER}: 1")
        if headers.get(COLLECTION, self.collection) != self.collection:
            raise Refused(409, OTHER)  # a page that was loaded before: its items are not ours
        if self.settings.read_only and path not in READING:
            raise Refused(403, "this server is read-only")
        if headers.get("transfer-encoding"):
            raise Refused(411, "send the length of the content")
        length = headers.get("content-length", "0")
        most = self.settings.upload_bytes if path in UPLOADS else JSON_BYTES
        if not length.isdecimal() or int(length) > most:
            raise Refused(413, f"at most {most:,} bytes are accepted")

    def _check_token(self, scope: Scope, headers: Headers, answer: _Answer, *, needed: bool) -> str:
        """Which browser asks, if it may; after too many wrong tokens nobody is told whether the next is right."""
        cookies = cookie_parser(headers.get("cookie", ""))
        visitor, token, client = cookies.get(USER, ""), self.settings.token, _client(scope)
        given = None if token is None else headers.get("authorization")
        if given is not None and (wait := self._buckets["token"].wait(client)):
            raise _too_many(wait)
        bearer = given is not None and same(given, f"Bearer {token}")
        if not VALID_USER.fullmatch(visitor):
            visitor = "token" if bearer else secrets.token_hex(16)
            answer.new_visitor = None if bearer else visitor
        known = token is None or bearer or same(cookies.get(SESSION, ""), session_of(token, visitor))
        if (needed and not known) or (given is not None and not bearer):
            if wait := self._buckets["token"].take(client):
                raise _too_many(wait)
            if needed and not known:
                raise Refused(
                    401, "a token is needed: send it as 'Authorization: Bearer TOKEN', or give it to the page"
                )
        return visitor

    def _check_rate(self, limited: str, client: str, visitor: str) -> None:
        # On this machine people share an address; elsewhere a new cookie must not make a new client, and guesses of
        # the token are counted by address everywhere.
        shared = is_loopback(client) and limited != "token"
        if wait := self._buckets[limited].take(f"{client} {visitor}" if shared else client):
            raise _too_many(wait)


def same(given: str, expected: str) -> bool:
    """Compare in a time that tells nothing of what is expected."""
    digests = (sha256(text.encode("utf-8", "replace")).digest() for text in (given, expected))
    return hmac.compare_digest(*digests)


@lru_cache(maxsize=256)
def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _limit(path: str) -> str | None:
    """The rate that limits a call, if any."""
    if path.endswith("/view"):
        return "view"
    if path.endswith("/reveal"):
        return "train"  # each opens a window
    if path.startswith("/api/albums"):
        return "search" if path.endswith("/suggestions") else "mark"
    return EXPENSIVE.get(path)


def _too_many(wait: float) -> Refused:
    return Refused(429, f"too many requests; try again in {max(1, round(wait))} s", retry_after=wait)


def _client(scope: Scope) -> str:
    """The address of the client, as the connection or a trusted proxy says."""
    return str(scope["client"][0]) if scope.get("client") else "-"


class _Answer:
    """Sends a response with our headers, and the browser's cookie where there was none."""

    def __init__(self, send: Send, scope: Scope):
        self._send, self._scope = send, scope
        self.new_visitor: str | None = None
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            headers.raw.extend(_RAW_HEADERS)  # routes set none of these
            if self._scope["path"].startswith("/api/"):
                headers.setdefault("Cache-Control", "no-store")
            if self.new_visitor is not None and self._scope["path"] in ("/", "/api/search", "/api/session"):
                headers.append("Set-Cookie", cookie(USER, self.new_visitor, self._scope["scheme"] == "https"))
        await self._send(message)


def cookie(name: str, value: str, secure: bool) -> str:
    """A cookie for a year that only we get, and no script."""
    return f"{name}={value}; Path=/; Max-Age={YEAR}; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")


def _method(scope: Scope) -> str:
    known = (*SAFE, "POST", "PUT", "DELETE", "PATCH")
    return str(scope["method"]) if scope["method"] in known else "other"


def visitor_of(request: Any) -> str:
    """The browser that asks, by the random number in its cookie; "token" for a program that sends the token."""
    return str(request.scope["state"]["visitor"])


def user_of(request: Any) -> str:
    """Whose marks and saved searches a request is about: the owner's, or with profiles those of the browser."""
    return str(request.scope["state"]["user"])

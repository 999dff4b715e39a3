"""Errors as a client sees them: a status and one line that gives nothing away."""

from __future__ import annotations

import logging
import os
import re
import secrets
import sqlite3
import traceback
from collections.abc import Iterable, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from rankloom.collection import DamagedCollection
from rankloom.collection._database import Unreachable
from rankloom.collection.damage import explained
from rankloom.server.health import DAMAGED, DISK_FULL, REASONS, UNREACHABLE, is_disk_full

logger = logging.getLogger("rankloom.server")
# Of an absolute path only its last part is shown.
ABSOLUTE = re.compile(r"(?<![\w.])(?:/[^\s/:;,'\"]+)*/([^\s/:;,'\"]+)")
QUOTED = re.compile(r"'(/[^']*)'")
OTHER = "this server has another collection now; load the page again"


class Refused(Exception):
    """A request that is not answered: the status, and why in one line."""

    def __init__(self, status: int, why: str, retry_after: float | None = None):
        super().__init__(why)
        self.status, self.why, self.retry_after = status, why, retry_after

    def response(self) -> JSONResponse:
        """What is sent."""
        headers = {} if self.retry_after is None else {"Retry-After": str(max(1, round(self.retry_after)))}
        return JSONResponse({"error": self.why}, self.status, headers=headers)


def without_folders(text: str, folders: Iterable[str] = ()) -> str:
    """A text in one line of bounded length, in which no path says where it lies.

    Parameters
    ----------
    text : for a client.
    folders : of which only the last part is shown; other absolute paths are found by their form.

    Examples
    --------
    >>> without_folders("/home/anna b/My Photos/1/a.jpg: cannot be read", ["/home/anna b/My Photos"])
    'My Photos/1/a.jpg: cannot be read'
    >>> without_folders("[Errno 13] Permission denied: '/srv/of anna/c'")
    "[Errno 13] Permission denied: 'c'"
    """
    for folder in sorted(folders, key=len, reverse=True):
        text = text.replace(folder, os.path.basename(folder)) if os.path.basename(folder) else text
    text = QUOTED.sub(lambda match: f"'{os.path.basename(match[1])}'", " ".join(text.split()))
    return ABSOLUTE.sub(r"\1", text)[:300]


def one_line(error: BaseException, folders: Iterable[str] = ()) -> str:
    """What an error says, as `without_folders` shows it.

    >>> one_line(ValueError("/srv/photos/c is being indexed;\\n wait"))
    'c is being indexed; wait'
    """
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return without_folders(text, folders) or type(error).__name__


def log_failure(error: BaseException) -> str:
    """Write a traceback to the log; returns the line with the number under which it stands there."""
    number = secrets.token_hex(4)
    logger.error("failure %s", number, exc_info=error)
    return f"something went wrong here; the server's log has it under {number}"


def add_error_handlers(app: FastAPI) -> None:
    """Turn everything that is raised into a status and one line."""

    @app.exception_handler(Refused)
    async def refused(_: Request, error: Refused) -> JSONResponse:
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": _first(error.errors())}, 422)

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": str(error.detail)}, error.status_code, headers=error.headers)

    @app.exception_handler(KeyError)
    async def missing(request: Request, error: KeyError) -> JSONResponse:
        text = one_line(error, request.app.state.context.hidden)
        if " " not in text:  # a bare key is a mistake of ours, not a sentence for the client
            return JSONResponse({"error": log_failure(error)}, 500)
        return JSONResponse({"error": text}, 404)

    @app.exception_handler(ValueError)
    async def wrong(request: Request, error: ValueError) -> JSONResponse:
        if not _meant(error):
            return JSONResponse({"error": log_failure(error)}, 500)
        return JSONResponse({"error": one_line(error, request.app.state.context.hidden)}, 422)

    @app.exception_handler(DamagedCollection)
    async def damaged(request: Request, error: DamagedCollection) -> JSONResponse:
        logger.error("%s", error)
        request.app.state.context.health.failed(DAMAGED)
        return Refused(503, REASONS[DAMAGED]).response()

    @app.exception_handler(sqlite3.DatabaseError)
    async def database(request: Request, error: sqlite3.DatabaseError) -> JSONResponse:
        if is_disk_full(error):
            return _full(request)
        if "locked" in str(error) or "busy" in str(error):
            return Refused(503, "the collection is busy; try again in a moment", retry_after=2).response()
        known = explained(request.app.state.context.collection.folder, error)
        if isinstance(known, DamagedCollection):
            return await damaged(request, known)
        return JSONResponse({"error": log_failure(error)}, 500)

    @app.exception_handler(Unreachable)
    async def unreachable(request: Request, error: Unreachable) -> JSONResponse:
        logger.error("%s", error)
        return Refused(503, REASONS[UNREACHABLE], retry_after=2).response()

    @app.exception_handler(OSError)
    async def system(request: Request, error: OSError) -> JSONResponse:
        return _full(request) if is_disk_full(error) else JSONResponse({"error": log_failure(error)}, 500)


def _full(request: Request) -> JSONResponse:
    """Nothing was stored, as there is no room for it."""
    request.app.state.context.health.failed(DISK_FULL)
    return Refused(507, REASONS[DISK_FULL]).response()


def _meant(error: BaseException) -> bool:
    """Whether an error was raised by a line that raises, to be read by people; others come out of a computation."""
    frames = traceback.extract_tb(error.__traceback__)
    line = frames[-1].line if frames else None
    return not line or line.startswith("raise")


def _first(errors: Sequence[Any]) -> str:
    """The first thing that is wrong with a request: where and what, not what was sent."""
    if not errors:
        return "the request is not as expected"
    parts = [str(part) for part in errors[0].get("loc", ()) if part not in ("body", "query", "path")]
    where = ".".join(part if re.fullmatch(r"\w{1,40}", part, re.ASCII) else "…" for part in parts)
    what = str(errors[0].get("msg", "is not as expected")).removeprefix("Value error, ")
    return f"{where}: {what}"[:300] if where else what[:300]

"""The state of the collection and of the server; what to try first; the token."""

from __future__ import annotations

import hmac
import os
from collections import Counter
from hashlib import sha256
from typing import Any

from fastapi import APIRouter, Request, Response

from rankloom import __version__
from rankloom.collection import index
from rankloom.collection.query import Query
from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import SESSION, USER, cookie, session_of, user_of
from rankloom.server.schemas import TokenRequest
from rankloom.server.work import Progress

__all__ = ["collection_routes"]

MOST_FOLDERS = 500
WORDS, TRIED = 8, 40  # examples that are shown, and words that are looked at for them
# Too common to be a good first search.
_PLAIN = """
    about above after again also another been before being between came come could does down each favourite from
    have here image images into just like looks more most much near other over photo photograph photos picture
    pictures same seen shot show showing shows some something taken than that their them then there these they thing
    things this those time under very view walk was went were what when where which while with would your
"""
PLAIN = frozenset(_PLAIN.split())


def collection_routes(context: Context) -> APIRouter:
    """The routes about the collection and the server."""
    router = APIRouter(prefix="/api")
    collection, work = context.collection, context.work
    kept: dict[str, Any] = {}

    @router.get("/health", tags=["server"])
    async def health() -> dict[str, str]:
        """Whether the server answers and can read the collection."""
        await work.read(lambda: collection.db.execute("SELECT 1").fetchone())
        return {"status": "ok", "version": __version__}

    @router.get("/metrics", tags=["server"], response_class=Response)
    async def metrics() -> Response:
        """Counts and times for Prometheus."""

        def run() -> str:
            db = collection.db
            marks = db.execute("SELECT count(*) FROM qrels WHERE undone IS NULL").fetchone()[0]
            return context.metrics.text(
                {"rankloom_items": ("Items.", len(collection)), "rankloom_marks": ("Marks that stand.", marks)}
            )

        return Response(await work.read(run), media_type="text/plain; version=0.0.4; charset=utf-8")

    @router.get("/session", tags=["server"])
    async def session(request: Request) -> dict[str, Any]:
        """Whether this client may ask, and what it may do."""
        token = context.settings.token
        given = request.cookies.get(SESSION, "")
        known = token is None or hmac.compare_digest(session_of(token, user_of(request)).encode(), given.encode())
        return {"authorized": known, "read_only": context.settings.read_only, "version": __version__}

    @router.post("/session", tags=["server"])
    async def sign_in(asked: TokenRequest, request: Request, response: Response) -> dict[str, Any]:
        """Give the token once; the browser then keeps a cookie that proves it."""
        token = context.settings.token
        if token is not None:
            given, expected = (sha256(text.encode("utf-8", "replace")).digest() for text in (asked.token, token))
            if not hmac.compare_digest(given, expected):
                raise Refused(401, "this is not the token")
            user, secure = user_of(request), request.url.scheme == "https"
            response.headers.append("Set-Cookie", cookie(USER, user, secure))
            response.headers.append("Set-Cookie", cookie(SESSION, session_of(token, user), secure))
        return {"authorized": True, "read_only": context.settings.read_only, "version": __version__}

    @router.get("/collection", tags=["collection"])
    async def state() -> dict[str, Any]:
        """Counts, descriptors, folders, and the long job that runs now."""
        return await work.read(_state, context, kept)

    @router.get("/examples", tags=["collection"])
    async def examples() -> dict[str, Any]:
        """Searches to try first, made from the words and pictures of the collection."""
        return await work.search(_examples, context, kept)

    @router.get("/errors", tags=["collection"])
    async def errors() -> list[dict[str, str]]:
        """The files that could not be read, with the reasons."""

        def run() -> list[dict[str, str]]:
            roots = context.roots()
            return [
                {"name": os.path.basename(path), "folder": context.label(os.path.dirname(path), roots), "reason": why}
                for path, why in collection.errors()[:5000]
            ]

        return await work.read(run)

    @router.post("/errors/retry", tags=["collection"], status_code=202)
    async def retry() -> dict[str, Any]:
        """Look for changes, and read the files again that could not be read."""

        def run(progress: Progress) -> str:
            report = index(collection, retry=True, progress=progress)
            return f"{report.stored} described, {report.removed} gone, {report.failed} could not be read"

        return vars(context.jobs.start("index", run))

    return router


def _state(context: Context, kept: dict[str, Any]) -> dict[str, Any]:
    found = context.collection.info()
    job = context.jobs.current
    stamp = ("folders", found.files, found.items)
    if kept.get("folders", (None,))[0] != stamp:
        kept["folders"] = (stamp, context.folders()[:MOST_FOLDERS])
    total = max(len(context.collection), 1)
    return {
        "name": context.collection.folder.name,
        "files": found.files, "pictures": found.pictures, "videos": found.videos, "items": found.items,
        "shots": found.shots, "hidden": found.hidden, "duplicates": found.duplicates, "texts": found.texts,
        "errors": found.errors, "marks": found.marks, "bytes": found.bytes,
        "descriptors": [{**one._asdict(), "share": one.rows / total} for one in found.descriptors],
        "neighbours": context.engine.neighbours_ready,
        "folders": kept["folders"][1],
        "job": None if job is None else vars(job),
        "jobs": [vars(one) for one in context.jobs.last()],
    }  # fmt: skip


def _examples(context: Context, kept: dict[str, Any]) -> dict[str, Any]:
    stamp = (len(context.collection), context.collection.db.execute("SELECT count(*) FROM texts").fetchone()[0])
    if kept.get("examples", (None,))[0] != stamp:
        kept["examples"] = (stamp, _new_examples(context))
    found: dict[str, Any] = kept["examples"][1]
    return found


def _new_examples(context: Context) -> dict[str, Any]:
    """Words that some but not most items have, each with the picture it finds first; and pictures to start from."""
    db = context.collection.db
    items = max(len(context.collection), 1)
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}  # of people, of programs
    query = "SELECT source, text FROM texts WHERE source NOT IN ('name', 'folder') ORDER BY rowid LIMIT 200000"
    for source, text in db.execute(query):
        words = {word.strip(".,:;!?\"'()[]").lower() for word in text.split()}
        good = (word for word in words if len(word) > 3 and word.isalpha() and word not in PLAIN)
        counts[source != "tag"].update(good)
    frequent = [
        word for kind in (True, False) for word, count in counts[kind].most_common(100)
        if 2 <= count <= max(3, items // 4)
    ]  # fmt: skip
    found: list[dict[str, Any]] = []
    used: set[int] = set()
    for word, ids in sorted(_finds(context, frequent).items(), key=lambda one: -_alike(context, one[1])):
        if not used.intersection(ids):
            used.update(ids)
            found.append({"text": word, "item": ids[0]})
        if len(found) == WORDS:
            break
    rows = db.execute("SELECT id FROM items WHERE shot IS NULL AND hash IN (SELECT hash FROM files) ORDER BY id")
    pictures = [row[0] for row in rows.fetchall() if row[0] not in used]
    step = max(1, len(pictures) // 4)
    return {"words": found, "items": pictures[step // 2 :: step][:4]}


def _finds(context: Context, words: list[str]) -> dict[str, list[int]]:
    """The first items that each word finds."""
    found = {}
    for word in words[:TRIED]:
        ids = [one.id for one in context.engine.search(Query(word), 6, diffusion=False)]
        if len(ids) > 1:
            found[word] = ids
    return found


def _alike(context: Context, ids: list[int]) -> float:
    """How much items look alike: a word that stands for something to see is a better example than "colours"."""
    import numpy as np

    if not any(one.name == "semantic" for one in context.collection.descriptors()):
        return 0.0
    vectors = np.asarray(context.collection.vectors("semantic")[np.array(ids) - 1], dtype=np.float32)
    return float(np.mean((vectors @ vectors.T)[np.triu_indices(len(ids), 1)]))

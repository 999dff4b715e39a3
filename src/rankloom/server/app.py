"""The application: routes, the page, the guard in front of them, and what is finished at the end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from fastapi import FastAPI, Request, Response
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from rankloom import __version__
from rankloom.collection import Collection
from rankloom.collection.browsing import Catalogue
from rankloom.collection.identity import collection_id
from rankloom.collection.overview import indexed_roots
from rankloom.collection.places import Atlas
from rankloom.engine import Engine
from rankloom.server.adding import Follower, Indexing
from rankloom.server.context import Context
from rankloom.server.errors import add_error_handlers
from rankloom.server.guard import Guard
from rankloom.server.health import Health
from rankloom.server.jobs import Jobs
from rankloom.server.page import own_page
from rankloom.server.routes import ROUTES
from rankloom.server.schemas import ErrorBody
from rankloom.server.settings import ServerSettings
from rankloom.server.upkeep import Upkeep
from rankloom.server.work import Work

BACKUP_SECONDS = 3600.0  # between two looks at whether today has a backup
ERRORS: dict[int | str, dict[str, type[ErrorBody]]] = {
    status: {"model": ErrorBody} for status in (400, 401, 403, 404, 409, 411, 413, 415, 421, 422, 429, 500, 503, 507)
}


def create_app(engine: Engine, settings: ServerSettings | None = None) -> FastAPI:
    """An application that serves an engine: the API under /api, the page at /.

    The caller closes the collection when the application has ended.

    Parameters
    ----------
    engine : what answers.
    settings : of the server; those of this machine alone unless given.
    """
    settings = settings or ServerSettings()
    if engine.collection.read_only:
        settings = replace(settings, read_only=True)
    settings.check()
    collection = collection_id(engine.collection)
    health = Health(engine.collection, read_only=settings.read_only)
    work = Work(settings.searches, settings.waiting, health.wrote)
    folder = engine.collection.folder
    hidden = (
        str(folder), os.path.realpath(folder), *indexed_roots(engine.collection), *settings.addable_roots()
    )  # fmt: skip
    jobs = Jobs(hidden)
    indexing, catalogue, atlas = Indexing(engine, jobs), Catalogue(engine.collection), Atlas(engine.collection)
    follower = Follower(indexing, engine.collection, jobs) if settings.watch else None
    upkeep = Upkeep(engine, jobs, work, health, indexing, follower)
    context = Context(engine, settings, work, health, jobs, indexing, upkeep, collection, hidden, catalogue, atlas)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if not settings.read_only and not engine.graph_ready:
            context.jobs.start("neighbours", lambda progress: _done(engine.refresh(progress)))
        backups = None if settings.read_only else asyncio.create_task(_daily_backups(context.collection))
        if follower is not None:
            follower.start()
        yield
        if backups is not None:
            backups.cancel()
        context.jobs.close()
        if follower is not None:
            follower.close()
        context.work.close()

    app = FastAPI(
        title="Rankloom", version=__version__, docs_url=None, redoc_url=None, openapi_url="/api/openapi.json",
        lifespan=lifespan, responses=ERRORS,
        description="Learned image and video search. Requests that change something need the header `X-Rankloom: 1`.",
    )  # fmt: skip
    app.state.context = context
    add_error_handlers(app)
    for routes in ROUTES:
        app.include_router(routes(context))

    page = own_page()

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return page.index(request.headers)

    app.mount("/static", page, name="static")
    app.add_middleware(Guard, settings=settings, metrics=context.metrics, collection=collection)
    app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=[*settings.proxies])
    return app


async def _daily_backups(collection: Collection) -> None:
    """Back up what was written, once a day; searches do not wait for it."""
    while True:
        await asyncio.sleep(BACKUP_SECONDS)
        await asyncio.to_thread(collection.back_up_daily)


def _done(_: object) -> str:
    return "ready"

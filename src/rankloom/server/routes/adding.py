"""Adding folders, and the long jobs of the server: how far they are, pausing, going on, cancelling."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query

from rankloom.collection.contents import counters
from rankloom.collection.overview import errors_since, items_with_files
from rankloom.server.adding import Roots
from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.schemas import AddRequest, CancelRequest


def adding_routes(context: Context) -> APIRouter:
    """The routes that add folders."""
    router = APIRouter(prefix="/api", tags=["adding"])
    work, jobs, indexing = context.work, context.jobs, context.indexing
    roots, items = Roots(context.collection, context.settings), _Items(context)

    @router.get("/roots")
    async def choices(folder: Annotated[str, Query(max_length=4000)] = "") -> dict[str, Any]:
        """Folders that may be added: the roots or, of a `folder`, those in it; by name, as labels."""
        if context.settings.read_only:
            raise Refused(403, "this server is read-only")
        return await work.read(roots.listing, folder)

    @router.post("/roots", status_code=202)
    async def add(asked: AddRequest) -> dict[str, Any]:
        """Add a folder, and all below it: its files are described now, or when what is running has ended."""
        path = await work.read(roots.path, asked.folder)
        return vars(await work.read(indexing.add, [path], asked.folder))

    @router.post("/errors/retry", status_code=202)
    async def retry() -> dict[str, Any]:
        """Look for changes, and read the files again that could not be read."""
        return vars(await work.read(lambda: indexing.add(retry=True)))

    @router.get("/work")
    async def state() -> dict[str, Any]:
        """The long job that runs, those that wait for it, how the last ones ended, and how many items there are."""
        if not work.shut:
            with suppress(Refused):  # it was shut just now
                return await work.read(_state, context, items)
        return _closed_state(context, items)

    @router.post("/work/pause")
    async def pause() -> dict[str, Any]:
        """Let the job rest: nothing is described until it goes on."""
        jobs.pause()
        return await state()

    @router.post("/work/resume")
    async def resume() -> dict[str, Any]:
        """Let the job go on; where none runs, what was cancelled or ended with the server."""
        if jobs.current is None:
            await work.read(indexing.go_on)
        else:
            jobs.resume()
        return await state()

    @router.post("/work/cancel")
    async def cancel(asked: CancelRequest) -> dict[str, Any]:
        """End the job, or take out one of those that `wait`, by its place; what is described already stays.

        Where nothing runs, what was left unfinished is forgotten.
        """
        if jobs.current is None and asked.waiting is None:
            await work.read(indexing.forget)
        else:
            jobs.cancel(asked.waiting)
        return await state()

    return router


class _Items:
    """How many items there are, counted again when files have come or gone, or were hidden: every page asks often. And
    how often something was organized, which tells pages to list again."""

    def __init__(self, context: Context):
        self._context = context
        self._counted: tuple[tuple[int, int], int] = ((-1, -1), 0)

    @property
    def last(self) -> int:
        """How many there were when somebody asked last."""
        return self._counted[1]

    @property
    def organized(self) -> int:
        """How often albums, stars and what is hidden were changed, when somebody asked last."""
        return self._counted[0][1]

    def current(self) -> int:
        now = counters(self._context.collection)
        if self._counted[0] != (now.files, now.organizing):
            self._counted = ((now.files, now.organizing), items_with_files(self._context.collection))
        return self._counted[1]


def _state(context: Context, items: _Items) -> dict[str, Any]:
    job = context.jobs.current
    running = None if job is None else {**vars(job), "failed": errors_since(context.collection, job.started)}
    unfinished = job is None and bool(context.indexing.unfinished)
    now = {"job": running, "items": items.current(), "unfinished": unfinished}
    return {**_closed_state(context, items), **now}


def _closed_state(context: Context, items: _Items) -> dict[str, Any]:
    """What can be told while the server has let go of the collection."""
    job = context.jobs.current
    return {
        "job": None if job is None else vars(job), "waiting": [vars(waiting) for waiting in context.jobs.waiting()],
        "jobs": [vars(last) for last in context.jobs.last()], "items": items.last,
        "organized": items.organized,
        "unfinished": False, "watching": context.settings.watch,
    }  # fmt: skip

"""Checking and repairing the collection, its backups, and the way back to one."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Path

from rankloom.server.context import Context
from rankloom.server.schemas import RestoreRequest
from rankloom.server.upkeep import Upkeep, refuse_read_only

NAME = Path(max_length=100, pattern=r"^[0-9A-Za-z.-]+\.db$")


def upkeep_routes(context: Context) -> APIRouter:
    """The routes of upkeep."""
    router = APIRouter(prefix="/api", tags=["upkeep"])
    upkeep, read = context.upkeep, context.work.read

    def _own() -> Upkeep:
        refuse_read_only(context.settings.read_only)
        return upkeep

    @router.get("/upkeep")
    async def state() -> dict[str, Any]:
        """What the last check found, and the backups, the newest first."""
        return await read(_own().state)

    @router.get("/upkeep/backups/{name}")
    async def backup(name: str = NAME) -> dict[str, Any]:
        """What a backup has, and what there is now: items, marks, albums and so on."""
        return await read(_own().backup, name)

    @router.post("/upkeep/backups")
    async def back_up() -> dict[str, Any]:
        """Make a backup now."""
        return await context.work.train(upkeep.back_up)

    @router.post("/upkeep/check", status_code=202)
    async def check() -> dict[str, Any]:
        """Check the database and every checksum, as a job."""
        return vars(await read(upkeep.check))

    @router.post("/upkeep/repair", status_code=202)
    async def repair() -> dict[str, Any]:
        """Repair what is damaged, as a job; other requests are refused with 503 while it has the collection."""
        return vars(await read(upkeep.repair))

    @router.post("/upkeep/restore", status_code=202)
    async def restore(asked: RestoreRequest) -> dict[str, Any]:
        """Go back to a backup, as a job; other requests are refused with 503 meanwhile."""
        return vars(await read(lambda: upkeep.restore(asked.backup, merge=asked.merge)))

    return router

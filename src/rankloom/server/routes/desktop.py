"""Files of items in the file manager of this machine."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi import Path as InPath

from rankloom.collection.originals import GONE, open_original
from rankloom.server.context import Context
from rankloom.server.desktop import ELSEWHERE, asks_from_here, show_in_folder
from rankloom.server.errors import Refused

ITEM = InPath(ge=1, le=2**31 - 1)


def desktop_routes(context: Context) -> APIRouter:
    """The route that opens a folder."""
    router = APIRouter(prefix="/api", tags=["items"])

    @router.post("/items/{item}/reveal")
    async def reveal(request: Request, item: int = ITEM) -> dict[str, int]:
        """Open the file manager at the file of an item; only for a browser on the server's own machine."""
        if not asks_from_here(request, context.settings):
            raise Refused(403, ELSEWHERE)
        return await context.work.upload(_reveal, context, item)

    return router


def _reveal(context: Context, item: int) -> dict[str, int]:
    """The path is that of the database, of a file that is as it was indexed."""
    original = open_original(context.collection, item)
    if original is None:
        raise Refused(404, GONE)
    original.file.close()
    show_in_folder(original.path)
    return {"item": item}

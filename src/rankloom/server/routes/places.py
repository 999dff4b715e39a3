"""Where items were taken: groups of them on a part of the map."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from rankloom.collection.rectangles import Rectangle, rectangle
from rankloom.server.context import Context
from rankloom.server.organizing_schemas import MapView

WORLD = Rectangle(-180.0, -90.0, 180.0, 90.0)


def place_routes(context: Context) -> APIRouter:
    """The routes of the map."""
    router = APIRouter(prefix="/api", tags=["places"])

    @router.get("/places")
    async def places(asked: Annotated[MapView, Query()]) -> dict[str, Any]:
        """Items that pass the filters and have a position, those in the same cell of a grid over the `view` together.

        At most `columns` x `rows` groups, the largest first: `size`, the newest `item`, `latitude` and `longitude` of
        its middle, and the rectangle that holds them, as the filter `within` takes it.
        """
        return await context.work.search(_places, context, asked)

    return router


def _places(context: Context, asked: MapView) -> dict[str, Any]:
    items = context.catalogue.listing(context.filters(asked.filters()), "newest").items
    total, extent = context.atlas.extent(items)
    view = WORLD if asked.view is None else rectangle(asked.view)
    clusters = context.atlas.clusters(items, view, asked.columns, asked.rows)
    return {
        "items": len(items), "total": total, "extent": None if extent is None else extent.text,
        "clusters": [cluster._asdict() for cluster in clusters],
    }  # fmt: skip

"""Looking through the collection without a question: pages of a listing, its months, its folders."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from rankloom.collection.browsing import Listing
from rankloom.engine import SearchHit
from rankloom.server.context import Context
from rankloom.server.organizing_schemas import Listed, Page, Stretch

MOST_FOLDERS = 5000


def browse_routes(context: Context) -> APIRouter:
    """The routes that list items."""
    router = APIRouter(prefix="/api", tags=["browse"])
    work = context.work

    @router.get("/browse", response_class=Response)
    async def browse(asked: Annotated[Page, Query()]) -> Response:
        """A page of the items that pass the filters, in an order: `total`, and `hits` as a search has them."""
        return await work.search(_page, context, asked)

    @router.get("/browse/months")
    async def months(asked: Annotated[Listed, Query()]) -> dict[str, Any]:
        """How many items each month of a listing has, in its order; one group without a name if it is not by date."""
        return await work.search(_months, context, asked)

    @router.get("/browse/items")
    async def items(asked: Annotated[Stretch, Query()]) -> list[int]:
        """The numbers of a stretch of a listing, to select them without looking at them."""
        return await work.search(_items, context, asked)

    @router.get("/folders")
    async def folders() -> list[dict[str, Any]]:
        """The folders, and how many files each holds itself; folders between them hold none."""
        return await work.read(_folders, context)

    return router


def _listing(context: Context, asked: Listed) -> Listing:
    return context.catalogue.listing(context.filters(asked.filters()), asked.sort)


def _page(context: Context, asked: Page) -> Response:
    listing = _listing(context, asked)
    items = listing.items[asked.offset : asked.offset + asked.k].tolist()
    hits = [SearchHit(rank, item, "", 0.0) for rank, item in enumerate(items, asked.offset + 1)]
    about = json.dumps({"total": len(listing.items), "offset": asked.offset})
    return Response(f'{about[:-1]}, "hits": {context.hits_json(hits)}}}', media_type="application/json")


def _months(context: Context, asked: Listed) -> dict[str, Any]:
    listing = _listing(context, asked)
    return {"total": len(listing.items), "groups": [group._asdict() for group in listing.groups()]}


def _items(context: Context, asked: Stretch) -> list[int]:
    listed: list[int] = _listing(context, asked).items[asked.offset : asked.offset + asked.k].tolist()
    return listed


def _folders(context: Context) -> list[dict[str, Any]]:
    roots = context.roots()
    counts: dict[str, int] = {}
    for folder, files in context.catalogue.folders().items():
        label = context.label(folder, roots)
        counts[label] = counts.get(label, 0) + files
    return [{"folder": label, "files": counts[label]} for label in sorted(counts)[:MOST_FOLDERS]]

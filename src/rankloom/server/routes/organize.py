"""What the owner says of items: captions, tags, stars, and what is hidden."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from rankloom.collection.organizing import change_tags, hide, rate, set_caption, tag_counts
from rankloom.collection.overview import item_summaries
from rankloom.server.context import Context
from rankloom.server.desktop import asks_from_here
from rankloom.server.organizing_schemas import (
    CaptionRequest,
    HideRequest,
    ItemsRequest,
    RateRequest,
    TagsRequest,
)


def organize_routes(context: Context) -> APIRouter:
    """The routes that change what is said of items."""
    router = APIRouter(prefix="/api", tags=["organize"])
    work, collection = context.work, context.collection

    @router.post("/items/rate")
    async def rate_items(asked: RateRequest) -> dict[str, int]:
        """Give items from 1 to 5 stars, or take them away with 0."""
        await work.write(rate, collection, asked.items, asked.stars)
        return {"items": len(asked.items)}

    @router.post("/items/hide")
    async def hide_items(asked: HideRequest) -> dict[str, int]:
        """Leave items out of searches and lists, or show them again; `hidden` of a filter lists them."""
        await work.write(hide, collection, asked.items, asked.hidden)
        return {"items": len(asked.items)}

    @router.post("/items/tags")
    async def tag_items(asked: TagsRequest) -> list[dict[str, Any]]:
        """Give items tags, and take some away; answers with all tags of the collection."""
        await work.write(change_tags, collection, asked.items, asked.add, asked.remove)
        return await work.read(_tags, context)

    @router.post("/items/caption")
    async def caption_item(asked: CaptionRequest) -> dict[str, int]:
        """Write the owner's caption of an item; words of it are found at once."""
        await work.write(set_caption, collection, asked.item, asked.caption)
        return {"items": 1}

    @router.post("/items/paths")
    async def paths(request: Request, asked: ItemsRequest) -> list[str]:
        """Where the files of items are: whole paths for a browser on this machine, else below the indexed folders."""
        return await work.read(_paths, context, asked.items, asks_from_here(request, context.settings))

    @router.get("/tags")
    async def tags() -> list[dict[str, Any]]:
        """The tags that the owner gave, with the number of items of each."""
        return await work.read(_tags, context)

    return router


def _tags(context: Context) -> list[dict[str, Any]]:
    return [tag._asdict() for tag in tag_counts(context.collection)]


def _paths(context: Context, items: list[int], here: bool) -> list[str]:
    if here:
        known = item_summaries(context.collection, items)
        return [*dict.fromkeys(known[item].path for item in items if item in known and known[item].path)]
    details = context.details(items)
    shown = (details[item] for item in dict.fromkeys(items) if item in details)
    return [*dict.fromkeys(f"{item['folder']}/{item['name']}".strip("/") for item in shown if item["name"])]

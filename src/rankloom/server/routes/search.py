"""Searching, and why hits are where they are."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any

from fastapi import APIRouter, Request, Response

from rankloom.collection.query import Query
from rankloom.engine import SearchOptions
from rankloom.engine.online_weights import load_rankers
from rankloom.engine.sorting import sorted_search
from rankloom.engine.standing import standing
from rankloom.server.context import Context
from rankloom.server.guard import user_of
from rankloom.server.schemas import (
    CompareRequest,
    ExplainRequest,
    HitModel,
    SearchRequest,
    SearchResponse,
    SuggestRequest,
)


def search_routes(context: Context) -> APIRouter:
    """The routes that search."""
    router = APIRouter(prefix="/api", tags=["search"])
    work = context.work

    @router.post("/search", response_model=SearchResponse)
    async def search(asked: SearchRequest, request: Request) -> Response:
        """Find items by words, examples and a concept."""
        if not context.settings.read_only:
            work.once(load_rankers)  # who searches may mark next, and should not wait then
        return await work.search(_search, context, asked, user_of(request))

    @router.post("/explain")
    async def explain(asked: ExplainRequest, request: Request) -> dict[str, Any]:
        """Why an item has its score: parts by expert, neighbour and mark that sum to it."""
        return await work.search(_explain, context, asked, user_of(request))

    @router.post("/compare")
    async def compare(asked: CompareRequest, request: Request) -> dict[str, Any]:
        """Why one item is above another: differences by expert that sum to the difference of the scores."""
        return await work.search(_compare, context, asked, user_of(request))

    @router.post("/suggest")
    async def suggest(asked: SuggestRequest, request: Request) -> list[HitModel]:
        """The hits whose marks would teach most."""
        return await work.search(_suggest, context, asked, user_of(request))

    return router


def _search(context: Context, asked: SearchRequest, user: str) -> Response:
    """A `SearchResponse`, written here and not by the event loop, which serves everybody."""
    began = perf_counter()
    query, options = context.query(asked.query), asked.options(user)
    results = sorted_search(context.engine, query, asked.k, options, asked.order)
    about = {
        "total": results.total,
        "cutoff": results.cutoff,
        "likely": results.likely,
        "diffused": results.diffused,
        "marks": results.marks,
        "learning": results.learning,
        "literal": results.literal,
        "seconds": perf_counter() - began,
    }
    hits = context.hits_json(results, asked.query.text)
    return Response(f'{json.dumps(about)[:-1]}, "hits": {hits}}}', media_type="application/json")


def _explain(context: Context, asked: ExplainRequest, user: str) -> dict[str, Any]:
    query, options = context.query(asked.query), asked.options(user)
    (why,) = context.engine.explain(query, [asked.item], options)
    matched = context.matched([asked.item], asked.query.text).get(asked.item)
    about = {"item": asked.item, "score": why.total, "why": context.parts(why), "matched": matched}
    return {**about, "standing": _standing(context, query, asked.item, options)} if asked.standing else about


def _standing(context: Context, query: Query, item: int, options: SearchOptions) -> dict[str, Any]:
    found = standing(context.engine, query, item, options)
    return {**found._asdict(), "groups": [group._asdict() for group in found.groups]}


def _compare(context: Context, asked: CompareRequest, user: str) -> dict[str, Any]:
    why = context.engine.compare(context.query(asked.query), asked.a, asked.b, asked.options(user))
    return {"a": asked.a, "b": asked.b, "difference": why.total, "why": context.parts(why)}


def _suggest(context: Context, asked: SuggestRequest, user: str) -> list[HitModel]:
    options = SearchOptions(user=user, diffusion=asked.diffusion)
    return context.hits(context.engine.suggest(context.query(asked.query), asked.n, options))

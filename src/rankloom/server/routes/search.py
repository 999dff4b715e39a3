"""Searching, and why hits are where they are."""

from __future__ import annotations

import json
from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi import Query as Parameter

from rankloom.collection.query import Query
from rankloom.collection.vocabulary import CollectionWords
from rankloom.engine import Results, SearchOptions
from rankloom.engine.online_weights import load_rankers
from rankloom.engine.sorting import orders_of, sorted_search
from rankloom.engine.spelling import did_you_mean
from rankloom.engine.standing import standing
from rankloom.server.context import Context
from rankloom.server.guard import user_of
from rankloom.server.schemas import (
    CompareRequest,
    ExplainRequest,
    InterleaveRequest,
    SearchRequest,
    SearchResponse,
)
from rankloom.server.suggestions import Suggestion, Suggestions

LONGEST_TYPED = 1000


def search_routes(context: Context) -> APIRouter:
    """The routes that search."""
    router = APIRouter(prefix="/api", tags=["search"])
    work = context.work
    words = CollectionWords(context.collection)
    suggestions = Suggestions(context, words)

    @router.post("/search", response_model=SearchResponse)
    async def search(asked: SearchRequest, request: Request) -> Response:
        """Find items by words, examples and a concept."""
        if not context.settings.read_only:
            work.once(load_rankers)  # who searches may mark next, and should not wait then
        return await work.search(_search, context, asked, user_of(request), words)

    @router.post("/interleave", response_model=SearchResponse)
    async def interleave(asked: InterleaveRequest, request: Request) -> Response:
        """The results of the model in use and of another as one list; marks of it say which is better."""
        return await work.write(_interleave, context, asked, user_of(request))

    @router.post("/explain")
    async def explain(asked: ExplainRequest, request: Request) -> dict[str, Any]:
        """Why an item has its score: parts by expert, neighbour and mark that sum to it."""
        return await work.search(_explain, context, asked, user_of(request))

    @router.post("/compare")
    async def compare(asked: CompareRequest, request: Request) -> dict[str, Any]:
        """Why one item is above another: differences by expert that sum to the difference of the scores."""
        return await work.search(_compare, context, asked, user_of(request))

    @router.get("/suggest", response_model_exclude_none=True)
    async def offers(
        request: Request,
        prefix: Annotated[str, Parameter(max_length=LONGEST_TYPED, description="What was typed so far.")] = "",
    ) -> list[Suggestion]:
        """Words, tags, people, concepts, folders, albums and saved searches that begin so."""
        return await work.search(suggestions.starting, prefix, user_of(request))

    return router


def _search(context: Context, asked: SearchRequest, user: str, words: CollectionWords) -> Response:
    """A `SearchResponse`, written here and not by the event loop, which serves everybody."""
    began = perf_counter()
    query, options = context.query(asked.query), asked.options(user)
    results = sorted_search(context.engine, query, asked.k, options, asked.order)
    meant = _meant(context, asked.query.text, words) if results.literal is not None else None
    return _answer(context, results, asked.query.text, meant, began)


def _interleave(context: Context, asked: InterleaveRequest, user: str) -> Response:
    began = perf_counter()
    results = context.engine.interleave(context.query(asked.query), asked.against, asked.k, user)
    return _answer(context, replace(results, total=len(results)), asked.query.text, None, began)


def _answer(context: Context, results: Results, text: str, meant: str | None, began: float) -> Response:
    about = {
        "total": results.total,
        "cutoff": results.cutoff,
        "likely": results.likely,
        "diffused": results.diffused,
        "marks": results.marks,
        "contradicted": results.contradicted,
        "learning": results.learning,
        "literal": results.literal,
        "in_texts": results.in_texts,
        "in_tags": results.in_tags,
        "orders": orders_of(results),
        "did_you_mean": meant,
        "seconds": perf_counter() - began,
    }
    hits = context.hits_json(results, text)
    return Response(f'{json.dumps(about)[:-1]}, "hits": {hits}}}', media_type="application/json")


def _meant(context: Context, text: str, words: CollectionWords) -> str | None:
    return did_you_mean(text, context.engine.snapshot(), words.current)


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

"""Searching, and why results are where they are."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any

from fastapi import APIRouter, Request, Response

from rankloom import core
from rankloom.collection.export import MARK_COLUMNS, csv_text, mark_rows, trec_qrels
from rankloom.collection.marks import judgements
from rankloom.datasets.trec import qid_to_trec, run_text
from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import user_of
from rankloom.server.schemas import (
    CompareRequest,
    ExplainRequest,
    ExportRequest,
    Hit,
    Scored,
    SearchRequest,
    SearchResponse,
    SuggestRequest,
)  # fmt: skip

__all__ = ["search_routes"]

TYPES = {"json": "application/json", "csv": "text/csv; charset=utf-8", "trec": "text/plain; charset=utf-8"}


def search_routes(context: Context) -> APIRouter:
    """The routes that search."""
    router = APIRouter(prefix="/api", tags=["search"])
    engine, work = context.engine, context.work

    @router.post("/search")
    async def search(asked: SearchRequest, request: Request) -> SearchResponse:
        """Find items by words, examples and a concept."""
        return await work.search(_search, context, asked, user_of(request))

    @router.post("/explain")
    async def explain(asked: ExplainRequest, request: Request) -> dict[str, Any]:
        """Why an item has its score: parts by expert, neighbour and mark that sum to it."""
        user = user_of(request)

        def run() -> dict[str, Any]:
            (why,) = engine.explain(context.query(asked.query), [asked.item], user=user, **_scored(asked))
            parts = context.contributions(why)
            return {"item": asked.item, "score": sum(why.values()), "why": [_plain(part) for part in parts]}

        return await work.search(run)

    @router.post("/compare")
    async def compare(asked: CompareRequest, request: Request) -> dict[str, Any]:
        """Why one item is above another: differences by expert that sum to the difference of the scores."""
        user = user_of(request)

        def run() -> dict[str, Any]:
            differences = engine.compare(
                context.query(asked.query), asked.a, asked.b, user=user, **_scored(asked)
            )  # fmt: skip
            parts = context.contributions(differences)
            return {
                "a": asked.a, "b": asked.b, "difference": sum(differences.values()),
                "why": [_plain(part) for part in parts],
            }  # fmt: skip

        return await work.search(run)

    @router.post("/suggest")
    async def suggest(asked: SuggestRequest, request: Request) -> list[Hit]:
        """The results whose marks would teach most."""
        user = user_of(request)

        def run() -> list[Hit]:
            query = context.query(asked.query)
            return context.hits(engine.suggest(query, asked.n, user=user, diffusion=asked.diffusion))

        return await work.search(run)

    @router.post("/export", response_class=Response)
    async def export(asked: ExportRequest, request: Request) -> Response:
        """The results of a query, or the marks of this user, as a JSON, CSV or TREC file."""
        user = user_of(request)
        if asked.what == "results" and asked.query is None:
            raise Refused(422, "query: give one to export its results")
        text = await work.search(_results_file if asked.what == "results" else _marks_file, context, asked, user)
        name = f"rankloom-{asked.what}.{'txt' if asked.format == 'trec' else asked.format}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(text, media_type=TYPES[asked.format], headers=headers)

    return router


def _search(context: Context, asked: SearchRequest, user: str) -> SearchResponse:
    began = perf_counter()
    answer = context.engine.search(
        context.query(asked.query), asked.k, offset=asked.offset, user=user, explain=asked.explain,
        diversity=asked.diversity, **_scored(asked),
    )  # fmt: skip
    return SearchResponse(
        total=answer.total,
        cutoff=answer.cutoff,
        diffused=answer.diffused,
        marks=answer.marks,
        seconds=perf_counter() - began,
        hits=context.hits(answer),
    )


def _scored(asked: Scored) -> dict[str, Any]:
    """The options that scores depend on, as the engine takes them."""
    return {"diffusion": asked.diffusion, "collapse": asked.collapse, "method": asked.method}


def _plain(part: Any) -> dict[str, Any]:
    found: dict[str, Any] = part.model_dump(exclude_none=True)
    return found


def _results_file(context: Context, asked: ExportRequest, user: str) -> str:
    assert asked.query is not None
    query = context.query(asked.query)
    answer = context.engine.search(query, asked.k, user=user, diversity=asked.diversity, **_scored(asked))
    if asked.format == "trec":
        if query.lists:
            raise Refused(422, "format: a TREC run needs scores, and filters alone only list items; take csv or json")
        # Readers of runs order them by score, which is not the order of results that were made to differ.
        run = [core.Hit(hit.rank, str(hit.id), 1 / hit.rank if asked.diversity else hit.score) for hit in answer]
        return run_text({qid_to_trec(query.qid): run})
    hits = [hit.model_dump(exclude={"why"}) for hit in context.hits(answer)]
    if asked.format == "csv":
        return csv_text(hits, [name for name in Hit.model_fields if name != "why"])
    return json.dumps({"query": context.query_json(query), "results": hits}, ensure_ascii=False, indent=1) + "\n"


def _marks_file(context: Context, asked: ExportRequest, user: str) -> str:
    """The marks of one user; a browser's number for its user is nothing to hand on."""
    query = None if asked.query is None else context.query(asked.query)
    standing = context.engine.marks(query, user=user)
    if asked.format == "trec":
        wanted = {mark.id for mark in standing}
        return trec_qrels([mark for mark in judgements(context.collection, user) if mark.id in wanted])
    columns = [name for name in MARK_COLUMNS if name != "user"]
    rows = [{name: row[name] for name in columns} for row in mark_rows(standing)]
    return csv_text(rows, columns) if asked.format == "csv" else json.dumps(rows, ensure_ascii=False, indent=1) + "\n"

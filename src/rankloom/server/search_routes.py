"""Searching, and why results are where they are."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from time import perf_counter
from typing import Any

from fastapi import APIRouter, Request, Response

from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import user_of
from rankloom.server.schemas import (
    CompareRequest,
    ExplainRequest,
    ExportRequest,
    Hit,
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
            ranking = engine.rank(context.query(asked.query), user=user, diffusion=asked.diffusion)
            total = ranking.total
            if asked.item > len(total):
                raise Refused(404, f"there is no item {asked.item}")
            parts = context.contributions(ranking.why(asked.item - 1))
            return {"item": asked.item, "score": float(total[asked.item - 1]), "why": [_plain(one) for one in parts]}

        return await work.search(run)

    @router.post("/compare")
    async def compare(asked: CompareRequest, request: Request) -> dict[str, Any]:
        """Why one item is above another: differences by expert that sum to the difference of the scores."""
        user = user_of(request)

        def run() -> dict[str, Any]:
            differences = engine.compare(context.query(asked.query), asked.a, asked.b, user=user)
            parts = context.contributions(differences)
            return {
                "a": asked.a, "b": asked.b, "difference": sum(differences.values()),
                "why": [_plain(one) for one in parts],
            }  # fmt: skip

        return await work.search(run)

    @router.post("/suggest")
    async def suggest(asked: SuggestRequest, request: Request) -> list[Hit]:
        """The results whose marks would teach most."""
        user = user_of(request)
        return await work.search(lambda: context.hits(engine.suggest(context.query(asked.query), asked.n, user=user)))

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
        context.query(asked.query), asked.k, offset=asked.offset, user=user, diffusion=asked.diffusion,
        explain=asked.explain, collapse=asked.collapse, diversity=asked.diversity, method=asked.method,
    )  # fmt: skip
    return SearchResponse(
        total=answer.total,
        cutoff=answer.cutoff,
        diffused=answer.diffused,
        marks=answer.marks,
        seconds=perf_counter() - began,
        hits=context.hits(answer),
    )


def _plain(part: Any) -> dict[str, Any]:
    found: dict[str, Any] = part.model_dump(exclude_none=True)
    return found


def _results_file(context: Context, asked: ExportRequest, user: str) -> str:
    assert asked.query is not None
    query = context.query(asked.query)
    answer = context.engine.search(query, asked.k, user=user)
    if asked.format == "trec":
        return "".join(f"{_word(query.qid)} Q0 {one.id} {one.rank} {one.score:.9g} rankloom\n" for one in answer)
    hits = [hit.model_dump(exclude={"why"}) for hit in context.hits(answer)]
    if asked.format == "csv":
        return _csv(hits, [name for name in Hit.model_fields if name != "why"])
    return json.dumps({"query": context.query_json(query), "results": hits}, ensure_ascii=False, indent=1) + "\n"


def _marks_file(context: Context, asked: ExportRequest, user: str) -> str:
    query = None if asked.query is None else context.query(asked.query)
    marks = context.engine.marks(query, user=user)
    if asked.format == "trec":
        return "".join(f"{_word(one.qid)} 0 {one.item} {one.grade:g}\n" for one in marks if one.over is None)
    rows = [
        {"id": one.id, "query": one.qid, "item": one.item, "grade": one.grade, "over": one.over, "at": one.at}
        for one in marks
    ]
    if asked.format == "csv":
        return _csv(rows, ["id", "query", "item", "grade", "over", "at"])
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def _word(qid: str) -> str:
    """A query's name as TREC files take it: without blanks."""
    return "_".join(qid.split()) or "_"


def _csv(rows: Iterable[dict[str, Any]], columns: list[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _harmless(value) for name, value in row.items()})
    return text.getvalue()


def _harmless(value: Any) -> Any:
    """A caption that begins like a formula must not be one when a spreadsheet opens the file."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value

"""Results and marks as files."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request, Response

from rankloom.collection.export import MARK_COLUMNS, csv_text, mark_rows, trec_qrels
from rankloom.collection.marks import judgements
from rankloom.collection.organizing import notes_of
from rankloom.collection.query import Filters
from rankloom.core import Hit
from rankloom.datasets.trec import qid_to_trec, run_text
from rankloom.server.context import Context
from rankloom.server.errors import Refused
from rankloom.server.guard import user_of
from rankloom.server.schemas import ExportRequest, HitModel

TYPES = {"json": "application/json", "csv": "text/csv; charset=utf-8", "trec": "text/plain; charset=utf-8"}


def export_routes(context: Context) -> APIRouter:
    """The route that exports."""
    router = APIRouter(prefix="/api", tags=["search"])

    @router.post("/export", response_class=Response)
    async def export(asked: ExportRequest, request: Request) -> Response:
        """The results of a query, some items, or the marks of this user, as a JSON, CSV or TREC file."""
        if asked.what == "results" and asked.query is None:
            raise Refused(422, "query: give one to export its results")
        if asked.what == "items" and asked.format == "trec":
            raise Refused(422, "format: items alone have no scores; take csv or json")
        make = {"results": _results_file, "items": _items_file, "marks": _marks_file}[asked.what]
        text = await context.work.search(make, context, asked, user_of(request))
        name = f"rankloom-{asked.what}.{'txt' if asked.format == 'trec' else asked.format}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(text, media_type=TYPES[asked.format], headers=headers)

    return router


def _results_file(context: Context, asked: ExportRequest, user: str) -> str:
    assert asked.query is not None
    query = context.query(asked.query)
    results = context.engine.search(query, asked.k, asked.options(user))
    if asked.format == "trec":
        if query.lists:
            raise Refused(422, "format: a TREC run needs scores, and filters alone only list items; take csv or json")
        # Readers of runs order them by score, which is not the order of results that were made to differ.
        run = [Hit(hit.rank, str(hit.id), 1 / hit.rank if asked.diversity else hit.score) for hit in results]
        return run_text({qid_to_trec(query.qid): run})
    hits = [hit.model_dump(exclude={"why", "matched"}) for hit in context.hits(results)]
    if asked.format == "csv":
        return csv_text(hits, [name for name in HitModel.model_fields if name != "why"])
    return json.dumps({"query": context.query_json(query), "results": hits}, ensure_ascii=False, indent=1) + "\n"


def _items_file(context: Context, asked: ExportRequest, _: str) -> str:
    """Items as they were given, or all, without what only a search says of them."""
    everything = context.catalogue.listing(Filters(), "newest").items if asked.items is None else ()
    items = [*map(int, everything)] if asked.items is None else asked.items
    details = context.details(items)
    notes = notes_of(context.collection, items)
    rows = [
        {**details[item], "tags": ", ".join(notes[item].tags if item in notes else ())}
        for item in dict.fromkeys(items) if item in details
    ]  # fmt: skip
    if asked.format == "csv":
        return csv_text(rows, [*rows[0]] if rows else [])
    return json.dumps({"items": rows}, ensure_ascii=False, indent=1) + "\n"


def _marks_file(context: Context, asked: ExportRequest, user: str) -> str:
    """The marks of one user; a browser's number for its user is nothing to hand on."""
    query = None if asked.query is None else context.query(asked.query)
    active = context.engine.marks(query, user=user)
    if asked.format == "trec":
        wanted = {mark.id for mark in active}
        return trec_qrels([mark for mark in judgements(context.collection, user) if mark.id in wanted])
    columns = [name for name in MARK_COLUMNS if name != "user"]
    rows = [{name: row[name] for name in columns} for row in mark_rows(active)]
    return csv_text(rows, columns) if asked.format == "csv" else json.dumps(rows, ensure_ascii=False, indent=1) + "\n"

"""Results and marks as files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse

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
AT_ONCE = 1000  # items that are read while a file of them is sent


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
        name = f"rankloom-{asked.what}.{'txt' if asked.format == 'trec' else asked.format}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        if asked.what == "items":
            pieces = await context.work.search(_items_file, context, asked)
            return StreamingResponse(pieces, media_type=TYPES[asked.format], headers=headers)
        make = _results_file if asked.what == "results" else _marks_file
        text = await context.work.search(make, context, asked, user_of(request))
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
    columns = [name for name in HitModel.model_fields if name != "why"]
    found = json.loads(context.hits_json(results, asked.query.text))
    hits = [{name: hit[name] for name in columns} for hit in found]
    if asked.format == "csv":
        return csv_text(({name: _cell(value) for name, value in hit.items()} for hit in hits), columns)
    return json.dumps({"query": context.query_json(query), "results": hits}, ensure_ascii=False, indent=1) + "\n"


def _cell(value: Any) -> Any:
    """Return a value of a hit as a cell of a table: of a text that matched, the text."""
    return value["text"] if isinstance(value, dict) else value


def _items_file(context: Context, asked: ExportRequest) -> Iterator[str]:
    """Items as they were given, or all, without what only a search says of them; read while they are sent."""
    everything = context.catalogue.listing(Filters(), "newest").items if asked.items is None else ()
    items = [*map(int, everything)] if asked.items is None else [*dict.fromkeys(asked.items)]
    pieces = (_csv_pieces if asked.format == "csv" else _json_pieces)(_item_rows(context, items))
    return chain([next(pieces)], pieces)  # what cannot be read at all is an error, not a file without an end


def _item_rows(context: Context, items: list[int]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(items), AT_ONCE):
        batch = items[start : start + AT_ONCE]
        details, notes = context.details(batch), notes_of(context.collection, batch)
        yield [
            {**details[item], "tags": ", ".join(notes[item].tags if item in notes else ())}
            for item in batch if item in details
        ]  # fmt: skip


def _csv_pieces(batches: Iterator[list[dict[str, Any]]]) -> Iterator[str]:
    columns: list[str] = []
    for rows in batches:
        if rows:
            header = not columns
            columns = columns or [*rows[0]]
            yield csv_text(rows, columns, header=header)
    yield "" if columns else "\n"


def _json_pieces(batches: Iterator[list[dict[str, Any]]]) -> Iterator[str]:
    before = '{"items": [\n'
    for rows in batches:
        if rows:
            yield before + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
            before = ",\n"
    yield f"{before.strip(',')}]}}\n"


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

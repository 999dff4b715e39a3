"""export: what a collection knows, as tables and TREC files."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rankloom._io import atomic_write
from rankloom.collection.albums import album_names
from rankloom.collection.collection import Collection
from rankloom.collection.marks import StoredMark, judgements, marks
from rankloom.collection.organizing import Notes, notes_of
from rankloom.collection.places import positions_of_all
from rankloom.core import Qrel
from rankloom.datasets.trec import qid_to_trec, qrels_text

ITEM_COLUMNS = (
    "id", "kind", "path", "shot", "start", "end", "width", "height", "taken", "latitude", "longitude", "faces",
    "copies", "text", "tags", "stars", "hidden", "albums",
)  # fmt: skip
MARK_COLUMNS = ("id", "query", "item", "grade", "over", "user", "at")
_TABLES = (".csv", ".tsv", ".parquet")
_FORMULAS = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class ExportedMarks(NamedTuple):
    """How many marks were written; and of a TREC file, what it cannot hold.

    Parameters
    ----------
    written : rows of the file.
    left_out : preferences, which have no grade.
    merged : rows for an item that several users judged for the same query.
    disputed : those of them for which the users differ.
    """

    written: int
    left_out: int = 0
    merged: int = 0
    disputed: int = 0


def item_rows(collection: Collection) -> Iterator[dict[str, Any]]:
    """One record an item that has a file."""
    items = collection.items()
    notes, in_albums = notes_of(collection, [item.id for item in items]), album_names(collection)
    places = positions_of_all(collection)
    for item in items:
        place = places.get(item.id)
        note = notes.get(item.id, Notes())
        texts = collection.texts(item.id)
        yield {
            "id": item.id, "kind": item.kind, "path": item.path, "shot": item.shot, "start": item.start,
            "end": item.end, "width": item.width, "height": item.height, "taken": item.taken,
            "latitude": None if place is None else place.latitude,
            "longitude": None if place is None else place.longitude, "faces": item.faces,
            "copies": len(item.paths),
            "text": " | ".join(text for text, source in texts if source != "tag"),
            "tags": " | ".join(text for text, source in texts if source == "tag"),
            "stars": note.stars, "hidden": note.hidden, "albums": " | ".join(in_albums.get(item.id, ())),
        }  # fmt: skip


def mark_rows(given: Iterable[StoredMark]) -> list[dict[str, Any]]:
    """One record a mark."""
    return [
        {
            "id": mark.id, "query": mark.qid, "item": mark.item, "grade": mark.grade, "over": mark.over,
            "user": mark.user, "at": mark.at,
        }
        for mark in given
    ]  # fmt: skip


def export_items(collection: Collection, path: str | os.PathLike[str]) -> int:
    """Write all items as CSV, TSV or Parquet, by the ending of the name; returns how many."""
    rows = [*item_rows(collection)]
    _write_table(rows, ITEM_COLUMNS, os.fspath(path))
    return len(rows)


def export_marks(collection: Collection, path: str | os.PathLike[str], user: str | None = None) -> ExportedMarks:
    """Write marks, of one user or of all: to a .csv, .tsv or .parquet file all of them, to any other as TREC qrels.

    TREC qrels hold one grade a query and item: where several users judged the same, what `majority` says.
    """
    name = os.fspath(path)
    standing = marks(collection, user=user)
    if os.path.splitext(name)[1].lower() in _TABLES:
        _write_table(mark_rows(standing), MARK_COLUMNS, name)
        return ExportedMarks(len(standing))
    grades = judgements(collection, user)
    content = trec_qrels(majority(grades)).encode()
    with atomic_write(name) as file:
        file.write(content)
    judged = [*_by_pair(grades).values()]
    return ExportedMarks(
        written=len(judged),
        left_out=sum(mark.over is not None for mark in standing),
        merged=sum(len(of_pair) > 1 for of_pair in judged),
        disputed=sum(len({mark.grade for mark in of_pair}) > 1 for of_pair in judged),
    )


def majority(grades: Iterable[StoredMark]) -> list[StoredMark]:
    """One judgement a query and item: the grade that most users gave; of grades that equally many gave, the latest.

    Parameters
    ----------
    grades : at most one a query, item and user, as `judgements` gives them.
    """
    return [_most_given(of_pair) for of_pair in _by_pair(grades).values()]


def _most_given(of_pair: list[StoredMark]) -> StoredMark:
    votes = Counter(mark.grade for mark in of_pair)
    return max(of_pair, key=lambda mark: (votes[mark.grade], mark.at, mark.id))


def _by_pair(grades: Iterable[StoredMark]) -> dict[tuple[str, int], list[StoredMark]]:
    """The judgements of each query and item."""
    pairs: dict[tuple[str, int], list[StoredMark]] = {}
    for mark in grades:
        pairs.setdefault((mark.qid, mark.item), []).append(mark)
    return pairs


def trec_qrels(grades: Iterable[StoredMark]) -> str:
    """Judgements, one a query and item, as a TREC qrels file; queries are encoded by `qid_to_trec`."""
    return qrels_text(Qrel(qid_to_trec(mark.qid), str(mark.item), mark.grade) for mark in grades)


def csv_text(
    rows: Iterable[dict[str, Any]], columns: Sequence[str], delimiter: str = ",", *, header: bool = True
) -> str:
    """A table, with a header unless it goes on, in which no text is a formula to a spreadsheet.

    >>> csv_text([{"text": "=1+1", "n": -2}], ("text", "n"))
    "text,n\\n'=1+1,-2\\n"
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, delimiter=delimiter, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows({name: _harmless(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _harmless(value: Any) -> Any:
    """A text that begins like a formula, also in wide letters, must not be one when a spreadsheet opens the file."""
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n")  # which is put in quotes; a bare \r would begin a row
    return f"'{text}" if text.startswith(_FORMULAS) else text


def _write_table(rows: list[dict[str, Any]], columns: Sequence[str], name: str) -> None:
    """Write rows in the format that the ending of the name says."""
    ending = os.path.splitext(name)[1].lower()
    if ending not in _TABLES:
        raise ValueError(f"{name}: the ending must be .csv, .tsv or .parquet")
    if ending == ".parquet":
        data = _parquet(rows, columns)
    else:
        data = csv_text(rows, columns, "," if ending == ".csv" else "\t").encode()
    with atomic_write(name) as file:
        file.write(data)


def _parquet(rows: list[dict[str, Any]], columns: Sequence[str]) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError("Parquet needs pyarrow; install it with: pip install 'rankloom[parquet]'") from None
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table({name: [row[name] for row in rows] for name in columns}), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data

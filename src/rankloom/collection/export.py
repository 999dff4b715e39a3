"""export: what a collection knows, as tables and TREC files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

from rankloom.collection.collection import Collection
from rankloom.datasets import write_qrels
from rankloom.datasets._files import atomic_write

__all__ = ["export_items", "export_marks", "item_rows", "qid_from_trec", "qid_to_trec"]

COLUMNS = (
    "id", "kind", "path", "shot", "start", "end", "width", "height", "taken", "faces", "copies", "text", "tags",
)  # fmt: skip


def item_rows(collection: Collection) -> Iterator[dict[str, Any]]:
    """One record an item that has a file."""
    for item in collection.items():
        texts = collection.texts(item.id)
        yield {
            "id": item.id, "kind": item.kind, "path": item.path, "shot": item.shot, "start": item.start,
            "end": item.end, "width": item.width, "height": item.height, "taken": item.taken, "faces": item.faces,
            "copies": len(item.paths),
            "text": " | ".join(text for text, source in texts if source != "tag"),
            "tags": " | ".join(text for text, source in texts if source == "tag"),
        }  # fmt: skip


def export_items(collection: Collection, path: str | os.PathLike[str]) -> int:
    """Write all items as CSV, TSV or Parquet, by the ending of the name; returns how many."""
    import csv
    import io

    name = os.fspath(path)
    ending = os.path.splitext(name)[1].lower()
    rows = [*item_rows(collection)]
    if ending == ".parquet":
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise ImportError("Parquet needs pyarrow; install it with: pip install 'rankloom[parquet]'") from None
        columns = {key: [row[key] for row in rows] for key in COLUMNS}
        sink = pyarrow.BufferOutputStream()
        parquet.write_table(pyarrow.table(columns), sink)
        data = sink.getvalue().to_pybytes()
    elif ending in (".csv", ".tsv"):
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, delimiter="," if ending == ".csv" else "\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        data = text.getvalue().encode()
    else:
        raise ValueError(f"{name}: the ending must be .csv, .tsv or .parquet")
    with atomic_write(name) as file:
        file.write(data)
    return len(rows)


def export_marks(collection: Collection, path: str | os.PathLike[str]) -> int:
    """Write the judgements as TREC qrels; returns how many."""
    marks = collection.marks()
    write_qrels([mark._replace(qid=qid_to_trec(mark.qid)) for mark in marks], path)
    return len(marks)


def qid_to_trec(qid: str) -> str:
    """A query as a word of a TREC file: spaces are written as %20, the sign % as %25.

    >>> qid_to_trec("red flower"), qid_from_trec("red%20flower")
    ('red%20flower', 'red flower')
    """
    return "".join(letter if letter.isprintable() and letter not in " %" else quote(letter) for letter in qid)


def qid_from_trec(word: str) -> str:
    """The query that `qid_to_trec` wrote."""
    return unquote(word)

"""Captions of many files in one table."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator

from rankloom.core import listed
from rankloom.media._text_files import clean, decoded, read_text
from rankloom.media.errors import MediaError

MAX_BYTES = 500_000_000


def read_captions(
    table: str | os.PathLike[str], path_column: str = "path", text_column: str = "caption"
) -> Iterator[tuple[str, str]]:
    r"""Yield the path and the text of each row of a CSV or TSV file with a header; a path may have several rows.

    Rows without a path or a text are skipped.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "captions.tsv")
    ...     _ = file.write_text("image\tcaption\na.jpg\tA dog runs.\nb.jpg\t\n")
    ...     list(read_captions(file, path_column="image"))
    [('a.jpg', 'A dog runs.')]
    """
    try:
        text = read_text(table, MAX_BYTES)
    except MediaError as error:
        raise MediaError(f"the captions {os.fspath(table)} cannot be read: {error}") from None
    yield from parse_captions(text, os.path.basename(table), path_column, text_column)


def decoded_table(data: bytes) -> str:
    """The text of a table that was sent; a MediaError if it is none, such as a file of a spreadsheet program."""
    if data[:2] not in (b"\xff\xfe", b"\xfe\xff") and b"\0" in data[:10_000]:
        raise MediaError("this is no text; save the table as CSV or TSV in UTF-8")
    return decoded(data)


def parse_captions(
    text: str, name: str = "the table", path_column: str = "path", text_column: str = "caption"
) -> Iterator[tuple[str, str]]:
    """The rows of a table that was read already, as `read_captions` yields them; errors call it by a name."""
    header = text.split("\n", 1)[0]
    delimiter = max("\t,;", key=header.count)  # the tab wins where none occurs: then there is one column
    # In tables parted by tabs a quotation mark is a letter like any other, unless it opens the field.
    rows = csv.DictReader(io.StringIO(text.replace("\0", "")), delimiter=delimiter)
    try:
        for column in (path_column, text_column):
            if column not in (rows.fieldnames or ()):
                known = listed(rows.fieldnames or ())
                raise MediaError(f"{name} has no column {column!r}; its columns are {known}")
        for row in rows:
            path, caption = (row[path_column] or "").strip(), clean(row[text_column] or "")
            if path and caption:
                yield path, caption
    except csv.Error as error:
        raise MediaError(f"{name}, line {rows.line_num}: {error}") from error

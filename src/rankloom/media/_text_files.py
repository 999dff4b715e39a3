"""Read small text files from anywhere: a bounded size, any common encoding."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable

from rankloom.media.errors import MediaError, reason

MAX_BYTES = 4_000_000
MAX_TEXT = 10_000  # characters of one text of one item
MAX_TEXTS, MAX_CHARACTERS = 200, 50_000  # of one file with texts, and of one item


def read_text(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> str:
    """The text of a file; one that is too long, not a regular file or unreadable raises a MediaError."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise MediaError("not a regular file")
        if status.st_size > max_bytes:
            raise MediaError(f"a text file of {status.st_size:,} bytes is longer than the limit of {max_bytes:,}")
        with open(path, "rb") as file:
            return decoded(file.read(max_bytes))
    except OSError as error:
        raise MediaError(reason(error)) from error


def decoded(data: bytes) -> str:
    r"""Bytes as text: by their byte order mark, else as UTF-8, else as Latin-1, which never fails.

    >>> decoded("\ufeffSchön".encode()), decoded("Schön".encode("latin-1")), decoded("Schön".encode("utf-16"))
    ('Schön', 'Schön', 'Schön')
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _lines(data.decode("utf-16", "replace"))
    try:
        return _lines(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return _lines(data.decode("latin-1"))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def clean(text: str) -> str:
    r"""A text in one line, without control characters and of bounded length.

    >>> clean("a\x00 dog\n  runs ")
    'a dog runs'
    """
    kept = "".join(c if c.isprintable() else " " for c in text[: 4 * MAX_TEXT])
    return " ".join(kept.split())[:MAX_TEXT]


def bounded(
    texts: Iterable[str],
    origin: str,
    warn: Callable[[str], None],
    *,
    wanted: Callable[[str], bool] = lambda text: True,
    max_texts: int = MAX_TEXTS,
    max_characters: int = MAX_CHARACTERS,
) -> list[str]:
    """The first texts that are wanted, cleaned and each once, so many and so long in all as the limits allow.

    What is cut is reported to `warn` in a line that names the origin.

    >>> bounded(["a dog", "a  dog", "", "a cat", "a bird"], "a.json", print, max_texts=2)
    a.json: 1 more text left out, the limit is 2 of 50,000 characters
    ['a dog', 'a cat']
    """
    kept: dict[str, None] = {}
    characters = cut = 0
    for raw in texts:
        if len(kept) >= max_texts or characters >= max_characters:
            cut += 1
            continue
        text = clean(raw) if wanted(raw) else ""
        if not text or text in kept:
            continue
        if len(text) == MAX_TEXT and len(raw) > MAX_TEXT:
            warn(f"{origin}: a text of {len(raw):,} characters was cut to {MAX_TEXT:,}")
        kept[text[: max_characters - characters]] = None
        characters += len(text)
    if cut:
        more = f"{cut:,} more text{'s' * (cut > 1)}"
        warn(f"{origin}: {more} left out, the limit is {max_texts:,} of {max_characters:,} characters")
    return list(kept)

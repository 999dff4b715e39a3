"""The text that belongs to a file: its name and folders, files beside it, what is written inside it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rankloom.media._text_files import clean, read_text
from rankloom.media.embedded import embedded_texts
from rankloom.media.errors import MediaError
from rankloom.media.names import words_of_name

__all__ = ["Text", "texts_of"]

Source = Literal["name", "folder", "sidecar", "embedded"]

_JSON_KEYS = {
    *("caption", "captions", "description", "title", "headline", "subject", "text", "alt", "alt_text", "comment"),
    *("keywords", "tags", "labels", "people", "name"),
}


class Text(NamedTuple):
    """A text and where it is from."""

    text: str
    source: Source


def texts_of(path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None) -> list[Text]:
    """Collect the text of a picture or video: name, folders, sidecar files, embedded captions and keywords.

    Sidecars of `a/b.jpg` are `a/b.txt`, `a/b.jpg.txt`, `a/b.json` and `a/b.jpg.json`. What cannot be read is left out.

    Parameters
    ----------
    path : the file
    root : the folder that was indexed; the names of the folders between it and the file are texts. Without it the name
        of the file's own folder is.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     folder = Path(root, "summer_holiday")
    ...     folder.mkdir()
    ...     _ = (folder / "redBoat.txt").write_text("A boat on the lake")
    ...     texts_of(folder / "redBoat.jpg", root=root)
    [Text(text='red Boat', source='name'),
     Text(text='summer holiday', source='folder'),
     Text(text='A boat on the lake', source='sidecar')]
    """
    path = Path(path)
    found = [Text(words_of_name(path.stem), "name")]
    found += [Text(words_of_name(folder), "folder") for folder in _folders(path, root)]
    found += [Text(text, "sidecar") for text in _sidecar_texts(path)]
    found += [Text(text, "embedded") for text in embedded_texts(path)]
    return [text for text in dict.fromkeys(found) if text.text]


def _folders(path: Path, root: str | os.PathLike[str] | None) -> list[str]:
    if root is None:
        return [path.parent.name]
    try:
        return list(path.relative_to(root).parent.parts)
    except ValueError:
        return [path.parent.name]


def _sidecar_texts(path: Path) -> Iterator[str]:
    for extension in (".txt", ".json"):
        for name in (path.stem + extension, path.name + extension):
            try:
                text = read_text(path.parent / name)
                yield from _json_texts(text) if extension == ".json" else [clean(text)]
            except (MediaError, ValueError, RecursionError):  # most files have no sidecar, and some have a broken one
                continue


def _json_texts(text: str) -> list[str]:
    """The texts under telling keys, at any depth."""
    found: list[str] = []

    def visit(value: Any, wanted: bool) -> None:
        if isinstance(value, str) and wanted:
            found.append(clean(value))
        elif isinstance(value, list):
            for one in value:
                visit(one, wanted)
        elif isinstance(value, dict):
            for key, one in value.items():
                visit(one, str(key).lower() in _JSON_KEYS)

    visit(json.loads(text), wanted=False)
    return list(dict.fromkeys(filter(None, found)))

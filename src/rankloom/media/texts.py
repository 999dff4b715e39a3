"""The text that belongs to a file: its name and folders, files beside it, what is written inside it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rankloom.media._machine_texts import is_caption
from rankloom.media._text_files import bounded, read_text
from rankloom.media.embedded import embedded_texts
from rankloom.media.errors import MediaError, reason
from rankloom.media.names import texts_of_folder, texts_of_name

Source = Literal["name", "folder", "sidecar", "embedded"]

_JSON_KEYS = {
    *("caption", "captions", "description", "title", "headline", "subject", "text", "alt", "alt_text", "comment"),
    *("keywords", "tags", "labels", "people", "name"),
}


class Text(NamedTuple):
    """A text and where it is from."""

    text: str
    source: Source


def texts_of(
    path: str | os.PathLike[str],
    *,
    root: str | os.PathLike[str] | None = None,
    warn: Callable[[str], None] = lambda line: None,
) -> list[Text]:
    """Collect the text of a picture or video: name, folders, sidecar files, embedded captions and keywords.

    Sidecars of `a/b.jpg` are `a/b.txt`, `a/b.jpg.txt`, `a/b.json` and `a/b.jpg.json`. Each of these files, and the
    metadata, gives at most 200 texts and 50,000 characters.

    Parameters
    ----------
    path : the file
    root : the folder that was indexed; the names of the folders between it and the file are texts. Without it the name
        of the file's own folder is.
    warn : called with a line for each file that was not read or gave too much

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     folder = Path(root, "summer_holiday")
    ...     folder.mkdir()
    ...     _ = (folder / "redBoat.txt").write_text("A boat on the lake")
    ...     texts_of(folder / "redBoat.jpg", root=root)
    [Text(text='red Boat', source='name'),
     Text(text='redBoat', source='name'),
     Text(text='summer holiday', source='folder'),
     Text(text='A boat on the lake', source='sidecar')]
    """
    return [*texts_beside(path, root, warn), *(Text(text, "embedded") for text in embedded_texts(path, warn))]


def texts_beside(
    path: str | os.PathLike[str], root: str | os.PathLike[str] | None, warn: Callable[[str], None]
) -> list[Text]:
    """Those of `texts_of` for which the file itself is not read, each once."""
    path = Path(path)
    texts = [Text(text, "name") for text in texts_of_name(path.stem)]
    texts += [Text(text, "folder") for folder in _folders(path, root) for text in texts_of_folder(folder)]
    texts += [Text(text, "sidecar") for text in _sidecar_texts(path, warn)]
    return [text for text in dict.fromkeys(texts) if text.text]


def _folders(path: Path, root: str | os.PathLike[str] | None) -> list[str]:
    if root is None:
        return [path.parent.name]
    try:
        return list(path.relative_to(root).parent.parts)
    except ValueError:
        return [path.parent.name]


def _sidecar_texts(path: Path, warn: Callable[[str], None]) -> Iterator[str]:
    for extension in (".txt", ".json"):
        for sidecar in (path.with_suffix(extension), path.with_name(path.name + extension)):
            if not os.path.isfile(sidecar):
                continue
            try:
                text = read_text(sidecar)
                texts = _json_texts(text) if extension == ".json" else [text]
            except (MediaError, ValueError, RecursionError) as error:
                warn(f"{sidecar.name} beside it was not read: {reason(error)}")
            else:
                wanted = is_caption if extension == ".json" else bool
                yield from bounded(texts, sidecar.name, warn, wanted=wanted)


def _json_texts(text: str) -> list[str]:
    """The texts under keys that name captions, at any depth."""
    texts: list[str] = []

    def visit(value: Any, wanted: bool) -> None:
        if isinstance(value, str) and wanted:
            texts.append(value)
        elif isinstance(value, list):
            for entry in value:
                visit(entry, wanted)
        elif isinstance(value, dict):
            for key, entry in value.items():
                visit(entry, str(key).lower() in _JSON_KEYS)

    visit(json.loads(text), wanted=False)
    return texts

"""Networks as files in the user's cache folder, made once from packaged weights."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from rankloom._io import atomic_write


def default_cache() -> Path:
    """The folder `rankloom` in the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "rankloom"


def cached_file(name: str, build: Callable[[], bytes], folder: str | Path | None = None) -> Path:
    """A file in the cache folder; made if it is not there.

    It is written under another name and renamed, so that no reader and no interrupted run ever sees half of it.

    Parameters
    ----------
    name : the file's, with all that its content depends on.
    build : makes the content.
    folder : default: `default_cache`.
    """
    path = (Path(folder) if folder is not None else default_cache()) / name
    if not path.exists():
        content = build()
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(content)
    return path

"""What the tests share: the data folder beside the checkout, and files for a moment."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the folder ../shared/data is absent")


@contextmanager
def written(content: bytes, name: str = "rows.txt") -> Iterator[Path]:
    """A file with this content; unlike the fixture tmp_path it is new in every example of hypothesis."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        yield path

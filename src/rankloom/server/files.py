"""Files as responses."""

from __future__ import annotations

import os
from typing import BinaryIO

from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send


class OpenedFileResponse(FileResponse):
    """A file that is open already, or one part of it; several parts at once cost much and no browser asks for them.

    Parameters
    ----------
    file : is closed at the end.
    options : those of a response with a file.
    """

    max_ranges = 1

    def __init__(self, file: BinaryIO, **options: object):
        self._file = file
        status = os.fstat(file.fileno())
        super().__init__(f"/dev/fd/{file.fileno()}", stat_result=status, **options)  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        with self._file:
            await super().__call__(scope, receive, send)

"""The one exception of this package."""

from __future__ import annotations

import os


class MediaError(ValueError):
    """A file that cannot be read as the picture, video or text it should be, with the reason in one line."""


def reason(error: BaseException) -> str:
    """What went wrong, in one line and without the path, which the caller knows.

    >>> reason(FileNotFoundError(2, "No such file or directory", "a.jpg")), reason(ValueError("bad\\n  data"))
    ('no such file or directory', 'bad data')
    """
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__

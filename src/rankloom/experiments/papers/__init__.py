"""Published results as data, and what reproduces them.

They may use all of the library below `experiments`, and know nothing of the command line.
"""

from typing import NamedTuple

__all__ = ["Finding"]


class Finding(NamedTuple):
    """A number that sums up a report, and the paper's if it has one."""

    what: str
    found: float
    paper: float | None

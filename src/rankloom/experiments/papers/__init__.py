"""The experiments of the papers: published results as data, and what measures them again.

They know rankers, concepts and labeled collections, and nothing of the command line.
"""

from typing import NamedTuple

__all__ = ["Finding"]


class Finding(NamedTuple):
    """A number that sums up a report, the paper's if it has one, and whether what the paper concludes appears here."""

    what: str
    found: float
    paper: float | None
    holds: bool | None = None

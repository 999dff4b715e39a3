"""The experiments of the papers: published results as data, and what measures them again.

They know rankers, concepts and labeled collections, and nothing of the command line.
"""

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Finding", "unavailable"]


class Finding(NamedTuple):
    """A number that sums up a report, the paper's if it has one, and whether what the paper concludes appears here."""

    what: str
    found: float
    paper: float | None
    holds: bool | None = None


def unavailable(rankers: Iterable[str]) -> dict[str, str]:
    """The rankers whose packages are not installed, by short name, and what to install."""
    from rankloom.rankers import make_ranker

    missing = {}
    for name in rankers:
        try:
            make_ranker(name).fit([[0.0], [1.0]], [0, 1])
        except ImportError as error:
            missing[name] = str(error)
    return missing

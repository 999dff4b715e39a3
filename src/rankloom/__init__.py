"""Rankloom: learned image and video search that you own, and its rankers as a learning-to-rank library.

Importing the package loads nothing heavy: each public name is fetched from its module on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Collection": "rankloom.collection",
    "Engine": "rankloom.engine",
    "Example": "rankloom.collection.query",
    "Features": "rankloom.features",
    "Filters": "rankloom.collection.query",
    "Mark": "rankloom.collection",
    "Query": "rankloom.collection.query",
    "RankingData": "rankloom.core",
    "evaluate": "rankloom.evaluation.metrics",
    "compare": "rankloom.evaluation.metrics",
    "make_ranker": "rankloom.rankers",
    "load_ranker": "rankloom.rankers",
}

__all__ = [
    "Collection", "Engine", "Example", "Features", "Filters", "Mark", "Query", "RankingData", "__version__",
    "compare", "evaluate", "load_ranker", "make_ranker",
]  # fmt: skip

if TYPE_CHECKING:
    from rankloom.collection import Collection, Mark
    from rankloom.collection.query import Example, Filters, Query
    from rankloom.core import RankingData
    from rankloom.engine import Engine
    from rankloom.evaluation.metrics import compare, evaluate
    from rankloom.features import Features
    from rankloom.rankers import load_ranker, make_ranker


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'rankloom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""Loops over pairs that never form the pairs: arrays in, arrays out, compiled by numba on first use.

Every kernel takes rows in the order of `rankloom.groups.Preferences` and its splits `(a, m, b)`: all of `[a, m)` are
preferred to all of `[m, b)`. The tests hold a slow twin of each.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankloom.rankers._kernels import (
        ascent,
        boost,
        cascade,
        exponential,
        hinge,
        lasso,
        logistic,
        median,
        order,
        products,
        sparse_stream,
        stream,
    )

__all__ = [
    "ascent", "boost", "cascade", "exponential", "hinge", "lasso", "logistic", "median", "order", "products",
    "sparse_stream", "stream",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a kernel when it is first asked for: numba takes a second to load."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"there are no kernels {name!r}")

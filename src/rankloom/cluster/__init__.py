"""The same work on many machines: Dask for the work, fsspec for addresses (the extra `cluster`).

`connected` opens a cluster, `fit` trains a ranker on it, and `ClusterPool` describes files on it for
`rankloom.collection.index`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "ClusterData": "rankloom.cluster.data",
    "ClusterError": "rankloom.cluster.connecting",
    "ClusterPool": "rankloom.cluster.pool",
    "connected": "rankloom.cluster.connecting",
    "fit": "rankloom.cluster.training",
}

__all__ = ["ClusterData", "ClusterError", "ClusterPool", "connected", "fit"]

if TYPE_CHECKING:
    from rankloom.cluster.connecting import ClusterError, connected
    from rankloom.cluster.data import ClusterData
    from rankloom.cluster.pool import ClusterPool
    from rankloom.cluster.training import fit


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'rankloom.cluster' has no attribute {name!r}")

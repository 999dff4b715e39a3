"""The same work on many machines: Dask for the work, fsspec for addresses (the extra `cluster`).

`connected` opens a cluster, `fit` trains a ranker on it, `ClusterPool` describes files on it for
`rankloom.collection.index`, and `ShardedSearch` searches the shards that `make_shards` wrote.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "ClusterData": "rankloom.cluster.data",
    "ClusterError": "rankloom.cluster.connecting",
    "ClusterPool": "rankloom.cluster.pool",
    "ShardError": "rankloom.cluster.shard_files",
    "ShardedResults": "rankloom.cluster.shards",
    "ShardedSearch": "rankloom.cluster.shards",
    "connected": "rankloom.cluster.connecting",
    "fit": "rankloom.cluster.training",
    "make_shards": "rankloom.cluster.shard_files",
}

__all__ = [
    "ClusterData", "ClusterError", "ClusterPool", "ShardError", "ShardedResults", "ShardedSearch", "connected", "fit",
    "make_shards",
]  # fmt: skip

if TYPE_CHECKING:
    from rankloom.cluster.connecting import ClusterError, connected
    from rankloom.cluster.data import ClusterData
    from rankloom.cluster.pool import ClusterPool
    from rankloom.cluster.shard_files import ShardError, make_shards
    from rankloom.cluster.shards import ShardedResults, ShardedSearch
    from rankloom.cluster.training import fit


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'rankloom.cluster' has no attribute {name!r}")

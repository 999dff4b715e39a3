"""Training on a cluster, by the kind of ranker."""

from __future__ import annotations

from typing import Any, TypeVar

from rankloom.cluster.data import ClusterData, Source
from rankloom.cluster.mixing import fit_by_mixing
from rankloom.cluster.trees import fit_trees
from rankloom.rankers import LambdaMART, MarginRanker, OnlineRanker, Ranker
from rankloom.rankers.neural import NetworkRanker
from rankloom.rankers.parts import fit_parts

R = TypeVar("R", bound=Ranker)


def fit(ranker: R, source: Source | ClusterData, client: Any) -> R:
    """Fit a ranker to Parquet files on the workers of a cluster; returns the ranker.

    * Margin rankers (`lr`, `rlr`, `frlr`, `ranksvm`, any `MarginRanker`), `listnet` and `ranknet` with linear scores:
      value, gradient and Hessian are added up over the parts, and the solver runs here. The weights are those of a
      single machine to a relative 1e-9; beyond 1,000 features, and with a penalty or a loss of your own, to `tol`.
    * Online rankers: each part learns on its own, and the weights are mixed after every epoch.
    * `lambdamart`: by LightGBM's own Dask trainer.

    A worker that is lost costs time only, except for `lambdamart`, which ends with an error.

    Parameters
    ----------
    ranker : as for `ranker.fit`.
    source : a path, folder or pattern of Parquet files, also `s3://...`; or a `ClusterData`, which is read once and may
        be fitted many times.
    client : of the cluster, as `connected` gives it.
    """
    data = source if isinstance(source, ClusterData) else ClusterData.read(source, client)
    linear_network = isinstance(ranker, NetworkRanker) and ranker.hidden == 0
    if linear_network or isinstance(ranker, MarginRanker):
        if isinstance(ranker, NetworkRanker):
            ranker._forget_weights()
        fit_parts(ranker, data.parts)
    elif isinstance(ranker, OnlineRanker):
        fit_by_mixing(ranker, data)
    elif isinstance(ranker, LambdaMART):
        fit_trees(ranker, data)
    else:
        hidden = " with hidden units" if isinstance(ranker, NetworkRanker) else ""
        raise ValueError(
            f"{type(ranker).__name__}{hidden} is not trained on a cluster; those that are: lr, rlr, frlr, ranksvm, "
            "listnet and ranknet (linear), opr, opar1, opar2, ogdr, arow, lambdamart"
        )
    return ranker

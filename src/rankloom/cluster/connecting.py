"""Clusters: one that runs already, by its address, or processes of this machine."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import rankloom

CONNECT_SECONDS = 30.0
_LOCAL = re.compile(r"local:([1-9][0-9]{0,3})")


class ClusterError(ConnectionError):
    """A cluster that cannot be reached or cannot go on, with the reason in one line."""


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of a cluster, which is closed at the end.

    Parameters
    ----------
    address : that of a Dask scheduler, such as `tcp://10.0.0.5:8786`; or `local:N` for N processes of this machine,
        which end with the client.
    """
    with ExitStack() as opened:
        client = opened.enter_context(_client(address, opened))
        check_workers(client)
        yield client


def _client(address: str, opened: ExitStack) -> Any:
    distributed = _distributed()
    processes = _LOCAL.fullmatch(address)
    if processes is not None:
        cluster = distributed.LocalCluster(
            n_workers=int(processes[1]), threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0,
            silence_logs=logging.ERROR,
        )  # fmt: skip
        return distributed.Client(opened.enter_context(cluster))
    if address.startswith("local"):
        raise ValueError(f"{address}: give the number of processes, as in local:2")
    return dask_client(address)


def dask_client(address: str) -> Any:
    """A client of the scheduler at an address; a ClusterError where none answers."""
    try:
        return _distributed().Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ClusterError(
            f"no Dask scheduler answers at {address}: {reason}; start one with: dask scheduler"
        ) from None


def check_workers(client: Any) -> None:
    """Refuse a cluster without workers, and one where another Rankloom is installed: its results would differ."""
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError:
        where = client.scheduler.address
        raise ClusterError(f"the cluster has no workers; start some with: dask worker {where}") from None
    versions = {f"worker {name}": version for name, version in client.run(_version, on_error="return").items()}
    try:
        versions["scheduler"] = client.run_on_scheduler(_version)
    except Exception as error:  # whatever keeps it from importing the function
        versions["scheduler"] = error
    for who, version in versions.items():
        if version != rankloom.__version__:
            has = "no Rankloom" if isinstance(version, BaseException) else f"Rankloom {version}"
            wanted = f"pip install 'rankloom[cluster]=={rankloom.__version__}'"
            raise ClusterError(f"the {who} has {has}, this is {rankloom.__version__}; there, run: {wanted}")


def _version() -> str:
    return rankloom.__version__


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError("clusters need Dask; install it with: pip install 'rankloom[cluster]'") from None
    return distributed

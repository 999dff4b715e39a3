"""How many machines a collection needs: costs measured on one machine, fitted by lines, and extrapolated."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import ceil, inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankloom.cluster.queueing import Simulated, Traffic, simulate_traffic

_YEAR_HOURS = 365 * 24
_MOST_WORK = 2_000_000  # comparisons of a query and a shard that are simulated
_QUERIES = 20_000
_LINES = ("scan", "filters")


class Line(NamedTuple):
    """A cost that grows by a slope with the number of items: what was fitted to, and the largest relative error."""

    fixed: float
    slope: float
    sizes: tuple[int, ...] = ()
    error: float = 0.0

    def at(self, n_items: float) -> float:
        """The cost at a number of items."""
        return self.fixed + self.slope * n_items


def fit_line(sizes: Sequence[int], costs: Sequence[float]) -> Line:
    """The line with the least squared relative errors; neither part of it is below 0.

    >>> line = fit_line([10, 20, 40], [7.0, 12.0, 22.0])
    >>> round(line.fixed, 6), round(line.slope, 6), round(line.error, 6)
    (2.0, 0.5, 0.0)
    """
    from scipy.optimize import nnls

    n, y = np.asarray(sizes, float), np.asarray(costs, float)
    (fixed, slope), _ = nnls(np.stack([1.0 / y, n / y], axis=1), np.ones(len(y)))
    error = float(np.max(np.abs((fixed + slope * n) / y - 1.0)))
    return Line(float(fixed), float(slope), tuple(map(int, sizes)), error)


@dataclass(frozen=True)
class Costs:
    """What things cost on one machine, in seconds of one core and in bytes.

    Parameters
    ----------
    machine : what it was measured on.
    preset : the descriptors.
    scan : to compare an example with n items.
    filters : to find which of n items may be hits, before any is compared; the coordinator does that.
    query : of a search besides: encoding, hits.
    mark : to take a mark and learn from it.
    describe : to index an item.
    vector_bytes : of an item in shards.
    folder_bytes : of an item in the collection, thumbnail included.
    """

    machine: str
    preset: str
    scan: Line
    filters: Line
    query: float
    mark: float
    describe: float
    vector_bytes: float
    folder_bytes: float

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "scan": self.scan._asdict(), "filters": self.filters._asdict()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Costs:
        """Read what `to_json` wrote."""
        try:
            lines = {name: Line(**{**record[name], "sizes": tuple(record[name]["sizes"])}) for name in _LINES}
            return cls(**{**record, **lines})
        except (KeyError, TypeError) as error:
            raise ValueError(f"these are no costs as 'rankloom plan --measure' writes them: {error}") from None


def known_costs(path: str | os.PathLike[str] | None = None) -> Costs:
    """Costs from a file, or those that come with the package."""
    file = Path(__file__).with_name("costs.json") if path is None else Path(path)
    return Costs.from_json(json.loads(file.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Assumptions:
    """What is assumed of machines and of the network; none of it was measured.

    Parameters
    ----------
    cores, memory_gb, disk_gb : of a machine. Its cores are as fast as the one that was measured.
    memory_share : of the memory that holds vectors; searches read nothing from disk.
    busy : the share of the time that machines may be busy.
    replicas : machines that have each shard.
    shards_per_machine : how many shards, replicas included, a machine has.
    latency_ms, latency_sigma : the median time of a message and the spread of its logarithm.
    failures_a_year : of one machine.
    restart_seconds : until a machine that failed is back, its files checked.
    detection_seconds : until a failure is noticed, and the shard asked of another machine.
    """

    cores: int = 32
    memory_gb: float = 128.0
    disk_gb: float = 2000.0
    memory_share: float = 0.8
    busy: float = 0.6
    replicas: int = 2
    shards_per_machine: int = 1
    latency_ms: float = 0.5
    latency_sigma: float = 0.5
    failures_a_year: float = 12.0
    restart_seconds: float = 300.0
    detection_seconds: float = 0.2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
                raise ValueError(f"{field.name} must be a number from 0 on, got {value!r}")
            if isinstance(field.default, int) and (value < 1 or value != int(value)):
                raise ValueError(f"{field.name} must be a whole number from 1 on, got {value!r}")
        if not 0 < self.busy < 1 or not 0 < self.memory_share <= 1 or self.memory_gb == 0 or self.disk_gb == 0:
            raise ValueError(
                "busy must be between 0 and 1, memory_share above 0 and at most 1, memory and disk above 0"
            )


class Plan(NamedTuple):
    """What a collection needs for exact search over shards.

    Parameters
    ----------
    n_items, qps, marks : items, queries a second, marks a second.
    query_seconds : of one core that a query costs on all machines together.
    for_memory, for_disk, for_cores : machines that each of them needs, replicas included.
    machines, shards : how many there are then.
    collection_gb : of the whole collection, which the coordinator has.
    index_core_days : to describe all items.
    coordinator_cores : that are busy with queries and marks.
    traffic, simulated : what was simulated, and what that gave.
    outages : the same machines, asked rarely while each of them fails a hundred times.
    """

    n_items: int
    qps: float
    marks: float
    query_seconds: float
    for_memory: int
    for_disk: int
    for_cores: int
    machines: int
    shards: int
    collection_gb: float
    index_core_days: float
    coordinator_cores: float
    traffic: Traffic
    simulated: Simulated
    outages: Simulated


def make_plan(n_items: float, qps: float, marks: float, costs: Costs, assumed: Assumptions, *, seed: int = 0) -> Plan:
    """The machines that a collection needs, and a simulation of them.

    Parameters
    ----------
    n_items : how many items.
    qps, marks : queries and marks a second.
    costs : measured on one machine.
    assumed : what is assumed of the machines.
    seed : of the simulation.
    """
    if not (1 <= n_items <= 1e12 and 0 < qps <= 1e6 and 0 <= marks <= 1e6):
        raise ValueError(f"cannot plan for {n_items:g} items, {qps:g} queries and {marks:g} marks a second")
    copies = n_items * costs.vector_bytes * assumed.replicas
    for_memory = ceil(copies / (assumed.memory_gb * 1e9 * assumed.memory_share))
    for_disk = ceil(copies / (assumed.disk_gb * 1e9))
    work = qps * costs.scan.slope * n_items
    free = assumed.cores * assumed.busy - qps * costs.scan.fixed * assumed.shards_per_machine / assumed.replicas
    if free <= 0:
        raise ValueError("the fixed cost of a query alone keeps every machine busy: assume more cores, or fewer shards")
    for_cores = ceil(work / free)
    machines = max(for_memory, for_disk, for_cores, assumed.replicas)
    shards = min(max(1, machines * assumed.shards_per_machine // assumed.replicas), int(n_items))
    while (traffic := _traffic(n_items, qps, shards, costs, assumed)).load > assumed.busy:
        shards += 1  # rounding of the above
    coordinator = qps * (costs.query + costs.filters.at(n_items)) + marks * costs.mark
    n_queries = max(500, min(_QUERIES, _MOST_WORK // shards))
    return Plan(
        int(n_items), qps, marks, shards * costs.scan.at(n_items / shards), for_memory, for_disk, for_cores,
        traffic.n_machines, shards, n_items * costs.folder_bytes / 1e9, n_items * costs.describe / 86_400,
        coordinator, traffic, simulate_traffic(traffic, n_queries, seed),
        simulate_traffic(traffic.sparse(n_queries), n_queries, seed),
    )  # fmt: skip


def _traffic(n_items: float, qps: float, shards: int, costs: Costs, assumed: Assumptions) -> Traffic:
    """The traffic of a plan; all cores of a machine compare the items of one shard, and a core of the coordinator
    does the rest."""
    hours = _YEAR_HOURS / assumed.failures_a_year if assumed.failures_a_year else inf
    return Traffic(
        qps, costs.scan.at(n_items / shards) / assumed.cores, shards, assumed.replicas, assumed.shards_per_machine,
        assumed.latency_ms / 1e3, assumed.latency_sigma, 3600 * hours, assumed.restart_seconds,
        assumed.detection_seconds, costs.query + costs.filters.at(n_items),
    )  # fmt: skip

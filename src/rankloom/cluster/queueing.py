"""A simulation of searches over shards on many machines: queues, a network, and machines that fail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import expm1, inf, log1p
from typing import NamedTuple

import numpy as np

_MOST_FAILURES = 1e8  # more would take minutes


@dataclass(frozen=True)
class Traffic:
    """What is simulated; times in seconds.

    Queries come at random (Poisson). Each asks one replica of every shard, and is answered when the last has answered.

    Parameters
    ----------
    qps : queries a second.
    service : that a machine needs to compare the items of a shard.
    n_shards : how many shards.
    replicas : machines that have each shard.
    shards_per_machine : how many shards, replicas included, a machine has; it compares one at a time.
    latency, latency_sigma : the median of a message's time over the network, 0 for none, and its log-normal spread.
    between_failures : the mean time from the start of a machine to its failure, exponential; infinite for none.
    restart : how long a failed machine is away.
    detection : how long until a failure is noticed, and the shard is asked of another machine.
    overhead : that every answer takes besides, at the coordinator.
    exponential : whether service times are exponential; otherwise all are the same.
    """

    qps: float
    service: float
    n_shards: int = 1
    replicas: int = 1
    shards_per_machine: int = 1
    latency: float = 0.0
    latency_sigma: float = 0.0
    between_failures: float = inf
    restart: float = 0.0
    detection: float = 0.0
    overhead: float = 0.0
    exponential: bool = False

    @property
    def n_machines(self) -> int:
        """How many machines there are."""
        return max(self.replicas, -(-self.n_shards * self.replicas // self.shards_per_machine))

    @property
    def load(self) -> float:
        """The share of the time that machines are busy; from 1 on queues grow without end."""
        return self.qps * self.service * self.n_shards / self.n_machines

    @property
    def unavailable(self) -> float:
        r"""The share of answers in which a shard is missing because all its machines are away.

        Computed, not simulated: \(1 - (1 - u^r)^n\) for n shards with r replicas and the share u of the time that a
        machine is away, if machines fail independently of each other.
        """
        away = 0.0 if self.between_failures == inf else self.restart / (self.between_failures + self.restart)
        return -expm1(self.n_shards * log1p(-(away**self.replicas))) if away < 1 else 1.0

    def sparse(self, n_queries: int, n_failures: float = 100.0) -> Traffic:
        """The same machines, asked so rarely that each fails so often meanwhile: it shows how often shards are away."""
        if self.between_failures == inf:
            return self
        return replace(self, qps=n_queries / (n_failures * self.between_failures))


class Simulated(NamedTuple):
    """What a simulation gives: times of answers in seconds, the share of answers with a missing shard, the share of
    shards that are missing over all answers, and the share of the time that machines were busy."""

    mean: float
    p50: float
    p95: float
    answers_missing: float
    shards_missing: float
    busy: float
    n_queries: int


def simulate_traffic(traffic: Traffic, n_queries: int = 20_000, seed: int = 0) -> Simulated:
    """Simulate searches; the first tenth, before queues have filled, is not counted.

    Parameters
    ----------
    traffic : what is simulated; its load must be below 1.
    n_queries : how many searches.
    seed : of all that is random.
    """
    if n_queries < 10:
        raise ValueError(f"n_queries must be at least 10, got {n_queries!r}")
    if not 0 < traffic.load < 1:
        raise ValueError(f"the machines would be busy {traffic.load:.2f} of the time: queues grow without end")
    failures = n_queries / traffic.qps / (traffic.between_failures + traffic.restart) * traffic.n_machines
    if failures > _MOST_FAILURES:
        raise ValueError(
            f"machines would fail {failures:.2g} times meanwhile: simulate fewer queries, or more a second"
        )
    from rankloom.cluster import _kernels

    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1.0 / traffic.qps, n_queries))
    stride = max(1, traffic.n_machines // traffic.replicas)  # the replicas of a shard are on different machines
    shards, replicas = np.arange(traffic.n_shards)[:, None], np.arange(traffic.replicas)[None]
    place = (shards + stride * replicas) % traffic.n_machines
    seconds, missing, busy = _kernels.answer_queries(
        rng, arrivals, place, traffic.n_machines, traffic.service, traffic.exponential, traffic.latency,
        traffic.latency_sigma, traffic.between_failures, traffic.restart, traffic.detection,
    )  # fmt: skip
    counted, lost = traffic.overhead + seconds[n_queries // 10 :], missing[n_queries // 10 :]
    p50, p95 = np.quantile(counted, [0.5, 0.95])
    return Simulated(
        float(counted.mean()), float(p50), float(p95), float(np.mean(lost > 0)),
        float(lost.mean()) / traffic.n_shards, busy / (traffic.n_machines * float(arrivals[-1])), n_queries,
    )  # fmt: skip

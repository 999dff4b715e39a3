"""The loop of the simulation of many machines, compiled by numba; imported on first use."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _latency(rng, median, sigma):
    return 0.0 if median == 0.0 else median * np.exp(sigma * rng.standard_normal())


@njit(cache=True)
def _next_failure(rng, now, mean):
    return np.inf if mean == np.inf else now + rng.standard_exponential() * mean


@njit(cache=True)
def answer_queries(
    rng, arrivals, place, n_machines, service, exponential, median, sigma, between_failures, restart, detection
):
    """When the last shard of each query has answered, after it was asked; and how many shards are missing in it.

    `place[s, r]` is the machine that has replica r of shard s. A machine compares one shard at a time, in the order in
    which it is asked. Of the replicas that run, that is asked whose machine is free first.
    """
    n_shards, n_replicas = place.shape
    free, fails = np.zeros(n_machines), np.empty(n_machines)
    busy = 0.0
    for m in range(n_machines):
        fails[m] = _next_failure(rng, 0.0, between_failures)
    seconds, missing = np.zeros(len(arrivals)), np.zeros(len(arrivals), np.int64)
    for q in range(len(arrivals)):
        last = arrivals[q]
        for s in range(n_shards):
            at = arrivals[q] + _latency(rng, median, sigma)
            answered = False
            for _ in range(n_replicas):
                best = -1
                for r in range(n_replicas):
                    m = place[s, r]
                    while fails[m] + restart <= at:
                        fails[m] = _next_failure(rng, fails[m] + restart, between_failures)
                    if fails[m] > at and (best < 0 or free[m] < free[best]):
                        best = m
                if best < 0:
                    break
                needed = service * rng.standard_exponential() if exponential else service
                end = max(at, free[best]) + needed
                if end > fails[best]:  # it fails before it has answered; after a while this is noticed
                    free[best] = fails[best] + restart
                    at = fails[best] + detection
                    continue
                free[best] = end
                busy += needed
                at = end + _latency(rng, median, sigma)
                answered = True
                break
            if not answered:
                missing[q] += 1
            last = max(last, at)
        seconds[q] = last - arrivals[q]
    return seconds, missing, busy

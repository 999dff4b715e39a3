"""The capacity model: lines, machines by hand, and a simulation against the formulas of queues."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from math import factorial

import pytest

from rankloom.cluster.capacity import Assumptions, Costs, Line, fit_line, known_costs, make_plan
from rankloom.cluster.measuring import measure_costs
from rankloom.cluster.queueing import Traffic, simulate_traffic
from tests.shell import rankloom

COSTS = Costs("paper", "fast", Line(0.0, 1e-6), Line(0.0, 0.0), 0.001, 0.002, 0.05, 4000.0, 10_000.0)
# Queues are judged by means over 200,000 queries. Those that follow each other wait for the same queue, so that about
# 1 / (1 - load)^2 of them say as much as one: 50,000 at a load of 0.5, whose mean has an error of less than 1%.
N = 200_000
CLOSE = 0.05


def _erlang_wait(load, servers):
    """The mean wait in an M/M/c queue in units of the service time, by Erlang's C formula."""
    offered = load * servers
    queueing = offered**servers / factorial(servers) / (1 - load)
    chance = queueing / (sum(offered**k / factorial(k) for k in range(servers)) + queueing)
    return chance / (servers * (1 - load))


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_one_machine_is_the_queue_of_the_textbook(load):
    fixed = simulate_traffic(Traffic(load, 1.0), N)
    assert fixed.mean - 1.0 == pytest.approx(load / (2 * (1 - load)), rel=CLOSE)  # M/D/1
    random = simulate_traffic(Traffic(load, 1.0, exponential=True), N)
    assert random.mean == pytest.approx(1 / (1 - load), rel=CLOSE)  # M/M/1
    assert fixed.busy == pytest.approx(load, rel=CLOSE)


@pytest.mark.parametrize("servers", [2, 4])
def test_replicas_are_the_servers_of_one_queue(servers):
    traffic = Traffic(0.7 * servers, 1.0, replicas=servers, exponential=True)
    assert (traffic.n_machines, traffic.load) == (servers, pytest.approx(0.7))
    assert simulate_traffic(traffic, N).mean - 1.0 == pytest.approx(_erlang_wait(0.7, servers), rel=2 * CLOSE)


def test_without_a_queue_an_answer_takes_the_service_and_the_overhead():
    idle = simulate_traffic(Traffic(1e-6, 0.25, n_shards=7, overhead=0.5), 1000)
    assert idle.mean == idle.p50 == idle.p95 == pytest.approx(0.75)  # the clock has a rounding of 1e9 s
    assert (idle.answers_missing, idle.shards_missing) == (0.0, 0.0)


def test_the_network_is_passed_twice_and_the_slowest_shard_counts():
    there_and_back = simulate_traffic(Traffic(1e-6, 0.25, latency=0.1), 100)
    assert there_and_back.p50 == there_and_back.p95 == pytest.approx(0.45)
    spread = [simulate_traffic(Traffic(1e-6, 0.25, n, latency=0.1, latency_sigma=1.0), 2000).p50 for n in (1, 10, 100)]
    assert spread == sorted(spread)


def test_shards_are_missing_as_often_as_all_their_machines_are_away():
    away = Traffic(1e-4, 1e-9, n_shards=3, between_failures=900.0, restart=100.0)
    simulated = simulate_traffic(away, 50_000)
    assert away.unavailable == pytest.approx(1 - 0.9**3)
    assert simulated.answers_missing == pytest.approx(0.271, rel=CLOSE)
    assert simulated.shards_missing == pytest.approx(0.1, rel=CLOSE)
    twice = replace(away, replicas=2)
    assert twice.unavailable == pytest.approx(1 - 0.99**3)
    assert simulate_traffic(twice, 200_000).answers_missing == pytest.approx(1 - 0.99**3, rel=2 * CLOSE)


def test_a_machine_that_fails_in_the_middle_is_replaced_after_a_while():
    """Service takes as long as machines last, so that one of e finishes: the others ask the second, a second later."""
    traffic = Traffic(0.01, 1.0, replicas=2, between_failures=1.0, detection=1.0)
    simulated = simulate_traffic(traffic, 20_000)
    assert simulated.p50 > 1.0
    assert simulated.answers_missing == pytest.approx((1 - 1 / 2.71828) ** 2, rel=CLOSE)


def test_replicas_of_a_shard_never_share_a_machine():
    always_one = Traffic(1e-3, 1e-6, n_shards=6, replicas=2, shards_per_machine=4, between_failures=1e9, restart=1.0)
    assert always_one.n_machines == 3
    assert simulate_traffic(always_one, 1000).answers_missing == 0.0
    assert Traffic(1.0, 0.1, n_shards=1, replicas=3, shards_per_machine=10).n_machines == 3


def test_what_would_never_end_is_refused():
    with pytest.raises(ValueError, match=r"busy 2\.00 of the time"):
        simulate_traffic(Traffic(2.0, 1.0))
    with pytest.raises(ValueError, match="machines would fail"):
        simulate_traffic(Traffic(1e-9, 1.0, between_failures=1.0))


def test_plan_by_hand():
    """10^8 items of 4,000 bytes twice are 800 GB; at 10 queries a second they keep 10 * 100 cores busy."""
    assumed = Assumptions(cores=10, memory_gb=100.0, disk_gb=250.0, memory_share=0.8, busy=0.5, failures_a_year=0.0)
    made = make_plan(1e8, 10.0, 2.0, COSTS, assumed)
    assert (made.for_memory, made.for_disk, made.for_cores) == (10, 4, 200)
    assert (made.machines, made.shards) == (200, 100)
    assert made.query_seconds == pytest.approx(100.0)
    assert made.traffic.service == pytest.approx(0.1)
    assert made.traffic.load == pytest.approx(0.5)
    assert made.coordinator_cores == pytest.approx(10 * 0.001 + 2 * 0.002)
    assert made.collection_gb == pytest.approx(1000.0)
    assert made.index_core_days == pytest.approx(5e6 / 86_400)
    assert made.outages.answers_missing == made.traffic.unavailable == 0.0
    rare = make_plan(1e8, 1e-3, 0.0, COSTS, assumed)
    assert rare.machines == rare.for_memory == 10  # the memory says how many
    assert rare.simulated.p50 == pytest.approx(2.0 + 0.001 + 0.001, rel=CLOSE)


def test_bad_plans_are_refused():
    for items, qps in ((0, 1), (1e8, 0), (float("nan"), 1)):
        with pytest.raises(ValueError, match="cannot plan"):
            make_plan(items, qps, 0.0, COSTS, Assumptions())
    for wrong in ({"replicas": 0}, {"cores": 1.5}, {"busy": 1.0}, {"latency_ms": -1.0}, {"memory_gb": "many"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Assumptions(**wrong)


def test_a_line_has_no_part_below_zero():
    assert fit_line([10, 20, 40], [5.0, 10.0, 20.0])[:2] == pytest.approx((0.0, 0.5))
    assert fit_line([10, 20], [1.0, 3.0]).fixed == 0.0


@pytest.mark.slow
def test_costs_are_measured_and_kept(tmp_path):
    costs = measure_costs(n_pictures=4)
    assert costs.scan.slope > 0
    assert min(costs.query, costs.mark, costs.describe) > 0
    assert costs.folder_bytes > costs.vector_bytes == 3849.0
    file = tmp_path / "costs.json"
    file.write_text(json.dumps(costs.to_json()))
    assert known_costs(file) == costs
    file.write_text("{}")
    with pytest.raises(ValueError, match="no costs"):
        known_costs(file)


def test_command_says_what_was_measured_fitted_and_simulated(tmp_path):
    said = rankloom("plan", "--items", "1e7", "--qps", 50, "--set", "cores=16").output
    for word in ("measured on", "fitted", "assumed", "extrapolated", "only simulated", "10,000,000"):
        assert word in said
    assert "the most for one Dask scheduler" in said  # 35 shards, 50 times a second
    record = json.loads(rankloom("plan", "--items", "1e7", "--qps", 50, "--json").output)
    assert record["assumed"] == asdict(Assumptions())
    assert record["plans"][0]["machines"] == make_plan(1e7, 50.0, 1.0, known_costs(), Assumptions()).machines
    assert "known assumptions are cores" in rankloom("plan", "--set", "engines=4", code=2).output
    assert "give --measure" in rankloom("plan", "-o", tmp_path / "x", code=2).output

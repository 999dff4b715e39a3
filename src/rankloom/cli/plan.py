"""plan: how many machines a collection needs, from costs measured on one machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from rankloom.cli._options import InputFile, json_option, read_settings, set_option
from rankloom.cli._output import emit, say, say_written, table, write_json

if TYPE_CHECKING:
    from rankloom.cluster.capacity import Assumptions, Costs, Plan

SCHEDULER_TASKS = 1000  # a second, of about 1 ms each by the documentation of Dask


@click.command()
@click.option("--items", multiple=True, type=float, help="How many items; may be repeated. 1e7, 1e8, 1e9 unless given.")
@click.option("--qps", default=10.0, show_default=True, type=float, help="Queries a second.")
@click.option("--marks", default=1.0, show_default=True, type=float, help="Marks a second.")
@click.option("--measure", is_flag=True, help="Measure this machine first; takes less than a minute.")
@click.option("--costs", type=InputFile, help="Costs that --measure wrote, instead of those of our machine.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write the measured costs as JSON.")
@click.option("--seed", default=0, show_default=True, help="Of the simulation.")
@set_option
@json_option
def plan(
    items: tuple[float, ...],
    qps: float,
    marks: float,
    measure: bool,
    costs: str | None,
    output: str | None,
    seed: int,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say how many machines exact search over shards needs, from costs measured on one machine.

    What was measured, fitted, assumed and simulated is said apart. --set changes an assumption.

    \b
    Example:
      rankloom plan --items 1e8 --qps 50
      rankloom plan --measure -o costs.json
      rankloom plan --costs costs.json --items 2e7 --set cores=16 --set replicas=3
    """
    from rankloom.cluster.capacity import Assumptions, known_costs, make_plan

    if measure and costs:
        raise click.UsageError("--measure and --costs both say what things cost: give one of them")
    if output and not measure:
        raise click.UsageError("--output writes what --measure measures: give --measure, too")
    try:
        assumed = Assumptions(**read_settings(settings))
    except TypeError:
        known = ", ".join(asdict(Assumptions()))
        raise click.BadParameter(f"known assumptions are {known}", param_hint="--set") from None
    used = _measured(output) if measure else known_costs(costs)
    plans = [make_plan(n_items, qps, marks, used, assumed, seed=seed) for n_items in items or (1e7, 1e8, 1e9)]
    if as_json:
        emit({"measured": used.to_json(), "assumed": asdict(assumed), "plans": [_record(made) for made in plans]})
    else:
        _show(used, assumed, plans)


def _measured(output: str | None) -> Costs:
    from rankloom.cluster.measuring import measure_costs

    costs = measure_costs(lambda text: say(text, err=True))
    if output:
        write_json(costs.to_json(), output)
        say_written(output, err=True)
    return costs


def _record(made: Plan) -> dict[str, Any]:
    return {
        **made._asdict(),
        "traffic": {name: value for name, value in asdict(made.traffic).items() if value != float("inf")},
        "simulated": made.simulated._asdict(),
        "outages": made.outages._asdict(),
        "unavailable": made.traffic.unavailable,
    }


def _show(costs: Costs, assumed: Assumptions, plans: list[Plan]) -> None:
    scan, filters = costs.scan, costs.filters
    measured = [
        ["an item in shards", f"{costs.vector_bytes:,.0f} bytes"],
        ["an item in the collection, thumbnail included", f"{costs.folder_bytes:,.0f} bytes"],
        ["to index an item", f"{1e3 * costs.describe:.1f} ms"],
        ["a search, without comparing items", f"{1e3 * costs.query:.2f} ms"],
        ["a mark", f"{1e3 * costs.mark:.2f} ms"],
    ]
    table(["cost, times of one core", ""], measured, f"measured on {costs.machine}, preset {costs.preset}")
    fitted = [
        [name, f"{1e6 * line.fixed:.0f} µs + {1e9 * line.slope:.2f} ns an item", _range(line), f"{line.error:.1%}"]
        for name, line in (("to compare items", scan), ("to filter items", filters))
    ]
    table(
        ["cost, times of one core", "line", "fitted to items", "largest error"],
        fitted,
        "fitted, and extrapolated below",
    )
    table(["assumption", ""], [[name, f"{value:g}"] for name, value in asdict(assumed).items()], "assumed (--set)")
    _show_plans(plans)


def _show_plans(plans: list[Plan]) -> None:
    table(
        ["items", "core s a query", "for memory", "for disk", "for cores", "machines", "shards", "tasks a second"],
        [
            [
                f"{made.n_items:,}", f"{made.query_seconds:.3g}", f"{made.for_memory:,}", f"{made.for_disk:,}",
                f"{made.for_cores:,}", f"{made.machines:,}", f"{made.shards:,}", f"{made.qps * made.shards:,.0f}",
            ]
            for made in plans
        ],
        f"extrapolated: machines for {plans[0].qps:g} queries a second, replicas included",
    )  # fmt: skip
    table(
        ["items", "collection", "indexing", "busy with queries and marks"],
        [
            [
                f"{made.n_items:,}", f"{made.collection_gb:,.0f} GB", f"{made.index_core_days:,.0f} core days",
                f"{made.coordinator_cores:.2f} cores",
            ]
            for made in plans
        ],
        f"extrapolated: the coordinator, with {plans[0].marks:g} marks a second",
    )  # fmt: skip
    table(
        ["items", "p50", "p95", "busy", "queries", "answers with a missing shard", "computed"],
        [
            [
                f"{made.n_items:,}", f"{1e3 * made.simulated.p50:.1f} ms", f"{1e3 * made.simulated.p95:.1f} ms",
                f"{made.simulated.busy:.0%}", f"{made.simulated.n_queries:,}",
                f"{made.outages.answers_missing:.3%}", f"{made.traffic.unavailable:.2g}",
            ]
            for made in plans
        ],
        "only simulated: queues, network and failures; computed: all machines of a shard away, failing independently",
    )  # fmt: skip
    if any(made.qps * made.shards > SCHEDULER_TASKS for made in plans):
        say(f"some {SCHEDULER_TASKS:,} tasks a second are the most for one Dask scheduler: take fewer, larger machines")


def _range(line: Any) -> str:
    return f"{min(line.sizes):,} to {max(line.sizes):,}" if line.sizes else ""

"""Pictures of results, with matplotlib (the extra `plots`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from rankloom.simulate import Simulation

__all__ = ["plot_learning"]


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ImportError("plots need matplotlib; install it with: pip install 'rankloom[plots]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def plot_learning(simulations: Mapping[str, Simulation], path: str | os.PathLike[str]) -> None:
    """Draw the gain over the uniform combination and the time spent on learning, against the queries seen.

    Parameters
    ----------
    simulations : one simulation a ranker.
    path : where to write; the ending chooses the format (PNG, SVG, PDF).
    """
    pyplot = _pyplot()
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for name, run in simulations.items():
        queries = range(1, len(run.values) + 1)
        left.plot(queries, run.cumulative_gain, label=name)
        right.plot(queries, run.seconds, label=name)
    metric = next(iter(simulations.values())).metric
    left.axhline(0.0, color="0.6", linewidth=0.8)
    left.set(xlabel="queries", ylabel=f"mean gain of {metric} over uniform", title="What is learned")
    right.set(xlabel="queries", ylabel="CPU seconds", title="What learning costs", yscale="log")
    left.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)

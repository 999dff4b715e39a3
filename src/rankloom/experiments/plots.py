"""Pictures of results, with matplotlib (the extra `plots`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from rankloom.experiments.labeled import DIFFUSION
from rankloom.experiments.simulation import Simulation


def load_pyplot() -> Any:
    """matplotlib.pyplot without a screen."""
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
    simulations : one simulation per ranker.
    path : where to write; the ending chooses the format (PNG, SVG, PDF).
    """
    figure, (left, right) = load_pyplot().subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for name, run in simulations.items():
        queries = range(1, len(run.values) + 1)
        left.plot(queries, run.cumulative_gain, label=name)
        right.plot(queries, run.seconds, label=name)
    metric = next(iter(simulations.values())).metric
    left.axhline(0.0, color="0.6", linewidth=0.8)
    left.set(xlabel="queries", ylabel=f"mean gain of {metric} over uniform", title="What is learned")
    right.set(xlabel="queries", ylabel="CPU seconds", title="What learning costs", yscale="log")
    left.legend(frameon=False)
    finish(figure, [left, right], path)


def plot_rounds(strategies: Mapping[str, Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Draw AP after each round of marks, with 95% intervals, for every way of following them.

    Parameters
    ----------
    strategies : `UserTrial.to_dict()`.
    path : where to write.
    """
    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(figsize=(7.5, 4.6), layout="constrained")
    plain = [name for name in strategies if not name.endswith(DIFFUSION)]
    colors = dict(zip(plain, pyplot.get_cmap("tab10").colors, strict=False))
    for name, trial in strategies.items():
        rounds = range(len(trial["mean"]))
        style = "-" if name.endswith(DIFFUSION) else ":"
        color = colors.get(name.removesuffix(DIFFUSION), "0.4")
        axes.plot(rounds, trial["mean"], style, color=color, marker="o", markersize=3, label=name)
        low, high = zip(*trial["interval"], strict=True)
        axes.fill_between(rounds, low, high, color=color, alpha=0.12, linewidth=0)
    axes.set(xlabel="rounds of marks", ylabel="mean AP", xticks=[*rounds])
    axes.legend(frameon=False, fontsize=8)
    finish(figure, [axes], path)


def finish(figure: Any, axes: Any, path: str | os.PathLike[str]) -> None:
    """Give all axes the same look, write the figure and close it."""
    from matplotlib.ticker import LogLocator, ScalarFormatter

    for panel in np.ravel(axes):
        if panel.get_xscale() == "log":
            panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            panel.xaxis.set_major_formatter(ScalarFormatter())
            panel.minorticks_off()
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25)
    figure.savefig(path, dpi=110)
    load_pyplot().close(figure)

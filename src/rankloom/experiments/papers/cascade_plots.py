"""Figures of boosting and cascades, with matplotlib."""

from __future__ import annotations

import os

import numpy as np

from rankloom.experiments.papers.cascade import DEPTHS, METHODS, CascadeReport, mean_curve
from rankloom.experiments.plots import finish, load_pyplot

_COLORS = {"RankBoost": "0.45", "Imbalanced RankBoost": "#c8553d", "soft cascade": "#2a6f97"}


def plot_cascade(report: CascadeReport, path: str | os.PathLike[str]) -> None:
    """Draw the mean quality at three depths against evaluations (above) and wall time (below): the paper's figure 6."""
    figure, axes = load_pyplot().subplots(2, len(DEPTHS), figsize=(12, 7), layout="constrained")
    units = {"evaluations": "features computed an item", "seconds": "seconds for all items"}
    for row, (by, unit) in zip(axes, units.items(), strict=True):
        for panel, metric in zip(row, DEPTHS, strict=True):
            for method in METHODS:
                costs, values = report.mean_curve(method, metric, by)
                panel.plot(costs, values, label=method, color=_COLORS[method])
            panel.set(xscale="log", xlabel=unit, ylabel=f"mean {metric}")
    axes[0, 0].legend(frameon=False)
    finish(figure, axes, path)


def plot_concepts(report: CascadeReport, path: str | os.PathLike[str], metric: str = "AP") -> None:
    """Draw each concept's quality at the cost where the two boosters differ most, and four curves: figures 7 and 8."""
    shared, least = report.mean_curve("RankBoost", metric)
    other, most = report.mean_curve("Imbalanced RankBoost", metric)
    grid = np.geomspace(max(shared[0], other[0]), min(shared[-1], other[-1]), 60)
    cost = float(grid[np.argmax(np.interp(grid, other, most) - np.interp(grid, shared, least))])
    names = [*report.curves["RankBoost"]]
    figure = load_pyplot().figure(figsize=(12, 7), layout="constrained")
    above, below = figure.subfigures(2, 1)
    bars = above.subplots()
    for offset, method in zip((-0.27, 0.0, 0.27), METHODS, strict=True):
        values = []
        for name in names:
            costs, curve = mean_curve([report.curves[method][name]], metric)
            values.append(float(np.interp(cost, costs, curve)))
        bars.bar(np.arange(len(names)) + offset, values, 0.27, label=method, color=_COLORS[method])
    bars.set_xticks(np.arange(len(names)), names, rotation=40, ha="right")
    bars.set_title(f"At {cost:.1f} features an item", loc="left")
    bars.set(ylabel=metric)
    bars.legend(frameon=False, ncols=len(METHODS), loc="lower right", bbox_to_anchor=(1.0, 1.0))
    shown = names[:: max(1, len(names) // 4)][:4]
    panels = np.atleast_1d(below.subplots(1, len(shown), sharey=True))
    for panel, name in zip(panels, shown, strict=True):
        for method in METHODS:
            costs, curve = mean_curve([report.curves[method][name]], metric)
            panel.plot(costs, curve, color=_COLORS[method])
        panel.set(xscale="log", title=name, xlabel="features an item")
    finish(figure, [bars, *panels], path)


def plot_regularizers(report: CascadeReport, path: str | os.PathLike[str], metric: str = "AP") -> None:
    """Draw the mean quality of the three regularisers of Imbalanced RankBoost: the paper's figure 9."""
    figure, axes = load_pyplot().subplots(figsize=(7, 4.4), layout="constrained")
    colors = {"squared": "#c8553d", "exponential": "#2a6f97", "gap": "#5b8e4c"}
    styles = ("-", "--", ":")
    for number, (name, curves) in enumerate(report.regularizers.items()):
        costs, values = mean_curve([*curves.values()], metric)
        axes.plot(costs, values, styles[number % 3], color=colors[name.partition(",")[0]], label=name)
    axes.set(xscale="log", xlabel="features computed an item", ylabel=f"mean {metric}")
    axes.legend(frameon=False, fontsize=8)
    finish(figure, [axes], path)


def plot_places(report: CascadeReport, path: str | os.PathLike[str]) -> None:
    """Draw how many features were asked of the items at each place of the ranking, from the top to the bottom."""
    figure, axes = load_pyplot().subplots(figsize=(7, 4), layout="constrained")
    for method, counts in report.asked.items():
        places = (np.arange(len(counts)) + 0.5) * 100 / len(counts)
        axes.plot(places, counts, drawstyle="steps-mid", label=method, color=_COLORS[method])
    axes.set(xlabel="place in the ranking, % from the top", ylabel="features computed", yscale="log")
    axes.legend(frameon=False)
    finish(figure, [axes], path)


FIGURES = {
    "quality-against-cost.png": (plot_cascade, "quality against features computed and seconds (figure 6)"),
    "concepts.png": (plot_concepts, "single concepts (figures 7 and 8)"),
    "regularizers.png": (plot_regularizers, "the three regularisers (figure 9)"),
    "cost-by-place.png": (plot_places, "what items at each place cost"),
}

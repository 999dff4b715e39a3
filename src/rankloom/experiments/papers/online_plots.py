"""Figures of online learning to rank, with matplotlib."""

from __future__ import annotations

import os

import numpy as np

from rankloom.experiments.papers.online import FIGURE_1, TABLE_2, OnlineReport
from rankloom.experiments.papers.online_large import PLACES
from rankloom.experiments.plots import finish, load_pyplot


def plot_table(report: OnlineReport, path: str | os.PathLike[str]) -> None:
    """Draw the MAP of every method with its standard error, beside the paper's on its Caltech-101: table 2."""
    figure, axes = load_pyplot().subplots(figsize=(8, 4.6), layout="constrained")
    names = report.measured
    places = range(len(names))
    means, errors = [report.mean(name) for name in names], [report.error(name) for name in names]
    axes.barh(places, means, xerr=errors, color="#2a6f97", label="here, with standard error")
    published = [(place, TABLE_2[name]["Caltech101"]) for place, name in enumerate(names) if name in TABLE_2]
    axes.plot([value for _, value in published], [place for place, _ in published], "D", color="#c8553d",
              label="paper, its Caltech-101")  # fmt: skip
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set(xlabel="MAP")
    axes.legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    finish(figure, [axes], path)


def plot_costs(report: OnlineReport, path: str | os.PathLike[str]) -> None:
    """Draw what a fit costs against the number of instances: figure 1."""
    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(figsize=(8, 4.6), layout="constrained")
    for color, (name, costs) in zip(pyplot.get_cmap("tab20").colors, report.costs.items(), strict=False):
        axes.plot([*costs], [*costs.values()], marker="o", markersize=3, color=color, label=name)
    for name, (instances, seconds) in FIGURE_1.items():
        axes.plot(instances, seconds, "D", color="0.3", markersize=5, label=f"{name} (paper)")
    axes.set(xlabel="instances", ylabel="CPU seconds of a fit", xscale="log", yscale="log")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    finish(figure, [axes], path)


def plot_large(report: OnlineReport, path: str | os.PathLike[str]) -> None:
    """Draw the precision of the first results among distractors: figure 2."""
    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(figsize=(8, 4.6), layout="constrained")
    for color, (name, quality) in zip(pyplot.get_cmap("tab20").colors, report.large_means().items(), strict=False):
        axes.plot(PLACES, [quality[f"P@{k}"] for k in PLACES], marker="o", markersize=3, color=color, label=name)
    title = f"among {report.n_distractors:,} distractors, mixed of {report.distractors_of}"
    axes.set(xlabel="results", ylabel="precision", title=title)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    finish(figure, [axes], path)


def plot_progress(report: OnlineReport, path: str | os.PathLike[str]) -> None:
    """Draw what is gained while queries arrive, with judgements and with clicks: so far, and of late; and its cost."""
    pyplot = load_pyplot()
    colors = dict(zip(report.judged, pyplot.get_cmap("tab20").colors, strict=False))
    figure, panels = pyplot.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
    for row, (runs, what) in zip(
        panels, ((report.judged, "top 50 judged"), (report.clicked, "noisy clicks")), strict=True
    ):
        for name, run in runs.items():
            queries = np.arange(1, len(run.values) + 1)
            width = max(1, len(queries) // 20)
            late = np.convolve(run.gain, np.full(width, 1 / width), "valid")
            row[0].plot(queries, run.cumulative_gain, color=colors[name], label=name)
            row[1].plot(queries[width - 1 :], late, color=colors[name])
            row[2].plot(queries, run.seconds, color=colors[name])
        for panel, title in zip(row, ("mean of all so far", "mean of the last twentieth", "cost"), strict=True):
            panel.set(xlabel="queries", ylabel="gain of nDCG@50 over uniform", title=f"{what}: {title}")
        row[2].set(ylabel="CPU seconds of learning", yscale="log")
        for panel in row[:2]:
            panel.axhline(0.0, color="0.6", linewidth=0.8)
    panels[0, 0].legend(frameon=False, fontsize=8)
    finish(figure, panels, path)


FIGURES = {
    "map.png": (plot_table, "MAP (table 2)"),
    "cost-by-instances.png": (
        plot_costs,
        "cost of a fit by instances (figure 1); of the paper's, its text has two numbers",
    ),
    "among-distractors.png": (plot_large, "precision among distractors (figure 2)"),
    "progressive.png": (plot_progress, "learning while queries arrive (figures 3 and 4)"),
}

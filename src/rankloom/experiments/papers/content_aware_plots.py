"""Pictures of the benchmark of content-aware ranking, with matplotlib (the extra `plots`)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rankloom.experiments.papers.content_aware_report import (
    BEST_DEPTHS,
    DEPTHS,
    PAPER_METHODS,
    CarReport,
    Setting,
    verdicts,
)
from rankloom.experiments.plots import finish, load_pyplot

# Color: what the pictures are used for. Line: whose text scores.
_COLORS = {"": "0.45", "VR": "#5b8e4c", "BR": "#2a6f97", "PRF": "#b08bbf", "smooth": "#d9a441"}
_LINES = {"BM25": ":", "RankSVM": "--", "ListNet": "-", "CAR0": "-."}
_SHOWN = ("BM25", *PAPER_METHODS[:-1], "CAR0-smooth", "CAR")


def _style(method: str) -> dict[str, object]:
    if method == "CAR":
        return {"color": "#c8553d", "linewidth": 2.4}
    text, _, how = method.partition("-")
    return {"color": _COLORS[how], "linestyle": _LINES[text], "linewidth": 1.3}


def _of_size(report: CarReport, n_train: int | None) -> list[Setting]:
    size = min(setting.n_train for setting in report.settings) if n_train is None else n_train
    return [setting for setting in report.settings if setting.n_train == size]


def _panels(settings: list[Setting]) -> tuple[Any, list[Any]]:
    """A figure with a panel for each task and graph, at most two beside each other: one task a row."""
    columns = min(2, len(settings))
    rows = -(-len(settings) // columns)
    figure, axes = load_pyplot().subplots(rows, columns, figsize=(5.2 * columns, 3.6 * rows), layout="constrained")
    panels = [*np.ravel(axes)]
    for panel in panels[len(settings) :]:
        panel.remove()
    for panel, setting in zip(panels, settings, strict=False):
        panel.set(title=f"{setting.task}, {setting.graph} graph")
    return figure, panels[: len(settings)]


def _legend(figure: Any, panel: Any) -> None:
    """What the lines of all panels are, below them."""
    figure.legend(*panel.get_legend_handles_labels(), frameon=False, fontsize=9, ncols=5, loc="outside lower center")


def plot_curves(report: CarReport, path: str | os.PathLike[str], n_train: int | None = None) -> None:
    """Draw nDCG@1 to 20 of the methods, a panel per task and graph: the paper's figure 3."""
    settings = _of_size(report, n_train)
    figure, panels = _panels(settings)
    for panel, setting in zip(panels, settings, strict=True):
        for method in _SHOWN:
            panel.plot(DEPTHS, report.settings[setting].mean(method), label=method, **_style(method))
        panel.set(xlabel="k", ylabel="nDCG@k", xticks=[1, 5, 10, 15, 20])
    _legend(figure, panels[0])
    finish(figure, panels, path)


def plot_best(report: CarReport, path: str | os.PathLike[str], n_train: int | None = None) -> None:
    """Draw for how many queries each of the paper's methods is better than all others: figure 4."""
    settings = _of_size(report, n_train)
    figure, panels = _panels(settings)
    width = 0.8 / len(PAPER_METHODS)
    hatches = {"RankSVM": "//", "ListNet": ""}
    for panel, setting in zip(panels, settings, strict=True):
        counts = report.settings[setting].best_counts()
        for number, method in enumerate(PAPER_METHODS):
            positions = np.arange(len(BEST_DEPTHS)) + (number - (len(PAPER_METHODS) - 1) / 2) * width
            hatch = hatches.get(method.partition("-")[0], "")
            color = _style(method)["color"]
            panel.bar(positions, counts[method], width, label=method, color=color, hatch=hatch, edgecolor="white")
        panel.set_xticks(range(len(BEST_DEPTHS)), [f"@{depth}" for depth in BEST_DEPTHS])
        panel.set(xlabel="nDCG", ylabel="queries where it is best alone")
    _legend(figure, panels[0])
    finish(figure, panels, path)


def plot_gamma(report: CarReport, path: str | os.PathLike[str], n_train: int | None = None) -> None:
    """Draw nDCG@1 to 20 for each gamma in the first setting, and what gamma adds to nDCG@10 in all: figure 6."""
    settings = _of_size(report, n_train)
    figure, (left, right) = load_pyplot().subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    by_gamma = report.settings[settings[0]].by_gamma
    colors = load_pyplot().get_cmap("viridis")(np.linspace(0.0, 0.9, len(by_gamma)))
    for (gamma, values), color in zip(by_gamma.items(), colors, strict=True):
        left.plot(DEPTHS, values.mean(axis=0), color=color, label=f"γ = {gamma:g}")
    title = f"{settings[0].task}, {settings[0].graph} graph"
    left.set(title=title, xlabel="k", ylabel="nDCG@k", xticks=[1, 5, 10, 15, 20])
    left.legend(frameon=False, fontsize=8)
    for setting in settings:
        curve = np.array([values[:, 9].mean() for values in report.settings[setting].by_gamma.values()])
        color = "#c8553d" if setting.graph == "semantic" else "0.45"
        line = {"words": "-", "captions": "--"}.get(setting.task, ":")
        label = f"{setting.task}, {setting.graph} graph"
        right.plot(range(len(curve)), curve - curve[0], line, color=color, marker="o", label=label)
    right.set_xticks(range(len(by_gamma)), [f"{gamma:g}" for gamma in by_gamma])
    right.axhline(0.0, color="0.6", linewidth=0.8)
    right.set(title="What the pictures add", xlabel="γ", ylabel="nDCG@10 less that of γ = 0")
    right.legend(frameon=False, fontsize=8)
    finish(figure, [left, right], path)


def plot_against(report: CarReport, path: str | os.PathLike[str]) -> None:
    """Draw by how much content-aware ranking beats its own text model, plain and reranked, in every setting."""
    against = verdicts(report)
    others = list(dict.fromkeys(gain.other for _, gain in against))
    settings = list(report.settings)
    figure, axes = load_pyplot().subplots(figsize=(10, 0.6 * len(settings) + 1.6), layout="constrained")
    height = 0.8 / len(others)
    for number, other in enumerate(others):
        gains = [gain for _, gain in against if gain.other == other]
        positions = np.arange(len(settings)) + (number - (len(others) - 1) / 2) * height
        color = _COLORS[other.partition("-")[2]]
        # Pale where the difference may be chance.
        for at, gain in zip(positions, gains, strict=True):
            axes.barh(at, gain.difference, height, color=color, alpha=1.0 if gain.holm < 0.05 else 0.35)
        axes.barh(0, 0, height, color=color, label=f"against {other}")
    axes.set_yticks(range(len(settings)), [str(setting) for setting in settings])
    axes.invert_yaxis()
    axes.axvline(0.0, color="0.3", linewidth=0.8)
    axes.set(xlabel="nDCG@10 of CAR less that of the other (full colour: p < .05 after Holm)")
    axes.legend(frameon=False, fontsize=8, loc="best")
    finish(figure, [axes], path)


FIGURES = {
    "car-curves.png": (plot_curves, "nDCG at every depth (figure 3)"),
    "car-best.png": (plot_best, "queries on which each method is best (figure 4)"),
    "car-gamma.png": (plot_gamma, "the weight of the visual part (figure 6)"),
    "car-against.png": (plot_against, "content-aware ranking against its own text model, reranked"),
}

"""What the comparison of content-aware ranking found: curves, gains, best methods, and the paper's figures beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rankloom.core import FloatArray
from rankloom.evaluation.significance import holm, sign_flip_test
from rankloom.experiments.papers import Finding

CITATION = "B. Geng, L. Yang, X.-S. Hua, Learning to rank with graph consistency, 2009."
# Table 1: nDCG of ListNet, of ListNet-BR and of CAR at each depth, by the number of training queries. Section 6.4: the
# best values of gamma, the worst, and the gain between them.
PAPER: dict[str, Any] = {
    "nDCG": {
        50: {
            1: {"ListNet": 0.4202, "ListNet-BR": 0.4775, "CAR": 0.4913},
            5: {"ListNet": 0.4710, "ListNet-BR": 0.4976, "CAR": 0.5119},
            10: {"ListNet": 0.4941, "ListNet-BR": 0.4996, "CAR": 0.5191},
            20: {"ListNet": 0.5045, "ListNet-BR": 0.5036, "CAR": 0.5210},
        },
        100: {
            1: {"ListNet": 0.4703, "ListNet-BR": 0.4949, "CAR": 0.5308},
            5: {"ListNet": 0.4927, "ListNet-BR": 0.5091, "CAR": 0.5415},
            10: {"ListNet": 0.5102, "ListNet-BR": 0.5241, "CAR": 0.5357},
            20: {"ListNet": 0.5208, "ListNet-BR": 0.5214, "CAR": 0.5320},
        },
    },
    "best gamma": (0.5, 1.0),
    "worst gamma": (0.0, 5.0),
    "gain of gamma": 0.07,
    "queries": 594,
    "pairs": 137348,
}
NOTABLE = 0.01  # gains below this share are none
DEPTHS = tuple(range(1, 21))
TABLE_DEPTHS = (1, 5, 10, 20)
BEST_DEPTHS = (1, 5, 10, 15, 20)
TEXT = ("BM25", "RankSVM", "ListNet", "CAR0")
RERANKERS = ("VR", "BR", "PRF", "smooth")
RERANKED = tuple(f"{text}-{how}" for text in TEXT for how in RERANKERS)
METHODS = (*TEXT, *RERANKED, "CAR")
PAPER_METHODS = ("RankSVM", "ListNet", "RankSVM-VR", "ListNet-VR", "RankSVM-BR", "ListNet-BR", "CAR")


class Setting(NamedTuple):
    """A task, the descriptors behind the graph, and the number of training queries."""

    task: str
    graph: str
    n_train: int

    def __str__(self) -> str:
        return f"{self.task}, {self.graph} graph, {self.n_train} queries"


@dataclass
class SettingResult:
    """What was measured in one setting.

    Attributes
    ----------
    queries : every query that was in a test part.
    values : method -> nDCG at each of `DEPTHS`, a row per query; the mean over the runs that tested the query.
    by_gamma : gamma -> the same for content-aware ranking with this gamma.
    params : method -> the parameters chosen in each run.
    """

    queries: list[str]
    values: dict[str, FloatArray]
    by_gamma: dict[float, FloatArray]
    params: dict[str, list[dict[str, Any]]]

    def mean(self, method: str) -> FloatArray:
        """The mean over queries at each depth."""
        return np.asarray(self.values[method].mean(axis=0))

    def best_counts(self, methods: Sequence[str] = PAPER_METHODS) -> dict[str, list[int]]:
        """At each of `BEST_DEPTHS`: for how many queries a method is better than all others; "tied" is the rest."""
        counts: dict[str, list[int]] = {method: [] for method in (*methods, "tied")}
        for depth in BEST_DEPTHS:
            column = np.array([self.values[method][:, depth - 1] for method in methods])
            leads = column >= column.max(axis=0) - 1e-12
            alone = leads & (leads.sum(axis=0) == 1)
            for method, row in zip(methods, alone, strict=True):
                counts[method].append(int(row.sum()))
            counts["tied"].append(int((~alone.any(axis=0)).sum()))
        return counts


class Gain(NamedTuple):
    """A method against another at a depth; `p` is of the paired randomisation test, `holm` the same for all methods."""

    method: str
    other: str
    depth: int
    value: float
    difference: float
    relative: float
    p: float
    holm: float
    wins: int
    losses: int


@dataclass
class CarReport:
    """All settings: curves (figure 3), gains (table 1), best-query counts (figure 4) and gamma (figure 6)."""

    n_runs: int
    settings: dict[Setting, SettingResult] = field(default_factory=dict)

    def gains(self, setting: Setting, other: str, depth: int, methods: Sequence[str] = METHODS) -> list[Gain]:
        """Each method against another one."""
        values = {method: self.settings[setting].values[method][:, depth - 1] for method in {*methods, other}}
        rows = [method for method in methods if method != other]
        differences = [values[method] - values[other] for method in rows]
        p_values = [sign_flip_test(difference) for difference in differences]
        base = float(values[other].mean())
        return [
            Gain(
                method,
                other,
                depth,
                float(values[method].mean()),
                float(difference.mean()),
                float(difference.mean()) / base if base else 0.0,
                p,
                float(corrected),
                int((difference > 1e-12).sum()),
                int((difference < -1e-12).sum()),
            )
            for method, difference, p, corrected in zip(rows, differences, p_values, holm(p_values), strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "paper": PAPER,
            "n_runs": self.n_runs,
            "depths": list(DEPTHS),
            "settings": [
                {
                    **setting._asdict(),
                    "n_queries": len(measured.queries),
                    "nDCG": {method: measured.mean(method).tolist() for method in measured.values},
                    "gains": [
                        gain._asdict() for depth in TABLE_DEPTHS for gain in self.gains(setting, "ListNet", depth)
                    ],
                    "best": {"depths": list(BEST_DEPTHS), "counts": measured.best_counts()},
                    "gamma": [
                        {"gamma": gamma, "nDCG": values.mean(axis=0).tolist()}
                        for gamma, values in measured.by_gamma.items()
                    ],
                    "params": measured.params,
                }
                for setting, measured in self.settings.items()
            ],
            "CAR against others": [
                {**setting._asdict(), **gain._asdict()} for setting, gain in verdicts(self, methods=METHODS)
            ],
        }


# Content-aware ranking against its own text model, and against that model reranked: the same features and the same
# loss, once with the pictures in the learning and once after it.
_SAME_TEXT = ("CAR0", *(f"CAR0-{how}" for how in RERANKERS))


def verdicts(report: CarReport, depth: int = 10, methods: Sequence[str] = _SAME_TEXT) -> list[tuple[Setting, Gain]]:
    """Content-aware ranking against other methods in every setting: `difference` > 0 where it is the better one."""
    against = []
    for setting in report.settings:
        for gain in report.gains(setting, "CAR", depth, methods):
            value = float(report.settings[setting].mean("CAR")[depth - 1])
            turned = gain._replace(
                method="CAR",
                other=gain.method,
                value=value,
                difference=0.0 - gain.difference,
                relative=-gain.difference / gain.value if gain.value else 0.0,
                wins=gain.losses,
                losses=gain.wins,
            )
            against.append((setting, turned))
    return against


def findings(report: CarReport) -> list[Finding]:
    """What the paper found, and what was found here."""
    rows = []
    for setting, measured in report.settings.items():
        published = PAPER["nDCG"].get(setting.n_train)
        for depth in TABLE_DEPTHS:
            base = float(measured.mean("ListNet")[depth - 1])
            for method in ("ListNet-BR", "CAR"):
                paper = None
                if published is not None:
                    paper = published[depth][method] / published[depth]["ListNet"] - 1.0
                gain = float(measured.mean(method)[depth - 1]) / base - 1.0 if base else 0.0
                holds = None if paper is None or abs(paper) < NOTABLE else bool(gain * np.sign(paper) >= NOTABLE)
                rows.append(Finding(f"{setting}: gain of {method} over ListNet, nDCG@{depth}", gain, paper, holds))
        counts = measured.best_counts()
        share = counts["CAR"][BEST_DEPTHS.index(10)] / len(measured.queries)
        rows.append(Finding(f"{setting}: share of queries where CAR is best alone, nDCG@10", share, None))
        curve = {gamma: float(values[:, 9].mean()) for gamma, values in measured.by_gamma.items()}
        rows.append(Finding(f"{setting}: best gamma, nDCG@10", max(curve, key=curve.__getitem__), None))
    for setting, against in verdicts(report):
        rows.append(Finding(f"{setting}: CAR less {against.other}, nDCG@10", against.difference, None))
        rows.append(Finding(f"{setting}: p of CAR against {against.other}, Holm", against.holm, None))
    return rows

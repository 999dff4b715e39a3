"""LETOR 4.0, MQ2008: five folds, official evaluation, nu chosen on the validation parts."""

from __future__ import annotations

from benchmarks.harness import SHARED, Bar, at_least, at_most
from rankloom.experiments.papers.letor4 import MQ2008
from rankloom.model_selection.selection import compare_folds, read_folds
from rankloom.rankers import RANKERS

TITLE = "LETOR 4.0, MQ2008"


def run() -> list[Bar]:
    folder = SHARED / "letor-mq2008"
    if not folder.is_dir():
        return [Bar("4a", "MQ2008, five folds", "-", "no ../shared/data", None)]
    metrics = ("AP", "nDCG@10", "MeanNDCG")
    results = compare_folds(read_folds(folder), {name: {} for name in RANKERS}, metrics, "letor4")
    bars = []
    for name in ("rlr", "frlr"):
        bars.append(at_least("4a", f"MAP of {name}", results.mean(name, "AP"), 0.470, ""))
    published_bars = (
        ("ranksvm", "RankSVM-Struct", 0.008),
        ("listnet", "ListNet", 0.010),
        ("rankboost", "RankBoost", 0.010),
    )
    for name, published, most in published_bars:
        target = MQ2008[published]["AP"]
        distance = abs(results.mean(name, "AP") - target)
        bars.append(at_most("4a", f"MAP of {name}, distance from {published}'s {target}", distance, most, ""))
    for name in ("opr", "opar1", "opar2", "ogdr", "arow"):
        bars.append(at_least("4a", f"MAP of {name}", results.mean(name, "AP"), 0.465, ""))
    for name in results.values:
        figures = ", ".join(f"{metric} {results.mean(name, metric):.4f}" for metric in metrics)
        bars.append(Bar("4a", f"{name}: {figures}", "-", "-", None))
    tested = results.comparison("AP")
    few = {"rlr", "frlr", "ranksvm", "lr"}
    for pair in tested.pairs:
        if {pair.a, pair.b} <= few:
            p = f"p {pair.p_randomization:.3f}, Holm {pair.holm_randomization:.3f}"
            bars.append(Bar("4a", f"{pair.a} - {pair.b}: MAP {pair.difference:+.4f}, {p}", "-", "-", None))
    return bars

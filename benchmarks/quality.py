"""Quality of search by example, with weights that were learned and with those of a new collection."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import SHARED, Bar, at_least
from benchmarks.packs import PACKS, captioned_pack, pack
from rankloom.descriptors import CLASSICAL, PRESETS
from rankloom.experiments import LabeledCollection, evaluate_collection
from rankloom.experiments.prior import train_prior
from rankloom.experts.starting_weights import TEACHER
from rankloom.rankers import RankingLogisticRegression

TITLE = "Quality of search by example"
RANKER = {"learned": RankingLogisticRegression()}


def presets(data: LabeledCollection) -> dict[str, LabeledCollection]:
    return {name: data.only([one for one in names if one in data.vectors]) for name, names in PRESETS.items()}


def run() -> list[Bar]:
    if not SHARED.is_dir():
        return [Bar("5f", "the packs of pictures are not here", "-", "-", None)]
    packs = {name: pack(name) for name in PACKS}
    caltech = packs["caltech101"]
    n = 600  # of 1,824: the mean hardly moves
    classical = evaluate_collection(caltech.only(CLASSICAL), RANKER, n_queries=n)
    everything = evaluate_collection(caltech, RANKER, n_queries=n)
    semantic = evaluate_collection(caltech.only(["semantic"]), {}, n_queries=n, diffusion=False)
    unseen = evaluate_collection(caltech.only(CLASSICAL), RANKER, n_queries=n, unseen=True, diffusion=False)

    def bar(what: str, figure: float, limit: float) -> Bar:
        return at_least("5f", f"Caltech-101, MAP of {what}", figure, limit, "")

    bars = [
        bar("classical experts, all alike", classical.mean("uniform"), 0.18),
        bar("classical experts, learned", classical.mean("learned"), 0.287),
        bar("classical experts, learned, with neighbours", classical.mean("learned + neighbours"), 0.36),
        bar("the semantic descriptor alone, best of its experts", semantic.mean("best expert"), 0.80),
        bar("all experts, learned", everything.mean("learned"), 0.82),
        bar("all experts, learned, with neighbours", everything.mean("learned + neighbours"), 0.92),
    ]
    gains = [one.mean("learned") - one.mean("uniform") for one in (classical, unseen)]
    bars.append(Bar("7", "gain of learning, classes seen / unseen", "-", f"{gains[0]:+.3f} / {gains[1]:+.3f}", None))
    return [*bars, *_cold_start(packs)]


def _cold_start(packs: dict[str, LabeledCollection]) -> list[Bar]:
    """Weights made from captions and two packs, and judged on the third; those that are shipped are made from all.

    A collection without the semantic descriptor teaches itself instead, from a sample that the network has seen.
    """
    captions = captioned_pack()
    bars = []
    for left in packs:
        others: list[LabeledCollection] = [captions, *(one for name, one in packs.items() if name != left)]
        for preset, data in presets(packs[left]).items():
            start = data.start
            if TEACHER in data.vectors:
                weights = train_prior([presets(other)[preset] for other in others])
                start = np.array([weights.get(expert.name, 0.0) for expert in data.experts])
            found = evaluate_collection(data, {**RANKER}, n_queries=300, start=start)
            begun, learned = (found.mean(f"{name} + neighbours") for name in ("start", "learned"))
            alone = found.mean("start") / found.mean("learned")
            what = (
                f"{left}, not learned from, preset {preset}, with neighbours: start {begun:.3f} / "
                f"learned {learned:.3f} (without {alone:.3f})"
            )
            bars.append(at_least("5g", what, begun / learned, 0.95, ""))
    return bars

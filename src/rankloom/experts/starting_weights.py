"""The weights that a new collection starts with; `rankloom.experiments.prior` makes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from rankloom.descriptors import PRESETS
from rankloom.experts.expert import experts_of

TEACHER = "semantic"  # the descriptor that is strong by itself: without it, `experts.teaching` says what is alike
# People's words count more than automatic ones. The two ways from words to looks: docs/words.md has the measurements.
TEXT_WEIGHTS = {"text.bm25": 1.0, "tags.bm25": 0.25, "words.map": 0.5, "words.classes": 0.3, "words.colors": 0.2}


@cache
def _packaged() -> dict[str, dict[str, float]]:
    return dict(json.loads(files("rankloom.experts").joinpath("starting_weights.json").read_text("utf-8")))


def prior_weights(descriptors: Iterable[str]) -> dict[str, float]:
    """Starting weights for the experts of these descriptors, and for the text experts.

    There is a set of weights for each preset, learned from its experts by `rankloom train-prior`. The one that fits is
    taken: `paper36` without the semantic descriptor, `fast` if all are in it, else `full`. An expert that was not there
    then starts at 0, unless none of them is known: then all weigh the same. Visual weights sum to 1.

    >>> weights = prior_weights(["semantic", "hog"])
    >>> weights["semantic.cosine"] > weights.get("hog.l2", 0.0), round(sum(weights.values()), 6)  # words 2.25
    (True, 3.25)
    """
    chosen = sorted(descriptors)
    names = [expert.name for expert in experts_of(chosen)]
    kind = "fast" if set(chosen) <= set(PRESETS["fast"]) else "full"
    known = _packaged()[kind if TEACHER in chosen else "paper36"]
    weights = {name: known.get(name, 0.0) for name in names}
    if not any(weights.values()):
        weights = dict.fromkeys(names, 1.0)
    total = sum(weights.values()) or 1.0
    return {**{name: weight / total for name, weight in weights.items()}, **TEXT_WEIGHTS}

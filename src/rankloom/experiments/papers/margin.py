"""Margin-based rank learning on multimodal experts: quality per query and pooled, cost, and the theory in numbers.

Reference: R. Yan and A. G. Hauptmann, Efficient margin-based rank learning algorithms for information retrieval, CIVR
2006, table 1. TRECVID's data are not public: queries here are words of captions that no feature sees, over all experts
of a collection, or generated. The report shows whether the shapes appear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from rankloom.core import FloatArray, IntArray, RankingData
from rankloom.datasets import make_ranking
from rankloom.evaluation.metrics import Comparison, evaluate, evaluate_queries
from rankloom.evaluation.significance import compare_values
from rankloom.experiments.papers import Finding
from rankloom.model_selection.selection import GRIDS
from rankloom.rankers import LinearRanker, Ranker, make_ranker
from rankloom.rankers.per_query import fit_per_query
from rankloom.rankers.theory import pairwise_risk_bounds, rank_consistency
from rankloom.text import tokenize

CITATION = (
    "R. Yan, A. G. Hauptmann, Efficient margin-based rank learning algorithms for information retrieval, CIVR 2006."
)
# Collection -> method -> TrainAP, TestAP, P@10, P@30, P@100.
TABLE_1: dict[str, dict[str, tuple[float, ...]]] = {
    "t05": {
        "F-RLR": (0.453, 0.217, 0.535, 0.451, 0.341), "RLR": (0.447, 0.217, 0.529, 0.433, 0.341),
        "LR": (0.389, 0.207, 0.506, 0.433, 0.341), "NB": (0.409, 0.204, 0.535, 0.410, 0.334),
    },
    "t04": {
        "F-RLR": (0.292, 0.143, 0.269, 0.262, 0.192), "RLR": (0.283, 0.141, 0.269, 0.264, 0.192),
        "LR": (0.261, 0.132, 0.238, 0.241, 0.184), "NB": (0.236, 0.129, 0.231, 0.215, 0.182),
    },
    "t03": {
        "F-RLR": (0.379, 0.189, 0.433, 0.360, 0.221), "RLR": (0.371, 0.186, 0.433, 0.342, 0.224),
        "LR": (0.358, 0.185, 0.431, 0.358, 0.229), "NB": (0.348, 0.181, 0.344, 0.338, 0.230),
    },
}  # fmt: skip
SPEEDUP = 10.0  # of RLR against F-RLR, in the paper
METHODS = {"F-RLR": "frlr", "RLR": "rlr", "LR": "lr", "NB": "nb", "SVM": "ranksvm", "RankBoost": "rankboost"}
METRICS = ("AP", "P@10", "P@30", "P@100")
Progress = Callable[[str], None]
Phi = Callable[[str, IntArray], FloatArray]  # of all items, for a word and rows of items that are shown with it


@dataclass(frozen=True)
class Multimodal:
    """Rows of all experts for each query: of a development part of the items, and of the part that is searched."""

    name: str
    train: RankingData
    test: RankingData


@dataclass
class MethodResult:
    """One method, learned on each query alone, or on all of them together.

    Attributes
    ----------
    train_ap : AP of each query on the development part. test : each metric of each query on the other part.
    seconds : CPU time of learning. violations : weights against a feature that orders all pairs of a query alone.
    """

    train_ap: FloatArray
    test: dict[str, FloatArray]
    seconds: float
    violations: int

    def row(self) -> tuple[float, ...]:
        """TrainAP, TestAP and precisions, as the paper's table has them."""
        return float(self.train_ap.mean()), *(float(self.test[metric].mean()) for metric in METRICS)


@dataclass
class MarginReport:
    """What was measured on one collection.

    Attributes
    ----------
    per_query, pooled : results by method. params : those chosen on the development part.
    ordering : features that order all pairs of a query alone, over all queries: those that could be contradicted.
    bounds : of the risk of each query's RLR: how often eq. 3 held, and the mean of upper bound by risk.
    """

    name: str
    n_queries: int
    n_features: int
    per_query: dict[str, MethodResult] = field(default_factory=dict)
    pooled: dict[str, MethodResult] = field(default_factory=dict)
    params: dict[str, dict[str, Any]] = field(default_factory=dict)
    ordering: int = 0
    bounds_held: int = 0
    bounds_ratio: float = float("nan")

    def comparison(self) -> Comparison:
        """Paired tests of TestAP, learned per query."""
        return compare_values({name: result.test["AP"] for name, result in self.per_query.items()}, "AP")

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""

        def plain(results: Mapping[str, MethodResult]) -> dict[str, Any]:
            return {
                name: {
                    "TrainAP": float(one.train_ap.mean()),
                    **{metric: float(values.mean()) for metric, values in one.test.items()},
                    "seconds": one.seconds,
                    "violations": one.violations,
                }
                for name, one in results.items()
            }

        return {
            "name": self.name,
            "queries": self.n_queries,
            "features": self.n_features,
            "params": self.params,
            "per_query": plain(self.per_query),
            "pooled": plain(self.pooled),
            "tests": self.comparison().to_dict(),
            "ordering": self.ordering,
            "bounds": {"held": self.bounds_held, "upper / risk": self.bounds_ratio},
        }


def run(
    data: Multimodal, methods: Sequence[str] = tuple(METHODS), *, progress: Progress = lambda step: None
) -> MarginReport:
    """Learn the combination of experts by each method, per query and pooled, and measure both parts.

    Parameters
    ----------
    data : the queries; both parts have a relevant row of each.
    methods : some of `METHODS`.
    progress : called with a text before each method.
    """
    train = data.train
    report = MarginReport(data.name, len(np.unique(train.qid)), train.X.shape[1])
    for name in methods:
        progress(f"{name}, parameters")
        params = _chosen(METHODS[name], train)
        report.params[name] = params
        ranker = make_ranker(METHODS[name], **params)
        ranker.fit(train.X[:50], train.y[:50], qid=train.qid[:50])  # compiled before the clock runs
        progress(f"{name}, per query")
        began = process_time()
        each = fit_per_query(ranker, train.X, train.y, train.qid, min_positives=1)
        seconds = process_time() - began
        against = sum(
            len(rank_consistency(one, train.X[rows], train.y[rows]).violations)
            for query, one in each.rankers.items()
            if isinstance(one, LinearRanker)
            for rows in [train.qid == query]
        )
        report.per_query[name] = _result(each, data, seconds, against)
        progress(f"{name}, pooled")
        began = process_time()
        ranker.fit(train.X, train.y, qid=train.qid)
        seconds = process_time() - began
        report.pooled[name] = _result(ranker, data, seconds, 0)
        if name == "RLR":
            _theory(report, each.rankers, train)
    return report


def _chosen(name: str, train: RankingData) -> dict[str, Any]:
    """The parameters that are best where rankers of single queries learn from half of the development part.

    Each half judges what the other gave. Beside the best point of the grid, in steps of ten, its neighbors at half a
    step are tried: the methods lie close together, and a grid may suit one and not another.
    """
    grid = GRIDS.get(name, {})
    even = np.arange(len(train)) % 2 == 0
    halves = [(train.take(half), train.take(~half)) for half in (even, ~even)]
    tried: dict[tuple[Any, ...], float] = {}
    for point in product(*grid.values()):
        tried[point] = _judged(make_ranker(name, **dict(zip(grid, point, strict=True))), halves)
    best = max(tried, key=tried.__getitem__)
    if [*grid] == ["nu"]:
        for point in ((best[0] / 10**0.5,), (best[0] * 10**0.5,)):
            tried[point] = _judged(make_ranker(name, nu=point[0]), halves)
        best = max(tried, key=tried.__getitem__)
    return dict(zip(grid, best, strict=True))


def _judged(ranker: Ranker, halves: Sequence[tuple[RankingData, RankingData]]) -> float:
    """The mean AP of rows that rankers of single queries have not seen."""
    values = []
    for learn, judge in halves:
        each = fit_per_query(ranker, learn.X, learn.y, learn.qid, min_positives=1)
        known = judge.take(np.isin(judge.qid, np.array([*each.rankers])))
        values.append(evaluate(known.y, each.predict(known.X, known.qid), known.qid, ["AP"])["AP"])
    return float(np.mean(values))


def _result(scorer: Any, data: Multimodal, seconds: float, violations: int) -> MethodResult:
    learned = evaluate_queries(data.train.y, scorer.predict(data.train.X, data.train.qid), data.train.qid, ["AP"])
    searched = evaluate_queries(data.test.y, scorer.predict(data.test.X, data.test.qid), data.test.qid, list(METRICS))
    return MethodResult(learned.values["AP"], dict(searched.values), seconds, violations)


def _theory(report: MarginReport, rankers: Mapping[Any, Ranker], train: RankingData) -> None:
    """Theorem 1 (rank consistency) and eq. 3 (bounds of the risk), query by query."""
    ratios = []
    for query, ranker in rankers.items():
        rows = train.qid == query
        report.ordering += len(rank_consistency(ranker, train.X[rows], train.y[rows]).directions)
        bounds = pairwise_risk_bounds(ranker, train.X[rows], train.y[rows])
        slack = 1e-9 * abs(bounds.upper)
        report.bounds_held += bounds.lower - slack <= bounds.risk <= bounds.upper + slack
        ratios.append(bounds.upper / bounds.risk)
    report.bounds_ratio = float(np.mean(ratios))


def generated(n_queries: int = 20, n_items: int = 800, random_state: int = 0) -> Multimodal:
    """Queries with 19 experts, as many as the paper has; every second item is of the development part."""
    data = make_ranking(
        n_queries, n_items, 19, n_informative=9, noise=0.8, grades=2, relevant_share=0.1, random_state=random_state
    )
    odd = np.arange(len(data)) % 2 == 1
    return Multimodal("generated", data.take(~odd), data.take(odd))


def caption_queries(
    hidden: Sequence[Iterable[str]], phi: Phi, *, n_queries: int = 25,
    least: int = 20, examples: int = 2, random_state: int = 0, progress: Progress = lambda step: None,
) -> Multimodal:  # fmt: skip
    """Queries by words of captions that no feature sees: relevant are items of which most of these captions say it.

    Parameters
    ----------
    hidden : the captions of each item, one row an item.
    phi : what all experts say of all items, for a word and rows of items that are shown as examples with it.
    n_queries : how many words: those nearest to 3% of the items, which is neither rare nor common.
    least : relevant items that a word must have in each part.
    examples : items that are shown with the word, as TRECVID's topics show pictures; they count in neither part.
    random_state : which items are developed on, and shown.
    progress : called with a text before each query.
    """
    random = np.random.default_rng(random_state)
    said = [_said(captions) for captions in hidden]
    counts = Counter(word for words in said for word in words)
    wanted = sorted((word for word, count in counts.items() if count >= 2 * least + examples),
                    key=lambda word: (abs(np.log(counts[word] / (0.03 * len(said)))), word))  # fmt: skip
    part = random.random(len(said)) < 0.5
    relevant = ((word, np.array([word in words for words in said])) for word in wanted)
    found = shown_queries(relevant, phi, part, least=least, examples=examples, random=random, progress=progress)
    blocks = [*islice(found, n_queries)]
    if not blocks:
        raise ValueError(f"no word of the captions has {least} relevant items in each half of the collection")
    return joined("words of captions", blocks)


Block = dict[bool, tuple[FloatArray, FloatArray, list[str]]]  # rows, grades and queries of each part


def shown_queries(
    relevant: Iterable[tuple[str, NDArray[np.bool_]]], phi: Phi, part: NDArray[np.bool_], *, least: int,
    examples: int, random: np.random.Generator, progress: Progress = lambda step: None,
) -> Iterator[Block]:  # fmt: skip
    """Words that are asked together with relevant items, whose rows then count in neither part.

    Parameters
    ----------
    relevant : words, with the items that are relevant for each.
    phi : as of `caption_queries`.
    part : which items are of the development part.
    least : relevant items that a word must have in each part, others are left out.
    examples : how many items are shown.
    random : chooses them, from the development part.
    progress : called with each word.
    """
    for word, right in relevant:
        candidates = np.flatnonzero(right & part)
        if len(candidates) < examples:
            continue
        shown = np.sort(random.choice(candidates, examples, replace=False))
        rest = np.ones(len(part), dtype=bool)
        rest[shown] = False
        sides = {side: np.flatnonzero(rest & (part == side)) for side in (True, False)}
        if min(int(right[rows].sum()) for rows in sides.values()) < least:
            continue
        progress(word)
        values = phi(word, shown)
        yield {side: (values[rows], right[rows].astype(np.float64), [word] * len(rows)) for side, rows in sides.items()}


def joined(name: str, blocks: Sequence[Block]) -> Multimodal:
    """All queries, the development part first."""
    return Multimodal(name, *(_stacked([block[side] for block in blocks]) for side in (True, False)))


def _said(captions: Iterable[str]) -> set[str]:
    """The words that at least half of the captions of an item have."""
    texts = [{*tokenize(caption)} for caption in captions]
    counts = Counter(word for words in texts for word in words)
    return {
        word for word, count in counts.items()
        if 2 * count >= len(texts) and len(word) > 2 and word not in ENGLISH_STOP_WORDS
    }  # fmt: skip


def _stacked(blocks: list[tuple[FloatArray, FloatArray, list[str]]]) -> RankingData:
    X, y = (np.concatenate([block[k] for block in blocks]) for k in (0, 1))
    return RankingData(X, y, np.array([word for block in blocks for word in block[2]]))


def findings(report: MarginReport) -> list[Finding]:
    """What the paper concludes, as numbers; its own are means over its three collections."""
    mine = {name: result.row() for name, result in report.per_query.items()}
    paper = {name: np.mean([rows[name] for rows in TABLE_1.values()], axis=0) for name in TABLE_1["t05"]}
    found = []
    for place, what in ((0, "TrainAP"), (1, "TestAP")):
        for better, worse in (("RLR", "LR"), ("F-RLR", "RLR"), ("LR", "NB")):
            gain = mine[better][place] - mine[worse][place]
            published = float(paper[better][place] - paper[worse][place])
            # F-RLR is the exact one of the two: RLR approximates it.
            holds = abs(gain) <= 0.01 if better == "F-RLR" else gain >= 0.0
            found.append(Finding(f"{better} - {worse}, {what}", gain, published, holds))
    seconds = {name: result.seconds for name, result in report.per_query.items()}
    ratio = seconds["F-RLR"] / seconds["RLR"]
    found.append(Finding("time of F-RLR / RLR, per query", ratio, SPEEDUP, ratio >= SPEEDUP))
    found.append(Finding("features that order all pairs of a query", float(report.ordering), None))
    for name, result in report.per_query.items():
        if name not in ("NB", "RankBoost"):  # which have no weights
            against = float(result.violations)
            found.append(Finding(f"of these against their weight: {name}", against, None, against == 0 or name == "LR"))
    held = report.bounds_held / report.n_queries
    found.append(Finding("queries whose risk is within eq. 3's bounds", held, 1.0, held == 1.0))
    return found

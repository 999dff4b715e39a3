"""Online learning to rank for image retrieval by example: quality, cost, and learning while people search.

Reference: J. Wan et al., Online learning to rank for content-based image retrieval, IJCAI 2015: tables 2 and 3, figures
1 to 4. Its lists of queries and negatives are not public, and of its collections only Caltech-101 may be at hand: the
report shows whether the shapes appear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory, Parallel, delayed
from sklearn.utils.validation import check_memory

from rankloom.core import FloatArray, IntArray, RankingData
from rankloom.experiments.labeled import LabeledCollection
from rankloom.experiments.papers import Finding, unavailable
from rankloom.experiments.papers.online_large import search_among
from rankloom.experiments.simulation import CascadeClicks, Simulation, simulate
from rankloom.experts.compact import CompactVectors
from rankloom.model_selection.selection import Fold, FoldResults, compare_folds
from rankloom.rankers import LinearRanker, OnlineRanker, make_ranker

CITATION = (
    "J. Wan, P. Wu, S. C. H. Hoi, P. Zhao, X. Gao, D. Wang, Y. Zhang, J. Li, Online learning to rank for content-based "
    "image retrieval, IJCAI 2015."
)
# MAP, by method and collection.
TABLE_2: dict[str, dict[str, float]] = {
    "Best-Fea": {"Holiday": 0.4892, "Caltech101": 0.2664, "ImageCLEF": 0.5777, "Corel": 0.1846},
    "Uni-Con": {"Holiday": 0.5175, "Caltech101": 0.2594, "ImageCLEF": 0.6174, "Corel": 0.2990},
    "RankNet": {"Holiday": 0.6292, "Caltech101": 0.2753, "ImageCLEF": 0.6326, "Corel": 0.3133},
    "C-Ascent": {"Holiday": 0.6373, "Caltech101": 0.3193, "ImageCLEF": 0.6803, "Corel": 0.3406},
    "RankSVM": {"Holiday": 0.6429, "Caltech101": 0.3270, "ImageCLEF": 0.6585, "Corel": 0.3366},
    "λ-MART": {"Holiday": 0.6230, "Caltech101": 0.3650, "ImageCLEF": 0.6796, "Corel": 0.3683},
    "OPR": {"Holiday": 0.6219, "Caltech101": 0.3285, "ImageCLEF": 0.6555, "Corel": 0.3292},
    "OPAR-I": {"Holiday": 0.6329, "Caltech101": 0.3070, "ImageCLEF": 0.6556, "Corel": 0.3340},
    "OPAR-II": {"Holiday": 0.6283, "Caltech101": 0.3157, "ImageCLEF": 0.6632, "Corel": 0.3389},
    "OGDR": {"Holiday": 0.6368, "Caltech101": 0.3024, "ImageCLEF": 0.6626, "Corel": 0.3228},
}
# Seconds for 3 million instances.
TABLE_3 = {"RankSVM": 4737.0, "OPR": 1154.0, "OPAR-I": 1370.0, "OPAR-II": 1708.0, "OGDR": 2307.0}

# Instances and seconds, as the text of section 5.3 has them of figure 1: "around 2 hours", "tens of seconds".
FIGURE_1 = {"C-Ascent": (200_000, 7_200.0), "online methods": (200_000, 30.0)}

METHODS = {
    "Best-Fea": "best", "Uni-Con": "uniform", "RankNet": "ranknet", "C-Ascent": "coordascent", "RankSVM": "ranksvm",
    "λ-MART": "lambdamart", "OPR": "opr", "OPAR-I": "opar1", "OPAR-II": "opar2", "OGDR": "ogdr",
    "AROW": "arow", "RLR": "rlr", "F-RLR": "frlr",
}  # fmt: skip
OURS = ("AROW", "RLR", "F-RLR")  # beyond the paper
PROGRESSIVE = (
    "RankSVM", "OPR", "OPAR-I", "OPAR-II", "OGDR", "AROW", "RLR", "F-RLR", "RankNet", "C-Ascent", "λ-MART",
)  # fmt: skip
# Fitted again more rarely while queries arrive, and not for unseen classes nor among distractors, where the paper has
# but RankSVM of the batch methods.
SLOW = ("RankNet", "C-Ascent", "λ-MART")
FOLDS = 5
SEARCHES = 40  # test queries of a fold that are asked among distractors
Progress = Callable[[str], None]


class Size(NamedTuple):
    """How much is measured.

    Parameters
    ----------
    queries : items that are queries; a fifth of them tests in each of five folds.
    others : irrelevant items that are sampled for a query to learn from.
    arriving : queries of the progressive simulation.
    triplets : preferences of the large stream.
    distractors : items that are added for the large search; 0 leaves it out.
    fits : how often a batch method is fitted again while queries arrive, and how often one of `SLOW`.
    """

    queries: int = 500
    others: int = 300
    arriving: int = 2_000
    triplets: int = 3_000_000
    distractors: int = 1_000_000
    fits: tuple[int, int] = (50, 5)


QUICK = Size(queries=20, others=20, arriving=20, triplets=20_000, distractors=1_000, fits=(5, 1))


@dataclass
class OnlineReport:
    """What was measured on one collection.

    Attributes
    ----------
    n_items, n_experts : of the collection.
    folds : AP of every test query by method, with the parameters that validation chose (table 2).
    unseen : the same where no class of a test query was learned from, for the quick methods.
    costs : CPU seconds of a fit by the number of instances, for each method (figure 1).
    stream : CPU seconds for the large stream of preferences (table 3), and how many these were.
    large : AP and precision at some places among distractors, by method, of each query (figure 2), and what these are
        made of.
    judged, clicked : the progressive simulation with judgements, and with noisy clicks (figures 3 and 4).
    absent : methods that could not be measured, and why.
    """

    n_items: int
    n_experts: int
    folds: FoldResults = field(default_factory=lambda: FoldResults(("AP",)))
    unseen: FoldResults = field(default_factory=lambda: FoldResults(("AP",)))
    costs: dict[str, dict[int, float]] = field(default_factory=dict)
    stream: dict[str, float] = field(default_factory=dict)
    n_triplets: int = 0
    large: dict[str, dict[str, FloatArray]] = field(default_factory=dict)
    n_distractors: int = 0
    distractors_of: str = ""
    judged: dict[str, Simulation] = field(default_factory=dict)
    clicked: dict[str, Simulation] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def mean(self, method: str) -> float:
        """MAP over the folds."""
        return self.folds.mean(METHODS[method], "AP")

    def error(self, method: str) -> float:
        """The standard error of the mean over the test queries."""
        values = np.concatenate(self.folds.values[METHODS[method]]["AP"])
        return float(values.std(ddof=1) / np.sqrt(len(values)))

    def large_means(self) -> dict[str, dict[str, float]]:
        """Each metric among distractors, as means over the queries."""
        return {
            name: {metric: float(values.mean()) for metric, values in one.items()} for name, one in self.large.items()
        }

    @property
    def measured(self) -> list[str]:
        """The methods of table 2 that were measured."""
        return [method for method, name in METHODS.items() if name in self.folds.values]

    @property
    def measured_unseen(self) -> list[str]:
        """Those that were measured on unseen classes too."""
        return [method for method in self.measured if METHODS[method] in self.unseen.values]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "items": self.n_items,
            "experts": self.n_experts,
            "map": {name: {"mean": self.mean(name), "error": self.error(name)} for name in self.measured},
            "params": {name: self.folds.params[METHODS[name]] for name in self.measured},
            "tests": self.folds.comparison("AP").to_dict(),
            "unseen": {name: self.unseen.mean(METHODS[name], "AP") for name in self.measured_unseen},
            "costs": {name: {str(n): seconds for n, seconds in costs.items()} for name, costs in self.costs.items()},
            "stream": {"triplets": self.n_triplets, "seconds": self.stream},
            "large": {"distractors": self.n_distractors, "made_of": self.distractors_of, "quality": self.large_means()},
            "judged": {name: run.to_dict() for name, run in self.judged.items()},
            "clicked": {name: run.to_dict() for name, run in self.clicked.items()},
            "absent": self.absent,
        }


def run(
    data: LabeledCollection,
    size: Size | None = None,
    *,
    others: LabeledCollection | None = None,
    methods: Sequence[str] = tuple(METHODS),
    n_jobs: int = 1,
    memory: str | Memory | None = None,
    random_state: int = 0,
    progress: Progress = lambda step: None,
) -> OnlineReport:
    """Measure all methods on a labeled collection.

    Parameters
    ----------
    data : its items by the experts of its descriptors: the paper's 36 for the preset `paper36`.
    size : how much.
    others : pictures that distractors are mixed of, with the same descriptors. Without them the collection's own are
        mixed, which then look like its classes: that is harder than it should be.
    methods : which methods; all of `METHODS` unless given.
    n_jobs : processes that fit the methods of table 2, and learn while queries arrive.
    memory : a folder, or joblib's memory of one, where parts are kept by what they depend on.
    random_state : which items are queries, how they are split, what is sampled.
    progress : called with a text before each step.
    """
    size = size or Size()
    report = OnlineReport(len(data), len(data.experts))
    missing = unavailable(METHODS[name] for name in methods)
    report.absent = {name: missing[METHODS[name]] for name in methods if METHODS[name] in missing}
    names = [name for name in methods if name not in report.absent]
    folds = [*image_folds(data, size, random_state, progress)]
    report.folds = compare_folds(
        folds, {METHODS[name]: {} for name in names}, ("AP",), n_jobs=n_jobs, memory=memory, progress=progress
    )
    if len(np.unique(data.labels)) >= FOLDS:
        quick: dict[str, dict[str, Any]] = {METHODS[name]: {} for name in names if name not in SLOW}
        apart = image_folds(data, size, random_state, progress, unseen=True)
        report.unseen = compare_folds(apart, quick, ("AP",), n_jobs=n_jobs, memory=memory, progress=progress)
    once = check_memory(memory).cache
    progress("cost by instances")
    report.costs = once(_costs)(folds[0].train, names)
    progress("a stream of preferences")
    report.n_triplets = size.triplets
    report.stream = once(_stream)(folds[0].train, size.triplets, random_state)
    if size.distractors:
        report.n_distractors = size.distractors
        report.distractors_of = "the same pictures" if others is None else "other pictures"
        progress("distractors")
        here = replace(data, known_scales=data.scales)  # phi of two items does not change because others came
        weights = _weights(folds, report.folds)
        asked = [np.unique(fold.test.qid)[:SEARCHES] for fold in folds]
        report.large = search_among(
            here, others or here, size.distractors, weights, asked, random_state,
            n_jobs=n_jobs, memory=memory, progress=progress,
        )  # fmt: skip
    del folds  # whole lists, which are large
    arriving = data.lists(data.queries(size.arriving, random_state + 1))
    learn = partial(once(simulate, ignore=["progress"]), arriving, random_state=random_state)
    _progressive(report, [name for name in PROGRESSIVE if name in names], learn, size, n_jobs, progress)
    return report


def _progressive(
    report: OnlineReport, names: Sequence[str], learn: Callable[..., Simulation], size: Size, n_jobs: int,
    progress: Progress,
) -> None:  # fmt: skip
    """Learning while queries arrive, with judgements and with clicks."""
    ways: list[tuple[dict[str, Simulation], CascadeClicks | None]]
    ways = [(report.judged, None), (report.clicked, CascadeClicks())]

    def tasks() -> Iterator[Any]:
        for name in names:
            ranker = make_ranker(METHODS[name], **({"n_restarts": 1} if name == "C-Ascent" else {}))
            wait = 1 if isinstance(ranker, OnlineRanker) else max(1, size.arriving // size.fits[name in SLOW])
            for _, clicks in ways:
                progress(f"progressive: {name}")
                yield delayed(learn)(ranker=ranker, clicks=clicks, retrain_every=wait)

    runs = Parallel(n_jobs=n_jobs, return_as="generator")(tasks())
    for (name, (by_name, _)), run in zip(product(names, ways), runs, strict=True):
        by_name[name] = run


def n_steps(quick: bool = False) -> int:
    """How often `run` calls its progress, about."""
    size = QUICK if quick else Size()
    return 4 + 5 * len(METHODS) + min(100, size.queries // 5) + 2 * len(PROGRESSIVE)


def generated(random_state: int = 0, n: int = 600) -> LabeledCollection:
    """Items of 20 classes by nine descriptors that show these more or less well: 36 experts."""
    random = np.random.default_rng(random_state)
    labels = random.integers(0, 20, n)
    vectors = {}
    for number, noise in enumerate(np.geomspace(0.5, 6.0, 9)):
        centers = random.random((20, 24))
        rows = centers[labels] + noise * random.standard_normal((n, 24))
        vectors[f"descriptor{number}"] = CompactVectors.of(rows)
    return LabeledCollection(vectors, np.array([f"class {label}" for label in labels]))


def image_folds(
    data: LabeledCollection, size: Size, random_state: int = 0, progress: Progress = lambda step: None, *,
    unseen: bool = False,
) -> Iterator[Fold]:  # fmt: skip
    """Five folds by query: three parts to train, one to validate (sampled rows), one to test (whole lists).

    With `unseen` all queries of a class are of the same part, so that no class that is tested was learned from.
    """
    random = np.random.default_rng(random_state)
    queries = random.permutation(data.queries(size.queries, random_state))
    parts = np.array_split(queries, FOLDS)
    if unseen:
        part_of = {label: number % FOLDS for number, label in enumerate(random.permutation(np.unique(data.labels)))}
        numbers = np.array([part_of[label] for label in data.labels[queries].tolist()])
        parts = [queries[numbers == number] for number in range(FOLDS)]
    if min(map(len, parts)) == 0:
        raise ValueError(f"five folds need five queries, the collection has {len(queries)} with another of its class")
    progress("examples of the experts")
    sampled = [data.sampled(np.sort(part), size.others, random) for part in parts]
    for number in range(5):
        train = [sampled[(number + k) % 5] for k in (2, 3, 4)]
        test = data.lists(np.sort(parts[number]))
        yield Fold(f"fold {number + 1}", _joined(train), sampled[(number + 1) % 5], test)


def _joined(parts: list[RankingData]) -> RankingData:
    X, y, qid = (np.concatenate(column) for column in zip(*((part.X, part.y, part.qid) for part in parts), strict=True))
    return RankingData(X, y, qid)


def _costs(train: RankingData, names: list[str]) -> dict[str, dict[int, float]]:
    """CPU seconds of a fit on more and more queries, without the choice of parameters."""
    queries = np.unique(train.qid)
    costs: dict[str, dict[int, float]] = {}
    for share in (0.125, 0.25, 0.5, 1.0):
        some = train.take(np.isin(train.qid, queries[: max(2, round(share * len(queries)))]))
        for name in names:
            ranker = make_ranker(METHODS[name])
            if not costs.get(name):
                ranker.fit(some.X, some.y, qid=some.qid)  # compiled before the clock runs
            began = process_time()
            ranker.fit(some.X, some.y, qid=some.qid)
            costs.setdefault(name, {})[len(some)] = process_time() - began
    return costs


def _stream(train: RankingData, n: int, random_state: int) -> dict[str, float]:
    """CPU seconds for a stream of preferences, and for RankSVM on the rows that they are between."""
    pairs = preferences_of(train, n, np.random.default_rng(random_state))
    seconds = {}
    for name in TABLE_3:
        ranker = make_ranker(METHODS[name])
        online = isinstance(ranker, OnlineRanker)
        for part in (pairs[:1000], pairs):  # compiled by the first
            began = process_time()
            if online:
                make_ranker(METHODS[name]).partial_fit_triplets(train.X, part)
            else:
                ranker.fit(train.X, train.y, qid=train.qid)
            seconds[name] = process_time() - began
    return seconds


def preferences_of(data: RankingData, n: int, random: np.random.Generator) -> IntArray:
    """Random preferences of relevant over irrelevant rows of the same query."""
    queries = [np.flatnonzero(data.qid == query) for query in np.unique(data.qid)]
    sides = [(rows[data.y[rows] > 0], rows[data.y[rows] <= 0]) for rows in queries]
    usable = [(better, worse) for better, worse in sides if len(better) and len(worse)]
    counts = random.multinomial(n, np.full(len(usable), 1 / len(usable)))
    parts = [
        np.stack([random.choice(better, count), random.choice(worse, count)], axis=1)
        for (better, worse), count in zip(usable, counts.tolist(), strict=True)
    ]
    return np.asarray(random.permutation(np.concatenate(parts)), dtype=np.int64)


def _weights(folds: Sequence[Fold], chosen: FoldResults) -> list[dict[str, FloatArray]]:
    """The weights of the linear methods, fold by fold, with the parameters that validation chose; not of slow ones."""
    weights: list[dict[str, FloatArray]] = [{} for _ in folds]
    for name, short in METHODS.items():
        for fold, params, of_fold in zip(folds, chosen.params.get(short, ()), weights, strict=False):
            ranker = make_ranker(short, **params)
            if isinstance(ranker, LinearRanker) and name not in SLOW:
                of_fold[name] = ranker.fit(fold.train.X, fold.train.y, qid=fold.train.qid).coef_
    return weights


def findings(report: OnlineReport) -> list[Finding]:
    """What the paper concludes, as numbers: those measured here, and its own on Caltech-101."""
    ours = {name: report.mean(name) for name in report.measured}
    paper = {name: row["Caltech101"] for name, row in TABLE_2.items()}
    found = [
        Finding(what, conclusion(ours), None if what == BEYOND else conclusion(paper), conclusion(ours) >= least)
        for what, (conclusion, least) in _CONCLUSIONS.items()
    ]
    if "C-Ascent" in report.costs:
        n, seconds = [*report.costs["C-Ascent"].items()][-1]
        what = f"C-Ascent: CPU seconds of a fit on {n:,} instances; the paper's 200,000"
        found.append(Finding(what, seconds, FIGURE_1["C-Ascent"][1]))
    same = report.n_triplets == Size().triplets
    for name, seconds in report.stream.items():
        what = f"{name}: CPU seconds for {report.n_triplets:,} preferences"
        found.append(Finding(what, seconds, TABLE_3[name] if same else None))
    for name, run in report.judged.items():
        found.append(Finding(f"{name}: gain of {run.metric} over uniform, last quarter, judged", run.late_gain, None))
    return found


def _online(maps: Mapping[str, float]) -> list[float]:
    return [maps[name] for name in ("OPR", "OPAR-I", "OPAR-II", "OGDR")]


BEYOND = "best of ours beyond the paper - RankSVM, MAP"
# Each with the least value at which it holds.
_CONCLUSIONS: dict[str, tuple[Callable[[Mapping[str, float]], float], float]] = {
    "RankSVM / uniform, MAP": (lambda maps: maps["RankSVM"] / maps["Uni-Con"], 1.0),
    "mean of online / uniform, MAP": (lambda maps: float(np.mean(_online(maps))) / maps["Uni-Con"], 1.0),
    "best of online - RankSVM, MAP": (lambda maps: max(_online(maps)) - maps["RankSVM"], -0.01),
    BEYOND: (lambda maps: max(maps[name] for name in OURS) - maps["RankSVM"], 0.0),
}

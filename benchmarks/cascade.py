"""Boosting and cascades: speed against LightGBM and a NumPy scan; evaluations and wall time that cascades save."""

from __future__ import annotations

from functools import partial

import lightgbm
import numpy as np

from benchmarks.harness import Bar, at_least, at_most, seconds
from rankloom import Features, evaluate
from rankloom.experiments.papers.cascade import generated_concepts
from rankloom.rankers import ImbalancedRankBoost, RankBoost, SoftCascade

TITLE = "Boosting and cascades"


def run() -> list[Bar]:
    return [*rank_boost(), *imbalanced(), *fewer_evaluations(), *wall_time()]


def problem(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n, d))
    utility = X @ rng.normal(size=d) + 2 * rng.normal(size=n)
    return X, (utility > np.quantile(utility, 0.95)).astype(float), np.repeat(np.arange(n // 100), 100)


def rank_boost() -> list[Bar]:
    X, y, qid = problem(50_000, 200)

    def trees(objective: str) -> None:
        group = [100] * 500 if objective == "lambdarank" else None
        options = {"objective": objective, "num_threads": 1, "verbosity": -1}
        lightgbm.train(options, lightgbm.Dataset(X, label=y, group=group), num_boost_round=200)

    ours = [
        partial(RankBoost(200, weak).fit, X, y, qid=ids) for weak in ("threshold", "feature") for ids in (qid, None)
    ]
    for call in ours:
        call()
    taken = seconds(*ours, partial(trees, "lambdarank"), partial(trees, "binary"), repeats=3, warm_up=False)
    bars = []
    for place, (what, tree) in enumerate(
        (("thresholds, 500 queries", 4), ("thresholds, one query", 5), ("features, 500 queries", 4))
    ):
        text = f"50,000 x 200, 200 rounds, {what} ({taken[place]:.2f} s): LightGBM, 200 trees / RankBoost"
        bars.append(at_least("3a", text, taken[tree] / taken[place], 5))
    small, large = problem(25_000, 100), problem(100_000, 100)
    times = seconds(
        partial(RankBoost(50).fit, small[0], small[1], qid=small[2]),
        partial(RankBoost(50).fit, large[0], large[1], qid=large[2]),
        repeats=3,
    )
    bars.append(Bar("3a", "RankBoost, time of 100,000 rows / 25,000 rows", "-", f"{times[1] / times[0]:.3g}x", None))
    return bars


def numpy_scan(H: np.ndarray, y: np.ndarray, lam: float, n_rounds: int) -> np.ndarray:
    """Imbalanced RankBoost by cumulative sums in NumPy, as one would write it first; bipartite, no ties."""
    relevant = y > 0
    f, theta, omega = np.zeros(len(y)), -np.inf, 0.0
    pairs = relevant.sum() * (~relevant).sum()
    for t in range(n_rounds):
        order = np.flatnonzero(f > theta)
        order = order[np.argsort(-f[order], kind="stable")]
        above, below = np.exp(-f[relevant]).sum(), np.exp(f[~relevant]).sum()
        v = np.where(relevant, np.exp(-f) / above, -np.exp(f) / below)
        sums = np.cumsum(v[order, None] * H[order], axis=0)
        total = np.cumsum(v[order])[:, None]
        r = np.clip(np.maximum(sums, total - sums), 0, 1)
        cuts = np.append(f[order[1:]], theta)
        base = theta if np.isfinite(theta) else f[order[-1]]
        move = np.where(np.isfinite(cuts), cuts - base, 0.0) ** 2
        move[-1] = 0.0
        loss = above * below / pairs * np.sqrt(1 - r**2) + lam * (omega + move)[:, None]
        if t == 0:
            loss[:-1] = np.inf
        place, k = np.unravel_index(np.argmin(loss), loss.shape)
        turned = total[place, 0] - sums[place, k] > sums[place, k]
        omega, theta = omega + move[place], cuts[place]
        keep = order[: place + 1]
        h = 1 - H[keep, k] if turned else H[keep, k]
        f[keep] += np.arctanh(min(r[place, k], 1 - 1e-9)) * h
    return f


def imbalanced() -> list[Bar]:
    X, y, _ = problem(20_000, 200)
    H = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    rounds, lam = 20, 1e6  # a penalty so high that no more than the lowest row is pruned
    ranker = ImbalancedRankBoost(rounds, lam, tol=0.0)
    found = ranker.fit(X, y).predict(X)
    error = np.abs(found - numpy_scan(H, y, lam, rounds)).max() / np.ptp(found)
    assert ranker.survivors_.min() > 0.999, "rows were pruned"
    ours, scan = seconds(partial(ranker.fit, X, y), partial(numpy_scan, H, y, lam, rounds), repeats=3)
    what = f"20,000 x 200, {rounds} rounds, nothing pruned ({ours:.2f} s): NumPy scan / Imbalanced RankBoost"
    return [
        at_least("3b", what, scan / ours, 3),
        at_most("3b", "largest difference of their scores, over the range", float(error), 1e-9, ""),
    ]


def top(y: np.ndarray, scores: np.ndarray) -> float:
    return evaluate(y, scores, None, ["AP@100"])["AP@100"]


def fewer_evaluations() -> list[Bar]:
    saved, lost, reached, gained = [], [], [], []
    for concept in generated_concepts(12, work=False):
        full = RankBoost(100, "feature").fit(*concept.train)
        cascade = SoftCascade(full, budget=0.02).fit(*concept.held)
        lazy = concept.test()
        scores = cascade.predict(lazy)
        saved.append(len(lazy) * len(full.used_features) / lazy.n_evaluations)
        lost.append(1 - top(concept.y, scores) / top(concept.y, full.predict(concept.test())))
        ten = first_with(full, 10)
        chosen = choose_imbalanced(concept.train, concept.held, top(concept.held.y, ten.predict(concept.held.X)))
        lazy = concept.test()
        gained.append(top(concept.y, chosen.predict(lazy)) / top(concept.y, ten.predict(concept.test())) - 1)
        reached.append(10 * len(lazy) / lazy.n_evaluations)
    return [
        at_least(
            "3c", "times fewer evaluations, soft cascade with budget 2%, median of 12", float(np.median(saved)), 5
        ),
        at_most("3c", "  its mean loss of AP@100 on unseen rows", float(np.mean(lost)), 0.02, ""),
        Bar("3c", "  least saving and largest loss on one concept", "-", f"{min(saved):.1f}x, {max(lost):.3f}", None),
        at_least(
            "3c", "times fewer, Imbalanced RankBoost against RankBoost of ten features", float(np.median(reached)), 4
        ),
        at_least("3c", "  its mean gain of AP@100 over that", float(np.mean(gained)), 0, ""),
    ]


def first_with(ranker: RankBoost, n_features: int) -> RankBoost:
    """The longest start of a boosted ranker that uses so many features."""
    rounds = next(t for t in range(1, 101) if len(ranker.truncated(t + 1).used_features) > n_features)
    return ranker.truncated(rounds)


def choose_imbalanced(train, held, target: float) -> ImbalancedRankBoost:
    """The cheapest start of an Imbalanced RankBoost that reaches a quality on held-out rows; the best if none does."""
    found = []
    for lam in (0.001, 0.003, 0.01, 0.03, 0.1):
        ranker = ImbalancedRankBoost(100, lam).fit(*train)
        for rounds in (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 60, 100):
            short = ranker.truncated(rounds)
            lazy = Features(held.X)
            found.append((top(held.y, short.predict(lazy)), lazy.n_evaluations, short))
    within = [entry for entry in found if entry[0] >= target]
    return min(within, key=lambda entry: entry[1])[2] if within else max(found, key=lambda entry: entry[0])[2]


def wall_time() -> list[Bar]:
    ratios, lost = [], []
    for concept in generated_concepts(5):
        full = RankBoost(100, "feature").fit(*concept.train)
        cascade = SoftCascade(full, budget=0.02).fit(*concept.held)
        fast, slow = seconds(
            lambda cascade=cascade, concept=concept: cascade.predict(concept.test()),
            lambda full=full, concept=concept: full.predict(concept.test()),
            repeats=3,
        )
        ratios.append(slow / fast)
        scores = cascade.predict(concept.test())
        lost.append(1 - top(concept.y, scores) / top(concept.y, full.predict(concept.test())))
    return [
        at_least("3d", "times less time with experts that cost it, 5 concepts", float(np.median(ratios)), 3),
        at_most("3d", "  mean loss of AP@100 there", float(np.mean(lost)), 0.02, ""),
    ]

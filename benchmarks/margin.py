"""The margin framework: all pairs without forming them, against loops over pairs and libraries on explicit pairs."""

from __future__ import annotations

import tracemalloc
import warnings

import lightgbm
import numpy as np
from numba import njit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from benchmarks.harness import SHARED, Bar, at_least, at_most, many, seconds
from rankloom.datasets import load_letor
from rankloom.groups import group_rows, preference_pairs, preferences
from rankloom.rankers import FullRankingLogisticRegression, RankingLogisticRegression, RankSVM
from rankloom.rankers._risks import pair_risk
from rankloom.rankers.losses import LOSSES

TITLE = "Margin framework"
D = 19  # the features of the paper


def run() -> list[Bar]:
    return [*all_pairs(), *full_against_approximate(), *explicit_pairs(), *growth(), *one_fold()]


def problem(n_positive: int, n_negative: int, d: int = D) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_positive + n_negative, d))
    X[:n_positive] += 0.4 * rng.normal(size=d)
    return X, np.repeat([1.0, 0.0], [n_positive, n_negative])


@njit(cache=True)
def double_loop(X, w, n_positive):
    f = X @ w
    by_score = np.zeros(len(f))
    value = 0.0
    for j in range(n_positive):
        for k in range(n_positive, len(f)):
            x = f[j] - f[k]
            e = np.exp(-abs(x))
            value += np.log1p(e) + max(-x, 0.0)
            slope = (e if x >= 0.0 else 1.0) / (1.0 + e)
            by_score[j] -= slope
            by_score[k] += slope
    return value, by_score @ X


def all_pairs() -> list[Bar]:
    bars, ours_at = [], {}
    for n_positive, n_negative, least in ((100, 900, 10), (10**4, 10**4, 1000), (10**5, 10**5, None)):
        X, y = problem(n_positive, n_negative)
        w = np.random.default_rng(1).normal(size=D) / 2
        risk = pair_risk(X, preferences(y, group_rows(None, len(y))), LOSSES["logistic"])
        size = f"{n_positive:,} x {n_negative:,}"
        times = 100 if n_positive == 100 else 10
        ours = many(lambda risk=risk, w=w: risk.value_gradient(w), times)
        if least is None:
            ours_at[n_positive] = seconds(ours, repeats=3)[0] / times
            continue
        peer = many(lambda X=X, w=w, n=n_positive: double_loop(X, w, n), 10 if n_positive == 100 else 1)
        slow, fast = seconds(peer, ours, repeats=5 if n_positive == 100 else 3)
        slow, fast = slow / (10 if n_positive == 100 else 1), fast / times
        ours_at[n_positive] = fast
        bars.append(
            at_least("1a", f"logistic value and gradient, {size}, numba double loop / ours", slow / fast, least)
        )
        expected, found = double_loop(X, w, n_positive)[1], risk.value_gradient(w)[1]
        error = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
        bars.append(at_most("1a", f"relative error of the gradient, {size}", error, 1e-10, ""))
    growth = ours_at[10**5] / ours_at[10**4]
    bars.append(at_most("1a", "10^5 x 10^5 (10^10 pairs) / 10^4 x 10^4, ours", growth, 20))
    return bars


def full_against_approximate() -> list[Bar]:
    bars = []
    for n_positive, n_negative, most in ((100, 900, 4), (1000, 9000, 2.5), (10**4, 9 * 10**4, 2.5)):
        X, y = problem(n_positive, n_negative)
        times = 20 if n_positive == 100 else 1
        full, approximate = seconds(
            many(lambda X=X, y=y: FullRankingLogisticRegression().fit(X, y), times),
            many(lambda X=X, y=y: RankingLogisticRegression().fit(X, y), times),
        )
        bars.append(at_most("1b", f"fit, {n_positive:,} x {n_negative:,}, F-RLR / RLR", full / approximate, most))
    return bars


def signed_pairs(X: np.ndarray, y: np.ndarray, qid: object = None) -> tuple[np.ndarray, np.ndarray]:
    """Differences of pairs with every other one turned around: a classifier wants both classes."""
    pairs = preference_pairs(y, qid)
    sign = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0)
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    differences *= sign[:, None]
    return differences, sign


def explicit_pairs() -> list[Bar]:
    bars = []
    solvers = ["lbfgs", "newton-cholesky", "newton-cg"]
    for n_positive, n_negative, least, repeats in ((100, 900, 15, 5), (1000, 9000, 300, 1)):
        X, y = problem(n_positive, n_negative)
        Z, sign = signed_pairs(X, y)
        peers = [LogisticRegression(C=0.5, fit_intercept=False, solver=solver) for solver in solvers]
        ours = FullRankingLogisticRegression(nu=1.0)
        times = 20 if n_positive == 100 else 5
        fits = [lambda peer=peer, Z=Z, sign=sign: peer.fit(Z, sign) for peer in peers]
        *slow, fast = seconds(
            *fits, many(lambda ours=ours, X=X, y=y: ours.fit(X, y), times), repeats=repeats, warm_up=n_positive == 100
        )
        if n_positive == 100:  # the larger problem is left to the two fastest
            solvers = [solver for _, solver in sorted(zip(slow, solvers, strict=True))][:2]
        best = int(np.argmin(slow))
        size = f"{n_positive:,} x {n_negative:,} pairs, d={D}"
        ratio = slow[best] / (fast / times)
        bars.append(at_least("1c", f"fit, {size}, scikit-learn {peers[best].solver} / F-RLR", ratio, least))
        objective = [float(np.logaddexp(0, -sign * (Z @ w)).sum() + w @ w) for w in (ours.coef_, peers[best].coef_[0])]
        excess = (objective[0] - objective[1]) / objective[1]
        bars.append(at_most("1c", f"excess of our objective over theirs, {size}", excess, 1e-12, ""))
    return bars


def growth() -> list[Bar]:
    bars = []
    for make in (RankingLogisticRegression, FullRankingLogisticRegression):
        taken, memory = [], []
        for n in (10**4, 10**6):
            X, y = problem(n // 10, n - n // 10)
            make().fit(X[: n // 2], y[: n // 2])
            taken.append(seconds(lambda make=make, X=X, y=y: make().fit(X, y), repeats=3, warm_up=False)[0])
            tracemalloc.start()
            make().fit(X, y)
            memory.append(tracemalloc.get_traced_memory()[1] / X.nbytes)
            tracemalloc.stop()
        name = make.__name__
        # 10^4 rows of 19 features fit in the caches, 10^6 do not: more than 100 with the same work a row.
        bars.append(
            at_most("growth", f"{name}: time of 10^6 rows / 10^4 rows (100 is linear)", taken[1] / taken[0], 200)
        )
        bars.append(at_most("growth", f"{name}: peak memory at 10^6 rows / size of X", memory[1], 6))
    return bars


def one_fold() -> list[Bar]:
    file = SHARED / "letor-mq2008" / "Fold1" / "train.txt.gz"
    if not file.exists():
        return [Bar("1d", "one MQ2008 fold", "-", "no ../shared/data", None)]
    X, y, qid = load_letor(file)
    sizes = np.unique(qid, return_counts=True)[1]  # the rows of a query stand together there
    Z, sign = signed_pairs(X, y, qid)
    trees = lightgbm.LGBMRanker(n_estimators=100, n_jobs=1, verbose=-1)
    regressions = [
        LogisticRegression(C=0.5, fit_intercept=False, solver=solver) for solver in ("lbfgs", "newton-cholesky")
    ]
    full, approximate = FullRankingLogisticRegression(nu=1.0), RankingLogisticRegression(nu=1.0)
    forest, first, second, exact, bound = seconds(
        lambda: trees.fit(X, y, group=sizes),
        *(lambda peer=peer: peer.fit(Z, sign) for peer in regressions),
        lambda: full.fit(X, y, qid=qid),
        lambda: approximate.fit(X, y, qid=qid),
    )
    regression, solver = min((first, "lbfgs"), (second, "newton-cholesky"))
    bars = [
        at_least("1d", "MQ2008 fold, LightGBM lambdarank (100 trees) / F-RLR", forest / exact, 5),
        at_least("1d", "MQ2008 fold, LightGBM lambdarank (100 trees) / RLR", forest / bound, 5),
        at_least("1d", f"MQ2008 fold, scikit-learn LR ({solver}) on pairs / F-RLR", regression / exact, 3),
        at_least("1d", f"MQ2008 fold, scikit-learn LR ({solver}) on pairs / RLR", regression / bound, 3),
    ]
    return bars + hinge(X, y, qid, Z, sign)


def hinge(X: np.ndarray, y: np.ndarray, qid: np.ndarray, Z: np.ndarray, sign: np.ndarray) -> list[Bar]:
    """Both at their default accuracy, from strong to weak penalties; each ratio comes with the objectives reached."""
    bars = []
    for C, rounds in ((0.001, 9), (0.01, 9), (0.1, 9), (1, 5), (10, 3)):
        nu = 1 / (2 * C)
        svc, ours = LinearSVC(loss="hinge", C=C, fit_intercept=False, random_state=0), RankSVM(nu=nu)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # LinearSVC ends at its default limit of 1000 rounds
            slow, fast = seconds(
                lambda svc=svc: svc.fit(Z, sign),
                many(lambda ours=ours: ours.fit(X, y, qid=qid), 3),
                repeats=rounds,
                warm_up=C < 1,
            )
        objective = [float(np.maximum(0, 1 - sign * (Z @ w)).sum() + nu * w @ w) for w in (ours.coef_, svc.coef_[0])]
        excess = (objective[0] - objective[1]) / objective[1]
        name, least = ("1d", 5) if C == 1 else ("10g", 4)
        what = f"MQ2008 fold, LinearSVC (hinge, C={C:g}) on pairs / RankSVM"
        bars.append(at_least(name, what, slow / (fast / 3), least))
        bars.append(at_most(name, f"excess of RankSVM's objective over LinearSVC's, C={C:g}", excess, ours.tol, ""))
    return bars

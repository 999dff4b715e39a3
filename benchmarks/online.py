"""The online family: streams at memory speed, against scikit-learn, river and fastrank."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
from river import linear_model
from sklearn.linear_model import LogisticRegression, SGDClassifier

from benchmarks.harness import RESULTS, SHARED, Bar, at_least, at_most, seconds
from rankloom import evaluate, load_ranker
from rankloom.datasets import load_letor
from rankloom.rankers import (
    CoordinateAscent,
    OnlineConfidenceRanker,
    OnlineGradientDescentRanker,
    OnlinePassiveAggressiveRanker,
    OnlinePerceptronRanker,
)

TITLE = "Online learning"
ROWS, FEATURES, PREFERENCES = 400_000, 36, 3_000_000


def run() -> list[Bar]:
    X, pairs = stream(ROWS, FEATURES, PREFERENCES)
    return [*against_sgd(X, pairs), *per_event(X, pairs), *state(X, pairs), *averages(), *ascent(), *regret()]


def stream(n_rows: int, n_features: int, n_pairs: int, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A table and noisy preferences between its rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    utility = X @ rng.normal(size=n_features) / np.sqrt(n_features) + noise * rng.normal(size=n_rows)
    pairs = rng.integers(0, n_rows, (n_pairs, 2))
    swap = utility[pairs[:, 0]] < utility[pairs[:, 1]]
    pairs[swap] = pairs[swap][:, ::-1]
    return X, np.ascontiguousarray(pairs)


def against_sgd(X: np.ndarray, pairs: np.ndarray) -> list[Bar]:
    """One pass each, averaged, the same step; scikit-learn has to form the differences."""
    sign = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0)
    common = {"fit_intercept": False, "penalty": None, "max_iter": 1, "tol": None, "shuffle": False, "average": True}
    peers = {
        "OPR": ("perceptron", "constant", 1.0, OnlinePerceptronRanker()),
        "OPAR-I": ("hinge", "pa1", 0.1, OnlinePassiveAggressiveRanker(0.1)),
        "OPAR-II": ("hinge", "pa2", 0.1, OnlinePassiveAggressiveRanker(0.1, squared=True)),
        "OGDR": ("hinge", "constant", 0.01, OnlineGradientDescentRanker(0.01)),
    }
    bars = []
    for name, (loss, rate, eta, ranker) in peers.items():
        peer = SGDClassifier(loss=loss, learning_rate=rate, eta0=eta, **common)

        def classify(peer=peer) -> None:
            differences = X[pairs[:, 0]] - X[pairs[:, 1]]
            differences *= sign[:, None]
            peer.fit(differences, sign)

        def learn(ranker=ranker) -> None:
            type(ranker)(**ranker.get_params()).partial_fit_triplets(X, pairs)

        learn()
        slow, fast = seconds(classify, learn, repeats=5, warm_up=False)
        what = f"{name}, {PREFERENCES:,} preferences x {FEATURES}, SGDClassifier ({rate}) / ours ({fast:.2f} s)"
        bars.append(at_least("2a", what, slow / fast, 5))
    return bars


def per_event(X: np.ndarray, pairs: np.ndarray) -> list[Bar]:
    few = pairs[:20_000]
    examples = [dict(enumerate(X[i] - X[j])) for i, j in few.tolist()]

    def river() -> None:
        model = linear_model.PAClassifier(C=0.1, mode=1)
        for t, x in enumerate(examples):
            model.learn_one(x, t % 2 == 0)

    def ours() -> None:
        OnlinePassiveAggressiveRanker(0.1).partial_fit_triplets(X, pairs)

    (slow,) = seconds(river, repeats=3)
    fast, first, second = seconds(
        ours,
        lambda: OnlinePerceptronRanker().partial_fit_triplets(X, pairs),
        lambda: OnlineConfidenceRanker().partial_fit_triplets(X, pairs),
        repeats=5,
    )
    ratio = slow / len(few) / (fast / len(pairs))
    return [
        at_least("2b", f"an event, river PAClassifier / OPAR-I ({1e9 * fast / len(pairs):.0f} ns)", ratio, 100),
        at_most("2b", f"second order (full AROW, {1e9 * second / len(pairs):.0f} ns) / OPR", second / first, 4),
    ]


def state(X: np.ndarray, pairs: np.ndarray) -> list[Bar]:
    some = pairs[:200_000]
    sizes, equal = [], True
    for ranker in (OnlinePassiveAggressiveRanker(0.1), OnlineConfidenceRanker()):
        whole = type(ranker)(**ranker.get_params()).partial_fit_triplets(X, some)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "state.json")
            ranker.partial_fit_triplets(X, some[:1000]).save(path)
            small = path.stat().st_size
            resumed = load_ranker(path).partial_fit_triplets(X, some[1000:])
            resumed.save(path)
            sizes.append(path.stat().st_size / small)
        equal &= bool(np.array_equal(resumed.coef_, whole.coef_))
    return [
        at_most("2c", "size of the saved state after 200,000 preferences / after 1,000", max(sizes), 1.05),
        Bar("2c", "a stream resumed from JSON is bit-equal", "yes", "yes" if equal else "no", equal),
    ]


def averages() -> list[Bar]:
    X, pairs = stream(20_000, 20, 220_000, noise=2.5)
    train, test = pairs[:200_000], pairs[200_000:]
    sign = np.where(np.arange(len(train)) % 2, 1.0, -1.0)
    batch = LogisticRegression(fit_intercept=False).fit((X[train[:, 0]] - X[train[:, 1]]) * sign[:, None], sign)
    held_out = X[test[:, 0]] - X[test[:, 1]]

    def accuracy(w: np.ndarray) -> float:
        return float((held_out @ w > 0).mean())

    best = accuracy(batch.coef_[0])
    bars = []
    for ranker in (
        OnlinePerceptronRanker(),
        OnlinePassiveAggressiveRanker(0.1),
        OnlinePassiveAggressiveRanker(0.1, squared=True),
        OnlineGradientDescentRanker(0.01),
        OnlineConfidenceRanker(),
    ):
        ranker.partial_fit_triplets(X, train)
        loss, last = best - accuracy(ranker.coef_), best - accuracy(ranker.last_coef_)
        what = f"{ranker}: pair accuracy below the batch optimum's {best:.3f} (last weights {last:.3f})"
        bars.append(at_most("2e", what, loss, 0.01, ""))
    return bars


def ascent() -> list[Bar]:
    """The same training data and metric; fastrank as it comes, one thread."""
    folder = SHARED / "letor-mq2008" / "Fold1"
    if not folder.is_dir():
        return [Bar("2d", "CoordinateAscent on MQ2008", "-", "no ../shared/data", None)]
    import fastrank

    train, test = load_letor(folder / "train.txt.gz"), load_letor(folder / "test.txt.gz")
    features = np.ascontiguousarray(train.X, dtype=np.float32)
    peer_data = fastrank.CDataset.from_numpy(features, train.y, train.qid.astype(np.int64))
    request = fastrank.TrainRequest.coordinate_ascent()
    request.measure = "map"
    request.params.quiet = True
    found = {}

    def peer() -> None:
        found["peer"] = np.array(peer_data.train_model(request).to_dict()["Linear"]["weights"])

    def ours() -> None:
        found["ours"] = CoordinateAscent(metric="AP").fit(*train).coef_

    (slow,) = seconds(peer, repeats=1, warm_up=False)  # half a minute
    (fast,) = seconds(ours, repeats=5)
    values = {
        (who, part): evaluate(data.y, data.X @ found[who], data.qid, ["AP"])["AP"]
        for who in ("peer", "ours")
        for part, data in (("train", train), ("test", test))
    }
    below = values["peer", "train"] - values["ours", "train"]
    figures = ", ".join(f"{who} {part} {value:.4f}" for (who, part), value in values.items())
    return [
        at_least("2d", "CoordinateAscent on one MQ2008 fold, 5 restarts, fastrank / ours", slow / fast, 20),
        at_most("2d", f"our training MAP below fastrank's ({figures})", below, 0.002, ""),
    ]


def regret() -> list[Bar]:
    """Cumulative hinge loss beyond that of the best fixed weights in hindsight, with the guarantee, as a picture."""
    X, pairs = stream(20_000, 20, 100_000)
    sign = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hindsight = SGDClassifier(alpha=1e-6, fit_intercept=False, average=True, max_iter=50, random_state=0)
        best = hindsight.fit((X[pairs[:, 0]] - X[pairs[:, 1]]) * sign[:, None], sign).coef_[0]
    rankers = {
        "OPR": OnlinePerceptronRanker(reference=best),
        "OPAR-I": OnlinePassiveAggressiveRanker(0.01, reference=best),
        "OGDR": OnlineGradientDescentRanker(0.01, reference=best),
        "OGDR, decaying": OnlineGradientDescentRanker(0.3, decay=0.5, reference=best),
        "AROW": OnlineConfidenceRanker(reference=best),
    }
    marks = np.unique(np.geomspace(100, len(pairs), 60).astype(int))
    curves, holds = {}, True
    for name, ranker in rankers.items():
        before, curve = 0, []
        for mark in marks:
            report = ranker.partial_fit_triplets(X, pairs[before:mark]).report()
            before = mark
            curve.append(report.regret / mark)
            holds &= report.bound is None or report.bounded <= report.bound
        curves[name] = curve
    draw(marks, curves)
    return [Bar("2", "the guarantees hold along the stream (regret.png has the curves)", "yes", str(holds), holds)]


def draw(marks: np.ndarray, curves: dict[str, list[float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for name, curve in curves.items():
        axes.plot(marks, curve, label=name)
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.set(xscale="log", xlabel="preferences", ylabel="regret a preference")
    axes.set_title("Loss beyond the best fixed weights")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "regret.png", dpi=110)
    pyplot.close(figure)

"""Trials on labelled collections against brute force: descriptions, quality of search, simulated users."""

import json
from typing import ClassVar

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import BaseEstimator

from rankloom.engine.contradictions import FEWEST, SURE, SURE_OF_WRONG, TRUST
from rankloom.engine.diffusion import ALPHA, NEAREST
from rankloom.engine.feedback import EXPERTS
from rankloom.engine.kernel_machine import AGAINST, MEAN, RIDGE
from rankloom.engine.neighbors import RESOLUTION
from rankloom.evaluation.metrics import evaluate
from rankloom.experiments import STRATEGIES, LabeledCollection, evaluate_collection, learned_weights, simulate_users
from rankloom.experiments.labeled import average_precision
from rankloom.experts.compact import CompactVectors
from rankloom.experts.distances import DISTANCES
from rankloom.rankers import RankingLogisticRegression, make_ranker

N_CLASSES, EACH = 5, 12
N = N_CLASSES * EACH + 1


def described(seed=0):
    """Classes that one descriptor tells apart, another a little, a third not at all; and an item like no other."""
    rng = np.random.default_rng(seed)
    labels = np.array([*np.repeat([f"class {number}" for number in range(N_CLASSES)], EACH), "alone"])
    codes = np.append(np.repeat(np.arange(N_CLASSES), EACH), N_CLASSES)
    mixed = rng.permutation(N)
    signal = np.eye(N_CLASSES + 1)[codes]
    vectors = {
        "good": rng.normal(0, 0.5, (N, N_CLASSES + 1)) + signal,
        "noise": rng.random((N, 4)),
        "some": rng.random((N, N_CLASSES + 1)) + 0.3 * signal,
    }
    sizes = rng.uniform(0.9, 1.1, (N, 1))  # few components on few levels would be equally far from each other
    coded = {name: CompactVectors.of(found[mixed] * sizes) for name, found in vectors.items()}
    return LabeledCollection(coded, labels[mixed])


@pytest.fixture(scope="module")
def data():
    return described()


@pytest.fixture(scope="module")
def phi(data):
    """phi of every item as the query, by the formulas of the distances and the medians over all pairs."""
    columns = []
    for stored in data.vectors.values():
        rows = stored[:].astype(np.float64)
        for name in DISTANCES:
            distances = np.stack([DISTANCES[name](row, rows) for row in rows])
            columns.append(np.exp(-distances / np.median(distances[~np.eye(N, dtype=bool)])))
    return np.stack(columns, axis=2)


def weights_of(data, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 1.0, len(data.experts))


def ap(scores, relevant, query):
    """Average precision as the books have it, over the list without the query."""
    order = sorted((row for row in range(len(scores)) if row != query), key=lambda row: (-scores[row], row))
    found, hits = [], 0
    for rank, row in enumerate(order, 1):
        if relevant[row]:
            hits += 1
            found.append(hits / rank)
    return sum(found) / len(found) if found else 0.0


def nearest_of(similarity, k=10):
    found = np.rint(similarity / RESOLUTION)  # what differs by less is equally near: then the first row counts
    np.fill_diagonal(found, -np.inf)
    return np.argsort(-found, axis=1, kind="stable")[:, :k]


def spread(scores, nearest):
    """Manifold ranking of a plain query by dense algebra."""
    A = np.zeros((N, N))
    for row, others in enumerate(nearest):
        A[row, others] = 1 / np.arange(1, len(others) + 1)
    W = (A + A.T) / 2
    S = W / np.sqrt(np.outer(W.sum(axis=1), W.sum(axis=1)))
    best = np.sort(scores)[::-1]
    start = np.maximum(scores - best[NEAREST], 0.0) / (best[0] - best[NEAREST])
    return np.linalg.solve(np.eye(N) - ALPHA * S, start) + 1e-6 * scores / np.abs(scores).max()


# The data --------------------------------------------------------------------------------------------------------


def test_phi_is_that_of_the_formulas(data, phi):
    assert len(data) == N
    assert [one.name for one in data.experts][:5] == ["good.l1", "good.l2", "good.cosine", "good.chi2", "noise.l1"]
    for row in range(N):
        found = data.phi(row)
        np.testing.assert_allclose(found, phi[row], atol=2e-6)
        np.testing.assert_allclose(found[row], 1.0, atol=1e-6)


def test_similarity_and_neighbours_are_those_of_phi(data, phi):
    for seed in range(3):
        weights = weights_of(data, seed) * (1 if seed < 2 else np.where(np.arange(12) % 3, 1, -1))
        expected = phi @ weights
        found = np.stack([data.similarity(row, weights) for row in range(N)])
        np.testing.assert_allclose(found, expected, atol=1e-5)
        neighbours = data.neighbors(weights, 4)
        assert neighbours.ids.tolist() == nearest_of(expected, 4).tolist()


def test_only_some_descriptors(data, phi):
    some = data.only(["some", "good"])
    assert [*some.vectors] == ["good", "some"]
    assert len(some.start) == len(some.experts) == 8
    np.testing.assert_allclose(some.phi(7), phi[7][:, [0, 1, 2, 3, 8, 9, 10, 11]], atol=2e-6)
    assert data.start.sum() == pytest.approx(1.0)


def test_relevant_is_the_rest_of_the_class(data):
    for row in range(N):
        assert np.flatnonzero(data.relevant(row)).tolist() == [
            other for other in range(N) if other != row and data.labels[other] == data.labels[row]
        ]


def test_queries_are_items_with_something_to_find(data):
    alone = int(np.flatnonzero(data.labels == "alone")[0])
    assert data.queries(1000).tolist() == [row for row in range(N) if row != alone]
    some = data.queries(20, 3)
    assert some.tolist() == sorted({*some.tolist()} - {alone})
    assert len(some) == 20
    assert some.tolist() == data.queries(20, 3).tolist()
    assert some.tolist() != data.queries(20, 4).tolist()
    with pytest.raises(ValueError, match=r"^no class has two items: there is nothing to look for$"):
        LabeledCollection(data.vectors, np.arange(N)).queries(5)


# Average precision ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_average_precision(seed):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(seed)
    n, query = int(rng.integers(2, 40)), 0
    query = int(rng.integers(n))
    scores, relevant = rng.normal(size=n), rng.random(n) < rng.choice([0.1, 0.5, 0.9])
    relevant[query] = False
    found = average_precision(scores, relevant, query)
    assert found == pytest.approx(ap(scores, relevant, query), abs=1e-12)
    if relevant.any():
        others = np.arange(n) != query
        expected = evaluate(relevant[others].astype(float), scores[others], None, ["AP"])["AP"]
        assert found == pytest.approx(expected, abs=1e-12)
        run = {"q": {f"{row:02}": float(scores[row]) for row in np.flatnonzero(others)}}
        qrels = {"q": {f"{row:02}": int(relevant[row]) for row in range(n)}}
        assert found == pytest.approx(pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)["q"]["map"])
    else:
        assert found == 0.0
    tied = rng.integers(0, 3, n).astype(float)
    assert average_precision(tied, relevant, query) == pytest.approx(ap(tied, relevant, query), abs=1e-12)


# Quality -------------------------------------------------------------------------------------------------------------


class Spy(BaseEstimator):
    """A ranker that notes which queries it learned from and which it was then asked for."""

    seen: ClassVar = []

    def fit(self, X, y, qid):
        self.taught_ = {*qid.tolist()}
        return self

    def predict(self, phi):
        (query,) = np.flatnonzero((phi > 1 - 1e-6).all(axis=1))  # like itself in every respect
        Spy.seen.append((self.taught_, int(query)))
        return phi.mean(axis=1)


def spied(data, **options):
    Spy.seen = []
    found = evaluate_collection(data, {"spy": Spy()}, diffusion=False, **options)
    return found, Spy.seen


@pytest.mark.parametrize("folds", [2, 5])
def test_folds_of_unseen_classes_hold_classes_apart(data, folds):
    found, seen = spied(data, n_queries=40, folds=folds, unseen=True)
    assert sorted(query for _, query in seen) == found.queries.tolist()
    for taught, query in seen:
        others = {data.labels[row] for row in taught}
        assert data.labels[query] not in others
        assert taught
    np.testing.assert_allclose(found.values["spy"]["AP"], found.values["uniform"]["AP"])


def test_folds_of_queries_hold_queries_apart(data):
    found, seen = spied(data, n_queries=40, folds=5)
    assert sorted(query for _, query in seen) == found.queries.tolist()
    for taught, query in seen:
        assert query not in taught
        assert len(taught) == 32
    shared = [data.labels[query] in data.labels[[*taught]] for taught, query in seen]
    assert all(shared)


@pytest.mark.slow
@pytest.mark.parametrize("unseen", [False, True])
def test_quality_is_that_of_brute_force(data, phi, unseen):
    start = weights_of(data, 5)
    found = evaluate_collection(
        data, {"rlr": RankingLogisticRegression(nu=0.3)}, n_queries=30, folds=3, unseen=unseen, start=start
    )
    _, seen = spied(data, n_queries=30, folds=3, unseen=unseen)
    assert found.classes.tolist() == data.labels[found.queries].tolist()
    graphs = {}
    for taught, query in seen:
        place = found.queries.tolist().index(query)
        X, y, qid = [], [], []
        for row in sorted(taught):
            rows = np.flatnonzero(np.arange(N) != row)  # there are fewer others than are taken at most
            X.append(phi[row][rows])
            y += (data.labels[rows] == data.labels[row]).astype(float).tolist()
            qid += [row] * len(rows)
        X, y, qid = np.concatenate(X), np.array(y), np.array(qid)
        key = frozenset(taught)
        if key not in graphs:
            alone = [evaluate(y, column, qid, ["AP"])["AP"] for column in X.T]
            chosen = {
                "uniform": np.full(12, 1 / 12),
                "best expert": np.eye(12)[int(np.argmax(alone))],
                "start": start,
                "rlr": RankingLogisticRegression(nu=0.3).fit(X, y, qid=qid).coef_,
            }
            graphs[key] = {name: (one, nearest_of(phi @ one)) for name, one in chosen.items()}
        relevant = data.labels == data.labels[query]
        relevant[query] = False
        others = np.arange(N) != query
        for name, (one, nearest) in graphs[key].items():
            scores = phi[query] @ one
            for method, values in ((name, scores), (f"{name} + neighbours", spread(scores, nearest))):
                mine = {metric: found.values[method][metric][place] for metric in ("AP", "nDCG@10")}
                assert mine["AP"] == pytest.approx(ap(values, relevant, query), abs=1e-6), method
                expected = evaluate(relevant[others].astype(float), values[others], None, ["nDCG@10"])["nDCG@10"]
                assert mine["nDCG@10"] == pytest.approx(expected, abs=1e-6), method
    assert len(found.values) == 8


def test_quality_sums_up(data):
    steps = []
    found = evaluate_collection(
        data, {"rlr": make_ranker("rlr"), "boost": make_ranker("rankboost")}, n_queries=30, folds=3,
        progress=lambda *step: steps.append(step),
    )  # fmt: skip
    assert "rlr + neighbours" in found.values
    assert "boost" in found.values
    assert "boost + neighbours" not in found.values  # it has no weights for a graph
    assert found.mean("rlr") > found.mean("uniform")
    assert found.mean("rlr") == pytest.approx(found.values["rlr"]["AP"].mean())
    by_class = found.by_class("rlr")
    sizes = {name: int((found.classes == name).sum()) for name in by_class}
    assert sum(by_class[name] * size for name, size in sizes.items()) / 30 == pytest.approx(found.mean("rlr"))
    document = json.loads(json.dumps(found.to_dict()))
    assert document["queries"] == 30
    assert document["means"]["boost"]["nDCG@10"] == found.mean("boost", "nDCG@10")
    assert document["classes"]["rlr"] == by_class
    steps_done = [done for done, _, _ in steps]
    assert steps_done == sorted({*steps_done})
    assert (steps_done[0], steps_done[-1]) == (0, 2 * 30 + N - 1)
    assert {total for _, total, _ in steps} == {2 * 30 + N}


def test_the_same_seed_gives_the_same_quality(data):
    first, again, other = (
        evaluate_collection(
            data, {"rlr": make_ranker("rlr")}, n_queries=25, folds=5, diffusion=False, random_state=seed
        )
        for seed in (1, 1, 2)
    )
    for name in first.values:
        np.testing.assert_array_equal(first.values[name]["AP"], again.values[name]["AP"])
    assert first.queries.tolist() != other.queries.tolist()


def test_too_few_queries_or_classes_are_said(data):
    with pytest.raises(ValueError, match=r"^4 queries cannot be split into 5 folds$"):
        evaluate_collection(data, {}, n_queries=4)
    with pytest.raises(ValueError, match=r"^5 classes cannot be split into 6 folds of unseen classes$"):
        evaluate_collection(data, {}, folds=6, unseen=True)


def test_learned_weights(data, phi):
    found = learned_weights(data, n_queries=40)
    assert np.abs(found).sum() == pytest.approx(1.0)
    X, y, qid = [], [], []
    for query in data.queries(40, 1).tolist():
        rows = np.flatnonzero(np.arange(N) != query)
        X.append(phi[query][rows])
        y += (data.labels[rows] == data.labels[query]).astype(float).tolist()
        qid += [query] * len(rows)
    fitted = RankingLogisticRegression().fit(np.concatenate(X), np.array(y), qid=np.array(qid)).coef_
    np.testing.assert_allclose(found, fitted / np.abs(fitted).sum(), atol=1e-4)
    np.testing.assert_array_equal(found, learned_weights(data, n_queries=40))
    positive = learned_weights(data, n_queries=40, signed=False)
    assert positive.min() >= 0
    assert positive.sum() == pytest.approx(1.0)
    assert positive[:4].sum() > 0.5  # the descriptor that tells the classes apart
    assert found.min() < 0  # else the line before says nothing


# Users ---------------------------------------------------------------------------------------------------------------


def literal_machine(G, t, share):
    """Weighted ridge regression with a constant, by its normal equations."""
    B = np.column_stack([G, np.ones(len(t))])
    penalty = np.zeros((len(t) + 1, len(t) + 1))
    penalty[:-1, :-1] = RIDGE * G
    return np.linalg.lstsq(B.T @ (share[:, None] * B) + penalty, B.T @ (share * t), rcond=None)[0]


def literal_contradictions(G, t, share, base):
    """Which marks, after the query, the others contradict: each left out in turn, a logistic curve through all."""
    trust, m = np.ones(len(t)), len(t)
    for _ in range(2):
        scores = base.copy()
        for one in range(m):
            rest = np.arange(m) != one
            a = literal_machine(G[np.ix_(rest, rest)], t[rest], (share * trust)[rest])
            scores[one] += a[:-1] @ G[rest, one] + a[-1]
            for sign, factor in ((1, MEAN), (-1, -MEAN * AGAINST)):
                side = rest & (t == sign)
                scores[one] += factor * (trust * G[one])[side].sum() / max(side.sum(), 1)
        z = (scores - scores.mean()) / scores.std()

        def loss(coef, z=z, trust=trust):
            return trust @ np.logaddexp(0, -t * (coef[0] * z + coef[1])) + 0.25 * coef[0] ** 2 + 5e-4 * coef[1] ** 2

        slope, constant = minimize(loss, [0.0, 0.0], tol=1e-12).x
        p = 1 / (1 + np.exp(-(max(slope, 0) * z + constant)))
        n_right, n_wrong = (t > 0).sum(), (t < 0).sum()
        odds = p / (1 - p) * max(1.0, n_wrong / n_right)
        right = (t > 0) & (n_wrong >= FEWEST) & (odds < (1 - SURE) / SURE)
        wrong = (t < 0) & (n_right - 1 >= FEWEST) & (p > SURE_OF_WRONG)  # the query is right, but no mark
        found = right | wrong
        found[0] = False
        trust = np.where(found, TRUST, 1.0)
    return found


def literal_user(data, phi, weights, query, strategy, rounds, per_round, flipped=None):
    """A user as the documentation describes one, without neighbours."""
    kernel = np.maximum(weights, 0) / np.maximum(weights, 0).sum()
    K, base = phi @ kernel, phi[query] @ weights
    relevant = (data.labels == data.labels[query]) & (np.arange(N) != query)
    right, wrong, found = [], [], []
    for _ in range(rounds + 1):
        odd = []
        if strategy == "nothing" or not (right or wrong):
            scores = base
        elif strategy == "examples":
            scores = (K[[query, *right]].max(axis=0) + K[[query, *right]].mean(axis=0)) / 2
        else:
            scores = np.zeros(N)
            marked, m = [query, *right, *wrong], 1 + len(right) + len(wrong)
            trust = np.ones(m)
            if strategy == "engine" and wrong:
                t = np.array([1.0] * (1 + len(right)) + [-1.0] * len(wrong))
                share = np.where(t > 0, m / 2 / (1 + len(right)), m / 2 / len(wrong))
                experts = EXPERTS * np.append(1.0, base[marked[1:]] / np.abs(base).max())
                contradicted = literal_contradictions(K[np.ix_(marked, marked)], t, share, experts)
                trust[contradicted] = TRUST
                odd = [row for row, yes in zip(marked, contradicted, strict=True) if yes]
            if strategy != "kernel" or not wrong:
                scores += MEAN * (trust[: 1 + len(right), None] * K[[query, *right]]).mean(axis=0)
                scores -= MEAN * AGAINST * (trust[1 + len(right) :, None] * K[wrong]).mean(axis=0) if wrong else 0.0
            if strategy != "means" and wrong:
                share = np.array([m / 2 / (1 + len(right))] * (1 + len(right)) + [m / 2 / len(wrong)] * len(wrong))
                t = np.array([1.0] * (1 + len(right)) + [-1.0] * len(wrong))
                a = literal_machine(K[np.ix_(marked, marked)], t, share * trust)
                scores += a[:-1] @ K[marked] + a[-1]
            if strategy == "engine":
                scores += EXPERTS * base / np.abs(base).max()
        pinned = scores.copy()
        pinned[[row for row in right if row not in odd]] += 1000
        pinned[[row for row in wrong if row not in odd]] -= 1000
        found.append(ap(pinned, relevant, query))
        left = [row for row in range(N) if row not in {query, *right, *wrong}]
        for row in sorted(left, key=lambda row: (-scores[row], row))[:per_round]:
            (right if relevant[row] != bool(flipped) else wrong).append(row)
    return found


@pytest.mark.parametrize("strategy", ["nothing", "examples", "means", "kernel", "engine"])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_users_do_what_is_written(data, phi, strategy, noise):
    weights = weights_of(data, 2)
    weights[5] = -0.2
    found = simulate_users(data, weights, [strategy], diffusion=False, rounds=3, per_round=5, noise=noise, n_queries=12)
    expected = [
        literal_user(data, phi, weights, query, strategy, 3, 5, noise == 1.0) for query in data.queries(12).tolist()
    ]
    assert [*found.values] == [strategy]
    np.testing.assert_allclose(found.values[strategy], expected, atol=1e-6)


@pytest.fixture(scope="module")
def trials(data):
    weights = learned_weights(data, n_queries=30)
    return {
        noise: simulate_users(data, weights, rounds=2, per_round=8, noise=noise, n_queries=25)
        for noise in (0.0, 0.3, 1.0)
    }


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_runs_with_and_without_neighbours(trials, strategy):
    for name in (strategy, f"{strategy} + neighbours"):
        for trial in trials.values():
            values = trial.values[name]
            assert values.shape == (25, 3)
            assert values.min() >= 0
            assert values.max() <= 1
            for (low, high), mean in zip(trial.interval(name), trial.mean(name), strict=True):
                assert low <= mean <= high
        true, noisy, lies = (trials[noise].mean(name) for noise in (0.0, 0.3, 1.0))
        assert true[0] == noisy[0] == lies[0]  # nobody has marked yet
        assert true[2] > true[1] > true[0]
        assert true[2] > noisy[2] > lies[2]
        assert lies[2] < lies[0]


def test_neighbours_count_before_the_first_mark(trials):
    firsts = {name: trials[0.0].values[name][:, 0] for name in trials[0.0].values}
    assert len(firsts) == 2 * len(STRATEGIES)
    for name in STRATEGIES:
        np.testing.assert_array_equal(firsts[name], firsts["nothing"])
        np.testing.assert_array_equal(firsts[f"{name} + neighbours"], firsts["nothing + neighbours"])
    assert (firsts["nothing"] != firsts["nothing + neighbours"]).any()


def test_the_first_round_is_what_the_quality_of_the_collection_says(data, trials):
    weights = learned_weights(data, n_queries=30)
    found = evaluate_collection(data, {}, n_queries=25, start=weights, random_state=0)
    for name, other in (("nothing", "start"), ("nothing + neighbours", "start + neighbours")):
        np.testing.assert_allclose(trials[0.0].values[name][:, 0], found.values[other]["AP"], atol=1e-6)


def test_following_marks_beats_pinning_them(trials):
    for name in ("examples", "means", "kernel", "engine"):
        assert trials[0.0].mean(name)[2] > trials[0.0].mean("nothing")[2]


@pytest.mark.slow
def test_a_mark_in_ten_that_is_mistaken_costs_little(data):
    """Over many users, contradicted marks give back most of what mistakes cost; without any they cost nothing."""
    weights = learned_weights(data.only(["good"]), n_queries=30)
    good = data.only(["good"])
    options = {"diffusion": False, "rounds": 2, "per_round": 10, "n_queries": 60}
    exact, noisy = (simulate_users(good, weights, noise=noise, **options) for noise in (0.0, 0.1))
    held = simulate_users(good, weights, ["kernel"], noise=0.1, **options)
    assert noisy.mean("engine")[2] > held.mean("kernel")[2] + 0.02
    assert exact.mean("engine")[2] > exact.mean("kernel")[2] - 0.01


def test_users_are_repeatable_and_plain_values(data):
    weights = weights_of(data)
    steps = []
    first = simulate_users(data, weights, ["means"], rounds=1, n_queries=8, noise=0.4, random_state=3)
    again = simulate_users(
        data, weights, ["means"], rounds=1, n_queries=8, noise=0.4, random_state=3, progress=lambda *s: steps.append(s)
    )
    for name in first.values:
        np.testing.assert_array_equal(first.values[name], again.values[name])
    assert [done for done, _, _ in steps] == [*range(8)]
    document = json.loads(json.dumps(first.to_dict()))
    assert document["means"]["mean"] == first.mean("means")
    none = simulate_users(data, weights, ["kernel"], rounds=0, n_queries=5, diffusion=False)
    assert none.values["kernel"].shape == (5, 1)


def test_users_who_mark_everything_find_everything(data):
    found = simulate_users(data, weights_of(data), ["kernel"], rounds=2, per_round=N, n_queries=5, diffusion=False)
    np.testing.assert_array_equal(found.values["kernel"][:, 1:], 1.0)


def test_unknown_names_are_said_in_one_line(data):
    with pytest.raises(ValueError, match=r"^unknown strategy 'nope'; known are nothing, weights, .*$"):
        simulate_users(data, weights_of(data), ["means", "nope"])

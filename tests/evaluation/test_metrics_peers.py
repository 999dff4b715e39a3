"""Each policy against the program whose name it bears, actually run."""

import numpy as np
import pytest

from rankloom.evaluation.metrics import evaluate, evaluate_queries

pytrec_eval = pytest.importorskip("pytrec_eval")
KS = (1, 2, 3, 5, 10, 40)


def problem(seed, n_queries=12, grades=5, longest=30, tied=False):
    """Queries of 1 to `longest` rows in mixed order, some without a relevant row; scores are distinct as float32."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, longest + 1, n_queries)
    sizes[:2] = 1, 2
    qid = np.repeat(np.arange(n_queries), sizes)
    top = random.integers(1, grades + 1, n_queries)
    top[:4] = 1, 1, grades, grades  # `top` grade 1 means that all grades are 0
    y = random.integers(0, top[qid])
    scores = random.permutation(len(qid)) / 8.0 - 3.0
    if tied:
        scores = random.integers(0, 4, len(qid)) / 2.0
    mixed = random.permutation(len(qid))
    return y[mixed], scores[mixed], qid[mixed]


def by_query(y, scores, qid):
    """The grades and scores of one query after another."""
    return [(y[qid == q], scores[qid == q]) for q in np.unique(qid)]


def trec(y, scores, qid, ids):
    """What pytrec_eval says, query by query, under our names."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for grade, score, q, item in zip(y, scores, qid, ids, strict=True):
        qrels.setdefault(str(q), {})[item] = int(grade)
        run.setdefault(str(q), {})[item] = float(score)
    cuts = ",".join(map(str, KS))
    measures = {"map", "recip_rank", "ndcg", f"map_cut.{cuts}", f"ndcg_cut.{cuts}", f"P.{cuts}"}
    results = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    names = {"AP": "map", "RR": "recip_rank", "nDCG": "ndcg"}
    for k in KS:
        names |= {f"AP@{k}": f"map_cut_{k}", f"nDCG@{k}": f"ndcg_cut_{k}", f"P@{k}": f"P_{k}"}
    return {ours: [results[str(q)][theirs] for q in np.unique(qid)] for ours, theirs in names.items()}


@pytest.mark.parametrize("seed", range(25))
def test_trec_equals_pytrec_eval(seed):
    y, scores, qid = problem(seed)
    expected = trec(y, scores, qid, [f"d{i}" for i in range(len(y))])
    got = evaluate_queries(y, scores, qid, list(expected), "trec")
    assert got.qids == np.unique(qid).tolist()
    for name, values in expected.items():
        np.testing.assert_allclose(got.values[name], values, atol=1e-12, err_msg=name)
    means = evaluate(y, scores, qid, list(expected))
    assert means == pytest.approx({name: np.mean(values) for name, values in expected.items()}, abs=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_ids_break_ties_as_trec_eval_does(seed):
    y, scores, qid = problem(seed, tied=True)
    random = np.random.default_rng(seed)
    letters = list("abzABZ019_é世-")
    ids = [f"{''.join(random.choice(letters, 2))}{i}" for i in random.permutation(len(y))]
    if seed % 2:  # differences that only a 64-bit float can hold
        scores = 1.0 + scores * random.choice([1e-9, 1e-6], len(y))
    if seed % 5 == 0:  # beyond the range of 32-bit floats
        scores = scores * 1e300
    expected = trec(y, scores, qid, ids)
    got = evaluate_queries(y, scores, qid, list(expected), "trec", ids=ids).values
    for name, values in expected.items():
        np.testing.assert_allclose(got[name], values, atol=1e-12, err_msg=name)


def test_negative_grades_gain_nothing_in_trec_eval_too():
    y, scores, qid = np.array([-1, 2, 1, -2]), np.array([3.0, 2.0, 1.0, 0.5]), np.zeros(4, dtype=int)
    expected = trec(y, scores, qid, list("abcd"))
    got = evaluate(y, scores, qid, list(expected))
    assert got == pytest.approx({name: values[0] for name, values in expected.items()}, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_sklearn_ndcg(seed, tied):
    metrics = pytest.importorskip("sklearn.metrics")
    y, scores, qid = problem(seed, tied=tied)
    got = evaluate_queries(y, scores, qid, ["nDCG", *(f"nDCG@{k}" for k in KS)], "sklearn").values
    compared = 0
    for i, (grades, given) in enumerate(by_query(y, scores, qid)):
        if len(grades) < 2:  # scikit-learn refuses these
            continue
        assert got["nDCG"][i] == pytest.approx(metrics.ndcg_score([grades], [given]), abs=1e-12)
        for k in KS:
            assert got[f"nDCG@{k}"][i] == pytest.approx(metrics.ndcg_score([grades], [given], k=k), abs=1e-12)
        compared += 1
    assert compared >= 8


@pytest.mark.filterwarnings("ignore:No positive class found")
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_sklearn_average_precision(seed, tied):
    metrics = pytest.importorskip("sklearn.metrics")
    y, scores, qid = problem(seed, grades=2, tied=tied)
    got = evaluate_queries(y, scores, qid, "AP", "sklearn").values["AP"]
    expected = [metrics.average_precision_score(grades, given) for grades, given in by_query(y, scores, qid)]
    np.testing.assert_allclose(got, expected, atol=1e-12)


def lightgbm_eval(y, scores, sizes):
    """Evaluate scores with LightGBM: the initial scores of a booster without trees are its predictions."""
    lgb = pytest.importorskip("lightgbm")
    params = {
        "objective": "lambdarank",
        "metric": ["ndcg", "map"],
        "eval_at": list(KS),
        "verbose": -1,
        "num_threads": 1,
        "min_data_in_bin": 1,
        "min_data_in_leaf": 1,
    }
    rows = np.arange(len(y), dtype=float)[:, None]
    data = lgb.Dataset(rows, label=y, group=sizes, init_score=scores, params=params)
    return {name: value for _, name, value, _ in lgb.Booster(params, data).eval_train()}


@pytest.mark.parametrize("seed", range(25))
def test_lightgbm(seed):
    y, scores, qid = problem(seed)
    order = np.argsort(qid, kind="stable")
    theirs = lightgbm_eval(y[order], scores[order], np.bincount(qid))
    names = {f"ndcg@{k}": f"nDCG@{k}" for k in KS} | {f"map@{k}": f"AP@{k}" for k in KS}
    ours = evaluate(y, scores, qid, list(names.values()), "lightgbm")
    assert ours == pytest.approx({names[name]: value for name, value in theirs.items()}, abs=1e-12)


@pytest.mark.parametrize("ordered", [True, False])
def test_lightgbm_breaks_ties_by_row_and_we_take_the_worst(ordered):
    y = np.array([0, 1]) if ordered else np.array([1, 0])
    theirs = lightgbm_eval(y, np.ones(2), [2])["map@1"]
    assert theirs == (0.0 if ordered else 1.0)
    assert evaluate(y, [1, 1], None, "AP@1", "lightgbm")["AP@1"] == 0.0


def xgboost_eval(y, scores, qid, metrics):
    """Evaluate scores with XGBoost: the base margin of a booster without trees is its prediction."""
    xgb = pytest.importorskip("xgboost")
    data = xgb.DMatrix(np.zeros((len(y), 1)), label=y, qid=qid, nthread=1)
    data.set_base_margin(scores)
    booster = xgb.Booster(
        {"objective": "rank:ndcg", "eval_metric": list(metrics), "base_score": 0.0, "nthread": 1}, [data]
    )
    pairs = (part.rsplit(":", 1) for part in booster.eval(data).split()[1:])
    return {name.removeprefix("eval-"): float(value) for name, value in pairs}


@pytest.mark.parametrize("seed", range(25))
def test_xgboost(seed):
    y, scores, qid = problem(seed, grades=5)
    order = np.argsort(qid, kind="stable")
    y, scores, qid = y[order], scores[order], qid[order]
    names = {f"ndcg@{k}": f"nDCG@{k}" for k in (*KS, 1000)}
    ours = evaluate(y, scores, qid, list(names.values()), "xgboost")
    theirs = xgboost_eval(y, scores, qid, names)
    assert ours == pytest.approx({names[name]: value for name, value in theirs.items()}, abs=1e-12)
    assert evaluate(y, scores, qid, "nDCG", "xgboost")["nDCG"] == pytest.approx(theirs["ndcg@1000"], abs=1e-12)

    binary = (y > 0).astype(int)  # its map and pre refuse other grades
    names = {f"map@{k}": f"AP@{k}" for k in (*KS, 1000)} | {f"pre@{k}": f"P@{k}" for k in (*KS, 1000)}
    ours = evaluate(binary, scores, qid, list(names.values()), "xgboost")
    theirs = xgboost_eval(binary, scores, qid, names)
    assert ours == pytest.approx({names[name]: value for name, value in theirs.items()}, abs=1e-12)
    whole = evaluate(binary, scores, qid, ["AP", "P"], "xgboost")
    assert [whole["AP"], whole["P"]] == pytest.approx([theirs["map@1000"], theirs["pre@1000"]], abs=1e-12)


def test_xgboost_without_cutoff_stops_at_32():
    """XGBoost 3 cuts plain `ndcg`, `map` and `pre` at 32 for its ranking objectives; our names mean the whole list."""
    random = np.random.default_rng(0)
    y, scores = random.integers(0, 2, 100), random.permutation(100) / 8.0
    theirs = xgboost_eval(y, scores, np.zeros(100, dtype=int), ["ndcg", "ndcg@32", "ndcg@100"])
    assert theirs["ndcg@100"] == pytest.approx(evaluate(y, scores, None, "nDCG", "xgboost")["nDCG"], abs=1e-12)
    assert theirs["ndcg"] in (theirs["ndcg@32"], theirs["ndcg@100"])


def letor4(y, scores, k_max=40):
    """One query by the rules of LETOR 4.0's Eval-Score-4.0.pl, step by step; scores are distinct."""
    labels = [grade for _, grade in sorted(zip(scores, y, strict=True), reverse=True)]
    n = len(labels)

    def dcg(grades):
        sums = []
        for position, grade in enumerate(grades, start=1):
            gain = 2.0**grade - 1
            if position > 2:
                gain = gain * np.log(2) / np.log(position)
            sums.append(gain + (sums[-1] if sums else 0.0))
        return sums

    actual, ideal = dcg(labels), dcg(sorted(labels, reverse=True))
    ndcg = [a / b if b > 0 else 0.0 for a, b in zip(actual, ideal, strict=True)]
    hits, precisions, total = 0, [], 0.0
    for position, grade in enumerate(labels, start=1):
        if grade >= 1:
            hits += 1
            total += hits / position
        precisions.append(hits / position)
    result = {"AP": total / hits if hits else 0.0, "MeanNDCG": sum(ndcg) / n}
    for k in range(1, k_max + 1):
        result[f"nDCG@{k}"] = ndcg[k - 1] if k <= n else 0.0
        result[f"P@{k}"] = precisions[k - 1] if k <= n else hits / k
    return result


@pytest.mark.parametrize("seed", range(25))
def test_letor4(seed):
    y, scores, qid = problem(seed, grades=4)
    expected = [letor4(grades, given) for grades, given in by_query(y, scores, qid)]
    got = evaluate_queries(y, scores, qid, list(expected[0]), "letor4").values
    for name, values in got.items():
        np.testing.assert_allclose(values, [query[name] for query in expected], atol=1e-12, err_msg=name)

"""Exports give the scores of the ranker, in engines that were written by others."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankloom import make_ranker
from rankloom.datasets import make_ranking, make_weak_models, save_letor, save_table
from rankloom.rankers import (
    AdditiveRanker,
    ImbalancedRankBoost,
    LinearRanker,
    RankBoost,
    RankingLogisticRegression,
    SoftCascade,
    UniformCombination,
)
from rankloom.rankers.base import Problem
from rankloom.rankers.export import elasticsearch_model, golden_rows, golden_vectors, names_of, onnx_model
from tests.shell import rankloom

DATA = make_ranking(20, 25, 7, n_informative=4, random_state=3)
WEAK = make_weak_models(3000, 20, relevant_share=0.05, random_state=1)
LINEAR = ("uniform", "best", "lr", "rlr", "frlr", "ranksvm", "opr", "opar1", "opar2", "ogdr", "arow", "coordascent")


BOOSTED = (
    RankBoost(60),
    RankBoost(60, n_thresholds=None, alpha="exact"),
    RankBoost(40, "feature"),
    *(
        ImbalancedRankBoost(40, 0.001, scaling=scaling, inclusive=inclusive)
        for scaling in ("unit", "centred", "paper")
        for inclusive in (False, True)
    ),
    SoftCascade(RankBoost(40, "feature")),
    SoftCascade(RankBoost(40)),
    SoftCascade(RankingLogisticRegression()),
)


@cache
def fitted(place):
    """One of them, not fitted before it is wanted: collecting the tests compiles nothing."""
    ranker = BOOSTED[place]
    return ranker.fit(*(DATA if isinstance(ranker, RankBoost) else WEAK))


def run_onnx(ranker, X):
    session = onnxruntime.InferenceSession(onnx_model(ranker).SerializeToString(), providers=["CPUExecutionProvider"])
    (scores,) = session.run(["scores"], {"X": np.asarray(X, dtype=np.float64)})
    assert scores.dtype == np.float64
    assert scores.shape == (len(X),)
    return scores


def run_plugin(document, documents, dtype=np.float32):
    """What the plugin does with a model: LinearRankerParser, StandardFeatureNormalizer and LinearRanker of its source.

    `documents` are mappings from feature to value; a missing feature counts 0, and is normalised all the same.
    """
    model = json.loads(json.dumps(document))["model"]
    assert set(model) == {"name", "model"}
    assert model["model"]["type"] == "model/linear"
    assert set(model["model"]) <= {"type", "definition", "feature_normalizers"}
    scores = []
    for values in documents:
        total = dtype(0)
        for feature, weight in model["model"]["definition"].items():
            value = dtype(values.get(feature, 0.0))
            normalizer = model["model"].get("feature_normalizers", {}).get(feature)
            if normalizer is not None:
                ((kind, numbers),) = normalizer.items()
                assert kind == "standard"
                assert set(numbers) == {"mean", "standard_deviation"}
                assert numbers["standard_deviation"] > 0
                value = (value - dtype(numbers["mean"])) / dtype(numbers["standard_deviation"])
            total += dtype(weight) * value
        scores.append(float(total))
    return np.array(scores)


def wild_rows(width, random_state=0):
    rng = np.random.default_rng(random_state)
    return np.concatenate([rng.normal(size=(200, width)), 1e6 * rng.standard_cauchy((50, width)), np.zeros((1, width))])


class TestOnnx:
    @pytest.mark.parametrize("name", LINEAR)
    def test_linear_rankers(self, name):
        ranker = make_ranker(name).fit(*DATA)
        assert isinstance(ranker, LinearRanker)
        for X in (DATA.X, wild_rows(7)):
            size = np.abs(X) @ np.abs(ranker.coef_)
            np.testing.assert_array_less(np.abs(run_onnx(ranker, X) - ranker.predict(X)), 1e-12 * size + 1e-300)

    @pytest.mark.parametrize("place", range(len(BOOSTED)), ids=[str(ranker) for ranker in BOOSTED])
    def test_boosted_rankers_and_cascades_to_the_last_bit(self, place):
        ranker = fitted(place)
        rows = [DATA.X if ranker.n_features_in_ == 7 else WEAK.X, wild_rows(ranker.n_features_in_), golden_rows(ranker)]
        for X in rows:
            np.testing.assert_array_equal(run_onnx(ranker, X), ranker.predict(X))

    @pytest.mark.slow
    def test_values_on_an_edge_and_beside_it(self):
        ranker = fitted(0)
        for j, edge in zip(ranker.features_.tolist(), ranker.thresholds_.tolist(), strict=True):
            X = np.tile(DATA.X[:1], (3, 1))
            X[:, j] = np.nextafter(edge, -np.inf), edge, np.nextafter(edge, np.inf)
            expected = ranker.predict(X)
            assert expected[0] == expected[1] != expected[2]
            np.testing.assert_array_equal(run_onnx(ranker, X), expected)

    def test_cut_offs_are_at_work(self):
        """The cascades of these tests drop rows: a graph that never did would give other scores."""
        for ranker in map(fitted, range(len(BOOSTED))):
            if isinstance(ranker, SoftCascade) and isinstance(ranker.ranker_, RankBoost):
                full = ranker.ranker_.predict(WEAK.X)
                assert np.mean(np.abs(ranker.predict(WEAK.X) - full) > 1e-9) > 0.3
            if isinstance(ranker, ImbalancedRankBoost) and ranker.scaling == "unit":
                assert ranker.survivors_[-1] < 0.1

    def test_extreme_ranges_and_constant_features(self):
        X = np.array([[-1.7e308, 1.0, 5.0], [1.7e308, 1.0, 4.0], [0.0, 1.0, 3.0], [1e300, 1.0, 6.0]])
        for ranker in (RankBoost(5, "feature"), RankBoost(5), ImbalancedRankBoost(5)):
            ranker.fit(X, [0, 1, 0, 1])
            rows = np.concatenate([X, golden_rows(ranker)])
            np.testing.assert_array_equal(run_onnx(ranker, rows), ranker.predict(rows))

    def test_nothing_learned(self):
        for ranker in (RankBoost(), ImbalancedRankBoost(), SoftCascade()):
            with pytest.warns(UserWarning, match="nothing to learn"):
                ranker.fit([[1.0, 2.0], [3.0, 4.0]], [1, 1])
            np.testing.assert_array_equal(run_onnx(ranker, [[1.0, 2.0], [0.0, 9.0]]), [0.0, 0.0])

    def test_no_rows(self):
        assert run_onnx(fitted(0), np.empty((0, 7))).shape == (0,)

    def test_metadata(self):
        named = RankBoost(30).fit(pd.DataFrame(DATA.X, columns=[*"abcdefg"]), DATA.y, qid=DATA.qid)
        model = onnx_model(named)
        found = {entry.key: entry.value for entry in model.metadata_props}
        assert found["ranker"] == "RankBoost"
        assert json.loads(found["feature_names"]) == [*"abcdefg"]
        golden = json.loads(found["golden_vectors"])
        np.testing.assert_array_equal(run_onnx(named, np.array(golden["rows"])), golden["scores"])
        assert len(set(golden["scores"])) > 5
        onnx.checker.check_model(model, full_check=True)

    def test_refusals(self):
        for name in ("nb", "listnet", "ranknet", "car"):
            with pytest.raises(ValueError, match="ONNX export knows linear rankers, RankBoost"):
                onnx_model(make_ranker(name))
        with pytest.raises(NotFittedError):
            onnx_model(RankBoost())
        with pytest.raises(ValueError, match="two features are named 'a'"):
            onnx_model(UniformCombination().fit([[1.0, 2.0]], [1]), ["a", "a"])

    def test_a_cascade_over_a_ranker_of_ones_own_is_refused(self):
        class Squares(AdditiveRanker):
            used_features = np.array([0, 1])

            def _fit(self, problem: Problem) -> None:
                self.fitted_ = True

            def _predict(self, X, qid):
                return (X**2).sum(axis=1)

            def contribution(self, j, values):
                return values**2

        ranker = SoftCascade(Squares().fit(*WEAK)).fit(*WEAK)
        with pytest.raises(ValueError, match="a cascade over Squares has no ONNX form"):
            onnx_model(ranker)


class TestElasticsearch:
    @pytest.mark.parametrize("name", LINEAR)
    def test_scores_of_the_plugin(self, name):
        ranker = make_ranker(name).fit(*DATA)
        names = names_of(ranker)
        documents = [dict(zip(names, row, strict=True)) for row in DATA.X.tolist()]
        document = elasticsearch_model(ranker, names)
        np.testing.assert_allclose(run_plugin(document, documents, np.float64), ranker.predict(DATA.X), atol=1e-12)
        size = np.abs(DATA.X) @ np.abs(ranker.coef_)
        single = run_plugin(document, documents)
        np.testing.assert_array_less(np.abs(single - ranker.predict(DATA.X)), 2e-6 * size + 1e-12)

    def test_scaling_is_the_engines_and_scores_stay_equal(self):
        X = 50.0 + DATA.X * np.arange(1, 8)
        pipeline = make_pipeline(StandardScaler(), RankingLogisticRegression())
        pipeline.fit(X, DATA.y, rankinglogisticregression__qid=DATA.qid)
        scaler, ranker = pipeline[0], pipeline[1]
        names = [f"feature {j}" for j in range(7)]
        document = elasticsearch_model(ranker, names, name="mine", mean=scaler.mean_, scale=scaler.scale_)
        assert document["model"]["name"] == "mine"
        documents = [dict(zip(names, row, strict=True)) for row in X.tolist()]
        np.testing.assert_allclose(run_plugin(document, documents, np.float64), pipeline.predict(X), atol=1e-12)
        golden = golden_vectors(ranker, X, mean=scaler.mean_, scale=scaler.scale_)
        np.testing.assert_allclose(golden.scores, pipeline.predict(X), atol=1e-12)
        np.testing.assert_array_equal(golden.rows, X)

    def test_one_of_mean_and_scale_is_enough(self):
        ranker = UniformCombination().fit(DATA.X, DATA.y)
        names = names_of(ranker)
        documents = [dict(zip(names, row, strict=True)) for row in DATA.X[:5].tolist()]
        for given, expected in (({"mean": 2.0}, DATA.X[:5] - 2.0), ({"scale": np.full(7, 4.0)}, DATA.X[:5] / 4.0)):
            document = elasticsearch_model(ranker, names, **given)
            np.testing.assert_allclose(run_plugin(document, documents, np.float64), ranker.predict(expected))

    def test_refusals(self):
        ranker = UniformCombination().fit([[1.0, 2.0]], [1])
        with pytest.raises(ValueError, match="one weight a feature, RankBoost is not"):
            elasticsearch_model(fitted(0), [*"abcdefg"])
        with pytest.raises(ValueError, match="2 features but 1 names"):
            elasticsearch_model(ranker, ["a"])
        with pytest.raises(ValueError, match="text as its name, got ''"):
            elasticsearch_model(ranker, ["a", ""])
        with pytest.raises(ValueError, match="every scale must be above 0"):
            elasticsearch_model(ranker, ["a", "b"], scale=[1.0, 0.0])
        with pytest.raises(ValueError, match="mean must be one number a feature"):
            elasticsearch_model(ranker, ["a", "b"], mean=[1.0, 0.0, 3.0])
        with pytest.raises(ValueError, match="mean contains NaN"):
            elasticsearch_model(ranker, ["a", "b"], mean=[1.0, np.nan])
        with pytest.raises(ValueError, match="name must be a text"):
            elasticsearch_model(ranker, ["a", "b"], name="")
        with pytest.raises(NotFittedError):
            elasticsearch_model(UniformCombination(), ["a"])
        ranker.coef_ = np.array([1e39, 0.0])
        with pytest.raises(ValueError, match="weight of 'a' is beyond single precision"):
            elasticsearch_model(ranker, ["a", "b"])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    save_letor(DATA, folder / "train.txt")
    for name in ("rlr", "rankboost", "nb"):
        rankloom("fit", folder / "train.txt", "--ranker", name, "-o", folder / f"{name}.json")
    return folder


class TestCommand:
    def test_elasticsearch(self, files):
        text = rankloom("export-model", files / "rlr.json", "--format", "elasticsearch", "--name", "mine",
                        "--out", files / "es.json", "--golden", files / "golden.json").output  # fmt: skip
        assert "RankingLogisticRegression, 7 features" in text
        document, golden = (json.loads((files / name).read_text()) for name in ("es.json", "golden.json"))
        assert document["model"]["name"] == "mine"
        assert golden["feature_names"] == [f"f{j}" for j in range(1, 8)]
        documents = [dict(zip(golden["feature_names"], row, strict=True)) for row in golden["rows"]]
        np.testing.assert_allclose(run_plugin(document, documents, np.float64), golden["scores"], atol=1e-12)

    def test_onnx(self, files):
        result = rankloom("export-model", files / "rankboost.json", "--format", "onnx", "-o", files / "m.onnx",
                          "--golden", files / "g.json", "--json")  # fmt: skip
        record, golden = json.loads(result.stdout), json.loads((files / "g.json").read_text())
        assert record == {"ranker": "RankBoost", "format": "onnx", "features": 7, "output": str(files / "m.onnx"),
                          "golden": str(files / "g.json"), "golden_rows": len(golden["rows"])}  # fmt: skip
        session = onnxruntime.InferenceSession(files / "m.onnx")
        np.testing.assert_array_equal(session.run(None, {"X": np.array(golden["rows"])})[0], golden["scores"])

    def test_names_of_a_table(self, files, tmp_path):
        save_table(DATA, tmp_path / "train.csv")
        rankloom("fit", tmp_path / "train.csv", "-o", tmp_path / "m.json")
        rankloom("export-model", tmp_path / "m.json", "--format", "elasticsearch", "-o", tmp_path / "es.json")
        document = json.loads((tmp_path / "es.json").read_text())
        assert [*document["model"]["model"]["definition"]] == [*DATA.feature_names]
        rankloom("export-model", tmp_path / "m.json", "--format", "onnx", "-o", tmp_path / "m.onnx",
                 "--golden", tmp_path / "g.json")  # fmt: skip

    def test_errors_are_one_line_with_the_cure(self, files, tmp_path):
        out = tmp_path / "out"
        for arguments, said in (
            ([files / "rankboost.json", "--format", "elasticsearch", "-o", out], "export it as ONNX"),
            ([files / "nb.json", "--format", "onnx", "-o", out], "not NaiveBayesRanker; fit one of these"),
            ([files / "train.txt", "--format", "onnx", "-o", out], "is not a saved ranker"),
            ([files / "none.json", "--format", "onnx", "-o", out], "no such file"),
            ([files / "rlr.json", "--format", "onnx", "-o", tmp_path / "none" / "m"], "does not exist"),
        ):
            result = rankloom("export-model", *arguments, code=1)
            assert result.output.startswith("Error: ")
            assert len(result.output.splitlines()) == 1
            assert said in result.output
        assert not out.exists()
        assert "--format" in rankloom("export-model", files / "rlr.json", "-o", out, code=2).output

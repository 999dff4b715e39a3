"""The commands as a user types them."""

import gzip
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

from rankloom import evaluate, load_ranker
from rankloom.cli import main
from rankloom.cli._options import RANKER_NAMES
from rankloom.collection import Collection
from rankloom.collection.query import Example, Query
from rankloom.datasets import load_letor, make_ranking, read_run, save, save_letor
from rankloom.engine import Engine
from rankloom.rankers import RANKERS, RankingLogisticRegression
from tests.data import SHARED, needs_shared
from tests.shell import rankloom


@pytest.fixture
def files(tmp_path):
    data = make_ranking(n_queries=30, n_items=15, n_features=6, n_informative=2, shuffle=True, random_state=1)
    train, validation, test = (data.take((data.qid - 1) // 10 == part) for part in range(3))
    for name, part in (("train", train), ("vali", validation), ("test", test), ("all", data)):
        save_letor(part, tmp_path / f"{name}.txt")
    return tmp_path


def records(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def model(files):
    rankloom("fit", files / "train.txt", "--ranker", "rlr", "--set", "nu=0.5", "-o", files / "model.json")
    return files / "model.json"


def test_fit_saves_the_ranker_that_python_fits(files, model):
    X, y, qid = load_letor(files / "train.txt")
    expected = RankingLogisticRegression(nu=0.5).fit(X, y, qid=qid)
    loaded = load_ranker(model)
    assert loaded.get_params() == expected.get_params()
    np.testing.assert_array_equal(loaded.coef_, expected.coef_)


def test_sparse_files_give_the_same_ranker_and_scores(files, model):
    made = files / "sparse.json"
    rankloom("fit", files / "train.txt", "--set", "nu=0.5", "--sparse", "-o", made)
    np.testing.assert_allclose(load_ranker(made).coef_, load_ranker(model).coef_, rtol=1e-6)
    rankloom("fit", files / "train.txt", "--validation", files / "vali.txt", "--sparse", "-o", made)
    for command in (["predict", "--format", "scores"], ["evaluate"]):
        dense, same = (
            rankloom(*command, files / "test.txt", "--model", made, *option).stdout for option in ([], ["--sparse"])
        )
        numbers = [
            [float(word) for word in text.split() if word.lstrip("-")[0].isdigit() and "." in word]
            for text in (dense, same)
        ]
        np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-9)
    rankloom("fit", files / "train.txt", "--ranker", "opr", "--stream", "--sparse", "-o", made)
    assert "dense rows only" in rankloom("fit", files / "train.txt", "-r", "nb", "--sparse", "-o", made, code=1).stderr


def test_fit_says_what_it_did(files):
    result = rankloom("fit", files / "train.txt", "-o", files / "m.json", "--json")
    (record,) = records(result)
    assert record["ranker"] == "rlr"
    assert (record["queries"], record["rows"], record["features"]) == (10, 150, 6)
    text = rankloom("fit", files / "train.txt", "--set", "shift=global", "-o", files / "m.json").stdout
    assert "shift=global" in text
    assert "10 queries, 150 rows, 6 features" in text


def test_fit_chooses_on_validation_queries(files):
    (record,) = records(
        rankloom("fit", files / "train.txt", "--validation", files / "vali.txt", "-o", files / "m.json", "--json")
    )
    train, validation = load_letor(files / "train.txt"), load_letor(files / "vali.txt")
    values = {}
    for nu in (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0):
        scores = RankingLogisticRegression(nu=nu).fit(*train).predict(validation.X)
        values[nu] = evaluate(validation.y, scores, validation.qid, ["AP"])["AP"]
    assert record["validation"]["AP"] == max(values.values())
    assert values[record["params"]["nu"]] == max(values.values())


def test_predict_and_evaluate_agree_with_python_and_with_each_other(files, model):
    rankloom("predict", files / "test.txt", "--model", model, "-o", files / "run.txt", "--qrels", files / "qrels.txt")
    rankloom("predict", files / "test.txt", "--model", model, "--format", "scores", "-o", files / "scores.txt")
    X, y, qid = load_letor(files / "test.txt")
    scores = load_ranker(model).predict(X)
    np.testing.assert_array_equal(np.loadtxt(files / "scores.txt"), scores)
    expected = evaluate(y, scores, qid, ["AP", "nDCG@10", "P@10", "RR"])
    for arguments in (
        ["--run", files / "run.txt", "--qrels", files / "qrels.txt"],
        [files / "test.txt", "--model", model],
        [files / "test.txt", "--scores", files / "scores.txt"],
    ):
        (found,) = records(rankloom("evaluate", *arguments, "--json"))
        assert {metric: found[metric] for metric in expected} == pytest.approx(expected, abs=1e-12)
        assert found["queries"] == 10


def test_a_run_equals_pytrec_eval_when_it_misses_items_and_queries(files, model):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rankloom("predict", files / "test.txt", "--model", model, "-o", files / "run.txt", "--qrels", files / "qrels.txt")
    lines = (files / "run.txt").read_text().splitlines(keepends=True)
    first = lines[0].split()[0]
    kept = [line for i, line in enumerate(lines) if i % 3 and line.split()[0] != first]
    (files / "part.txt").write_text("".join(kept))
    (found,) = records(
        rankloom(
            "evaluate",
            "--run",
            files / "part.txt",
            "--qrels",
            files / "qrels.txt",
            "--json",
            "-m",
            "AP",
            "-m",
            "nDCG@5",
        )
    )
    qrels = {}
    for line in (files / "qrels.txt").read_text().splitlines():
        qid, _, item, grade = line.split()
        qrels.setdefault(qid, {})[item] = int(float(grade))
    run = {qid: {hit.id: hit.score for hit in hits} for qid, hits in read_run(files / "part.txt").items()}
    values = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut_5"}).evaluate(run)
    assert len(values) == 9
    assert found["queries"] == 10  # the query that the run has not counts as 0
    assert found["AP"] == pytest.approx(sum(v["map"] for v in values.values()) / 10, abs=1e-9)
    assert found["nDCG@5"] == pytest.approx(sum(v["ndcg_cut_5"] for v in values.values()) / 10, abs=1e-9)


def test_predict_prints_runs_and_json(files, model):
    text = rankloom("predict", files / "test.txt", "--model", model).stdout
    assert [len(line.split()) for line in text.splitlines()] == [6] * 150
    hits = records(rankloom("predict", files / "test.txt", "--model", model, "--json"))
    assert set(hits[0]) == {"qid", "rank", "id", "score"}
    for before, after in itertools.pairwise(hits):
        assert before["qid"] != after["qid"] or before["score"] >= after["score"]


def test_evaluate_per_query(files, model):
    found = records(rankloom("evaluate", files / "test.txt", "--model", model, "--per-query", "--json", "-m", "AP"))
    assert len(found) == 11
    assert found[-1]["AP"] == pytest.approx(np.mean([record["AP"] for record in found[:-1]]))
    text = rankloom("evaluate", files / "test.txt", "--model", model, "--per-query", "-m", "AP").stdout
    assert "mean" in text


def test_parquet_and_csv_keep_feature_names(files):
    data = load_letor(files / "train.txt")
    for ending in ("parquet", "csv"):
        named = type(data)(data.X, data.y, data.qid, None, [f"expert {i}" for i in range(6)])
        save(named, files / f"train.{ending}")
        rankloom("fit", files / f"train.{ending}", "-o", files / "named.json")
        assert list(load_ranker(files / "named.json").feature_names_in_) == list(named.feature_names)
        rankloom("evaluate", files / f"train.{ending}", "--model", files / "named.json")
    swapped = type(data)(data.X, data.y, data.qid, None, [f"expert {5 - i}" for i in range(6)])
    save(swapped, files / "swapped.csv")
    assert (
        "other features" in rankloom("evaluate", files / "swapped.csv", "--model", files / "named.json", code=1).stderr
    )


def test_compare_one_file_three_files_and_folds(files):
    for fold in ("Fold1", "Fold2", "Fold3"):
        (files / "folds" / fold).mkdir(parents=True)
        for part in ("train", "vali", "test"):
            (files / "folds" / fold / f"{part}.txt").write_bytes((files / f"{part}.txt").read_bytes())
    for arguments in (
        [files / "all.txt", "--n-folds", "3"],
        [files / "train.txt", files / "vali.txt", files / "test.txt"],
        ["--folds", files / "folds"],
    ):
        found = records(rankloom("compare", *arguments, "--rankers", "rlr,uniform", "--json"))
        rankers = {record["ranker"]: record for record in found if "ranker" in record}
        assert rankers["rlr"]["AP"] > rankers["uniform"]["AP"]
        assert any(record.get("a") == "rlr" and 0 <= record["p_t"] <= 1 for record in found)
        assert not any("published" in record for record in found)
    text = rankloom("compare", files / "all.txt", "--rankers", "rlr,uniform", "--set", "nu=1").stdout
    assert "nu=1 1 1 1 1" in text


@pytest.mark.slow
@pytest.mark.shared
@needs_shared
def test_compare_on_mq2008_has_the_published_numbers_beside_ours():
    result = rankloom(
        "compare",
        "--folds",
        SHARED / "letor-mq2008",
        "--rankers",
        "rlr,frlr,ranksvm,uniform",
        "--policy",
        "letor4",
        "--json",
    )
    found = records(result)
    ours = {record["ranker"]: record for record in found if "ranker" in record}
    assert ours["rlr"]["AP"] >= 0.470
    assert ours["frlr"]["AP"] >= 0.470
    assert abs(ours["ranksvm"]["AP"] - 0.4696) <= 0.008
    assert all(len(record["params"]) == 5 for record in ours.values())
    published = {record["published"]: record for record in found if "published" in record}
    assert published["ListNet"]["AP"] == 0.4775


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["fit", "absent.txt", "-o", "m.json"], "absent.txt: no such file"),
        (["fit", "train.txt", "--ranker", "rlrr", "-o", "m.json"], "known are uniform, best"),
        (
            ["fit", "train.txt", "--set", "mu=1", "-o", "m.json"],
            "its parameters are: max_iter, normalize, nu, shift, tol",
        ),
        (["fit", "train.txt", "--set", "nu=-1", "-o", "m.json"], "nu must be a number >= 0"),
        (["fit", "bad.txt", "-o", "m.json"], "bad.txt:2"),
        (["predict", "test.txt", "--model", "train.txt"], "not a saved ranker"),
        (["evaluate", "wide.txt", "--model", "model.json"], "was trained on 6 features, wide.txt has 8"),
        (["evaluate", "test.txt", "--model", "model.json", "-m", "nDCF"], "nDCF"),
        (["evaluate", "test.txt", "--model", "model.json", "--policy", "tree"], "known policies"),
        (["evaluate", "test.txt", "--scores", "narrow.txt"], "narrow.txt:1"),
        (["compare", "--folds", "."], "has no fold"),
        (["compare", "all.txt", "--set", "depth=3"], "has a parameter 'depth'"),
    ],
)
def test_errors_are_one_line_with_the_cure(files, model, arguments, part, monkeypatch):
    monkeypatch.chdir(files)
    (files / "bad.txt").write_text("1 qid:1 1:0.5\nx qid:1 1:0.5\n")
    (files / "wide.txt").write_text("1 qid:1 1:0.5 8:1\n0 qid:1 1:0.25\n")
    (files / "narrow.txt").write_text("1 qid:1 1:0.5 2:1\n0 qid:1 1:0.25\n")
    result = rankloom(*arguments, code=1)
    assert part in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [["evaluate", "test.txt"], ["compare"], ["compare", "a", "b"], ["fit", "train.txt", "--set", "nu", "-o", "m"]],
)
def test_wrong_usage_says_so(files, arguments, monkeypatch):
    monkeypatch.chdir(files)
    rankloom(*arguments, code=2)


def test_sparse_files_that_end_early_are_widened(files, model):
    (files / "short.txt").write_text("1 qid:1 1:0.5 2:1\n0 qid:1 1:0.25\n")
    assert "AP" in rankloom("evaluate", files / "short.txt", "--model", model).stdout
    rankloom("compare", files / "train.txt", files / "vali.txt", files / "short.txt", "--rankers", "rlr")


def test_lightgbm_files_take_the_group_sizes_beside_them(files):
    rows = [line.replace(f"qid:{line.split()[1][4:]} ", "") for line in (files / "train.txt").read_text().splitlines()]
    order = np.argsort(load_letor(files / "train.txt").qid, kind="stable")
    (files / "rank.train").write_text("\n".join(rows[i] for i in order) + "\n")
    result = rankloom("fit", files / "rank.train", "-o", files / "m.json", "--json")
    assert "has no qid" in result.stderr
    assert records(result)[0]["queries"] == 1
    (files / "rank.train.query").write_text("15\n" * 10)
    assert records(rankloom("fit", files / "rank.train", "-o", files / "m.json", "--json"))[0]["queries"] == 10
    expected = RankingLogisticRegression().fit(*load_letor(files / "train.txt"))
    np.testing.assert_allclose(load_ranker(files / "m.json").coef_, expected.coef_, rtol=1e-6)


def test_ties_are_ordered_alike_in_files_and_on_screen(files):
    (files / "ties.txt").write_text("1 qid:1 1:1 # docid = a\n0 qid:1 1:1 # docid = b\n0 qid:1 1:0 # docid = c\n")
    rankloom("fit", files / "ties.txt", "--ranker", "uniform", "-o", files / "u.json")
    shown = rankloom("predict", files / "ties.txt", "--model", files / "u.json").stdout
    rankloom("predict", files / "ties.txt", "--model", files / "u.json", "-o", files / "run.txt")
    assert shown == (files / "run.txt").read_text()
    assert [line.split()[2] for line in shown.splitlines()] == ["b", "a", "c"]
    rankloom("predict", files / "ties.txt", "--model", files / "u.json", "--format", "scores", "-o", files / "s.gz")
    assert gzip.decompress((files / "s.gz").read_bytes()) == b"1.0\n1.0\n0.0\n"


@pytest.mark.slow
def test_streams_and_simulations(files):
    data = make_ranking(n_queries=30, n_items=15, n_features=6, n_informative=2, random_state=1)
    save_letor(data, files / "ordered.txt")
    rankloom("fit", files / "ordered.txt", "--ranker", "opar2", "--stream", "-o", files / "s.json")
    rankloom("fit", files / "ordered.txt", "--ranker", "opar2", "-o", files / "w.json")
    np.testing.assert_array_equal(load_ranker(files / "s.json").coef_, load_ranker(files / "w.json").coef_)
    assert "online ranker" in rankloom("fit", files / "all.txt", "-r", "rlr", "--stream", "-o", "m", code=1).stderr
    arguments = ["simulate", files / "all.txt", "--rankers", "opar1,rlr", "-k", "5", "--set", "C=0.1"]
    found = records(rankloom(*arguments, "--json"))
    assert [record["ranker"] for record in found] == ["opar1", "rlr"]
    assert all(record["gain"] > 0 for record in found)
    text = rankloom(*arguments, "--clicks", "-o", files / "c.json", "--plot", files / "c.png").stdout
    assert "clicked" in text
    assert len(json.loads((files / "c.json").read_text())["opar1"]["cumulative_gain"]) == 30
    assert (files / "c.png").read_bytes().startswith(b"\x89PNG")


def test_warnings_are_one_line(files):
    (files / "one.txt").write_text("1 qid:1 1:0.5\n1 qid:1 1:0.25\n")
    result = rankloom("fit", files / "one.txt", "-o", files / "m.json")
    assert result.stderr.startswith("warning: no query has rows of two grades")
    assert len(result.stderr.splitlines()) == 1


def test_every_command_has_help_with_an_example():
    for name, command in main.commands.items():
        assert "Example" in rankloom(name, "--help").stdout
        assert command.get_short_help_str()


def test_help_names_every_ranker():
    assert RANKER_NAMES.split(", ") == list(RANKERS)
    for name in ("fit", "compare", "simulate"):
        assert "coordascent" in rankloom(name, "--help").stdout


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom rankloom.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "import rankloom\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'numba', 'rich', 'pyarrow', 'pandas'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "--like", "gone.jpg"],
        ["search", "--unlike", "gone.jpg"],
        ["feedback", "--like", "gone.jpg", "--right", "1"],
        ["feedback", "--import", "gone.jpg"],
        ["models", "interleave", "1", "--like", "gone.jpg"],
        ["index", "gone.jpg"],
        ["index", ".", "--captions", "gone.jpg"],
        ["descriptors", "add", "mine", "--image-onnx", "gone.jpg"],
    ],
)
def test_a_missing_file_is_named_at_once(tmp_path, arguments):
    code = (
        "import sys\nfrom rankloom.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    print(end.code, 'numpy' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments, "-c", str(tmp_path / "c")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert ran.stdout == "2 False\n"
    assert "'gone.jpg' does not exist" in ran.stderr.splitlines()[-1]
    assert not (tmp_path / "c").exists()


def test_a_picture_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "note.jpg").write_text("no picture")
    with Collection(tmp_path / "c", create=True) as collection, pytest.raises(ValueError, match=r"note\.jpg: "):
        Engine(collection).search(Query(examples=(Example(path=tmp_path / "note.jpg"),)))

"""Rankers as JSON: what is read is what was written, or an error that says why not."""

import hashlib
import json
import os
import pickle
import stat

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from rankloom.datasets import make_ranking
from rankloom.rankers import RANKERS, MarginRanker, RankSVM, load_ranker, make_ranker
from rankloom.rankers.base import LinearRanker
from rankloom.rankers.losses import LOSSES

X, Y, QID = make_ranking(6, 12, 4, n_informative=2, random_state=5)
VARIANTS = [
    *(make_ranker(name) for name in RANKERS),
    make_ranker("rlr", nu=0.1, shift="global", normalize="query", tol=1e-9),
    RankSVM(0.25, "squared_hinge"),
    MarginRanker("exponential", "approximate", nu=np.float64(0.5)),
    MarginRanker("logistic", penalty="l1"),
    MarginRanker("hinge", "pointwise", tol=1e-3),
]


def saved(tmp_path, name="frlr"):
    path = tmp_path / "ranker.json"
    make_ranker(name).fit(X, Y, QID).save(path)
    return path


def checksum(document):
    body = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def change(path, *, sign=True, **fields):
    """Change fields of a saved file; `sign` also writes the checksum that belongs to the change."""
    document = json.loads(path.read_text())
    for key, value in fields.items():
        if value is None:
            del document[key]
        else:
            document[key] = value
    if sign:
        document["sha256"] = checksum(document)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
@pytest.mark.parametrize("named", [False, True])
def test_round_trip(ranker, named, tmp_path):
    rows = pd.DataFrame(X, columns=["text", "Größe", "f 3", "名"]) if named else X
    path = tmp_path / "ranker.json"
    ranker.fit(rows, Y, QID).save(path)
    back = load_ranker(path)
    assert type(back) is type(ranker)
    assert back.get_params() == ranker.get_params()
    assert set(vars(back)) == set(vars(ranker))
    probe = np.random.default_rng(0).normal(size=(50, 4)) * np.logspace(-140, 140, 50)[:, None] if not named else rows
    np.testing.assert_array_equal(back.predict(probe), ranker.predict(probe))  # bit by bit
    assert back.n_features_in_ == 4
    assert back.n_queries_ == 6
    if named:
        assert list(back.feature_names_in_) == ["text", "Größe", "f 3", "名"]
        with pytest.raises(ValueError, match="feature names"):
            back.predict(rows.rename(columns={"text": "title"}))
    else:
        with pytest.raises(ValueError, match="features"):
            back.predict(np.zeros((1, 3)))
    assert back.score(rows, Y, QID) == ranker.score(rows, Y, QID)
    back.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_the_file_is_plain_json(tmp_path):
    path = saved(tmp_path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["format"] == "rankloom-ranker"
    assert document["version"] == 1
    assert document["ranker"] == "FullRankingLogisticRegression"
    assert document["params"]["nu"] == 1.0
    assert len(document["state"]["coef_"]["array"]) == 4
    assert document["sha256"] == checksum(document)
    with pytest.raises(Exception, match=r"."):
        pickle.loads(path.read_bytes())


def test_only_fitted_rankers_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        make_ranker("rlr").save(tmp_path / "ranker.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("field", ["coef_", "n_queries_"])
def test_a_file_that_was_changed_is_refused(tmp_path, field):
    path = saved(tmp_path)
    state = json.loads(path.read_text())["state"]
    if field == "coef_":
        state[field]["array"][0] += 1e-12
    else:
        state[field] += 1
    change(path, sign=False, state=state)
    with pytest.raises(ValueError, match=r"ranker\.json was changed after it was saved"):
        load_ranker(path)


def test_a_file_without_checksum_is_refused(tmp_path):
    path = saved(tmp_path)
    change(path, sign=False, sha256=None)
    with pytest.raises(ValueError, match="was changed after it was saved"):
        load_ranker(path)


@pytest.mark.parametrize("version", [2, 99, "1", None])
def test_a_newer_file_is_refused(tmp_path, version):
    path = saved(tmp_path)
    change(path, version=version)
    with pytest.raises(ValueError, match=r"format version .*reads up to 1; upgrade with"):
        load_ranker(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b"{}",
        b'{"format": "other"}',
        b"[" * 100_000,
        pickle.dumps({"format": "rankloom-ranker"}),
    ],
    ids=["empty", "text", "bytes", "list", "object", "other format", "deep", "pickle"],
)
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.json is not a saved ranker"):
        load_ranker(path)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_a_cut_file_is_refused(tmp_path, share):
    path = saved(tmp_path)
    content = path.read_bytes().rstrip()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="is not a saved ranker"):
        load_ranker(path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ranker": "Popen"}, "'Popen', known are .*RankSVM.*load_ranker"),
        ({"ranker": None}, "not a complete saved ranker"),
        ({"params": {"no_such": 1}}, "not a complete saved ranker"),
        ({"params": None}, "not a complete saved ranker"),
        ({"state": None}, "not a complete saved ranker"),
        ({"state": {"predict": 1}}, "state named 'predict'"),
        ({"state": {"__class__": 1}}, "state named '__class__'"),
        ({"state": {"_private_": 1}}, "state named '_private_'"),
        ({"state": {"coef_": {"array": [1], "dtype": "O8", "shape": [1]}}}, "unknown type 'O8'"),
        ({"state": {"coef_": {"other": 1}}}, "not a complete saved ranker"),
    ],
)
def test_a_signed_file_with_nonsense_is_refused(tmp_path, fields, message):
    path = saved(tmp_path)
    change(path, **fields)
    with pytest.raises(ValueError, match=message):
        load_ranker(path)


def test_a_missing_file_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_ranker(tmp_path / "none.json")


class Mine(LinearRanker):
    """A ranker from outside."""

    def __init__(self, factor: float = 2.0):
        self.factor = factor

    def _fit(self, problem):
        self.coef_ = np.full(problem.X.shape[1], self.factor)


def test_classes_of_ones_own(tmp_path):
    path = tmp_path / "mine.json"
    Mine(3.0).fit(X, Y, QID).save(path)
    with pytest.raises(ValueError, match=r"'Mine', known are .*classes=\[MyRanker\]"):
        load_ranker(path)
    back = load_ranker(path, classes=[Mine])
    assert back.factor == 3.0
    np.testing.assert_array_equal(back.coef_, np.full(4, 3.0))


@pytest.mark.parametrize(
    "ranker",
    [
        MarginRanker(lambda x: (np.exp(-x), -np.exp(-x)), nu=5.0),
        MarginRanker(LOSSES["hinge"], nu=5.0),
        MarginRanker(penalty=lambda w: (w @ w, 2 * w)),
        make_ranker("best", random_state=np.random.RandomState(0)),
    ],
    ids=["function", "MarginLoss", "penalty", "random_state"],
)
def test_what_json_cannot_hold_is_refused_and_leaves_nothing(tmp_path, ranker):
    path = tmp_path / "ranker.json"
    path.write_text("old")
    ranker.fit(X, Y, QID)
    with pytest.raises(
        ValueError, match=r"(loss|penalty|random_state)=.* cannot be written as JSON; use a named choice"
    ):
        ranker.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["ranker.json"]
    assert path.read_text() == "old"


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "ranker.json"
    path.write_text("old")
    ranker = make_ranker("rlr").fit(X, Y, QID)

    def full(_):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        ranker.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["ranker.json"]
    assert path.read_text() == "old"
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.undo()
    with pytest.raises(OSError, match=r"."):
        ranker.save(folder)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "ranker.json"]
    with pytest.raises(FileNotFoundError):
        ranker.save(tmp_path / "no" / "ranker.json")


def test_a_saved_file_replaces_the_old_one_and_can_be_read_by_others(tmp_path):
    path = saved(tmp_path, "rlr")
    saved(tmp_path, "ranksvm")
    assert type(load_ranker(str(path))) is RankSVM
    assert [entry.name for entry in tmp_path.iterdir()] == ["ranker.json"]
    if os.name == "posix":
        mask = os.umask(0)
        os.umask(mask)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask

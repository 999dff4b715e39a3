from __future__ import annotations

import builtins
import gzip
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rankloom import RankingData
from rankloom.datasets import load, load_table, make_ranking, save, save_letor, save_table
from tests.data import written

NAMES = ["rows.parquet", "rows.csv", "rows.tsv", "rows.csv.gz", "rows.tsv.gz"]
FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=6)


def load_csv(text: str, name: str = "rows.csv") -> RankingData:
    with written(text.encode(), name) as path:
        return load_table(path)


def error_of(content: str | bytes, name: str = "rows.csv") -> str:
    with written(content.encode() if isinstance(content, str) else content, name) as path:
        with pytest.raises(ValueError) as caught:
            load_table(path)
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        return message.removeprefix(f"{path}: ")


def parquet(tmp_path, **columns) -> RankingData:
    pa.parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")
    return load_table(tmp_path / "rows.parquet")


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 5), st.integers(1, 4), st.sampled_from(NAMES))
def test_round_trip(draw, n_rows, n_features, name):
    X = draw.draw(arrays.arrays(np.float64, (n_rows, n_features), elements=FINITE))
    y = draw.draw(arrays.arrays(np.float64, n_rows, elements=FINITE))
    texts = st.lists(TEXT, min_size=n_rows, max_size=n_rows)
    integers = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n_rows, max_size=n_rows)
    if not name.endswith(".parquet"):
        integers = st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=n_rows, max_size=n_rows)
    qid = np.array(draw.draw(st.one_of(texts, integers)))
    ids = draw.draw(st.one_of(st.none(), texts))
    features = draw.draw(
        st.lists(
            TEXT.filter(lambda t: t not in ("qid", "y", "id")), unique=True, min_size=n_features, max_size=n_features
        )
    )
    with written(b"", name) as path:
        save_table(RankingData(X, y, qid, ids, features), path)
        again = load_table(path)
        assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert again.X.tobytes() == X.tobytes()
    assert again.y.tobytes() == y.tobytes()
    if qid.dtype.kind == again.qid.dtype.kind:
        assert again.qid.tolist() == qid.tolist()
    else:  # text that is all integers
        assert not name.endswith(".parquet")
        assert again.qid.tolist() == [int(q) for q in qid]
    assert again.ids == ids
    assert again.feature_names == features


@pytest.mark.parametrize("name", [*NAMES, "ROWS.CSV", "rows.txt", "rows.letor.gz"])
def test_load_and_save_choose_by_name(tmp_path, name):
    data = make_ranking(3, 4, 5, string_qid=True)
    save(data, tmp_path / name)
    again = load(tmp_path / name)
    assert again.X.tobytes() == data.X.tobytes()
    assert again.y.tolist() == data.y.tolist()
    assert again.qid.tolist() == data.qid.tolist()
    assert again.feature_names == (None if "rows.txt" in name or "letor" in name else data.feature_names)


def test_csv_of_other_programs():
    data = load_csv("﻿a,qid,b,y\r\n 1, 7,+2.5,3\r\n-1e3,7 ,.5,0\r\n")
    assert data.X.tolist() == [[1, 2.5], [-1000, 0.5]]
    assert data.y.tolist() == [3, 0]
    assert data.feature_names == ["a", "b"]
    assert data.qid.tolist() == [7, 7]
    assert load_csv('qid\ty\tid\tf\n"a b"\t1\tx\t2\n', "rows.tsv").qid.tolist() == ["a b"]
    assert load_csv("qid,y,f\n2020-01-01,1,2\n").qid.tolist() == ["2020-01-01"]
    assert load_csv("qid,y,id,f\n1,1,007,2\n").ids == ["007"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qid,f\n1,2\n", "the column 'y' is missing; the columns are qid, f"),
        ("y,f\n1,2\n", "the column 'qid' is missing; the columns are y, f"),
        ("qid,y\n1,2\n", "no feature columns"),
        ("qid,y,f\n", "no rows"),
        ("qid,y,f,f\n1,2,3,4\n", "the column 'f' stands there twice"),
        ("qid,y,f\n1,2,3\n1,2,x\n", "the column 'f' has in row 2 a bad value 'x': expected a number"),
        ("qid,y,f\n1,2,3\n1,x,3\n", "the column 'y' has in row 2 a bad value 'x': expected a number"),
        ("qid,y,f\n1,2,3\n1,2,\n", "the column 'f' has no value in row 2"),
        ("qid,y,f\n1,2,nan\n", "the column 'f' has in row 1 a bad value 'nan': NaN and infinity are not accepted"),
        ("qid,y,f\n1,2,1e999\n", "the column 'f' has in row 1 a bad value '1e999': too large for a float"),
        ("qid,y,f\n1,2,true\n", "the column 'f' has in row 1 a bad value 'true': expected a number"),
        ("qid,y,f\n1,2,3\n,2,3\n", "the column 'qid' has no value in row 2"),
        ("qid,y,f\n1,2,3\n1,2\n", "CSV parse error: Row #3: Expected 3 columns, got 2: 1,2"),
        ("", "Empty CSV file"),
    ],
)
def test_mistakes_in_csv_are_named(text, message):
    assert error_of(text) == message


def test_damaged_files():
    error_of(b"\xff\xfe\x00\x01,\x00\n\x03")
    error_of(b"not parquet", "rows.parquet")
    error_of(b"", "rows.parquet")
    error_of(gzip.compress(b"qid,y,f\n" + b"1,2,3\n" * 1000)[:-15], "rows.csv.gz")
    with written(b"") as folder, pytest.raises(FileNotFoundError):
        load_table(folder.parent / "none.parquet")


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.binary(max_size=80), st.text('qid,y\n"01\r', max_size=40).map(lambda t: f"qid,y,f\n{t}".encode())))
@example(b"qid,y,f\n1,2,\xff\n")
@example(b"PAR1")
def test_garbage_raises_only_value_errors(content):
    for name in ("rows.csv", "rows.parquet"):
        with written(content, name) as path:
            try:
                data = load_table(path)
            except ValueError as error:
                assert str(error).startswith(str(path))  # noqa: PT017
                assert len(str(error).splitlines()) == 1  # noqa: PT017
            else:
                assert np.isfinite(data.X).all()


def test_names_of_columns_cannot_break_the_line_of_an_error(tmp_path):
    (tmp_path / "rows.csv").write_bytes(b"\x0b\x00,a\x1cb\n1,2\n")
    with pytest.raises(ValueError, match="is missing") as error:
        load_table(tmp_path / "rows.csv")
    assert len(str(error.value).splitlines()) == 1


def test_parquet_types(tmp_path):
    data = parquet(
        tmp_path,
        qid=pa.array(["a", "b"]).dictionary_encode(),
        y=pa.array([1, 0], pa.int8()),
        id=pa.array([5, 6]),
        a=pa.array([True, False]),
        b=pa.array([0.5, 0.25], pa.float32()),
        c=pa.array([Decimal("1.5"), Decimal("2.5")]),
        d=pa.array([2**63, 1], pa.uint64()),
    )
    assert data.X.tolist() == [[1, 0.5, 1.5, 2.0**63], [0, 0.25, 2.5, 1]]
    assert data.qid.tolist() == ["a", "b"]
    assert data.ids == ["5", "6"]
    assert parquet(tmp_path, qid=["1", "2"], y=[0, 1], f=[1, 2]).qid.tolist() == ["1", "2"]
    assert parquet(tmp_path, qid=[1.0, 2.0], y=[0, 1], f=[1, 2]).qid.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"qid": [1, None], "y": [1, 2], "f": [1, 2]}, "the column 'qid' has no value in row 2"),
        ({"qid": [1, 2], "y": [1, 2], "f": [1.0, None]}, "the column 'f' has no value in row 2"),
        ({"qid": [1, 2], "y": [1, 2], "f": [1.0, np.nan]}, "the column 'f' is NaN in row 2"),
        ({"qid": [1, 2], "y": [np.inf, 2.0], "f": [1, 2]}, "the column 'y' is infinite in row 1"),
        ({"qid": [1, 2], "y": [1, 2], "f": ["1", "x"]}, "the column 'f' has in row 2 a bad value 'x'"),
        ({"qid": [1, 2], "y": [1, 2], "f": [[1], [2]]}, "the column 'f' holds list.*, not numbers"),
        ({"qid": [1.0, 2.5], "y": [1, 2], "f": [1, 2]}, "the column 'qid' is 2.5 in row 2"),
        ({"qid": [[1], [2]], "y": [1, 2], "f": [1, 2]}, "the column 'qid' holds list.*, not text"),
        ({"qid": pa.array([2**63, 1], pa.uint64()), "y": [1, 2], "f": [1, 2]}, "rows.parquet: "),
    ],
)
def test_mistakes_in_parquet_are_named(tmp_path, columns, message):
    with pytest.raises(ValueError, match=message):
        parquet(tmp_path, **columns)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"feature_names": ["qid"]}, "feature_names must be 1 different names, and none of qid, y and id"),
        ({"feature_names": ["a", "b"]}, "feature_names must be 1"),
        ({"qid": np.array([("a", 1), "b"], dtype=object)}, "all integers or all strings"),
        ({"qid": np.array([1.5, 2])}, "integers or strings"),
        ({"qid": np.array(["", "a"])}, "the qid of row 0 is empty"),
        ({"X": np.array([[1.0], [np.inf]])}, "row 1, column 0"),
    ],
)
def test_what_cannot_be_written(tmp_path, changes, message):
    fields = {"X": np.ones((2, 1)), "y": np.zeros(2), "qid": np.array([1, 2])} | changes
    with pytest.raises(ValueError, match=message):
        save_table(RankingData(**fields), tmp_path / "rows.csv")
    assert not list(tmp_path.iterdir())


def test_object_queries(tmp_path):
    for qid, kind in ((["a", "b"], "U"), ([1, 2], "i")):
        data = RankingData(np.ones((2, 1)), np.zeros(2), np.array(qid, dtype=object))
        save_table(data, tmp_path / "rows.parquet")
        again = load_table(tmp_path / "rows.parquet")
        assert again.qid.tolist() == qid
        assert again.qid.dtype.kind == kind


def test_wrong_calls_say_the_cure(tmp_path):
    data = make_ranking(1, 2, 1, n_informative=1)
    for function in (save, save_table, save_letor):
        with pytest.raises(TypeError, match=rf"swapped: call {function.__name__}\(data, path\)"):
            function(tmp_path / "rows.csv", data)
    for function in (load, load_table):
        with pytest.raises(TypeError, match=rf"{function.__name__}\(path\): the path must be a str or a Path, got int"):
            function(7)
    for call in (lambda: load_table(tmp_path / "rows.txt"), lambda: save_table(data, tmp_path / "rows.txt")):
        with pytest.raises(ValueError, match=r"must end in .parquet, .csv, .tsv"):
            call()


def test_without_pyarrow_the_error_names_the_extra(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'rankloom\[parquet\]'"):
        load_table(tmp_path / "rows.csv")

from __future__ import annotations

import gzip
import os
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from rankloom import RankingData
from rankloom.datasets import _files, iter_letor, load, load_letor, save, save_letor
from rankloom.datasets._svmlight import item_id, parse_careful, parse_fast
from tests.data import SHARED, needs_shared, written

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def load_text(text: str | bytes, **options) -> RankingData:
    with written(text if isinstance(text, bytes) else text.encode()) as path:
        return load_letor(path, **options)


def error_of(text: str | bytes, **options) -> str:
    """The message without the folder: `rows.txt:line: what is wrong`, one line."""
    with written(text if isinstance(text, bytes) else text.encode()) as path:
        with pytest.raises(ValueError) as caught:
            load_letor(path, **options)
        message = str(caught.value)
        assert message.startswith(str(path))
        assert "\n" not in message
        assert len(message) < len(str(path)) + 200
        return message.removeprefix(str(path.parent) + os.sep)


def test_rows_comments_blanks_and_windows_line_ends():
    data = load_text("# a file\r\n\r\n2 qid:3 1:0.5\t3:-1e-3 # note\r\n  0 qid:3 2:.5 \r\n1.5 qid:4 3:+2. 1:7")
    np.testing.assert_array_equal(data.X, [[0.5, 0, -1e-3], [0, 0.5, 0], [7, 0, 2]])
    np.testing.assert_array_equal(data.y, [2, 0, 1.5])
    np.testing.assert_array_equal(data.qid, [3, 3, 4])
    assert data.qid.dtype == np.int64
    assert data.ids is None
    X, y, qid = data
    assert X is data.X
    assert y is data.y
    assert qid is data.qid


@pytest.mark.parametrize(
    ("text", "zero_based", "expected"),
    [
        ("1 qid:1 1:5 2:6", "auto", [[5, 6]]),
        ("1 qid:1 1:5\n1 qid:1 0:6", "auto", [[0, 5], [6, 0]]),
        ("1 qid:1 1:5 2:6", True, [[0, 5, 6]]),
        ("1 qid:1 1:5 2:6", False, [[5, 6]]),
    ],
)
def test_features_count_from_zero_or_one(text, zero_based, expected):
    np.testing.assert_array_equal(load_text(text, zero_based=zero_based).X, expected)


def test_n_features_pads():
    assert load_text("1 qid:1 2:5", n_features=4).X.tolist() == [[0, 5, 0, 0]]
    assert load_text("1 qid:1\n0 qid:1", n_features=2).X.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("qids", "expected"),
    [
        (["1", "-2", "1"], [1, -2, 1]),
        (["007", "8", "8"], [7, 8, 8]),
        (["abc", "1", "1"], ["abc", "1", "1"]),
        (["1", "01", "1"], ["1", "01", "1"]),  # as integers, two queries would become one
        (["9" * 30, "1", "1"], ["9" * 30, "1", "1"]),
        (["a:b", "q/ü", "x" * 100], ["a:b", "q/ü", "x" * 100]),
    ],
)
def test_queries_are_integers_only_if_all_are(qids, expected):
    qid = load_text("".join(f"1 qid:{q} 1:1\n" for q in qids)).qid
    assert qid.tolist() == expected
    assert qid.dtype == np.int64 if isinstance(expected[0], int) else qid.dtype.kind in "UO"


def test_one_long_query_does_not_multiply_the_memory():
    text = f"1 qid:{'x' * 100_000} 1:1\n" + "1 qid:y 1:1\n" * 20_000
    tracemalloc.start()
    try:
        assert load_text(text).qid[-1] == "y"
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_without_queries():
    assert load_text("1 1:5\n0 1:6").qid.tolist() == [1, 1]
    assert load_text("1 1:5\n0 1:6\n2 1:7", group_sizes=[1, 2]).qid.tolist() == [1, 2, 2]
    assert load_text("1 1:5\n0 1:6\n2 1:7", group_sizes=np.array([2, 1])).qid.tolist() == [1, 1, 2]
    with written(b"2\n1\n", "rows.query") as sizes:
        assert load_text("1 1:5\n0 1:6\n2 1:7", group_sizes=sizes).qid.tolist() == [1, 1, 2]
        assert load_text("1 1:5\n0 1:6\n2 1:7", group_sizes=str(sizes)).qid.tolist() == [1, 1, 2]
        assert (
            error_of("1 1:5\n", group_sizes=sizes) == "rows.txt: the file has 1 rows, but the group sizes add up to 3"
        )
        assert "must be left out" in error_of("1 qid:1 1:5\n", group_sizes=sizes)
    with written(b"2\nx\n", "rows.query") as sizes, pytest.raises(ValueError, match=r"rows.query:2: expected the num"):
        load_text("1 1:5\n", group_sizes=sizes)
    with pytest.raises(ValueError, match="negative"):
        load_text("1 1:5\n", group_sizes=[2, -1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:1\nx qid:1 1:1", "rows.txt:2: bad label 'x': expected a number"),
        ("\n# c\nqid:1 1:1", "rows.txt:3: bad label 'qid:1': expected a number"),
        ("nan qid:1 1:1", "rows.txt:1: bad label 'nan': NaN and infinity are not accepted"),
        ("1 qid:1 7", "rows.txt:1: bad pair '7': expected index:value"),
        ("1 qid:1 1:", "rows.txt:1: bad value of feature 1 '': expected a number"),
        ("1 qid:1 1: 2", "rows.txt:1: bad value of feature 1 '': expected a number"),
        ("1 qid:1 1:2:3", "rows.txt:1: bad value of feature 1 '2:3': expected a number"),
        ("1 qid:1 1:1_0", "rows.txt:1: bad value of feature 1 '1_0': expected a number"),
        ("1 qid:1 1:0x1", "rows.txt:1: bad value of feature 1 '0x1': expected a number"),
        ("1 qid:1 1:1.2.3 2:e", "rows.txt:1: bad value of feature 1 '1.2.3': expected a number"),
        ("1 qid:1 1:٣", "rows.txt:1: bad value of feature 1 '٣': expected a number"),
        ("1 qid:1 4:NaN", "rows.txt:1: bad value of feature 4 'NaN': NaN and infinity are not accepted"),
        ("1 qid:1 4:-inf", "rows.txt:1: bad value of feature 4 '-inf': NaN and infinity are not accepted"),
        ("1 qid:1 4:1e999", "rows.txt:1: bad value of feature 4 '1e999': too large for a float"),
        ("1 qid:1 a:1", "rows.txt:1: bad pair 'a:1': the feature index is not a whole number"),
        ("1 qid:1 1.0:1", "rows.txt:1: bad pair '1.0:1': the feature index is not a whole number"),
        ("1 qid:1 :1", "rows.txt:1: bad pair ':1': the feature index is not a whole number"),
        ("1 qid:1 -1:1", "rows.txt:1: bad pair '-1:1': the feature index is negative"),
        ("1 qid:1 1:1 3:2 1:1", "rows.txt:1: feature index 1 stands twice in the row"),
        ("1 qid:1 99999999999:1", "rows.txt:1: bad pair '99999999999:1': the feature index is too large"),
        ("1 1:1 qid:1", "rows.txt:1: bad pair 'qid:1': the query stands right after the label, and once"),
        ("1 qid: 1:1", "rows.txt:1: 'qid:' without a query"),
        ("1 qid:1 1:1\n1 1:1", "rows.txt:2: the row has no qid, but earlier rows have one"),
        ("1 1:1\n1 qid:1 1:1", "rows.txt:2: the row has a qid, but earlier rows have none"),
        ("", "rows.txt: no rows; the file is empty or holds only comments"),
        ("\n \n# x\n", "rows.txt: no rows; the file is empty or holds only comments"),
        ("1\n2\n", "rows.txt: no row has a feature; give n_features if that is meant"),
        (b"1 qid:\xff 1:1", "rows.txt:1: the qid is not UTF-8 text: '\\\\xff'"),
        (b"1 qid:1 1:1 #docid = \xff", "rows.txt:1: the docid is not UTF-8 text: '\\\\xff'"),
        (b"1 qid:1 1:1\n\x00\x01\x02", "rows.txt:2: a NUL byte; this is not a text file"),
        (b"\x89PNG\r\n\x1a\n", "rows.txt:1: bad label '\\\\x89PNG': expected a number"),
        (b"PAR1....", "rows.txt:1: this is a Parquet file; read it with load_table"),
        (b"PK\x03\x04...", "rows.txt:1: this is a zip archive; unpack it first"),
        ("x" * 10_000, f"rows.txt:1: bad label '{'x' * 40}'...: expected a number"),
    ],
)
def test_a_malformed_row_is_named(text, message):
    assert error_of(text) == message


def test_the_first_mistake_is_named():
    assert error_of("1 qid:1 1:1\n1 qid:1 1:x\nx qid:1 1:1").startswith("rows.txt:2:")


def test_mistakes_against_the_options_are_named():
    assert error_of("1 qid:1 1:1\n1 qid:1 2:1 0:1", zero_based=False).startswith("rows.txt:2: feature index 0, but")
    assert error_of("1 qid:1 2:1\n\n1 qid:1 1:1 3:1", n_features=2).startswith("rows.txt:3: a feature index is larger")
    assert error_of("1 qid:1 0:1 1:1\n1 qid:1 2:1", n_features=2).startswith("rows.txt:2: a feature index is larger")
    for options in ({"n_features": 0}, {"zero_based": "yes"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            load_text("1 qid:1 1:1", **options)


def test_a_huge_index_allocates_nothing():
    tracemalloc.start()
    try:
        message = error_of("1 qid:1 1:1\n0 qid:1 1:3 999999999:1\n" + "0 qid:2 1:1\n" * 10)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert message.startswith("rows.txt:2: feature index 999999999 makes a dense array of 89.4 GiB from")
    assert message.endswith("pass n_features=999999999, or sparse=True for a sparse one")


def test_gzip_is_told_by_its_content():
    packed = gzip.compress(b"1 qid:1 1:5\n")
    with written(packed, "rows.txt") as path:
        assert load_letor(path).X.tolist() == [[5]]
    with written(b"1 qid:1 1:5\n", "rows.gz") as path:
        assert load_letor(path).X.tolist() == [[5]]
    assert load_text(packed + packed).X.tolist() == [[5], [5]]


def test_damaged_gzip():
    packed = gzip.compress(b"".join(b"%d qid:1 1:%d\n" % (i, i) for i in range(1000)))
    assert "truncated" in error_of(packed[:-20])
    assert "truncated" in error_of(packed[:5])
    assert "damaged" in error_of(packed[:-8] + b"\0" * 8)
    assert "damaged" in error_of(packed[:200] + b"\xff" * 20 + packed[220:])


def test_a_missing_file():
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        load_letor("no-such-file.txt")


@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_do_not_matter(monkeypatch, block):
    text = (
        b"\xef\xbb\xbf" * (block > 2)
        + b"# c\n1 qid:a 1:5 #docid = x\n\n0 qid:b 2:6.25 #docid = y\r\n2 qid:a 3:1 #docid=z"
    )
    monkeypatch.setattr(_files, "_BLOCK", block)
    data = load_text(text)
    assert data.X.tolist() == [[5, 0, 0], [0, 6.25, 0], [0, 0, 1]]
    assert data.qid.tolist() == ["a", "b", "a"]
    assert data.ids == ["x", "y", "z"]
    assert error_of(text + b"\n\n1 qid:a x").startswith("rows.txt:7: bad pair")
    monkeypatch.setattr(_files, "_LONGEST_LINE", 1000)
    assert error_of(b"1 qid:1 1:1\n" + b"1" * 2000).startswith("rows.txt:2: ")


@pytest.mark.parametrize(
    ("comment", "item"),
    [
        (b"docid = GX004-93-7097963 inc = 0.04 prob = 0.86", b"GX004-93-7097963"),
        (b" docid=a.jpg ", b"a.jpg"),
        (b"docid = my photos/a b.jpg\tinc = 1", b"my photos/a b.jpg"),
        (b"docid = ", None),
        (b"a docid = x", None),
        (b"", None),
    ],
)
def test_the_item_of_a_comment(comment, item):
    assert item_id(comment) == item


def test_ids_only_if_every_row_has_one():
    assert load_text("1 qid:1 1:1 #docid = a\n1 qid:1 1:1\n").ids is None


PAIR_TEXT = st.text(alphabet="0123456789.+-eE: \t\r\n#qidx_", max_size=60)
LIKELY_ROW = st.builds(
    lambda label, qid, pairs, end: f"{label} {qid} {' '.join(f'{i}:{v}' for i, v in pairs)}{end}\n",
    st.one_of(st.integers(-3, 5), FINITE),
    st.sampled_from(["qid:1", "qid:2", "qid:1", "qid:ab"]),
    st.lists(st.tuples(st.integers(0, 30), st.one_of(FINITE, st.integers(-9, 9), PAIR_TEXT)), max_size=5),
    st.sampled_from(["", " ", "\r", " # c", "#docid = 7"]),
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.one_of(PAIR_TEXT, st.lists(LIKELY_ROW, max_size=4).map("".join)))
@example("1 qid:1 1:1.2.3 2:e\n")
@example("1 qid:1 1:1-2 2:3\n")
@example("1 qid:1 0000000000001:5\n")
@example("1 qid:1 1:5 2:-0.0 3:5e-324 4:1e308\n")
def test_the_fast_parser_equals_its_slow_twin(text):
    block = text.encode()
    fast = parse_fast(block, 1)
    try:
        slow = parse_careful(block, 1, "rows.txt")
    except ValueError:
        assert fast is None
        return
    if fast is None:  # only what is rare may take the slow way
        assert "00000000" in text
        return
    for field in ("lines", "y", "counts", "feature", "value"):
        left, right = getattr(fast, field), getattr(slow, field)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
        assert left.tobytes() == right.tobytes()  # the sign of zero too
    assert fast.qids == slow.qids
    assert fast.comments == slow.comments


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode), PAIR_TEXT.map(str.encode)))
@example(b"\x1f\x8b")
@example(b"\x1f\x8b\x08" + b"\0" * 30)
@example(b"1 qid:1 2147483647:1")
def test_garbage_raises_only_value_errors(content):
    for packed in (content, gzip.compress(content)):
        with written(packed) as path:
            try:
                data = load_letor(path)
            except ValueError as error:
                assert str(error).startswith(str(path))  # noqa: PT017
                assert len(str(error).splitlines()) == 1  # noqa: PT017
            else:
                assert np.isfinite(data.X).all()
                assert len(data.X) == len(data.y) == len(data.qid) > 0


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(-5, 5), st.integers(0, 3), st.dictionaries(st.integers(1, 12), FINITE, min_size=1, max_size=6)
        ),
        min_size=1,
        max_size=8,
    )
)
@pytest.mark.slow
def test_equals_scikit_learn(rows):
    text = "".join(
        f"{label} qid:{qid} {' '.join(f'{i}:{row[i]!r}' for i in sorted(row))}  # c\n" for label, qid, row in rows
    )
    with written(text.encode()) as path:
        data = load_letor(path)
        X, y, qid = load_svmlight_file(str(path), query_id=True, zero_based=False)
    np.testing.assert_array_equal(data.X, X.toarray())
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.qid, qid)


WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0#"), min_size=1, max_size=8).filter(
    lambda text: text.encode().split() == [text.encode()]
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 5), st.integers(1, 4), st.sampled_from(["rows.txt", "rows.txt.gz"]))
def test_round_trip(draw, n_rows, n_features, name):
    X = draw.draw(arrays.arrays(np.float64, (n_rows, n_features), elements=FINITE))
    y = draw.draw(arrays.arrays(np.float64, n_rows, elements=FINITE))
    words = st.lists(WORD, min_size=n_rows, max_size=n_rows)
    integers = st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=n_rows, max_size=n_rows)
    qid = np.array(draw.draw(st.one_of(words, integers)))
    ids = draw.draw(st.one_of(st.none(), words))
    with written(b"", name) as path:
        save_letor(RankingData(X, y, qid, ids), path)
        again = load_letor(path)
        assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert again.X.tobytes() == X.tobytes()
    assert again.y.tobytes() == y.tobytes()
    if qid.dtype.kind == again.qid.dtype.kind:
        assert again.qid.tolist() == qid.tolist()
    else:  # strings that are all integers
        assert again.qid.tolist() == [int(q) for q in qid]
    assert again.ids == ids


def small(**changes) -> RankingData:
    fields = {"X": np.array([[0.5], [1.0]]), "y": np.array([1.0, 0.0]), "qid": np.array([1, 2]), "ids": None}
    return RankingData(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qid": np.array(["a", "b\nc"])}, r"the qid 'b\\nc' of row 1 cannot be written"),
        ({"qid": np.array(["a", "b c"])}, "one word"),
        ({"qid": np.array(["a", "b#c"])}, "and #"),
        ({"qid": np.array(["a", ""])}, "one word"),
        ({"qid": np.array(["a", "\ud800"])}, "UTF-8"),
        ({"qid": np.array([1, "1"], dtype=object)}, "same text"),
        ({"ids": ["a", "b\nc"]}, "the id 'b\\\\nc' of row 1"),
        ({"ids": ["a", "x inc = 1"]}, "reads back"),
        ({"ids": ["a", " x"]}, "reads back"),
        ({"ids": ["a", ""]}, "reads back"),
        ({"ids": ["a"]}, "2 rows but 1 ids"),
        ({"X": np.array([[1.0], [np.nan]])}, "X contains NaN in row 1, column 0"),
        ({"y": np.array([1.0, np.inf])}, "y contains infinity"),
        ({"y": np.array([1.0])}, "shape"),
        ({"X": np.empty((2, 0))}, "nothing to write"),
    ],
)
def test_what_cannot_be_written_leaves_the_old_file(tmp_path, changes, message):
    path = tmp_path / "rows.txt"
    path.write_text("old")
    with pytest.raises(ValueError, match=message):
        save_letor(small(**changes), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["rows.txt"]


def test_queries_that_are_whole_floats_are_written_as_integers(tmp_path):
    save_letor(small(qid=np.array([1.0, 2.0])), tmp_path / "rows.txt")
    assert load_letor(tmp_path / "rows.txt").qid.tolist() == [1, 2]


def test_an_id_may_hold_blanks(tmp_path):
    save_letor(small(ids=["my photos/a b.jpg", "c#d"]), tmp_path / "rows.txt")
    assert load_letor(tmp_path / "rows.txt").ids == ["my photos/a b.jpg", "c#d"]


def test_writing_fails_whole(tmp_path, monkeypatch):
    path = tmp_path / "rows.txt"
    path.write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save_letor(small(), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["rows.txt"]


@pytest.mark.skipif(os.name != "posix", reason="links and modes")
def test_writing_follows_links_and_the_umask(tmp_path):
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    old = os.umask(0o022)
    try:
        save_letor(small(), tmp_path / "link.txt")
    finally:
        os.umask(old)
    assert (tmp_path / "link.txt").is_symlink()
    assert stat.S_IMODE((tmp_path / "real.txt").stat().st_mode) == 0o644


def test_equal_data_make_equal_gzip_files(tmp_path):
    save_letor(small(), tmp_path / "a.gz")
    save_letor(small(), tmp_path / "b.gz")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_wrong_calls_say_the_cure(tmp_path):
    with pytest.raises(TypeError, match=r"swapped: call save_letor\(data, path\)"):
        save_letor(tmp_path / "rows.txt", small())
    with pytest.raises(TypeError, match=r"RankingData\(X, y, qid\), got tuple"):
        save_letor(tuple(small()), tmp_path / "rows.txt")
    with pytest.raises(TypeError, match=r"load_letor\(path\): the path must be .* got RankingData"):
        load_letor(small())
    with pytest.raises(FileNotFoundError, match=r"the folder .* does not exist"):
        save_letor(small(), tmp_path / "no" / "rows.txt")


def test_importing_loads_nothing_heavy():
    code = "import sys, rankloom.datasets; print(sorted({'numba', 'pyarrow', 'pandas'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.shared
@needs_shared
def test_mq2008(tmp_path):
    parts = [load_letor(SHARED / "letor-mq2008" / f"Fold{k}" / "test.txt.gz") for k in range(1, 6)]
    X, y, qid = (np.concatenate([part[i] for part in map(tuple, parts)]) for i in range(3))
    assert X.shape == (15_211, 46)
    assert len(np.unique(qid)) == 784
    assert np.unique(y, return_counts=True)[1].tolist() == [12_279, 2_001, 931]
    assert sorted(len(np.unique(part.qid)) for part in parts) == [156, 157, 157, 157, 157]
    assert all(item.startswith("GX") for part in parts for item in part.ids or [])
    oracle = load_svmlight_file(str(SHARED / "letor-mq2008" / "Fold1" / "test.txt.gz"), query_id=True)
    np.testing.assert_array_equal(parts[0].X, oracle[0].toarray())
    np.testing.assert_array_equal(parts[0].y, oracle[1])
    np.testing.assert_array_equal(parts[0].qid, oracle[2])
    save_letor(parts[0], tmp_path / "again.gz")
    again = load_letor(tmp_path / "again.gz")
    assert again.X.tobytes() == parts[0].X.tobytes()
    assert again.ids == parts[0].ids


@pytest.mark.shared
@needs_shared
def test_lightgbm_example():
    folder = Path(SHARED / "letor-lightgbm-example")
    train = load_letor(folder / "rank.train.gz", group_sizes=folder / "rank.train.query")
    assert len(train) == 3_005
    assert len(np.unique(train.qid)) == 201
    assert np.unique(train.y, return_counts=True)[1].tolist() == [645, 1_211, 858, 222, 69]
    np.testing.assert_array_equal(train.X, load_svmlight_file(str(folder / "rank.train.gz"))[0].toarray())
    test = load_letor(folder / "rank.test.gz", n_features=train.X.shape[1], group_sizes=folder / "rank.test.query")
    assert (len(test), len(np.unique(test.qid))) == (768, 50)


def test_sparse_rows_are_those_of_the_dense_array(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("2 qid:7 3:1.5 1:-2\n0 qid:7\n1 qid:8 2:0 4:1e-3 #docid = x\n")
    dense, made = load_letor(path), load_letor(path, sparse=True)
    assert made.X.has_sorted_indices
    assert made.X.nnz == 4
    np.testing.assert_array_equal(made.X.toarray(), dense.X)
    np.testing.assert_array_equal(made.y, dense.y)
    np.testing.assert_array_equal(made.widened(9).X.toarray(), dense.widened(9).X)
    np.testing.assert_array_equal(made.take([2, 0]).X.toarray(), dense.X[[2, 0]])
    parts = [part.X for part in iter_letor(path, sparse=True)]
    np.testing.assert_array_equal(np.vstack([part.toarray() for part in parts]), dense.X)
    np.testing.assert_array_equal(load(path, sparse=True).X.toarray(), dense.X)


def test_a_sparse_file_never_becomes_dense(tmp_path):
    path = tmp_path / "rows.txt"
    rng = np.random.default_rng(0)
    columns = rng.integers(1, 2_000_000_000, (3000, 2))
    path.write_text("".join(f"1 qid:{i // 10} {min(row)}:1 {max(row)}:2\n" for i, row in enumerate(columns)))
    tracemalloc.start()
    try:
        data = load_letor(path, sparse=True)
        save_letor(data, tmp_path / "again.txt.gz")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10e6  # 48 TB as a dense array
    again = load_letor(tmp_path / "again.txt.gz", sparse=True)
    assert again.X.shape == data.X.shape == (3000, columns.max())
    assert (again.X != data.X).nnz == 0


def test_sparse_rows_are_written_with_the_last_feature(tmp_path):
    X = csr_array((np.array([1.0, 2.0, 0.5]), np.array([1, 1, 0]), np.array([0, 2, 3, 3])), shape=(3, 5))
    path = tmp_path / "rows.txt"
    save_letor(RankingData(X, np.array([1.0, 0.0, 2.0]), np.array([3, 3, 3])), path)
    assert path.read_text() == "1 qid:3 2:3.0 5:0.0\n0 qid:3 1:0.5\n2 qid:3\n"
    np.testing.assert_array_equal(load_letor(path).X, X.toarray())
    with pytest.raises(ValueError, match="written from dense rows"):
        save(RankingData(X, np.zeros(3), np.zeros(3)), tmp_path / "rows.csv")
    (tmp_path / "rows.csv").write_text("qid,y,a\n1,1,0\n")
    with pytest.raises(ValueError, match="a table is read dense"):
        load(tmp_path / "rows.csv", sparse=True)
    X.data[1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        save_letor(RankingData(X, np.zeros(3), np.zeros(3)), path)

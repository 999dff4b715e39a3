"""Tables with one row per item: Parquet, CSV and TSV, through pyarrow (the extra `parquet`).

* The column `qid` names the query: integers or strings. In CSV and TSV they are int64 if all are integers.
* The column `y` is the grade, higher is better.
* The column `id`, if there is one, names the item.
* All other columns are features and must be numbers; their names become `feature_names`. Their order is kept.
* Nothing may be missing, NaN or infinite.
* CSV and TSV have a header line, UTF-8 text and double quotes where needed; they may be compressed with gzip.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._addresses import is_address, open_address
from rankloom._io import atomic_write
from rankloom.core import FloatArray, RankingData, listed
from rankloom.datasets._files import PathLike, check_data, check_path, fields, open_binary
from rankloom.datasets._svmlight import number, qid_array
from rankloom.datasets.letor import load_letor, save_letor

_NOT_FEATURES = ("qid", "y", "id")
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}


class _Arrow(NamedTuple):
    pa: Any
    compute: Any
    csv: Any
    parquet: Any


def _arrow() -> _Arrow:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet and CSV need pyarrow: pip install 'rankloom[parquet]'") from None
    return _Arrow(pyarrow, pyarrow.compute, pyarrow.csv, pyarrow.parquet)


def _kind(name: str) -> str | None:
    """The ending that says how a table is stored; None for any other file."""
    return next((ending for ending in (".parquet", *_DELIMITERS) if name.lower().endswith(ending)), None)


def load(path: PathLike, *, sparse: bool = False) -> RankingData:
    """Load a file by its name: `.parquet`, `.csv`, `.tsv` as tables, anything else as LETOR text.

    LETOR text without `qid:` takes the group sizes of a file `NAME.query` beside it, as LightGBM does; without one all
    rows are one query, which is said in a warning. With `sparse` the features of LETOR text are a
    `scipy.sparse.csr_array`; tables are dense.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.csv")
    ...     _ = path.write_text("qid,y,colour,words\\n7,1,0.5,2\\n7,0,0.25,1\\n")
    ...     data = load(path)
    >>> data.X.tolist(), data.feature_names
    ([[0.5, 2.0], [0.25, 1.0]], ['colour', 'words'])
    """
    name = check_path(path, "load(path)")
    if _kind(name) is not None:
        if sparse:
            raise ValueError(f"{name}: a table is read dense; only LETOR / SVMlight text is read sparse")
        return load_table(path)
    if _names_queries(name):
        return load_letor(path, sparse=sparse)
    sizes = Path(name.removesuffix(".gz") + ".query")
    if sizes.exists():
        return load_letor(path, group_sizes=sizes, sparse=sparse)
    warnings.warn(f"{name} has no qid, and there is no {sizes}: all its rows are one query", UserWarning, stacklevel=2)
    return load_letor(path, sparse=sparse)


def _names_queries(name: str) -> bool:
    """Whether the first row of a LETOR file has a qid. The reader refuses an empty file."""
    for _, words in fields(name):
        if words[0].startswith("#"):
            continue
        return any(word.startswith("qid:") for word in words)
    return True


def save(data: RankingData, path: PathLike) -> None:
    """Save a file by its name: `.parquet`, `.csv`, `.tsv` as tables, anything else as LETOR text.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.csv")
    ...     save(RankingData(np.array([[0.5, 2.0]]), np.array([1.0]), np.array([7])), path)
    ...     print(path.read_text(), end="")
    "qid","y","f1","f2"
    7,1,0.5,2
    """
    data, name = check_data(data, path, "save(data, path)")
    if _kind(name) is None:
        save_letor(data, path)
    else:
        save_table(data, path)


def load_table(path: PathLike) -> RankingData:
    """Load a Parquet, CSV or TSV file with the columns `qid`, `y`, optionally `id`, and features.

    A missing column, a missing value or a value that is not a number raises a ValueError with the file, the column and
    the row (counted from 1, without the header).

    Parameters
    ----------
    path : str or Path
        A name that ends in `.parquet`, `.csv`, `.tsv`, `.csv.gz` or `.tsv.gz`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> data = RankingData(np.array([[0.5], [0.25]]), np.array([1.0, 0.0]), np.array(["a", "a"]), ["x.jpg", "y.jpg"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_table(data, pathlib.Path(folder, "train.parquet"))
    ...     again = load_table(pathlib.Path(folder, "train.parquet"))
    >>> again.X.tolist(), again.qid.tolist(), again.ids, again.feature_names
    ([[0.5], [0.25]], ['a', 'a'], ['x.jpg', 'y.jpg'], ['f1'])
    """
    name = check_path(path, "load_table(path)")
    kind = _known_kind(name)
    arrow = _arrow()
    with _one_line_errors(arrow, name), open_binary(name) as stream:
        table = arrow.parquet.read_table(stream) if kind == ".parquet" else None
    if table is None:
        table = _read_csv(arrow, name, _DELIMITERS[kind])
    return _ranking_data(arrow, table, name)


def read_parquet(name: str) -> RankingData:
    """Load a Parquet file of this machine, or one that has an address such as `s3://...`."""
    arrow = _arrow()
    with _one_line_errors(arrow, name), open_anywhere(name) as stream:
        table = arrow.parquet.read_table(stream)
    return _ranking_data(arrow, table, name)


def parquet_queries(name: str) -> tuple[list[str], NDArray[Any], int]:
    """The feature columns of a Parquet file, its different queries in ascending order, and how many rows it has."""
    arrow = _arrow()
    with _one_line_errors(arrow, name), open_anywhere(name) as stream:
        file = arrow.parquet.ParquetFile(stream)
        columns = list(file.schema_arrow.names)
        features = _feature_columns(columns, file.metadata.num_rows, name)
        queries = _queries(arrow, file.read(["qid"]), name)
    return features, np.unique(queries), len(queries)


def open_anywhere(name: str) -> BinaryIO:
    """The open file of a path or an address."""
    return open_address(name) if is_address(name) else open(name, "rb")


def _feature_columns(columns: list[str], n_rows: int, name: str) -> list[str]:
    """The columns that are features; a table that is none of ours is refused."""
    repeated = {column for column in columns if columns.count(column) > 1}
    if repeated:
        raise ValueError(f"{name}: the column {min(repeated)!r} stands there twice")
    for column in ("qid", "y"):
        if column not in columns:
            raise ValueError(f"{name}: the column {column!r} is missing; the columns are {listed(columns)}")
    features = [column for column in columns if column not in _NOT_FEATURES]
    if not features or not n_rows:
        raise ValueError(f"{name}: no {'rows' if features else 'feature columns'}")
    return features


def _ranking_data(arrow: _Arrow, table: Any, name: str) -> RankingData:
    """The rows of a table, checked; `name` is what errors call it."""
    columns = list(table.column_names)
    features = _feature_columns(columns, table.num_rows, name)
    with _one_line_errors(arrow, name):
        y = _numbers(arrow, table, "y", name)
        qid = _queries(arrow, table, name)
        ids = _texts(arrow, table, "id", name) if "id" in columns else None
        X = np.empty((len(y), len(features)))
        for j, column in enumerate(features):
            X[:, j] = _numbers(arrow, table, column, name)
    return RankingData(X, y, qid, ids, features)


def save_table(data: RankingData, path: PathLike) -> None:
    """Save rows as a Parquet, CSV or TSV file with the columns `qid`, `y`, `id` if there are ids, and the features.

    Every number is written so that it reads back as the same float64. The file appears whole or not at all.

    Parameters
    ----------
    data : RankingData
        Queries must be all integers or all strings. Features without names are called f1, f2, ...
    path : str or Path
        A name that ends in `.parquet`, `.csv`, `.tsv`, `.csv.gz` or `.tsv.gz`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> data = RankingData(np.array([[0.5]]), np.array([1.0]), np.array([7]), ["x.jpg"], ["colour"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_table(data, pathlib.Path(folder, "train.csv"))
    ...     print(pathlib.Path(folder, "train.csv").read_text(), end="")
    "qid","y","id","colour"
    7,1,"x.jpg",0.5
    """
    data, name = check_data(data, path, "save_table(data, path)")
    if not isinstance(data.X, np.ndarray):
        raise ValueError(f"{name}: a table is written from dense rows; write sparse ones as LETOR text, or X.toarray()")
    kind = _known_kind(name)
    arrow = _arrow()
    X, y, _ = data
    features = [f"f{j + 1}" for j in range(X.shape[1])] if data.feature_names is None else list(data.feature_names)
    if len(features) != X.shape[1] or len({*features, *_NOT_FEATURES}) != len(features) + 3:
        raise ValueError(f"feature_names must be {X.shape[1]} different names, and none of qid, y and id")
    columns: dict[str, Any] = {"qid": _query_values(data.qid), "y": y}
    if data.ids is not None:
        columns["id"] = list(data.ids)
    columns.update((feature, X[:, j]) for j, feature in enumerate(features))
    with _one_line_errors(arrow, name):
        table = arrow.pa.table(columns)
        with atomic_write(name) as file:
            if kind == ".parquet":
                arrow.parquet.write_table(table, file)
            else:
                options = arrow.csv.WriteOptions(delimiter=_DELIMITERS[kind])
                arrow.csv.write_csv(table, file, options)


def _known_kind(name: str) -> str:
    kind = _kind(name)
    if kind is None:
        raise ValueError(f"{name}: the name of a table must end in .parquet, {', '.join(_DELIMITERS)}")
    return kind


@contextmanager
def _one_line_errors(arrow: _Arrow, name: str) -> Iterator[None]:
    """Turn pyarrow's errors, some of which quote whole rows, into a ValueError of one line."""
    try:
        yield
    except (arrow.pa.ArrowException, EOFError, zlib.error, UnicodeError) as error:
        text = " ".join(str(error).split())
        raise ValueError(f"{name}: {text[:200]}") from None
    except OSError as error:
        if error.errno is not None:  # a missing file or a full disk is no matter of the content
            raise
        raise ValueError(f"{name}: {' '.join(str(error).split())[:200]}") from None


def _read_csv(arrow: _Arrow, name: str, delimiter: str) -> Any:
    """Read all columns as text: what a number is, and the row of what is none, is decided by `_numbers`."""
    parse = arrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    # One thread, so that pyarrow's errors give the row.
    read = arrow.csv.ReadOptions(use_threads=False)

    def run(stream: IO[bytes], reader: Any, names: list[str]) -> Any:
        types = dict.fromkeys(names, arrow.pa.string())
        convert = arrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        return reader(stream, read_options=read, parse_options=parse, convert_options=convert)

    with _one_line_errors(arrow, name):
        with open_binary(name) as stream:
            names = list(run(stream, arrow.csv.open_csv, []).schema.names)
        with open_binary(name) as stream:
            return run(stream, arrow.csv.read_csv, names)


def _present(table: Any, column: str, name: str) -> Any:
    values = table.column(column)
    if values.null_count:
        row = int(np.flatnonzero(values.is_null().to_numpy())[0]) + 1
        raise ValueError(f"{name}: the column {column!r} has no value in row {row}")
    return values


def _numbers(arrow: _Arrow, table: Any, column: str, name: str) -> FloatArray:
    values = _present(table, column, name)
    types = arrow.pa.types
    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if types.is_string(values.type) or types.is_large_string(values.type):
        values = arrow.compute.ascii_trim_whitespace(values)
        try:
            array = values.cast(arrow.pa.float64()).to_numpy()
        except arrow.pa.ArrowInvalid:
            array = None
        if array is None or not np.isfinite(array).all():
            array = _numbers_of_texts(values, column, name)
        return np.asarray(array, dtype=np.float64)
    if not (types.is_integer(values.type) or types.is_floating(values.type) or types.is_boolean(values.type)):
        if types.is_decimal(values.type):
            values = values.cast(arrow.pa.float64(), safe=False)
        else:
            raise ValueError(f"{name}: the column {column!r} holds {values.type}, not numbers (first in row 1)")
    array = np.asarray(values.to_numpy(), dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        what = "NaN" if np.isnan(array[bad[0]]) else "infinite"
        raise ValueError(f"{name}: the column {column!r} is {what} in row {int(bad[0]) + 1}")
    return array


def _numbers_of_texts(values: Any, column: str, name: str) -> FloatArray:
    """The slow way, which knows the row of a mistake and takes numbers that pyarrow does not, such as +1."""
    numbers = []
    for row, text in enumerate(values.to_pylist(), 1):
        if not text:
            raise ValueError(f"{name}: the column {column!r} has no value in row {row}")
        try:
            numbers.append(number(text.encode(), "value"))
        except ValueError as error:
            raise ValueError(f"{name}: the column {column!r} has in row {row} a {error}") from None
    return np.array(numbers, dtype=np.float64)


def _texts(arrow: _Arrow, table: Any, column: str, name: str) -> list[str]:
    values = _present(table, column, name)
    try:
        return [str(value) for value in values.cast(arrow.pa.string()).to_pylist()]
    except arrow.pa.ArrowException:
        raise ValueError(f"{name}: the column {column!r} holds {values.type}, not text (first in row 1)") from None


def _queries(arrow: _Arrow, table: Any, name: str) -> NDArray[Any]:
    values = _present(table, "qid", name)
    types = arrow.pa.types
    if types.is_integer(values.type):
        return np.asarray(values.cast(arrow.pa.int64()).to_numpy(), dtype=np.int64)
    if types.is_floating(values.type):
        array = np.asarray(values.to_numpy(), dtype=np.float64)
        bad = np.flatnonzero(array != np.rint(array))
        if bad.size or not (np.abs(array) < 2**53).all():
            row = int(bad[0]) + 1 if bad.size else int(np.argmax(np.abs(array))) + 1
            raise ValueError(f"{name}: the column 'qid' is {array[row - 1]} in row {row}; use integers or strings")
        return array.astype(np.int64)
    texts = _texts(arrow, table, "qid", name)
    if "" in texts:
        raise ValueError(f"{name}: the column 'qid' has no value in row {texts.index('') + 1}")
    if _kind(name) == ".parquet":  # which knows the type: strings stay strings
        return np.array(texts, dtype=np.object_ if max(map(len, texts)) > 64 else np.str_)
    stripped = _coded([text.strip() for text in texts])  # blanks around numbers mean nothing
    return stripped if stripped.dtype == np.int64 else _coded(texts)


def _coded(texts: list[str]) -> NDArray[Any]:
    codes: dict[str, int] = {}
    rows = [codes.setdefault(text, len(codes)) for text in texts]
    return qid_array(codes, np.array(rows, dtype=np.int64))


def _query_values(qid: Any) -> Any:
    values = np.asarray(qid)
    if values.dtype.kind == "O":
        kinds = {type(value) for value in values.tolist()}
        if not (kinds == {str} or all(issubclass(kind, int | np.integer) for kind in kinds)):
            raise ValueError("a table holds queries that are all integers or all strings; convert qid first")
        values = np.asarray(values.tolist(), dtype=object if kinds == {str} else np.int64)
    if values.dtype.kind == "f" and (values == np.rint(values)).all():
        values = values.astype(np.int64)
    if values.dtype.kind not in "iuUO":
        raise ValueError(f"a table holds queries that are integers or strings, got {values.dtype}; convert qid first")
    if values.dtype.kind in "UO":
        texts: list[str] = values.tolist()
        if "" in texts:
            raise ValueError(f"the qid of row {texts.index('')} is empty")
        return texts
    return values

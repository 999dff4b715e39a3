"""TREC files: judgements (qrels) and results (runs), as trec_eval reads them.

A qrels file has four words a line: the query, an unused word, the item and its grade:

    301 0 FBIS3-10082 1

A run file has six: the query, an unused word, the item, its rank, its score (higher is better) and the run's name:

    301 Q0 FBIS3-10082 1 24.5 rankloom

Words are separated by blanks or tabs; blank lines are skipped; files may be compressed with gzip. No item may stand
twice in a query. Within a query a run is ordered by score and not by the written rank, and equal scores by the item's
name from high to low, both as trec_eval does. (trec_eval holds scores in 32 bits, so it sees more ties than we do.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from rankloom._io import atomic_write
from rankloom.core import FloatArray, Hit, Qrel, RankingData
from rankloom.datasets._files import PathLike, check_path, check_word, fields, show
from rankloom.datasets._svmlight import number


def qid_to_trec(qid: str) -> str:
    """A query of any letters as one word of a TREC file: blanks, % and what is not printed become %20, %25 ...

    >>> qid_to_trec("red flower"), qid_from_trec("red%20flower")
    ('red%20flower', 'red flower')
    """
    return "".join(
        letter if letter.isprintable() and letter not in " %" else quote(letter, errors="surrogatepass")
        for letter in qid
    )


def qid_from_trec(word: str) -> str:
    """The query that `qid_to_trec` wrote."""
    return unquote(word, errors="surrogatepass")


class Aligned(NamedTuple):
    """A run beside its judgements, one entry per row; see `align`."""

    y: FloatArray
    scores: FloatArray
    qid: NDArray[np.str_]
    ids: list[str]
    retrieved: NDArray[np.bool_]
    unjudged_queries: int


def read_qrels(path: PathLike) -> list[Qrel]:
    """Read a TREC qrels file in the order of its lines.

    A malformed line raises a ValueError `path:line: what is wrong`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "qrels.txt").write_text("301 0 a.jpg 2\\n301 0 b.jpg 0\\n")
    ...     read_qrels(pathlib.Path(folder, "qrels.txt"))
    [Qrel(qid='301', id='a.jpg', grade=2.0), Qrel(qid='301', id='b.jpg', grade=0.0)]
    """
    name = check_path(path, "read_qrels(path)")
    qrels: dict[tuple[str, str], Qrel] = {}
    for line, words in fields(name):
        try:
            if len(words) != 4:
                raise ValueError(f"expected 4 words (qid 0 id grade), got {len(words)}")
            qid, _, item, grade = words
            if (qid, item) in qrels:
                raise ValueError(f"the item {show(item.encode())} is judged twice for the query {show(qid.encode())}")
            qrels[qid, item] = Qrel(qid, item, number(grade.encode(), "grade"))
        except ValueError as error:
            raise ValueError(f"{name}:{line}: {error}") from None
    if not qrels:
        raise ValueError(f"{name}: no judgements; the file is empty")
    return list(qrels.values())


def write_qrels(qrels: Iterable[Qrel], path: PathLike) -> None:
    """Write a TREC qrels file in the order given, gzip if the name ends in `.gz`. It appears whole or not at all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_qrels([Qrel("301", "a.jpg", 2)], pathlib.Path(folder, "qrels.txt"))
    ...     print(pathlib.Path(folder, "qrels.txt").read_text(), end="")
    301 0 a.jpg 2
    """
    name = check_path(path, "write_qrels(qrels, path)")
    content = qrels_text(qrels).encode()
    with atomic_write(name) as file:
        file.write(content)


def qrels_text(qrels: Iterable[Qrel]) -> str:
    """What a TREC qrels file holds."""
    lines = []
    for qid, item, grade in _grades(qrels).values():
        check_word(qid, f"the qid {qid!r}")
        check_word(item, f"the id {item!r}")
        lines.append(f"{qid} 0 {item} {repr(float(grade)).removesuffix('.0')}\n")
    return "".join(lines)


def _grades(qrels: Iterable[Qrel]) -> dict[tuple[str, str], Qrel]:
    by_pair: dict[tuple[str, str], Qrel] = {}
    for qrel in qrels:
        pair = (qrel.qid, qrel.id)
        if pair in by_pair:
            raise ValueError(f"the item {qrel.id!r} is judged twice for the query {qrel.qid!r}")
        if not np.isfinite(qrel.grade):
            raise ValueError(
                f"the grade of {qrel.id!r} for the query {qrel.qid!r} is {qrel.grade}, not a finite number"
            )
        by_pair[pair] = qrel
    return by_pair


def read_run(path: PathLike) -> dict[str, list[Hit]]:
    """Read a TREC run file: the hits of each query from the best to the worst, ranks from 1.

    The written ranks are not used. A malformed line raises a ValueError `path:line: what is wrong`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "run.txt").write_text("301 Q0 a.jpg 1 0.5 x\\n301 Q0 b.jpg 2 0.75 x\\n")
    ...     read_run(pathlib.Path(folder, "run.txt"))
    {'301': [Hit(rank=1, id='b.jpg', score=0.75), Hit(rank=2, id='a.jpg', score=0.5)]}
    """
    name = check_path(path, "read_run(path)")
    scores: dict[str, dict[str, float]] = {}
    for line, words in fields(name):
        try:
            if len(words) != 6:
                raise ValueError(f"expected 6 words (qid Q0 id rank score tag), got {len(words)}")
            qid, _, item, rank, score, _ = words
            if not (rank.isascii() and rank.removeprefix("-").isdigit()):
                raise ValueError(f"bad rank {show(rank.encode())}: expected a whole number")
            items = scores.setdefault(qid, {})
            if item in items:
                raise ValueError(f"the item {show(item.encode())} stands twice in the query {show(qid.encode())}")
            items[item] = number(score.encode(), "score")
        except ValueError as error:
            raise ValueError(f"{name}:{line}: {error}") from None
    if not scores:
        raise ValueError(f"{name}: no results; the file is empty")
    return {qid: ranked(items) for qid, items in scores.items()}


def ranked(scores: Mapping[str, float]) -> list[Hit]:
    """From the highest score to the lowest; ties by id from high to low, as trec_eval."""
    best_first = sorted(((score, item) for item, score in scores.items()), reverse=True)
    return [Hit(rank, item, score) for rank, (score, item) in enumerate(best_first, 1)]


def _checked(qid: str, hits: Iterable[Hit]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for hit in hits:
        if hit.id in scores:
            raise ValueError(f"the item {hit.id!r} stands twice in the query {qid!r}")
        if not np.isfinite(hit.score):
            raise ValueError(f"the score of {hit.id!r} in the query {qid!r} is {hit.score}, not a finite number")
        scores[hit.id] = float(hit.score)
    return scores


def write_run(run: Mapping[str, Sequence[Hit]], path: PathLike, tag: str = "rankloom") -> None:
    """Write a TREC run file, gzip if the name ends in `.gz`. It appears whole or not at all.

    Hits are written in the order in which trec_eval ranks them, and ranks are counted anew.

    Parameters
    ----------
    run : the hits of each query.
    path : where to write.
    tag : the run's name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_run({"301": [Hit(1, "a.jpg", 0.5)]}, pathlib.Path(folder, "run.txt"))
    ...     print(pathlib.Path(folder, "run.txt").read_text(), end="")
    301 Q0 a.jpg 1 0.5 rankloom
    """
    name = check_path(path, "write_run(run, path)")
    content = run_text(run, tag).encode()
    with atomic_write(name) as file:
        file.write(content)


def run_text(run: Mapping[str, Sequence[Hit]], tag: str = "rankloom") -> str:
    """What a TREC run file holds."""
    check_word(tag, f"the tag {tag!r}")
    lines = []
    for qid, hits in run.items():
        check_word(qid, f"the qid {qid!r}")
        for rank, item, score in ranked(_checked(qid, hits)):
            check_word(item, f"the id {item!r}")
            lines.append(f"{qid} Q0 {item} {rank} {score!r} {tag}\n")
    return "".join(lines)


def run_of(data: RankingData, scores: FloatArray) -> dict[Any, list[Hit]]:
    """The hits of each query of scored rows, from the best to the worst; ties as in a run file."""
    scored: dict[Any, dict[str, float]] = {}
    for qid, item, score in zip(data.qid.tolist(), _item_ids(data), scores.tolist(), strict=True):
        items = scored.setdefault(qid, {})
        if item in items:
            raise ValueError(f"the item {item!r} stands twice in the query {qid!r}")
        items[item] = score
    return {qid: ranked(items) for qid, items in scored.items()}


def qrels_of(data: RankingData) -> list[Qrel]:
    """The grades of rows as judgements."""
    return [Qrel(str(qid), item, grade) for qid, item, grade in zip(data.qid, _item_ids(data), data.y, strict=True)]


def _item_ids(data: RankingData) -> Sequence[str]:
    """The items of the rows, or row numbers from 1 where they have no names."""
    return [str(row) for row in range(1, len(data) + 1)] if data.ids is None else data.ids


def read_scores(path: PathLike, n_rows: int) -> FloatArray:
    """Read one score per line, as many as there are rows."""
    values = []
    for line, text in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        try:
            values.append(float(text))
        except ValueError:
            raise ValueError(f"{path}:{line}: expected one score, got {text[:40]!r}") from None
    if len(values) != n_rows:
        raise ValueError(f"{path} has {len(values)} scores, the data has {n_rows} rows")
    return np.array(values)


def align(run: Mapping[str, Sequence[Hit]], qrels: Iterable[Qrel]) -> Aligned:
    """Put a run beside its judgements as arrays, one row per query and item.

    The queries are those of the qrels, in their order. Of each query come first the hits of the run, from the best to
    the worst, with their grades (0 where the item was not judged); then the items with a grade above 0 that the run
    did not retrieve, with finite scores below those of all hits; of a query that is not in the run come all judged
    items. `retrieved` tells the two apart. Queries of the run without judgements are left out and counted.

    A metric that ranks all rows therefore sees the missed relevant items at the end of the list. trec_eval does not
    see them in the list at all, and counts them only as relevant items that exist: in the denominator of AP and recall
    and in the ideal list of nDCG. To get trec_eval's numbers, give no gain to rows where `retrieved` is False and keep
    them in those denominators. A query without any hit then has 0 (trec_eval's option -c; without it, leave out the
    queries where `retrieved` is False everywhere).

    Parameters
    ----------
    run : mapping from qid to hits
        As from `read_run`.
    qrels : iterable of Qrel
        As from `read_qrels`. Grades are taken as they are, negative ones too.

    Examples
    --------
    >>> aligned = align({"q": [Hit(1, "a", 0.9), Hit(2, "b", 0.5)]}, [Qrel("q", "b", 1), Qrel("q", "c", 2)])
    >>> aligned.ids, aligned.y.tolist(), aligned.scores.tolist(), aligned.retrieved.tolist()
    (['a', 'b', 'c'], [0.0, 1.0, 2.0], [0.9, 0.5, -0.5], [True, True, False])
    """
    judged: dict[str, dict[str, float]] = {}
    for qrel in _grades(qrels).values():
        judged.setdefault(qrel.qid, {})[qrel.id] = float(qrel.grade)
    rows: list[tuple[float, float, str, str, bool]] = []
    for qid, grades in judged.items():
        hits = ranked(_checked(qid, run.get(qid, ())))
        rows.extend((grades.get(hit.id, 0.0), hit.score, qid, hit.id, True) for hit in hits)
        in_run = {hit.id for hit in hits}
        below = _below(hits[-1].score) if hits else 0.0
        missed = [(item, grade) for item, grade in grades.items() if item not in in_run and (grade > 0 or not hits)]
        rows.extend((grade, below, qid, item, False) for item, grade in missed)
    y, scores, qids, ids, retrieved = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return Aligned(
        np.array(y, dtype=np.float64),
        np.array(scores, dtype=np.float64),
        np.array(qids, dtype=np.str_),
        list(ids),
        np.array(retrieved, dtype=np.bool_),
        sum(qid not in judged for qid in run),
    )


def _below(score: float) -> float:
    lower = min(score - 1.0, math.nextafter(score, -math.inf))  # -1 drowns in large scores
    if not np.isfinite(lower):
        raise ValueError(f"the score {score} leaves no number below it; scale the scores of the run")
    return lower

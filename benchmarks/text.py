"""Text search: BM25 from an inverted index made for it, against SQLite's FTS5."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections import Counter
from math import log
from pathlib import Path

import numpy as np

from benchmarks.harness import Bar, at_least, at_most, many, seconds
from rankloom.text import TextIndex, tokenize
from rankloom.text.vocabulary import Vocabulary

TITLE = "Text search"
N = 200_000
TOP = 100


def run() -> list[Bar]:
    captions = generated(N)
    began = time.process_time()
    index = TextIndex.build(enumerate(captions, 1), N)
    build = time.process_time() - began
    began = time.process_time()
    database = full_text(captions)
    peer_build = time.process_time() - began
    documents = [Counter(tokenize(caption)) for caption in captions]
    bars = []
    for name, query, least in (
        ("a common word", "w0", 5),
        ("two common words", "w0 w1", 5),
        ("a word of 2% of the captions", "w60", None),
        ("a rare word", "w15000", None),
    ):
        found = sum(query.split()[0] in document for document in documents)
        slow, fast = seconds(
            lambda query=query: ranked_by_fts5(database, query),
            many(lambda query=query: ranked(index, query), 10),
        )
        fast /= 10
        what = f"{name} ({found:,} captions), FTS5 bm25() / ours, top {TOP}"
        bars.append(at_least("5e", what, slow / fast, least) if least else reported(what, f"{slow / fast:.4g}x"))
        bars.append(reported(f"{name}: FTS5, ours", f"{slow * 1e3:.3g} ms, {fast * 1e3:.3g} ms"))
        expected = brute_force(documents, query.split())
        bars.append(
            at_most(
                "5e",
                f"{name}: error of all scores and of the top 10, brute force",
                error(index, query, expected),
                1e-5,
                "",
            )
        )
    for name, query in (("a phrase of two common words", '"w0 w1"'), ("a prefix", "w1*"), ("a minus word", "w1 -w0")):
        taken = seconds(lambda query=query: ranked(index, query))[0]
        bars.append(reported(f"{name}, ours", f"{taken * 1e3:.3g} ms"))
    bars.append(reported(f"build, {N:,} captions: FTS5, ours", f"{peer_build:.3g} s, {build:.3g} s"))
    return bars + changes(index, captions) + files(index) + suggestions()


def reported(what: str, figure: str) -> Bar:
    return Bar("5e", what, "-", figure, None)


def generated(n: int) -> list[str]:
    """Captions of 6 to 16 words out of 20,000, the i-th as frequent as Zipf's law has it."""
    rng = np.random.default_rng(0)
    share = 1.0 / (np.arange(20_000) + 2.7)
    lengths = rng.integers(6, 17, n)
    words = np.searchsorted(np.cumsum(share / share.sum()), rng.random(lengths.sum()))
    parts = np.split(words, np.cumsum(lengths)[:-1])
    return [" ".join([f"w{word}" for word in part.tolist()]) for part in parts]


def full_text(captions: list[str]) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE captions USING fts5(text)")
    database.executemany("INSERT INTO captions (rowid, text) VALUES (?, ?)", enumerate(captions, 1))
    database.execute("INSERT INTO captions (captions) VALUES ('optimize')")
    return database


def ranked_by_fts5(database: sqlite3.Connection, query: str) -> list[tuple[int, float]]:
    words = " OR ".join(query.split())
    sql = "SELECT rowid, bm25(captions) FROM captions WHERE captions MATCH ? ORDER BY rank LIMIT ?"
    return database.execute(sql, (words, TOP)).fetchall()


def ranked(index: TextIndex, query: str) -> np.ndarray:
    scores = index.scores(query)
    found = np.flatnonzero(scores > 0)
    if len(found) > TOP:
        found = found[np.argpartition(scores[found], len(found) - TOP)[-TOP:]]
    return found[np.argsort(-scores[found], kind="stable")]


def brute_force(documents: list[Counter], words: list[str]) -> np.ndarray:
    lengths = np.array([sum(document.values()) for document in documents])
    norms = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    scores = np.zeros(len(documents))
    for word in words:
        counts = np.array([document[word] for document in documents], dtype=float)
        n = np.count_nonzero(counts)
        scores += log(1 + (len(documents) - n + 0.5) / (n + 0.5)) * 2.2 * counts / (counts + norms)
    return scores


def error(index: TextIndex, query: str, expected: np.ndarray) -> float:
    """The largest relative difference of scores, and of the best ten scores that an order by ours finds."""
    scores = index.scores(query)
    ours = np.sort(expected[np.argsort(-scores, kind="stable")[:10]])
    best = np.sort(expected)[-10:]
    apart = np.abs(scores - expected) / np.maximum(expected, 1e-9)
    return float(max(apart.max(), (np.abs(ours - best) / best).max()))


def changes(index: TextIndex, captions: list[str]) -> list[Bar]:
    """One new caption and a query, again and again: what indexing while people search costs."""
    fresh = iter(captions * 2)
    item = iter(range(N + 1, 3 * N))

    def change() -> None:
        index.add([(next(item), next(fresh))])
        index.scores("w0")

    taken = seconds(many(change, 50))[0] / 50
    return [reported(f"add a caption to {N:,} and search a common word", f"{taken * 1e3:.3g} ms")]


def files(index: TextIndex) -> list[Bar]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.npz")
        save, load = seconds(lambda: index.save(path), lambda: TextIndex.load(path), repeats=3)
        size = path.stat().st_size
    return [
        reported("save, load", f"{save:.3g} s, {load:.3g} s"),
        reported("file, memory of the arrays", f"{size / 1e6:.3g} MB, {index.nbytes / 1e6:.3g} MB"),
    ]


def suggestions() -> list[Bar]:
    """What a search box asks with every letter, and once for a misspelled word, over many different words."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    drawn = ["".join(rng.choice(letters, size)) for size in rng.integers(4, 12, 150_000)]
    words = Vocabulary({word: place + 1 for place, word in enumerate(drawn)})
    words.near(drawn[0])  # what is made once
    letter, misspelled = seconds(
        many(lambda: [words.starting(prefix, 6) for prefix in ("e", "sh", "tao", "zz")], 10),
        lambda: [words.near(word) for word in ("lighthose", "shrdlucm", "etaoinshrd")],
    )
    return [
        at_most("-", f"a letter in the box, over {len(words):,} words", letter / 40 * 1e3, 2, " ms"),
        at_most("-", "a misspelled word, over the same", misspelled / 3 * 1e3, 50, " ms"),
    ]

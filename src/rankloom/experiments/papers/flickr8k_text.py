"""Features of a text for a query: from bags of words, and from other ways to take a text apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from rankloom.core import FloatArray, IntArray

Rows = IntArray | slice
EVERY = slice(None)


class Grid(NamedTuple):
    """Parameters of the features that have some: k1 and b of BM25, and what language models are smoothed with."""

    bm25: tuple[tuple[float, float], ...]
    mixed: tuple[float, ...]
    dirichlet: tuple[float, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all features."""
        return (
            "tf", "log tf", "tf / length", "coverage", "sum of idf", "largest idf", "tf-idf", "tf-idf cosine",
            *(f"BM25 {k1:g} {b:g}" for k1, b in self.bm25),
            *(f"LM mixed {share:g}" for share in self.mixed),
            *(f"LM Dirichlet {mu:g}" for mu in self.dirichlet),
            "earliness", "length", "exact", "neighbouring pairs", "expanded", "expanded cosine",
        )  # fmt: skip


COARSE = Grid(((1.2, 0.75), (2.0, 0.4), (0.5, 0.2)), (0.1, 0.5, 0.9), (5.0, 50.0))
FINE = Grid(
    tuple((k1, b) for k1 in (0.5, 1.2, 2.0) for b in (0.0, 0.2, 0.4, 0.75, 1.0)),
    tuple(round(0.1 * tenth, 1) for tenth in range(1, 10)),
    (1.0, 5.0, 20.0, 50.0, 200.0),
)
FEATURES = COARSE.names
BM25 = FEATURES.index("BM25 1.2 0.75")


def terms(text: str) -> list[str]:
    """The words of a text without stop words, plurals as singulars (Harman's S-stemmer).

    >>> terms("Two dogs, running on the beaches.")
    ['dog', 'running', 'beache']
    """
    return [_singular(word) for word in re.findall("[a-z]+", text.lower()) if word not in ENGLISH_STOP_WORDS]


def _singular(word: str) -> str:
    if len(word) > 3 and word.endswith("ies") and word[-4] not in "ea":
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and word[-2] not in "us":
        return word[:-1]
    return word


def _words(text: str) -> list[str]:
    return re.findall("[a-z]+", text.lower())


# Ways to take a text apart: terms, words with those that carry little, beginnings of terms, neighbours, letters, and
# the first that is said.
VIEWS: dict[str, Callable[[str], list[str]]] = {
    "terms": terms,
    "words": _words,
    "beginnings": lambda text: [term[:4] for term in terms(text)],
    "pairs": lambda text: [f"{a} {b}" for a, b in pairwise(terms(text))],
    "letters": lambda text: [word[at : at + 3] for word in terms(text) for at in range(max(1, len(word) - 2))],
    "first": lambda text: terms(text)[:3],
}
MANY = tuple(f"{view}: {name}" for view in VIEWS for name in FINE.names)


class CaptionIndex:
    """Texts as bags of terms, and features of a query for each of them; nothing else is known of the pictures.

    Parameters
    ----------
    texts : the terms of each text.
    grid : parameters of the features that have some.
    """

    def __init__(self, texts: Sequence[Sequence[str]], grid: Grid = COARSE):
        self.texts, self.grid = texts, grid
        self.vocabulary = {term: i for i, term in enumerate(sorted({term for text in texts for term in text}))}
        entries = Counter((i, self.vocabulary[term]) for i, text in enumerate(texts) for term in text)
        places = np.array([*entries], dtype=np.int64).reshape(-1, 2).T
        counts = np.array([*entries.values()], dtype=np.float64)
        n, n_terms = len(texts), len(self.vocabulary)
        self.tf = sparse.csr_array((counts, (places[0], places[1])), shape=(n, n_terms))
        self.length = np.array([float(len(text)) for text in texts])
        frequency = np.bincount(places[1], minlength=n_terms)
        self.idf = np.log1p((n - frequency + 0.5) / (frequency + 0.5))
        self.share = np.asarray(self.tf.sum(axis=0)).ravel() / max(self.length.sum(), 1.0)
        self.tf_idf = sparse.csr_array(self.tf * self.idf)
        self.norm = np.sqrt(np.asarray((self.tf_idf * self.tf_idf).sum(axis=1)).ravel())

    def bm25(self, weights: dict[str, float], k1: float = 1.2, b: float = 0.75, rows: Rows = EVERY) -> FloatArray:
        """The BM25 score of each text (or of some) for weighted terms."""
        known = {self.vocabulary[term]: weight for term, weight in weights.items() if term in self.vocabulary}
        tf = self.tf[rows][:, [*known]].toarray()
        relative = self.length[rows] / max(self.length.mean(), 1e-12)
        size = np.maximum(k1 * (1 - b + b * relative), 1e-12)  # of a text without a term it may be 0
        saturated = tf * (k1 + 1) / (tf + size[:, None])
        return np.asarray(saturated @ (self.idf[[*known]] * np.array([*known.values()])))

    def expansion(self, query: Sequence[str], n_terms: int = 20) -> dict[str, float]:
        """Related terms by Rocchio: those with most tf-idf in texts that hold the query's, weighed up to 1."""
        score = self.bm25(dict(Counter(query)))
        center = np.asarray(self.tf_idf.T @ (score / np.maximum(self.norm, 1e-12)))
        names = [*self.vocabulary]
        best = [i for i in np.argsort(-center, kind="stable")[:n_terms] if center[i] > 0]
        return {names[i]: float(center[i] / center[best[0]]) for i in best}

    def features(self, query: Sequence[str], rows: Rows = EVERY) -> FloatArray:
        """One row a text (or for some of them), one column for each of the names of the grid."""
        wanted = Counter(query)
        known = [term for term in wanted if term in self.vocabulary]
        numbers = [self.vocabulary[term] for term in known]
        times = np.array([float(wanted[term]) for term in known])
        tf = self.tf[rows][:, numbers].toarray()
        idf, share = self.idf[numbers], self.share[numbers]
        length = self.length[rows]
        within = tf / np.maximum(length, 1.0)[:, None]
        expansion = self.expansion(query)
        columns: list[FloatArray] = [
            tf @ times,
            np.log1p(tf) @ times,
            within @ times,
            (tf > 0) @ times / max(len(query), 1),
            (tf > 0) @ (times * idf),
            ((tf > 0) * idf).max(axis=1, initial=0.0),
            tf @ (times * idf),
            self._cosine(dict(zip(known, times * idf, strict=True)), rows),
            *(self.bm25(dict(wanted), k1, b, rows) for k1, b in self.grid.bm25),
            *(np.log(kept * within + (1 - kept) * share) @ times for kept in self.grid.mixed),
            *(np.log((tf + mu * share) / (length + mu)[:, None]) @ times for mu in self.grid.dirichlet),
            *self._in_order(query, np.arange(len(self.texts))[rows]),
            self.bm25(expansion, rows=rows),
            self._cosine(expansion, rows),
        ]
        return np.column_stack(columns)

    def _cosine(self, weights: dict[str, float], rows: Rows) -> FloatArray:
        columns = [self.vocabulary[term] for term in weights]
        values = np.array([*weights.values()])
        product = np.asarray(self.tf_idf[rows][:, columns] @ values)
        return np.asarray(product / np.maximum(self.norm[rows] * np.sqrt(values @ values), 1e-12))

    def _in_order(self, query: Sequence[str], rows: IntArray) -> list[FloatArray]:
        """What depends on the order of terms: earliness of the first match, length, phrase, neighbouring pairs."""
        asked, pairs = set(query), set(pairwise(query))
        phrase = " ".join(["", *query, ""])
        columns = np.zeros((4, len(rows)))
        for i, row in enumerate(rows):
            text = self.texts[row]
            first = next((position for position, term in enumerate(text) if term in asked), len(text))
            columns[0, i] = 1.0 - first / max(len(text), 1) if text else 0.0
            columns[2, i] = phrase in " ".join(["", *text, ""])
            columns[3, i] = len(pairs & set(pairwise(text))) / max(len(pairs), 1)
        columns[1] = self.length[rows]
        return [*columns]


class ManyViews:
    """The features of the terms of texts, and those of every view with a fine grid: the paper had 1,011 to choose from.

    Parameters
    ----------
    texts : as they were written.
    """

    names = (*FEATURES, *MANY)

    def __init__(self, texts: Sequence[str]):
        self._plain = CaptionIndex([terms(text) for text in texts])
        self._views = [(view, CaptionIndex([view(text) for text in texts], FINE)) for view in VIEWS.values()]

    def features(self, query: str, rows: Rows = EVERY) -> FloatArray:
        """One row a text (or for some of them), one column for each of `names`."""
        parts = [self._plain.features(terms(query), rows)]
        parts += [index.features(view(query), rows) for view, index in self._views]
        return np.hstack(parts)

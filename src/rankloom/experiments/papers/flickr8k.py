"""Flickr8k as ranking data: noisy text of pictures, relevance from what it does not show, and visual vectors.

Of five captions of a picture one, drawn at random, is its text; the others are hidden from every feature.
Reference: M. Hodosh, P. Young and J. Hockenmaier, Framing image description as a ranking task, JAIR 47, 2013.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from rankloom._io import atomic_write
from rankloom.core import FloatArray, IntArray, RankingData, listed
from rankloom.descriptors import describe, get_descriptor, semantic_network
from rankloom.descriptors._cache import default_cache
from rankloom.media import MediaError, read_image

Rows = IntArray | slice
EVERY = slice(None)
FILES = ("captions.tsv", "images.csv", "expert_judgments.tsv", "crowdflower_judgments.tsv", "images")
CLASSICAL = ("color_correlogram", "color_layout", "spatial_color_histogram", "edge_histogram", "hog", "gist")
# What the crowd said of pairs that experts gave 1 to 4: hardly any yes, few, a third, nearly all.
_EXPERT = {1: 0, 2: 0, 3: 1, 4: 3}
_BM25 = ((1.2, 0.75), (2.0, 0.4), (0.5, 0.2))
_MIXED = (0.1, 0.5, 0.9)
_DIRICHLET = (5.0, 50.0)
FEATURES = (
    "tf",
    "log tf",
    "tf / length",
    "coverage",
    "sum of idf",
    "largest idf",
    "tf-idf",
    "tf-idf cosine",
    *(f"BM25 {k1:g} {b:g}" for k1, b in _BM25),
    *(f"LM mixed {share:g}" for share in _MIXED),
    *(f"LM Dirichlet {mu:g}" for mu in _DIRICHLET),
    "earliness",
    "length",
    "exact",
    "neighbouring pairs",
    "expanded",
    "expanded cosine",
)
BM25 = FEATURES.index("BM25 1.2 0.75")


@dataclass(frozen=True, eq=False)
class Flickr8k:
    """Pictures, their captions, and grades from 0 to 3 of pictures for judged captions.

    Attributes
    ----------
    folder : where it was read from.
    images : names of the files.
    captions : picture, number of the caption -> text.
    grades : judged caption (picture, number) -> picture -> grade.
    """

    folder: Path
    images: list[str]
    captions: list[dict[int, str]]
    grades: dict[tuple[int, int], dict[int, int]]

    @cached_property
    def terms(self) -> list[dict[int, list[str]]]:
        """The terms of each caption."""
        return [{number: terms(text) for number, text in of_image.items()} for of_image in self.captions]


@dataclass(frozen=True, eq=False)
class Task:
    """Lists of candidate pictures: text features with grades and queries, and the picture of each row."""

    name: str
    data: RankingData
    image: IntArray


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


def read_flickr8k(folder: str | os.PathLike[str]) -> Flickr8k:
    """Read captions and judgements; the pictures are read by `visual_vectors`."""
    root = Path(folder)
    missing = [name for name in FILES if not (root / name).exists()]
    if missing:
        raise ValueError(f"{root} has no {missing[0]}; --data names the folder of Flickr8k with {', '.join(FILES)}")
    images = [row["image"] for row in _rows(root / "images.csv", ["image"])]
    number = {name: i for i, name in enumerate(images)}
    captions: list[dict[int, str]] = [{} for _ in images]
    for row in _rows(root / "captions.tsv", ["image", "caption_no", "caption"]):
        if row["image"] in number:
            captions[number[row["image"]]][int(row["caption_no"])] = row["caption"]
    poor = next((name for name, texts in zip(images, captions, strict=True) if len(texts) < 2), None)
    if poor is not None:
        raise ValueError(f"{root / 'captions.tsv'}: {poor} needs at least two captions, one to index and one to hide")
    grades: dict[tuple[int, int], dict[int, int]] = {}

    def judge(row: dict[str, str], grade: int) -> None:
        name, _, which = row["caption_id"].rpartition("#")
        if row["image"] in number and name in number and int(which) in captions[number[name]]:
            grades.setdefault((number[name], int(which)), {})[number[row["image"]]] = grade

    experts = ["expert1", "expert2", "expert3"]
    for row in _rows(root / "expert_judgments.tsv", ["image", "caption_id", *experts]):
        judge(row, _EXPERT[sorted(int(row[expert]) for expert in experts)[1]])
    for row in _rows(root / "crowdflower_judgments.tsv", ["image", "caption_id", "frac_yes"]):
        judge(row, round(3 * float(row["frac_yes"])))
    return Flickr8k(root, images, captions, grades)


def _rows(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",", quoting=csv.QUOTE_NONE)
        absent = [column for column in columns if column not in (rows.fieldnames or ())]
        if absent:
            raise ValueError(f"{path} has no column {absent[0]!r}; its columns are {listed(rows.fieldnames or ())}")
        try:
            yield from rows
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {rows.line_num}: {error}") from error


class CaptionIndex:
    """Texts as bags of terms, and features of a query for each of them; nothing else is known of the pictures.

    Parameters
    ----------
    texts : the terms of each text.
    """

    def __init__(self, texts: Sequence[Sequence[str]]):
        self.texts = texts
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
        saturated = tf * (k1 + 1) / (tf + k1 * (1 - b + b * relative)[:, None])
        return np.asarray(saturated @ (self.idf[[*known]] * np.array([*known.values()])))

    def expansion(self, query: Sequence[str], n_terms: int = 20) -> dict[str, float]:
        """Related terms by Rocchio: those with most tf-idf in texts that hold the query's, weighed up to 1."""
        score = self.bm25(dict(Counter(query)))
        center = np.asarray(self.tf_idf.T @ (score / np.maximum(self.norm, 1e-12)))
        names = [*self.vocabulary]
        best = [i for i in np.argsort(-center, kind="stable")[:n_terms] if center[i] > 0]
        return {names[i]: float(center[i] / center[best[0]]) for i in best}

    def features(self, query: Sequence[str], rows: Rows = EVERY) -> FloatArray:
        """One row a text (or for some of them), one column for each of `FEATURES`."""
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
            *(self.bm25(dict(wanted), k1, b, rows) for k1, b in _BM25),
            *(np.log(kept * within + (1 - kept) * share) @ times for kept in _MIXED),
            *(np.log((tf + mu * share) / (length + mu)[:, None]) @ times for mu in _DIRICHLET),
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


def word_task(
    source: Flickr8k, random: np.random.RandomState, *, n_candidates: int = 150, relevant: tuple[int, int] = (5, 150)
) -> Task:
    """Queries of one word; the text of a picture is one caption, its grade the number of others with the word, up to 3.

    Parameters
    ----------
    source : the pictures.
    random : draws the captions.
    n_candidates : pictures of a list: those with the word in their text first, then those with related words.
    relevant : a word is a query if so many pictures have it in two captions at least.
    """
    shown = [int(random.choice(sorted(captions))) for captions in source.terms]
    index = CaptionIndex([captions[number] for captions, number in zip(source.terms, shown, strict=True)])
    held = [Counter(term for text in captions.values() for term in set(text)) for captions in source.terms]
    hidden = [
        Counter(term for number, text in captions.items() if number != number_shown for term in set(text))
        for captions, number_shown in zip(source.terms, shown, strict=True)
    ]
    spread = Counter(term for counts in held for term, count in counts.items() if count >= 2)
    lists = []
    for word in sorted(term for term, count in spread.items() if relevant[0] <= count <= relevant[1]):
        if word not in index.vocabulary:
            continue
        features = index.features([word])
        nearest = np.lexsort((-features[:, FEATURES.index("expanded")], features[:, 0] == 0))[:n_candidates]
        rows = np.sort(nearest)
        grades = np.array([min(hidden[row][word], 3) for row in rows], dtype=np.float64)
        lists.append((word, rows, features[rows], grades))
    return _task("words", source, lists)


def caption_task(source: Flickr8k, random: np.random.RandomState, *, least: int = 20) -> Task:
    """Queries that are captions judged by people for at least so many pictures; grades from those judgements.

    The text of a picture is one of its captions that is no query, nor reads like one.
    """
    queries = {
        caption: dict(sorted(grades.items())) for caption, grades in source.grades.items() if len(grades) >= least
    }
    asked: dict[int, list[list[str]]] = {}
    for image, number in source.grades:
        asked.setdefault(image, []).append(source.terms[image][number])
    texts = []
    for image, captions in enumerate(source.terms):
        others = [text for _, text in sorted(captions.items()) if text not in asked.get(image, ())]
        drawn = int(random.randint(len(others))) if others else -1
        texts.append(others[drawn] if others else [])
    index = CaptionIndex(texts)
    lists = []
    for (image, number), grades in sorted(queries.items()):
        rows = np.array([*grades], dtype=np.int64)
        features = index.features(source.terms[image][number], rows)
        name = f"{source.images[image]}#{number}"
        lists.append((name, rows, features, np.array([*grades.values()], dtype=np.float64)))
    return _task("captions", source, lists)


def _task(name: str, source: Flickr8k, lists: Sequence[tuple[str, IntArray, FloatArray, FloatArray]]) -> Task:
    """Put together the lists that have pictures of two grades."""
    useful = [entry for entry in lists if len(entry[3]) and np.ptp(entry[3]) > 0]
    if not useful:
        raise ValueError(f"{source.folder} has no query for the task {name!r} with pictures of two grades")
    image = np.concatenate([rows for _, rows, _, _ in useful]).astype(np.int64)
    data = RankingData(
        np.concatenate([features for _, _, features, _ in useful]),
        np.concatenate([grades for *_, grades in useful]),
        np.concatenate([np.full(len(rows), query, dtype=object) for query, rows, _, _ in useful]),
        [source.images[i] for i in image],
        FEATURES,
    )
    return Task(name, data, image)


def visual_vectors(
    source: Flickr8k,
    cache: str | os.PathLike[str] | None = None,
    *,
    progress: Callable[[str], None] = lambda step: None,
) -> dict[str, FloatArray]:
    """The semantic embedding of each picture, and several classical descriptors of it.

    Parameters
    ----------
    source : the pictures.
    cache : folder to keep the vectors in; `rankloom` in the user's cache folder by default.
    progress : called with a text before each picture that must be described.
    """
    sizes = [(source.folder / "images" / name).stat().st_size for name in source.images]
    versions = [get_descriptor(name).version for name in ("semantic", *CLASSICAL)]
    key = hashlib.sha256(repr((source.images, sizes, CLASSICAL, versions)).encode()).hexdigest()[:16]
    folder = default_cache() if cache is None else Path(cache)
    file = folder / f"flickr8k-{key}.npy"
    if file.exists():
        packed = np.load(file)
    else:
        packed = np.stack([_describe(source.folder / "images" / name, progress) for name in source.images])
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as out:
            np.save(out, packed)
    widths = [get_descriptor(name).dimension for name in ("semantic", *CLASSICAL)]
    semantic, *classical = np.split(packed, np.cumsum(widths)[:-1], axis=1)
    return {"semantic": _unit(semantic), "classical": np.hstack([_unit(block) for block in classical])}


def _describe(path: Path, progress: Callable[[str], None]) -> NDArray[np.float32]:
    progress(f"describing {path.name}")
    try:
        picture = read_image(path)
    except MediaError as error:
        raise ValueError(f"{path}: {error}") from error
    described = describe(picture, CLASSICAL)
    embedding = semantic_network().describe([picture]).embeddings[0]
    return np.concatenate([embedding, *(described[name] for name in CLASSICAL)])


def _unit(block: NDArray[Any]) -> FloatArray:
    """Centred, with a mean squared distance of 1 between pictures: then descriptors count alike when joined."""
    centerd = np.asarray(block, dtype=np.float64) - block.mean(axis=0, dtype=np.float64)
    size = float(np.sqrt(2.0 * (centerd * centerd).sum(axis=1).mean()))
    return np.asarray(centerd / size) if size > 0 else centerd


def principal_components(vectors: FloatArray, n_components: int = 128) -> FloatArray:
    """Centred vectors in their first principal components: nearly the same distances from far fewer numbers.

    >>> principal_components(np.array([[3.0, 4.0], [-3.0, -4.0]]), 1).round(6).ravel().tolist()
    [5.0, -5.0]
    """
    left, values, right = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    sign = np.where(right[np.arange(len(right)), np.abs(right).argmax(axis=1)] < 0, -1.0, 1.0)
    return np.asarray((left * values * sign)[:, :n_components])

"""Flickr8k as ranking data: noisy text of pictures, relevance from what it does not show, and visual vectors.

Of five captions of a picture one, drawn at random, is its text; the others are hidden from every feature.
Reference: M. Hodosh, P. Young and J. Hockenmaier, Framing image description as a ranking task, JAIR 47, 2013.
"""

from __future__ import annotations

import csv
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom._io import atomic_write
from rankloom.core import FloatArray, IntArray, RankingData, listed
from rankloom.descriptors import describe, get_descriptor, semantic_network
from rankloom.descriptors._cache import default_cache
from rankloom.experiments.papers.flickr8k_text import FEATURES, CaptionIndex, ManyViews, terms
from rankloom.media import MediaError, read_image

FILES = ("captions.tsv", "images.csv", "expert_judgments.tsv", "crowdflower_judgments.tsv", "images")
CLASSICAL = ("color_correlogram", "color_layout", "spatial_color_histogram", "edge_histogram", "hog", "gist")
# What the crowd said of pairs that experts gave 1 to 4: hardly any yes, few, a third, nearly all.
_EXPERT = {1: 0, 2: 0, 3: 1, 4: 3}


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

    def __getstate__(self) -> dict[str, Any]:
        """Without the terms, so that what is kept by its arguments does not depend on whether they were asked for."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, eq=False)
class Task:
    """Lists of candidate pictures: text features with grades and queries, and the picture of each row.

    Of the features so many are to be chosen as `n_selected` says, or all are taken.
    """

    name: str
    data: RankingData
    image: IntArray
    n_selected: int | None = None


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


def word_task(
    source: Flickr8k,
    random: np.random.RandomState,
    *,
    n_candidates: int = 150,
    relevant: tuple[int, int] = (5, 150),
    n_selected: int | None = None,
) -> Task:
    """Queries of one word; the text of a picture is one caption, its grade the number of others with the word, up to 3.

    Parameters
    ----------
    source : the pictures.
    random : draws the captions.
    n_candidates : pictures of a list: those with the word in their text first, then those with related words.
    relevant : a word is a query if so many pictures have it in two captions at least.
    n_selected : to choose so many of many features; None has few, and takes all.
    """
    shown = [int(random.choice(sorted(captions))) for captions in source.terms]
    index = CaptionIndex([captions[number] for captions, number in zip(source.terms, shown, strict=True)])
    many = None
    if n_selected is not None:
        many = ManyViews([captions[number] for captions, number in zip(source.captions, shown, strict=True)])
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
        lists.append((word, rows, features[rows] if many is None else many.features(word, rows), grades))
    name = "words" if many is None else f"words, {n_selected} features"
    return _task(name, source, lists, ManyViews.names if many else FEATURES, n_selected)


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


def _task(
    name: str,
    source: Flickr8k,
    lists: Sequence[tuple[str, IntArray, FloatArray, FloatArray]],
    names: Sequence[str] = FEATURES,
    n_selected: int | None = None,
) -> Task:
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
        names,
    )
    return Task(name, data, image, n_selected)


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

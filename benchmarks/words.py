"""Words to pictures: captions that find their photos, keywords, sentences, and what a collection's captions add."""

from __future__ import annotations

import csv
import re
import tempfile
from collections import Counter, defaultdict
from time import process_time

import numpy as np

from benchmarks.harness import SHARED, Bar, at_least, at_most
from benchmarks.sentences import judged
from rankloom import Collection, Engine, Example, Query
from rankloom.collection import index
from rankloom.experiments.words import encoded
from rankloom.experts.looks import STEPS, unit, word_map
from rankloom.experts.nearness import nearness
from rankloom.experts.refining import Refined, refine
from rankloom.text import parse_query
from rankloom.text.sentences import sentence_encoder

TITLE = "Words to pictures"
FLICKR = SHARED / "imagetext-flickr8k"
DRAWS = 4
EXPERTS = ("tags.bm25", "words.map", "words.classes", "words.colors", "faces")  # all but the names of files


def run() -> list[Bar]:
    if not FLICKR.is_dir():
        return [Bar("9a", "Flickr8k is not here", "-", "-", None)]
    with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/c", create=True) as collection:
        index(collection, [FLICKR / "images"], preset="fast")
        engine = Engine(collection)
        number = {item.path.rsplit("/", 1)[1]: item.id - 1 for item in collection.items()}
        with open(FLICKR / "images.csv", encoding="utf-8", newline="") as file:
            test = np.array([number[row["image"]] for row in csv.DictReader(file) if row["split"] == "test"])
        captions = _captions(number)
        asked = [(text, row) for text, row in captions if row in {*test.tolist()}]
        return [
            *_recall(engine, asked, test),
            *_keywords(engine, captions),
            *_everyday(engine, {name: row for name, row in number.items() if row in {*test.tolist()}}),
            *_refined(collection, asked),
            *_costs(engine),
        ]


def _captions(number: dict[str, int]) -> list[tuple[str, int]]:
    with open(FLICKR / "captions.tsv", encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["caption"], number[row["image"]]) for row in rows]


def _columns(engine: Engine, text: str) -> np.ndarray:
    phi = engine.snapshot().features(Query(text), [], [])
    return np.stack([phi.column(phi.names.index(name)) for name in EXPERTS])


def _recall(engine: Engine, asked: list[tuple[str, int]], test: np.ndarray) -> list[Bar]:
    weights = np.array([engine.weights[name] for name in EXPERTS])
    alone = np.array([name == "words.map" for name in EXPERTS], float)
    place = {row: at for at, row in enumerate(test.tolist())}
    ranks = []
    for text, row in asked:
        columns = _columns(engine, text)[:, test]
        scores = np.stack([alone @ columns, weights @ columns])
        ranks.append((scores > scores[:, [place[row]]]).sum(axis=1))
    recall = {k: (np.array(ranks) < k).mean(axis=0) for k in (1, 5, 10)}
    bars = [
        at_least("9a", f"caption finds its photo among 1,000, learned map alone, R@{k}", recall[k][0], limit, "")
        for k, limit in ((1, 0.19), (5, 0.46), (10, 0.60))
    ]
    return [*bars, at_least("9a", "the same, as a new collection starts, R@10", recall[10][1], 0.57, "")]


def _keywords(engine: Engine, captions: list[tuple[str, int]]) -> list[Bar]:
    """Words that at least 15 photos have in two captions, and not more than a third of them."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for text, row in captions:
        for word in set(re.findall("[a-z]+", text.lower())):
            counts[word][row] += 1
    weights = np.array([engine.weights[name] for name in EXPERTS])
    precisions, averages = [], []
    for word, rows in sorted(counts.items()):
        relevant = [row for row, n in rows.items() if n > 1]
        if not 15 <= len(relevant) <= 600 or parse_query(f"the {word}").words != parse_query(word).words:
            continue
        order = np.argsort(-(weights @ _columns(engine, word)), kind="stable")
        right = np.isin(order, relevant)
        precisions.append(right[:10].mean())
        averages.append((np.cumsum(right)[right] / (np.flatnonzero(right) + 1)).mean())
    what = f"{len(averages)} keywords over {len(engine.collection):,} photos without captions"
    return [
        at_least("9b", f"{what}, MAP", float(np.mean(averages)), 0.15, ""),
        at_least("9b", f"{what}, P@10", float(np.mean(precisions)), 0.22, ""),
    ]


def _everyday(engine: Engine, photos: dict[str, int]) -> list[Bar]:
    """Sentences over the photos that the crowd graded; `benchmarks.sentences` has the rules."""
    names, rows = [*photos], np.array([*photos.values()])
    weights = np.array([engine.weights[name] for name in EXPERTS])
    found = []
    for sentence, photos_of in judged(FLICKR).items():
        scores = weights @ _columns(engine, sentence)[:, rows]
        top = [names[place] for place in np.argsort(-scores, kind="stable")[:10]]
        found.append([sum(name in of for name in top) for of in photos_of])
    right, agreed, graded = np.mean(found, axis=0)
    what = f"{len(found)} everyday sentences over {len(rows):,} photos without captions"
    return [
        at_least("9d", f"{what}, P@10", right / 10, 0.6, ""),
        Bar("9d", f"{what}, P@10 of those that the crowd agreed to", "", f"{agreed / 10:.3g}", None),
        Bar("9d", "of the first ten, photos with a grade of the crowd", "", f"{graded:.3g}", None),
    ]


def _refined(collection: Collection, asked: list[tuple[str, int]]) -> list[Bar]:
    """Captions of half of the photos are given, those of the others ask; then only 100 of them."""
    rows = np.array([row for _, row in asked])
    photos, place = np.unique(rows, return_inverse=True)
    looks = word_map().looks(collection.vectors("semantic")[photos])
    pictures = np.asarray(looks["map"] / STEPS, np.float32)
    sentences = encoded(sentence_encoder(), [text for text, _ in asked])
    before, gains = [], []
    for draw in range(DRAWS):
        random = np.random.default_rng(draw)
        given = random.permutation(len(photos)) % 2 == 0
        texts, held = np.flatnonzero(given[place]), np.flatnonzero(~given[place])
        asks = sentences[held], pictures, place[held]
        before.append(_recall_at_10(*asks, None))
        few = random.choice(texts, 100, replace=False)
        refined = [_refined_by(pictures, sentences[some], place[some]) for some in (texts, few)]
        gains.append([_recall_at_10(*asks, learned) - before[-1] for learned in refined])
    half, hundred = np.array(gains).T
    draws = [" ".join(f"{gain:+.3f}" for gain in some) for some in (half, hundred)]
    what = f"R@10 of the others ({np.mean(before):.3f}), {draws[0]}, mean"
    return [
        at_least("9f", f"captions of half of the photos given, {what}", half.mean(), 0.005, ""),
        at_least("9f", f"100 captions given, {draws[1]}, least", hundred.min(), -0.005, ""),
    ]


def _refined_by(pictures: np.ndarray, sentences: np.ndarray, rows: np.ndarray) -> Refined | None:
    """What is learned of the pictures that have texts, as a collection does it."""
    described, places = np.unique(rows, return_inverse=True)
    refined = refine(word_map(), pictures[described], sentences, places)
    if refined is None or refined.bank is None:
        return refined
    return refined._replace(bank=refined.bank._replace(pictures=described[refined.bank.pictures]))


def _recall_at_10(sentences: np.ndarray, pictures: np.ndarray, rows: np.ndarray, refined: Refined | None) -> float:
    words = word_map().refined(None if refined is None else refined.correction)
    scores = unit((sentences - words.sentence_mean) @ words.sentences) @ pictures.T
    if refined is not None and refined.bank is not None:
        bank = refined.bank
        scores -= bank.weight * nearness(pictures, np.arange(len(pictures)), bank.texts, bank.pictures)
    own = scores[np.arange(len(scores)), rows]
    return float(((scores > own[:, None]).sum(axis=1) < 10).mean())


def _costs(engine: Engine) -> list[Bar]:
    """New queries of words, without and with colors, against new queries of an item; none is in a cache."""
    things = (
        "dog",
        "car",
        "boat",
        "house",
        "tree",
        "street",
        "child",
        "horse",
        "beach",
        "mountain",
        "bicycle",
        "crowd",
    )
    plain = [Query(f"a {thing} in the sun") for thing in things]
    colored = [Query(f"a {color} {thing}") for color in ("red", "blue", "green") for thing in things[:4]]
    items = [Query(examples=(Example(item=item),)) for item in range(11, 11 + len(things))]
    times = []
    for queries in (plain, colored, items):
        engine.search(queries.pop())
        began = process_time()
        for query in queries:
            engine.search(query)
        times.append((process_time() - began) / len(queries))
    return [
        at_most("9e", f"a query of {what} ({1000 * taken:.1f} ms) / one of a picture", taken / times[2], 1.3, "x")
        for what, taken in zip(("words", "words with a color"), times[:2], strict=True)
    ]

"""Words to pictures: captions that find their photos, keywords, and what a collection's own captions add."""

from __future__ import annotations

import csv
import re
import tempfile
from collections import Counter, defaultdict
from time import process_time

import numpy as np

from benchmarks.harness import SHARED, Bar, at_least, at_most
from rankloom import Collection, Engine, Example, Query
from rankloom.collection import index
from rankloom.experiments.words import encoded
from rankloom.experts.looks import unit, word_map
from rankloom.experts.refining import refine
from rankloom.text import parse_query
from rankloom.text.sentences import sentence_encoder

TITLE = "Words to pictures"
FLICKR = SHARED / "imagetext-flickr8k"
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
            *_refined(collection, asked),
            _cost(engine),
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


def _refined(collection: Collection, asked: list[tuple[str, int]]) -> list[Bar]:
    """Captions of half of the photos are given, those of the others ask; then only 100 of them."""
    rows = np.array([row for _, row in asked])
    photos, place = np.unique(rows, return_inverse=True)
    pictures = word_map().pictured(collection.vectors("semantic")[photos])
    sentences = encoded(sentence_encoder(), [text for text, _ in asked])
    given = np.random.default_rng(0).permutation(len(photos)) % 2 == 0
    held = ~given[place]
    first = np.random.default_rng(1).choice(np.flatnonzero(~held), 100, replace=False)

    def recall(correction: np.ndarray | None) -> float:
        words = word_map().refined(correction)
        cosines = unit((sentences[held] - words.sentence_mean) @ words.sentences) @ pictures.T
        own = cosines[np.arange(len(cosines)), place[held]]
        return float(((cosines > own[:, None]).sum(axis=1) < 10).mean())

    before, gains = recall(None), []
    for chosen in (np.flatnonzero(~held), first):
        refined = refine(word_map(), pictures, sentences[chosen], place[chosen])
        gains.append(recall(None if refined is None else refined.correction) - before)
    return [
        at_least("9f", f"captions of half of the photos given, R@10 of the others ({before:.3f}) +", gains[0], 0.0, ""),
        at_least("9f", "100 captions given, R@10 +", gains[1], -0.005, ""),
    ]


def _cost(engine: Engine) -> Bar:
    """A new query of words against a new query of an item, both with the caches cold."""
    texts = [f"a {color} {thing}" for color in ("red", "blue", "green") for thing in ("dog", "car", "boat", "house")]
    examples = [Query(examples=(Example(item=item),)) for item in range(11, 11 + len(texts))]
    times = []
    for queries in ([*map(Query, texts)], examples):
        engine.search(queries.pop())
        began = process_time()
        for query in queries:
            engine.search(query)
        times.append((process_time() - began) / len(queries))
    return at_most(
        "9e", f"a query of words ({1000 * times[0]:.1f} ms) / one of a picture", times[0] / times[1], 1.3, "x"
    )

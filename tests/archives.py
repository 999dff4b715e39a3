"""Small collections for tests of search and learning: generated pictures, a few quick descriptors."""

import sqlite3
import zlib
from pathlib import Path

import cv2
import numpy as np

from rankloom.collection import Collection, index
from rankloom.collection.query import Example, Query
from rankloom.engine import Engine
from rankloom.experts import experts_of
from tests.building import copy_folder

COLORS = {"red": (30, 30, 200), "green": (40, 180, 40), "blue": (200, 60, 30), "grey": (128, 128, 128)}


def picture(color, seed):
    """Circles on a noisy ground."""
    rng = np.random.default_rng(seed)
    image = np.full((48, 64, 3), color, np.uint8)
    for _ in range(3):
        centre = tuple(int(x) for x in rng.integers(0, 48, 2))
        cv2.circle(image, centre, int(rng.integers(4, 12)), rng.integers(0, 255, 3).tolist(), -1)
    return np.clip(image + rng.normal(0, 12, image.shape), 0, 255).astype(np.uint8)


def write_pictures(root, per_kind=12, *, seed=0, captions=True):
    """Folders of pictures by color; every second one has a caption in captions.csv."""
    root = Path(root)
    rows = ["path,caption"]
    for place, (name, color) in enumerate(COLORS.items()):
        (root / f"{name}_things").mkdir(parents=True, exist_ok=True)
        for number in range(per_kind):
            path = root / f"{name}_things" / f"{seed:02}{number:03}.png"
            cv2.imwrite(str(path), picture(color, 100_000 * seed + 1000 * place + number))
            if number % 2:
                rows.append(f"{path},A {name} {'boat' if number % 4 == 1 else 'house'} at sea")
    if captions:
        (root / "captions.csv").write_text("\n".join(rows) + "\n")
    return root


def make(folder, pictures, **options):
    """Index pictures into a new collection and close it."""
    with Collection(folder, create=True) as opened:
        index(opened, [pictures], preset="paper36", workers=0, **{"ocr": False, **options})
    return folder


def copied(collection, target):
    """A copy of a collection that may be changed, opened."""
    if isinstance(collection.db, sqlite3.Connection):
        collection.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Collection(copy_folder(collection.folder, target))


def alike(collection):
    """An engine whose experts all weigh the same: where the start does not matter."""
    names = [expert.name for expert in experts_of(stored.name for stored in collection.descriptors())]
    return Engine(collection, {**{name: 1 / len(names) for name in names}, "text.bm25": 1.0, "tags.bm25": 0.5})


def ids(hits):
    """The numbers of the items, in their order."""
    return [hit.id for hit in hits]


def kind(collection, item):
    """The folder of an item, which is named after its color."""
    return collection.items([item])[0].path.split("/")[-2]


def rgb(collection, item):
    """The pixels of an item."""
    return cv2.cvtColor(cv2.imread(collection.items([item])[0].path), cv2.COLOR_BGR2RGB)


def like(*items, text=""):
    """A query by items."""
    return Query(text, tuple(Example(item=item) for item in items))


def write_encoder(path, scale=1.0):
    """An image encoder in ONNX: the mean color, times a number."""
    import onnx
    from onnx import helper

    nodes = [
        helper.make_node("GlobalAveragePool", ["pixels"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["color"]),
        helper.make_node("Mul", ["color", "scale"], ["embedding"]),
    ]
    graph = helper.make_graph(
        nodes, "mean",
        [helper.make_tensor_value_info("pixels", onnx.TensorProto.FLOAT, ["n", 3, 32, 32])],
        [helper.make_tensor_value_info("embedding", onnx.TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor("scale", onnx.TensorProto.FLOAT, [1], [scale])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)


def write_rows(folder, n, *, dates=lambda number: None, thumbnail=b"", path=lambda number: f"/photos/{number:06}.jpg"):
    """A collection of n pictures of which nothing but rows exists: cheap, however many they are."""
    with Collection(folder, create=True) as collection:
        (collection.folder / "thumbnails.bin").write_bytes(thumbnail)
        numbers = range(1, n + 1)
        with collection.transaction() as db:
            db.executemany("INSERT INTO contents VALUES (?, 'picture', 1)", [(f"h{number}",) for number in numbers])
            db.executemany(
                "INSERT INTO files VALUES (?, ?, 1, ?)",
                [(path(number), f"h{number}", 10**18 + number * 10**9) for number in numbers],
            )
            db.executemany(
                "INSERT INTO items VALUES (?, ?, NULL, NULL, NULL, ?, ?, ?, NULL, 0, 0, ?)",
                [
                    (number, f"h{number}", 400 + number % 7 * 40, 400 + number % 3 * 80, dates(number), len(thumbnail))
                    for number in numbers
                ],
            )
            roots = '["/photos"]'
            db.execute("INSERT OR REPLACE INTO meta VALUES ('roots', ?)", (roots,))
            if thumbnail:
                row = ("thumbnails.bin", 0, len(thumbnail), zlib.crc32(thumbnail))
                db.execute("INSERT INTO blocks VALUES (?, ?, ?, ?)", row)
    return folder

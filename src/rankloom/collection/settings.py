"""Which descriptors a collection has, and what workers need to compute them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom._io import make_folder, replaced
from rankloom.collection._pool import Workers
from rankloom.collection.collection import Collection
from rankloom.collection.decoding import readable_frames, readable_pictures
from rankloom.collection.describing import DescriberSettings, resolve
from rankloom.collection.readers import active_readers
from rankloom.media import kind_of

VOCABULARY_PICTURES = 400
_SHOTS = 4  # of a video
_VOCABULARY = "vocabulary.npy"


def settings_for(
    collection: Collection, preset: str | None, extra: Sequence[str], new_files: Sequence[str], workers: Workers
) -> DescriberSettings:
    """Which descriptors to compute; those that the collection did not have are entered with no rows.

    Parameters
    ----------
    collection : where to.
    preset, extra : what is wanted, beside what the collection has.
    new_files : files that will be described, from which visual words may be made.
    workers : processes that read them, 0 for none; or a pool.
    """
    from rankloom.descriptors import DESCRIPTORS, PRESETS

    stored = {descriptor.name: descriptor for descriptor in collection.descriptors()}
    encoders = encoders_of(collection)
    if preset is not None and preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}; known are {', '.join(PRESETS)}")
    named = PRESETS[preset or "fast"] if preset is not None or not stored else []
    names = list(dict.fromkeys([*stored, *named, *extra, *encoders]))
    for name in names:
        if name not in encoders and (name not in DESCRIPTORS or DESCRIPTORS[name].kind in ("hash", "count")):
            known = ", ".join(key for key, known in DESCRIPTORS.items() if known.kind not in ("hash", "count"))
            raise ValueError(f"unknown descriptor {name!r}; known are {known}")
    vocabulary = _vocabulary(collection, new_files, workers) if "sift_words" in names else None
    settings = DescriberSettings(tuple(names), vocabulary, tuple(encoders.items()), readers=active_readers(collection))
    entries = []
    for name in names:
        descriptor = resolve(name, settings)
        if name not in stored or stored[name].version != descriptor.version:
            entries.append((name, descriptor.version, descriptor.dimension, descriptor.kind))
    if entries:
        with collection.transaction() as db:
            db.executemany("INSERT OR REPLACE INTO descriptors VALUES (?, ?, ?, ?, 0)", entries)
    return settings


def _vocabulary(collection: Collection, new_files: Sequence[str], workers: Workers) -> str:
    """The file of visual words; made when it is first needed."""
    path = collection.folder / _VOCABULARY
    if not path.is_file():
        from rankloom.descriptors import train_vocabulary

        rows = collection.db.execute("SELECT path FROM files ORDER BY path").fetchall()
        vocabulary = train_vocabulary(_sample([*(row[0] for row in rows), *new_files], workers))
        with replaced(path) as temporary:
            vocabulary.save(temporary)
    return str(path)


def _sample(paths: Sequence[str], workers: Workers) -> Iterator[NDArray[np.uint8]]:
    """An even choice of the pictures; where there are none, of the videos, by the first shots of each."""
    pictures = [path for path in paths if kind_of(path) == "picture"]
    if pictures:
        return readable_pictures(_evenly(pictures, VOCABULARY_PICTURES), workers)
    videos = [path for path in paths if kind_of(path) == "video"]
    return readable_frames(_evenly(videos, VOCABULARY_PICTURES // _SHOTS), _SHOTS, workers)


def _evenly(paths: Sequence[str], most: int) -> Sequence[str]:
    return paths[:: max(1, len(paths) // most)][:most]


def add_encoder(
    collection: Collection,
    name: str,
    image_onnx: str | os.PathLike[str],
    text_onnx: str | os.PathLike[str] | None = None,
    tokenizer: str | os.PathLike[str] | None = None,
    **options: Any,
) -> int:
    """Take an image encoder of the user's own, and its text side, into a collection.

    The files are copied; the next `index` computes the vectors. Returns the dimension of the space.

    Parameters
    ----------
    collection : where to.
    name : the name of the new descriptor.
    image_onnx, text_onnx, tokenizer, options : as `OnnxEncoder` takes them.
    """
    import shutil

    from rankloom.descriptors import DESCRIPTORS
    from rankloom.descriptors.onnx_encoder import OnnxEncoder

    if not name.isidentifier() or name in DESCRIPTORS:
        raise ValueError(f"{name!r} cannot be the name of a new descriptor: use letters, and none of our own names")
    dimension = OnnxEncoder(image_onnx, text_onnx, tokenizer, name=name, **options).check()
    folder = collection.folder / "encoders" / name
    make_folder(folder)
    kept = dict(options)
    for key, source in (("image_onnx", image_onnx), ("text_onnx", text_onnx), ("tokenizer", tokenizer)):
        if source is not None:
            target = folder / f"{key}{os.path.splitext(source)[1]}"
            with replaced(target) as temporary:
                shutil.copyfile(source, temporary)
            kept[key] = str(target)
    with collection.transaction() as db:
        db.execute("INSERT OR REPLACE INTO encoders VALUES (?, ?)", (name, json.dumps(kept)))
    return dimension


def encoders_of(collection: Collection) -> dict[str, str]:
    """The encoders of the user's own: the JSON of their arguments by name."""
    return dict(collection.db.execute("SELECT name, settings FROM encoders ORDER BY name").fetchall())


def query_settings(collection: Collection, names: Sequence[str]) -> DescriberSettings:
    """How a picture of a query is described: as items are, by descriptors that the collection has."""
    vocabulary = str(collection.folder / _VOCABULARY)
    return DescriberSettings(tuple(names), vocabulary, tuple(encoders_of(collection).items()), tags=False)

"""Rankers as JSON: versioned, checksummed, never pickle.

A file is one object: `format`, `version`, `rankloom` (who wrote it), `ranker` (class name), `params` (constructor
arguments), `state` (fitted attributes) and `sha256` over all of these. Arrays are `{"array": [...], "dtype": ...}`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import rankloom
from rankloom._io import replaced

FORMAT = "rankloom-ranker"
VERSION = 1
_DTYPES = ("float64", "float32", "int64", "int32", "bool", "object")


def save(ranker: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted ranker; a reader never meets half a file."""
    text = json.dumps(to_document(ranker), indent=1, allow_nan=False)
    with replaced(path) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8")


def to_document(ranker: Any) -> dict[str, Any]:
    """A fitted ranker as plain values."""
    document = {"format": FORMAT, "version": VERSION, "rankloom": rankloom.__version__, **_describe(ranker)}
    return {**document, "sha256": _checksum(document)}


def load(path: str | os.PathLike[str], classes: Mapping[str, type]) -> Any:
    """Read a ranker of one of the given classes."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise ValueError(f"{path} is not a saved ranker: it is not JSON") from None
    return from_document(document, classes, str(path))


def from_document(document: Any, classes: Mapping[str, type], path: str = "this") -> Any:
    """The ranker that `to_document` described; `path` is what errors call it."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f'{path} is not a saved ranker: no "format": "{FORMAT}" in it')
    version = document.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(
            f"{path} has format version {version}, this Rankloom ({rankloom.__version__}) reads up to {VERSION}; "
            "upgrade with: pip install -U rankloom"
        )
    document = dict(document)
    if document.pop("sha256", None) != _checksum(document):
        raise ValueError(f"{path} was changed after it was saved (its checksum differs); save the ranker again")
    try:
        return _rebuild(document, classes)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a complete saved ranker: {error}") from None


def _refuse(constant: str) -> None:
    raise json.JSONDecodeError(f"{constant} is not JSON", constant, 0)


def _checksum(document: Mapping[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _describe(ranker: Any) -> dict[str, Any]:
    state = {name: value for name, value in vars(ranker).items() if name.endswith("_") and not name.startswith("_")}
    return {
        "ranker": type(ranker).__name__,
        "params": {name: _encode(value, name) for name, value in ranker.get_params(deep=False).items()},
        "state": {name: _encode(value, name) for name, value in state.items()},
    }


def _rebuild(document: Mapping[str, Any], classes: Mapping[str, type]) -> Any:
    name = document["ranker"]
    if name not in classes:
        raise ValueError(
            f"the saved ranker is a {name!r}, known are {', '.join(sorted(classes))}; pass a class of your own with "
            "load_ranker(path, classes=[MyRanker])"
        )
    ranker = classes[name](**{key: _decode(value, classes) for key, value in document["params"].items()})
    for key, value in document["state"].items():
        if not key.endswith("_") or key.startswith("_"):
            raise ValueError(f"the saved ranker has a state named {key!r}, which no ranker has")
        setattr(ranker, key, _decode(value, classes))
    return ranker


def _encode(value: Any, name: str) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.name in _DTYPES:
        return {"array": value.tolist(), "dtype": value.dtype.name, "shape": list(value.shape)}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, list | tuple):
        return {"tuple" if isinstance(value, tuple) else "list": [_encode(entry, name) for entry in value]}
    if isinstance(value, Mapping):
        return {"map": [[_encode(key, name), _encode(entry, name)] for key, entry in value.items()]}
    if hasattr(value, "get_params") and hasattr(value, "predict"):
        return {"ranker": _describe(value)}
    raise ValueError(f"{name}={value!r} cannot be written as JSON; use a named choice instead of an object of your own")


def _decode(value: Any, classes: Mapping[str, type]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        if value["dtype"] not in _DTYPES:
            raise ValueError(f"the saved ranker holds an array of unknown type {value['dtype']!r}")
        return np.array(value["array"], dtype=value["dtype"]).reshape(value["shape"])
    if "slice" in value:
        return slice(*value["slice"])
    if "tuple" in value:
        return tuple(_decode(entry, classes) for entry in value["tuple"])
    if "list" in value:
        return [_decode(entry, classes) for entry in value["list"]]
    if "map" in value:
        return {_decode(key, classes): _decode(entry, classes) for key, entry in value["map"]}
    return _rebuild(value["ranker"], classes)

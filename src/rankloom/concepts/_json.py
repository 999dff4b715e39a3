"""Arrays as JSON, exactly."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np

from rankloom.core import FloatArray


def pack(array: FloatArray) -> dict[str, Any]:
    """An array as base64, in half precision where that loses nothing: vectors of a collection have no more."""
    array = np.asarray(array, dtype=np.float64)
    with np.errstate(over="ignore"):
        half = array.astype("<f2")
    kept = half if np.array_equal(half.astype(np.float64), array) else array.astype("<f8")
    data = base64.b64encode(np.ascontiguousarray(kept).tobytes()).decode("ascii")
    return {"dtype": kept.dtype.str, "shape": list(array.shape), "base64": data}


def unpack(packed: dict[str, Any]) -> FloatArray:
    """The array of `pack`."""
    if packed["dtype"] not in ("<f2", "<f8"):
        raise ValueError(f"an array has the unknown type {packed['dtype']!r}")
    try:
        content = base64.b64decode(packed["base64"], validate=True)
    except binascii.Error:
        raise ValueError("an array is not base64") from None
    return np.frombuffer(content, dtype=packed["dtype"]).reshape(packed["shape"]).astype(np.float64)

"""Arrays as JSON, exactly."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np

from rankloom.core import FloatArray

_SHORTER = ("<f2", "<f4")


def pack(array: FloatArray) -> dict[str, Any]:
    """An array as base64, in half or single precision where that loses nothing."""
    array = np.asarray(array, dtype=np.float64)
    with np.errstate(over="ignore"):
        shorter = [array.astype(kind) for kind in _SHORTER]
    kept = next((part for part in shorter if np.array_equal(part.astype(np.float64), array)), array.astype("<f8"))
    data = base64.b64encode(np.ascontiguousarray(kept).tobytes()).decode("ascii")
    return {"dtype": kept.dtype.str, "shape": list(array.shape), "base64": data}


def unpack(packed: dict[str, Any]) -> FloatArray:
    """The array of `pack`."""
    if packed["dtype"] not in (*_SHORTER, "<f8"):
        raise ValueError(f"an array has the unknown type {packed['dtype']!r}")
    try:
        content = base64.b64decode(packed["base64"], validate=True)
    except binascii.Error:
        raise ValueError("an array is not base64") from None
    return np.frombuffer(content, dtype=packed["dtype"]).reshape(packed["shape"]).astype(np.float64)

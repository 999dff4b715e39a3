"""Rows of a stream lie anywhere in memory: they are fetched before they are needed."""

from __future__ import annotations

from numba import njit

from rankloom._prefetch import fetch_row

AHEAD = 8  # rounds between asking for a row and using it


@njit(cache=True)
def fetch_pair(X, pairs, t, apart):
    """Fetch both rows of the pair that comes AHEAD rounds after t; `apart` elements of a row come at once."""
    later = t + AHEAD
    if later < len(pairs):
        fetch_row(X, pairs[later, 0], apart)
        fetch_row(X, pairs[later, 1], apart)

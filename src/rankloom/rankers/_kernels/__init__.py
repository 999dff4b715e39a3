"""Loops over pairs that never form the pairs: arrays in, arrays out, compiled by numba on first use.

Every kernel takes rows in the order of `rankloom.groups.Preferences` and its splits `(a, m, b)`: all of `[a, m)` are
preferred to all of `[m, b)`. The tests hold a slow twin of each.
"""

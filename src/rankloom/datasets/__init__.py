"""Ranking data in and out: LETOR text, tables, TREC files, and generated problems.

It knows rows, grades and queries, and nothing of what rankers or metrics make of them.
"""

from rankloom.datasets.letor import load_letor, save_letor
from rankloom.datasets.letor_stream import iter_letor
from rankloom.datasets.patterns import load_files
from rankloom.datasets.synthetic import make_ranking, make_weak_models
from rankloom.datasets.tables import load, load_table, save, save_table
from rankloom.datasets.trec import align, read_qrels, read_run, write_qrels, write_run

__all__ = [
    "align", "iter_letor", "load", "load_files", "load_letor", "load_table", "make_ranking", "make_weak_models",
    "read_qrels", "read_run", "save", "save_letor", "save_table", "write_qrels", "write_run",
]  # fmt: skip

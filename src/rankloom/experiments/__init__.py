"""Experiments: how good search is on labeled collections, what simulated users gain, what the papers found.

They know the engine and everything below it, and nothing of the command line or the server.
"""

from rankloom.experiments.cutoffs import CutoffQuality, judge_cutoff, search_lists
from rankloom.experiments.labeled import LabeledCollection, load_labeled
from rankloom.experiments.quality import CollectionQuality, evaluate_collection, learned_weights
from rankloom.experiments.users import STRATEGIES, UserTrial, simulate_users

__all__ = [
    "STRATEGIES", "CollectionQuality", "CutoffQuality", "LabeledCollection", "UserTrial", "evaluate_collection",
    "judge_cutoff", "learned_weights", "load_labeled", "search_lists", "simulate_users",
]  # fmt: skip

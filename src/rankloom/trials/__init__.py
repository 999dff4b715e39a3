"""Trials on labelled collections: how good search is, and what simulated users gain from their marks."""

from rankloom.trials.described import Described, described_collection
from rankloom.trials.quality import Quality, evaluate_collection, learned_weights
from rankloom.trials.users import STRATEGIES, UserTrial, simulate_users

__all__ = [
    "STRATEGIES",
    "Described",
    "Quality",
    "UserTrial",
    "described_collection",
    "evaluate_collection",
    "learned_weights",
    "simulate_users",
]

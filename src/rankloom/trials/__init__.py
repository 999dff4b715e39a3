"""Trials on labelled collections: how good search is, and what simulated users gain from their marks."""

from rankloom.trials.cutoffs import CutoffQuality, fit_cutoff, judge_cutoff, search_lists
from rankloom.trials.described import Described, described_collection
from rankloom.trials.quality import Quality, evaluate_collection, learned_weights
from rankloom.trials.users import STRATEGIES, UserTrial, simulate_users

__all__ = [
    "STRATEGIES",
    "CutoffQuality",
    "Described",
    "Quality",
    "UserTrial",
    "described_collection",
    "evaluate_collection",
    "fit_cutoff",
    "judge_cutoff",
    "learned_weights",
    "search_lists",
    "simulate_users",
]

"""How good rankings are: metrics with the conventions of other programs, tests of differences, interleaving.

It knows grades and scores, and nothing of rankers, features or pictures.
"""

from rankloom.evaluation.metrics import POLICIES, Policy, compare, evaluate, evaluate_queries
from rankloom.evaluation.significance import Comparison, compare_values

__all__ = ["POLICIES", "Comparison", "Policy", "compare", "compare_values", "evaluate", "evaluate_queries"]

"""Experts: from vectors to similarities, one column of phi each, and the weights that a new collection starts with.

They know vectors and distances, and nothing of files, collections or queries.
"""

from rankloom.experts.expert import (
    EncodedExample,
    Expert,
    StoredVectors,
    expert_features,
    expert_rows,
    experts_of,
    measure_scales,
)
from rankloom.experts.starting_weights import prior_weights

__all__ = [
    "EncodedExample",
    "Expert",
    "StoredVectors",
    "expert_features",
    "expert_rows",
    "experts_of",
    "measure_scales",
    "prior_weights",
]

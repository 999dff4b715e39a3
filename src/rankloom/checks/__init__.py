"""What every ranker and descriptor must do: `check_ranker(MyRanker())`, `check_descriptor(function)`.

It knows what rankers and descriptors promise, and nothing of how they keep it.
"""

from rankloom.checks.descriptor import DESCRIPTOR_CHECKS, check_descriptor
from rankloom.checks.ranker import RANKER_CHECKS, check_ranker

__all__ = ["DESCRIPTOR_CHECKS", "RANKER_CHECKS", "check_descriptor", "check_ranker"]

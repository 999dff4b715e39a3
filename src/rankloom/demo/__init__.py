"""The sample collection: pictures and films drawn by code, with noisy captions and known classes.

It writes plain files like those of any user, and knows nothing of the engine that will index them.
"""

from rankloom.demo.kinds import KINDS, Kind, draw
from rankloom.demo.write import Sample, write_sample

__all__ = ["KINDS", "Kind", "Sample", "draw", "write_sample"]

"""The sample collection: pictures and films drawn by code, with noisy captions and known classes."""

from rankloom.sample.kinds import KINDS, Kind, draw
from rankloom.sample.write import Sample, write_sample

__all__ = ["KINDS", "Kind", "Sample", "draw", "write_sample"]

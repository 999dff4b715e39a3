"""The sample collection: pictures and films drawn by code, with noisy captions and known classes."""

from rankloom.demo.kinds import KINDS, Kind, draw
from rankloom.demo.write import Sample, write_sample

__all__ = ["KINDS", "Kind", "Sample", "draw", "write_sample"]

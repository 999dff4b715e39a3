"""The engine: a query becomes encoded examples, scores, feedback, diffusion, an arrangement and at last hits.

It knows all packages below it, and nothing of HTTP, the command line or labels.
"""

from rankloom.collection.models import Model
from rankloom.collection.saved import SavedSearch
from rankloom.engine.engine import Engine
from rankloom.engine.explanation import CONCEPT, FACES, TAGS, TEXT, Explanation, Part
from rankloom.engine.online_weights import WeightState
from rankloom.engine.options import SearchOptions
from rankloom.engine.results import Results, SearchHit

__all__ = [
    "CONCEPT", "FACES", "TAGS", "TEXT", "Engine", "Explanation", "Model", "Part", "Results",
    "SavedSearch", "SearchHit", "SearchOptions", "WeightState",
]  # fmt: skip

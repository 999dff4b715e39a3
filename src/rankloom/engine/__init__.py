"""The engine: exact search that explains itself and learns from every mark."""

from rankloom.engine.answers import Answer, Found
from rankloom.engine.engine import Engine, SavedSearch
from rankloom.engine.library import LibraryState
from rankloom.engine.models import Model
from rankloom.engine.searching import METHODS
from rankloom.engine.snapshot import CONCEPT, FACES, TAGS, TEXT

__all__ = [
    "CONCEPT",
    "FACES",
    "METHODS",
    "TAGS",
    "TEXT",
    "Answer",
    "Engine",
    "Found",
    "LibraryState",
    "Model",
    "SavedSearch",
]

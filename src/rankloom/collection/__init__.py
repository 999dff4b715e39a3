"""A collection: pictures and videos described once, kept in one folder that survives anything."""

from rankloom.collection.collection import Collection, Info, Item, StoredDescriptor
from rankloom.collection.duplicates import duplicate_groups
from rankloom.collection.export import export_items, export_marks
from rankloom.collection.indexing import Captions, IndexReport, index
from rankloom.collection.marks import Mark, StoredMark, add_marks, take_back
from rankloom.collection.scales import Measured, measured
from rankloom.collection.settings import add_encoder
from rankloom.collection.verify import VerifyReport, verify

__all__ = [
    "Captions",
    "Collection",
    "IndexReport",
    "Info",
    "Item",
    "Mark",
    "Measured",
    "StoredDescriptor",
    "StoredMark",
    "VerifyReport",
    "add_encoder",
    "add_marks",
    "duplicate_groups",
    "export_items",
    "export_marks",
    "index",
    "measured",
    "take_back",
    "verify",
]

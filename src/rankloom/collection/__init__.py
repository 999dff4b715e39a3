"""A collection: pictures and videos described once, kept in one folder that survives anything."""

from rankloom.collection.collection import Collection, Info, Item, StoredDescriptor
from rankloom.collection.indexing import Captions, IndexReport, index

__all__ = ["Captions", "Collection", "IndexReport", "Info", "Item", "StoredDescriptor", "index"]

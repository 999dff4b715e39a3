"""A collection: pictures and videos described once, kept in one folder that survives anything."""

from rankloom.collection.backup import Backup, back_up, backups
from rankloom.collection.captions import Captions
from rankloom.collection.collection import Collection, Info, Item, StoredDescriptor
from rankloom.collection.damage import DamagedCollection
from rankloom.collection.duplicates import duplicate_groups
from rankloom.collection.export import export_items, export_marks
from rankloom.collection.indexing import IndexReport, index
from rankloom.collection.marks import Mark, StoredMark, add_marks, undo_mark
from rankloom.collection.repair import RepairReport, RestoreReport, repair, restore
from rankloom.collection.settings import add_encoder
from rankloom.collection.verify import VerifyReport, verify, verify_folder

__all__ = [
    "Backup", "Captions", "Collection", "DamagedCollection", "IndexReport", "Info", "Item", "Mark", "RepairReport",
    "RestoreReport", "StoredDescriptor", "StoredMark", "VerifyReport", "add_encoder", "add_marks", "back_up",
    "backups", "duplicate_groups", "export_items", "export_marks", "index", "repair", "restore", "undo_mark",
    "verify", "verify_folder",
]  # fmt: skip

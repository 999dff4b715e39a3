"""The concepts of a collection as they are stored: a name and the JSON of a detector."""

from __future__ import annotations

from typing import NamedTuple

from rankloom.collection.collection import Collection
from rankloom.collection.marks import now


class StoredConcept(NamedTuple):
    """A concept: its name, its detector as JSON, and when it was made."""

    name: str
    detector: str
    at: str


def stored_concepts(collection: Collection) -> list[StoredConcept]:
    """All concepts, by name."""
    rows = collection.db.execute("SELECT name, detector, at FROM concepts ORDER BY name")
    return [StoredConcept(*row) for row in rows.fetchall()]


def stored_concept(collection: Collection, name: str) -> StoredConcept:
    """A concept by its name."""
    concepts = stored_concepts(collection)
    for concept in concepts:
        if concept.name == name:
            return concept
    known = ", ".join(concept.name for concept in concepts) or "none"
    raise ValueError(f"there is no concept {name!r}; known are {known}")


def keep_concept(collection: Collection, name: str, detector: str) -> None:
    """Store a concept; one of the same name is replaced."""
    with collection.transaction() as db:
        db.execute("INSERT OR REPLACE INTO concepts VALUES (?, ?, ?)", (name, detector, now()))


def drop_concept(collection: Collection, name: str) -> None:
    """Delete a concept."""
    stored_concept(collection, name)
    with collection.transaction() as db:
        db.execute("DELETE FROM concepts WHERE name = ?", (name,))

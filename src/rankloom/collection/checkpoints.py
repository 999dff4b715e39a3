"""States of the online ranker on disk, so that a replay of the log of marks need not begin at its first mark.

Recent checkpoints are close together and older ones far apart: their number grows with the logarithm of the marks, and
a replay from any mark begins at most a quarter of the way too early.
"""

from __future__ import annotations

from typing import NamedTuple

from rankloom.collection import Collection

EVERY = 50  # marks between two checkpoints
RECENT = 20 * EVERY  # marks back to where none is dropped
BASES = 3  # another basis is another collection of experts, or other starting weights


class Checkpoint(NamedTuple):
    """The online ranker, as JSON, after a mark, and how many marks it has learned from."""

    mark: int
    n_marks: int
    ranker: str


def due(collection: Collection, basis: str, n_marks: int) -> bool:
    """Whether enough was learned since the last checkpoint of a basis."""
    row = collection.db.execute("SELECT max(n_marks) FROM checkpoints WHERE basis = ?", (basis,)).fetchone()
    return n_marks // EVERY > (row[0] or 0) // EVERY


def last(collection: Collection, basis: str, before: int | None = None) -> Checkpoint | None:
    """The last checkpoint of a basis, before a mark if one is given."""
    query = "SELECT mark, n_marks, ranker FROM checkpoints WHERE basis = ? AND (? IS NULL OR mark < ?)"
    row = collection.db.execute(f"{query} ORDER BY mark DESC LIMIT 1", (basis, before, before)).fetchone()
    return None if row is None else Checkpoint(*row)


def write(collection: Collection, basis: str, state: Checkpoint, undo: int) -> None:
    """Keep a checkpoint, unless a mark was undone after the given undo; drop those that are too many.

    Parameters
    ----------
    collection : where to.
    basis : what was learned depends on it.
    state : the checkpoint.
    undo : the last undo that it has seen.
    """
    with collection.transaction() as db:
        if db.execute("SELECT coalesce(max(id), 0) FROM undos").fetchone()[0] > undo:
            return
        values = (basis, state.mark, state.n_marks, state.ranker)
        db.execute("DELETE FROM checkpoints WHERE basis = ? AND mark = ?", (basis, state.mark))
        db.execute("INSERT INTO checkpoints (basis, mark, n_marks, ranker) VALUES (?, ?, ?, ?)", values)
        db.execute(
            "DELETE FROM checkpoints WHERE basis NOT IN "
            "(SELECT basis FROM checkpoints GROUP BY basis ORDER BY max(id) DESC LIMIT ?)",
            (BASES,),
        )
        rows = db.execute("SELECT id, n_marks FROM checkpoints WHERE basis = ? ORDER BY mark", (basis,)).fetchall()
        counts = [n_marks for _, n_marks in rows]
        dropped = [(rows[place][0],) for place in superfluous(counts)]
        db.executemany("DELETE FROM checkpoints WHERE id = ?", dropped)


def superfluous(counts: list[int]) -> list[int]:
    """The places of checkpoints to drop, given how many marks each has seen, in ascending order.

    Examples
    --------
    >>> superfluous([*range(0, 4001, 250)])
    [3, 5, 7]
    """
    places, kept = [], set()
    for place, count in enumerate(counts):
        age = counts[-1] - count
        if age < RECENT:
            break
        width = RECENT // 8 * 2 ** (age // RECENT).bit_length()  # so that four are left of each doubling of the age
        bucket = (width, count // width)
        if bucket in kept:
            places.append(place)
        kept.add(bucket)
    return places

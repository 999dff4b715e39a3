"""duplicates: files that show the same, which of them to keep, and the others into the system's bin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankloom.cli._options import collection_folder, collection_option, json_option
from rankloom.cli._output import emit, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloom.collection import Collection
    from rankloom.collection.copies import CopyGroup

_WHY = {
    "pixels": "it has the most pixels", "bytes": "it is the largest file", "older": "it is the oldest",
    "name": "its path is the shortest",
}  # fmt: skip


@click.command()
@collection_option
@click.option("--bits", default=3, show_default=True, type=click.IntRange(0, 31), help="How far hashes may differ.")
@click.option(
    "--trash", is_flag=True, help="Move all but the best of each group to the system's bin, after a question."
)
@click.option("--equal", is_flag=True, help="Only files whose bytes are equal.")
@click.option("--yes", is_flag=True, help="Move them without a question.")
@json_option
def duplicates(collection: str | None, bits: int, trash: bool, equal: bool, yes: bool, as_json: bool) -> None:
    """List files that show the same: equal ones, and pictures in another size or encoding; the best comes first.

    The best has the most pixels; of those the one with the largest file, then the oldest. With --trash the others go to
    the bin of the system, if they are as they were indexed and the best one is there. Captions, tags, stars and albums
    go over to the best one where it has none; marks stay in the log and go on teaching. Who restores a file from the
    bin and indexes again has it back.

    \b
    Example:
      rankloom duplicates
      rankloom duplicates --equal --trash
    """
    from rankloom.collection import Collection
    from rankloom.collection.copies import copy_groups

    with Collection(collection_folder(collection)) as opened:
        groups = [group for group in copy_groups(opened, bits=bits) if not equal or group.kind == "equal"]
        for group in groups:
            paths = [file.path for file in group.files]
            if as_json and not trash:
                emit({"kind": group.kind, "keep": paths[0], "why": group.why, "paths": paths})
            elif not as_json:
                say(f"{group.kind}: keep {paths[0]} ({_WHY[group.why]})", *(f"  {path}" for path in paths[1:]))
        if not as_json:
            others = [file for group in groups for file in group.files[1:]]
            freed = sum(file.bytes for file in others) / 1e6
            say(f"{len(groups):,} groups; all but the best are {len(others):,} files with {freed:,.1f} MB")
        if trash and groups:
            _trash(opened, groups, bits, yes=yes, as_json=as_json)


def _trash(opened: Collection, groups: Sequence[CopyGroup], bits: int, *, yes: bool, as_json: bool) -> None:
    from rankloom.collection.copies import Choice, trash_copies

    choices = [Choice(group.files[0].path, tuple(file.path for file in group.files[1:])) for group in groups]
    count = sum(len(choice.trash) for choice in choices)
    if not yes:
        if as_json:
            raise click.UsageError("--trash --json asks no question: add --yes")
        click.confirm(f"Move {count:,} files, all that stand indented above, to the bin?", abort=True)
    done = trash_copies(opened, choices, bits=bits)
    if as_json:
        left = [{"path": path, "reason": why} for path, why in done.left]
        emit({"moved": done.moved, "left": left, "handed": done.handed})
        return
    for path, why in done.left:
        say(f"left: {path}: {why}", err=True)
    say(f"{len(done.moved):,} files are in the bin; {done.handed:,} items gave their notes to the one that is kept")

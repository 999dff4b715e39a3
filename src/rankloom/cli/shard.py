"""shard: cut a collection for search on many machines, and check what was copied there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankloom.cli._options import collection_option, json_option, open_engine
from rankloom.cli._output import emit, say

if TYPE_CHECKING:
    from rankloom.cluster.shards import ShardedResults
    from rankloom.collection.query import Query
    from rankloom.engine import Engine

MISSING = 1  # the exit code where a shard is missing or damaged


@click.group()
def shard() -> None:
    """Cut a collection into shards for `search --shards`, and check them.

    \b
    Example:
      rankloom shard make shards --shards 5
      rankloom shard check shards
      rankloom search --item 17 --cluster tcp://10.0.0.5:8786 --shards shards
    """


@shard.command("make")
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--shards", "n_shards", required=True, type=click.IntRange(min=1), help="How many.")
@collection_option
@json_option
def make(folder: str, n_shards: int, collection: str | None, as_json: bool) -> None:
    """Write the vectors of a collection to FOLDER, cut into shards of equally many items.

    Each shard is a folder of its own: copy it to the machines that are to serve it, to the same FOLDER.

    \b
    Example:
      rankloom shard make shards --shards 5
    """
    from rankloom.cluster.shard_files import make_shards

    with open_engine(collection) as engine:
        shards = make_shards(engine, folder, n_shards)
    if as_json:
        for made in shards:
            emit({"shard": made.name, "first": made.begin + 1, "last": made.end})
    else:
        say(f"{len(shards)} {'shard' if len(shards) == 1 else 'shards'} of {shards[0].n_items:,} items in {folder}")


@shard.command("check")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@json_option
def check(folder: str, as_json: bool) -> None:
    """Compare the shards in FOLDER with their checksums; ends with 1 if one is damaged or not here.

    \b
    Example:
      rankloom shard check shards
    """
    from rankloom.cluster.shard_files import Shard, ShardError, open_shard, shards_in

    here = shards_in(folder)
    if not here:
        raise click.ClickException(f"{folder} holds no shards; make them with: rankloom shard make")
    wrong: dict[str, str] = {}
    for cut in dict.fromkeys(found.cut for found in here):
        for number in range(1, cut[2] + 1):
            name = Shard(*cut[:2], number, cut[2], {}).name
            known = next((found for found in here if found.cut == cut and found.number == number), None)
            try:
                if known is None:
                    raise ShardError(f"{name} is not here")
                open_shard(folder, known)
            except ShardError as error:
                wrong[name] = str(error)
    n_shards = sum(cut[2] for cut in {found.cut for found in here})
    if as_json:
        emit({"shards": n_shards, "whole": n_shards - len(wrong), "wrong": wrong})
    else:
        say(*wrong.values(), f"{n_shards - len(wrong)} of {n_shards} shards are whole")
    if wrong:
        click.get_current_context().exit(MISSING)


def search_shards(engine: Engine, query: Query, k: int, address: str, folder: str) -> ShardedResults:
    """The hits of a search over the shards that workers of a cluster hold."""
    from rankloom.cluster import ShardedSearch, connected

    with connected(address) as client:
        return ShardedSearch(engine, client, folder).search(query, k)


def say_missing(found: ShardedResults, as_json: bool) -> None:
    """Say which shards an answer is missing: below the table, or as a last object."""
    if found.note is None:
        return
    if as_json:
        emit({"missing": _missing(found)})
    say(found.note, err=True)


def _missing(found: ShardedResults) -> dict[str, Any]:
    return {
        "shards": [lost.number for lost in found.missing],
        "of": found.n_shards,
        "items": sum(lost.items for lost in found.missing),
        "of_items": found.n_items,
        "reasons": [lost.reason for lost in found.missing],
    }

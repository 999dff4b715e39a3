"""notes and albums: what the owner says of items, and how they are put together, from the shell."""

from __future__ import annotations

import click

from rankloom.cli._options import collection_folder, collection_option, json_option, open_engine
from rankloom.cli._output import emit, say, table

items_argument = click.argument("items", nargs=-1, required=True, type=click.IntRange(min=1))


@click.group()
def notes() -> None:
    """Captions, tags and stars of your own, and what is hidden; files stay as they are.

    \b
    Example:
      rankloom notes caption 17 "The old bridge at night"
      rankloom notes tag 17 18 --add Rome
      rankloom notes rate 17 --stars 5
    """


@notes.command()
@click.argument("item", type=click.IntRange(min=1))
@click.argument("text")
@collection_option
def caption(item: int, text: str, collection: str | None) -> None:
    """Write the caption TEXT of an ITEM; an empty one takes it away.

    \b
    Example:
      rankloom notes caption 17 "The old bridge at night"
    """
    from rankloom.collection import Collection
    from rankloom.collection.organizing import set_caption

    with Collection(collection_folder(collection)) as opened:
        set_caption(opened, item, text)
    say(f"item {item}: {text}" if text.strip() else f"item {item} has no caption of yours any more")


@notes.command()
@items_argument
@collection_option
@click.option("--add", multiple=True, help="A tag that the items get; may be repeated.")
@click.option("--remove", multiple=True, help="A tag that they lose; may be repeated.")
def tag(items: tuple[int, ...], collection: str | None, add: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Give ITEMS tags, and take some away.

    \b
    Example:
      rankloom notes tag 17 18 --add Rome --remove unsorted
    """
    from rankloom.collection import Collection
    from rankloom.collection.organizing import change_tags

    if not add and not remove:
        raise click.UsageError("give --add or --remove")
    with Collection(collection_folder(collection)) as opened:
        change_tags(opened, items, add, remove)
    say(f"tags of {len({*items}):,} items changed")


@notes.command()
@items_argument
@collection_option
@click.option("--stars", required=True, type=click.IntRange(0, 5), help="From 1 to 5; 0 takes them away.")
def rate(items: tuple[int, ...], collection: str | None, stars: int) -> None:
    """Give ITEMS stars.

    \b
    Example:
      rankloom notes rate 17 18 --stars 4
    """
    from rankloom.collection import Collection
    from rankloom.collection.organizing import rate as give

    with Collection(collection_folder(collection)) as opened:
        give(opened, items, stars)
    say(f"{len({*items}):,} items have {stars} stars")


@notes.command()
@items_argument
@collection_option
@click.option("--undo", is_flag=True, help="Show them again.")
def hide(items: tuple[int, ...], collection: str | None, undo: bool) -> None:
    """Leave ITEMS out of searches and lists; `search --hidden` lists them.

    \b
    Example:
      rankloom notes hide 17 18
      rankloom notes hide 17 --undo
    """
    from rankloom.collection import Collection
    from rankloom.collection.organizing import hide as leave_out

    with Collection(collection_folder(collection)) as opened:
        leave_out(opened, items, not undo)
    say(f"{len({*items}):,} items are {'shown again' if undo else 'hidden'}")


@notes.command()
@collection_option
@json_option
def tags(collection: str | None, as_json: bool) -> None:
    """List your tags.

    \b
    Example:
      rankloom notes tags
    """
    from rankloom.collection import Collection
    from rankloom.collection.organizing import tag_counts

    with Collection(collection_folder(collection)) as opened:
        known = tag_counts(opened)
    if as_json:
        for counted in known:
            emit({"tag": counted.tag, "items": counted.size})
        return
    table(["tag", "items"], [[counted.tag, f"{counted.size:,}"] for counted in known])


@click.group()
def albums() -> None:
    """Albums: items put together by hand, or around a search that suggests more of them.

    \b
    Example:
      rankloom albums make "Rome 2024" 17 18
      rankloom search --album "Rome 2024"
    """


@albums.command("list")
@collection_option
@json_option
def list_albums(collection: str | None, as_json: bool) -> None:
    """List the albums.

    \b
    Example:
      rankloom albums list
    """
    from rankloom.collection import Collection
    from rankloom.collection.albums import albums as known_albums

    with Collection(collection_folder(collection)) as opened:
        known = known_albums(opened)
    if as_json:
        for album in known:
            query = None if album.query is None else album.query.to_json()
            emit({"id": album.id, "name": album.name, "items": album.size, "cover": album.cover, "query": query})
        return
    rows = [[album.name, f"{album.size:,}", "" if album.query is None else "living"] for album in known]
    table(["album", "items", ""], rows)


@albums.command()
@click.argument("name")
@click.argument("items", nargs=-1, type=click.IntRange(min=1))
@collection_option
@click.option("--search", "words", help="Words of a search that suggests members: a living album.")
@click.option("--concept", help="A concept that suggests members: a living album.")
def make(name: str, items: tuple[int, ...], collection: str | None, words: str | None, concept: str | None) -> None:
    """Make an album NAME of ITEMS.

    \b
    Example:
      rankloom albums make "Rome 2024" 17 18
      rankloom albums make "By the sea" --search sea
    """
    from rankloom.collection import Collection
    from rankloom.collection.albums import album, make_album
    from rankloom.collection.query import Query

    query = None if words is None and concept is None else Query(words or "", concept=concept)
    with Collection(collection_folder(collection)) as opened:
        made = album(opened, make_album(opened, name, items, query))
    say(f"{made.name}: {made.size:,} items")


@albums.command()
@click.argument("name")
@items_argument
@collection_option
def add(name: str, items: tuple[int, ...], collection: str | None) -> None:
    """Add ITEMS to the album NAME, or confirm suggested ones.

    \b
    Example:
      rankloom albums add "Rome 2024" 19 20
    """
    from rankloom.collection import Collection
    from rankloom.collection.albums import add_to_album, album, album_named

    with Collection(collection_folder(collection)) as opened:
        number = album_named(opened, name).id
        add_to_album(opened, number, items)
        now = album(opened, number)
    say(f"{now.name}: {now.size:,} items")


@albums.command()
@click.argument("name")
@items_argument
@collection_option
@click.option("--refuse", is_flag=True, help="Do not suggest them again either.")
def remove(name: str, items: tuple[int, ...], collection: str | None, refuse: bool) -> None:
    """Take ITEMS out of the album NAME.

    \b
    Example:
      rankloom albums remove "Rome 2024" 19
    """
    from rankloom.collection import Collection
    from rankloom.collection.albums import album, album_named, remove_from_album

    with Collection(collection_folder(collection)) as opened:
        number = album_named(opened, name).id
        remove_from_album(opened, number, items, refuse=refuse)
        now = album(opened, number)
    say(f"{now.name}: {now.size:,} items")


@albums.command()
@click.argument("name")
@click.argument("new_name")
@collection_option
def rename(name: str, new_name: str, collection: str | None) -> None:
    """Call the album NAME by a NEW_NAME.

    \b
    Example:
      rankloom albums rename "Rome 2024" Roma
    """
    from rankloom.collection import Collection
    from rankloom.collection.albums import album_named, change_album

    with Collection(collection_folder(collection)) as opened:
        change_album(opened, album_named(opened, name).id, new_name)
    say(f"{name} -> {new_name}")


@albums.command()
@click.argument("name")
@collection_option
def delete(name: str, collection: str | None) -> None:
    """Delete the album NAME; its items stay.

    \b
    Example:
      rankloom albums delete "Rome 2024"
    """
    from rankloom.collection import Collection
    from rankloom.collection.albums import album_named, delete_album

    with Collection(collection_folder(collection)) as opened:
        delete_album(opened, album_named(opened, name).id)
    say(f"the album {name} is deleted")


@albums.command()
@click.argument("name")
@collection_option
@click.option("-k", default=20, show_default=True, type=click.IntRange(min=1), help="How many at most.")
@json_option
def suggest(name: str, collection: str | None, k: int, as_json: bool) -> None:
    """List what the search of the living album NAME finds and it neither has nor refused.

    \b
    Example:
      rankloom albums suggest "By the sea"
    """
    from rankloom.collection.albums import album_named
    from rankloom.engine.sorting import suggested_members

    with open_engine(collection) as engine:
        hits = suggested_members(engine, album_named(engine.collection, name), k)
    if as_json:
        for hit in hits:
            emit({"id": hit.id, "path": hit.path, "score": hit.score})
        return
    table(["score", "item", "file"], [[f"{hit.score:.4f}", str(hit.id), hit.path] for hit in hits])

"""people: whose faces are in the pictures. Off until it is switched on."""

from __future__ import annotations

import click

from rankloom.cli._options import collection_folder, collection_option, json_option
from rankloom.cli._output import emit, say, table


@click.group()
def people() -> None:
    """Group faces by person, name them, and search by name. Off until you switch it on.

    Nothing leaves this machine, and `rankloom people off --delete` deletes all of it.

    \b
    Example:
      rankloom people on
      rankloom index --reread
      rankloom people list
      rankloom people name 3 "Anna"
      rankloom search anna
    """


@people.command()
@collection_option
def on(collection: str | None) -> None:
    """Tell faces apart from the next `index` on.

    \b
    Example:
      rankloom people on
    """
    from rankloom.collection import Collection
    from rankloom.collection.people import switch_on
    from rankloom.collection.readers import active_readers, unread_count

    with Collection(collection_folder(collection)) as opened:
        switch_on(opened)
        unread = unread_count(opened, active_readers(opened))
    say("faces are told apart from now on; to stop and delete all of it: rankloom people off --delete")
    if unread:
        say(f"{unread:,} files are described already: rankloom index --reread looks at their faces")


@people.command()
@collection_option
@click.option("--delete", is_flag=True, help="Delete all faces, groups and names, in the backups too.")
def off(collection: str | None, delete: bool) -> None:
    """Tell no faces apart from now on, and on request delete all that is known of people.

    \b
    Example:
      rankloom people off --delete
    """
    from rankloom.collection import Collection
    from rankloom.collection.people import switch_off

    with Collection(collection_folder(collection)) as opened:
        left = switch_off(opened, delete=delete)
    say("all that was known of people is deleted" if delete else "faces are not told apart any more; the groups stay")
    for name in left:
        say(f"warning: the backup {name} could not be cleaned; delete it", err=True)


@people.command("list")
@collection_option
@json_option
def list_people(collection: str | None, as_json: bool) -> None:
    """List the groups: those with a name, then the others, the largest first.

    \b
    Example:
      rankloom people list
    """
    from rankloom.collection import Collection
    from rankloom.collection.people import is_on, people_of

    with Collection(collection_folder(collection)) as opened:
        groups, switched_on = people_of(opened), is_on(opened)
    if as_json:
        for person in groups:
            faces = [face._asdict() for face in person.faces]
            emit({"id": person.id, "name": person.name, "faces": faces})
        return
    if not switched_on and not groups:
        say("faces are not told apart; to switch it on: rankloom people on")
        return
    rows = []
    for person in groups:
        first = ", ".join(str(face.box) for face in person.faces[:8])
        rows.append([str(person.id), person.name or "", str(len(person.faces)), first])
    table(["person", "name", "faces", "first faces"], rows)


@people.command()
@click.argument("person", type=int)
@click.argument("name")
@collection_option
def name(person: int, name: str, collection: str | None) -> None:
    """Give PERSON a NAME by which pictures are found; "" takes it away.

    \b
    Example:
      rankloom people name 3 "Anna"
    """
    from rankloom.collection import Collection
    from rankloom.collection.people import name_person

    with Collection(collection_folder(collection)) as opened:
        name_person(opened, person, name)
    say(f"person {person} is {name}" if name.strip() else f"person {person} has no name")


@people.command()
@click.argument("into", type=int)
@click.argument("others", type=int, nargs=-1, required=True)
@collection_option
def merge(into: int, others: tuple[int, ...], collection: str | None) -> None:
    """Make the groups INTO and OTHERS one.

    \b
    Example:
      rankloom people merge 3 8 12
    """
    from rankloom.collection import Collection
    from rankloom.collection.people import merge_people

    with Collection(collection_folder(collection)) as opened:
        merge_people(opened, into, others)
    say(f"person {into} has the faces of {', '.join(map(str, others))} too")


@people.command()
@click.argument("person", type=int)
@click.argument("faces", type=int, nargs=-1, required=True)
@collection_option
def split(person: int, faces: tuple[int, ...], collection: str | None) -> None:
    """Take FACES, by their numbers in `people list --json`, out of PERSON into a group of their own.

    \b
    Example:
      rankloom people split 3 41 57
    """
    from rankloom.collection import Collection
    from rankloom.collection.people import split_person

    with Collection(collection_folder(collection)) as opened:
        new = split_person(opened, person, faces)
    say(f"person {new} has {len(set(faces))} faces of person {person}")

"""verify, backup, restore, repair, copy: whether a collection is sound, and the ways back if it is not."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from rankloom.cli._options import collection_folder, collection_option, json_option
from rankloom.cli._output import emit, file_progress, printable, say, table

if TYPE_CHECKING:
    from rankloom.collection._consistent import Changes

workers_option = click.option(
    "--workers", type=click.IntRange(min=0), help="Processes; one a core unless given, 0 for none."
)


@click.command()
@collection_option
@click.option("--repair", "and_repair", is_flag=True, help="Repair what is damaged, as rankloom repair does.")
@workers_option
@json_option
@click.pass_context
def verify(ctx: click.Context, collection: str | None, and_repair: bool, workers: int | None, as_json: bool) -> None:
    """Check the database and every checksum of a collection; the exit code is 1 if something is damaged.

    It looks at a collection that cannot be opened any more, too.

    \b
    Example:
      rankloom verify -c photos.rankloom
    """
    if and_repair:
        ctx.invoke(repair, collection=collection, workers=workers, as_json=as_json)
        return
    from rankloom.collection import verify_folder

    report = verify_folder(collection_folder(collection))
    if as_json:
        emit({**vars(report), "sound": report.sound})
    else:
        for problem in report.problems:
            say(problem)
        say(f"{report.blocks:,} blocks, {report.bytes / 1e6:,.1f} MB checked: {len(report.problems):,} damaged")
    if not report.sound:
        raise click.exceptions.Exit(1)


@click.command()
@collection_option
@click.option("--to", "target", type=click.Path(dir_okay=False), help="A file of your own instead.")
@click.option("--list", "listing", is_flag=True, help="Only show the backups that there are.")
@json_option
def backup(collection: str | None, target: str | None, listing: bool, as_json: bool) -> None:
    """Copy the database of a collection: marks, captions, models and all it knows but the vectors.

    Backups are made by themselves once a day, when something was written, and before the tables change. Copies that
    you ask for are kept until you delete them.

    \b
    Example:
      rankloom backup
      rankloom backup --to photos-backup.db
      rankloom backup --list
    """
    from pathlib import Path

    from rankloom.collection import Collection, back_up, backups
    from rankloom.collection._stores import folder_with_tables
    from rankloom.collection.backup import copy_database

    folder = folder_with_tables(collection_folder(collection))
    if listing:
        copies = backups(folder)
        if as_json:
            for copy in copies:
                emit({"file": str(copy.path), "at": copy.at.isoformat(), "kind": copy.kind, "bytes": copy.bytes})
            return
        rows = [
            [f"{copy.at:%Y-%m-%d %H:%M:%S}", copy.kind, f"{copy.bytes / 1e6:,.1f}", copy.path.name] for copy in copies
        ]
        table(["made (UTC)", "kind", "MB", "file"], rows)
        return
    with Collection(folder):
        if target is None:
            path = back_up(folder)
        else:
            path = Path(target).absolute()
            if not path.parent.is_dir():
                raise FileNotFoundError(f"cannot write {target}: the folder {path.parent} does not exist")
            copy_database(folder, path)
    size = path.stat().st_size
    emit({"file": str(path), "bytes": size}) if as_json else say(f"{size / 1e6:,.1f} MB -> {path}")


@click.command()
@collection_option
@click.option(
    "--from", "source", type=click.Path(dir_okay=False), help="The file of a backup; the newest unless given."
)
@click.option("--at", metavar="DATE", help="The newest backup of this day or before (2026-03-14, or a time in UTC).")
@click.option("--no-merge", is_flag=True, help="Do not take over newer marks and items that can still be read.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def restore(
    collection: str | None, source: str | None, at: str | None, no_merge: bool, yes: bool, as_json: bool
) -> None:
    """Go back to a backup of the database.

    What the present database has beyond it, and can still be read, is taken over: marks, captions, new items. The
    present database is kept in the folder `replaced` of the collection. Files that were indexed since are described
    again by the next `rankloom index`.

    \b
    Example:
      rankloom restore
      rankloom restore --at 2026-03-14 --yes
      rankloom restore --from photos-backup.db
    """
    from rankloom.collection import restore as run

    folder = collection_folder(collection)
    if source is not None and at is not None:
        raise click.UsageError("give --from or --at, not both")
    if not yes:
        click.confirm(f"Replace the database of {printable(folder)} by a backup?", abort=True, err=True)
    report = run(folder, source, at=None if at is None else _moment(at), merge=not no_merge)
    if as_json:
        emit(asdict(report))
        return
    say(f"restored {report.backup}: {report.items:,} items, {report.marks:,} marks")
    if report.merged:
        counts = ", ".join(f"{count:,} {name}" for name, count in report.merged.items())
        say(f"taken over from the database before: {counts}")
    if report.changes.dropped_marks:
        say(f"{report.changes.dropped_marks:,} marks are lost: they are of items that the backup does not know")
    if report.kept:
        say(f"the database before is kept in {report.kept}")
    say(f"describe what came since with: rankloom index -c {folder}; check it with: rankloom verify -c {folder}")


def _moment(text: str) -> datetime:
    """A day, of which the end is meant, or a moment; UTC unless it says otherwise."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"expected a date such as 2026-03-14, got {text!r}", param_hint="--at") from None
    if len(text) == len("2026-03-14"):
        moment += timedelta(days=1, microseconds=-1)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


@click.command()
@collection_option
@workers_option
@json_option
def repair(collection: str | None, workers: int | None, as_json: bool) -> None:
    """Repair a collection: save what can be read of a damaged database, compute damaged vectors and thumbnails again.

    What cannot be read comes from the newest backup, if that has it. The damaged database is kept in the folder
    `replaced` of the collection. The exit code is 1 if something is still damaged.

    \b
    Example:
      rankloom repair -c photos.rankloom
    """
    from rankloom.collection import Collection
    from rankloom.collection import repair as run
    from rankloom.collection._stores import store_of
    from rankloom.collection.collection import NEIGHBORS
    from rankloom.engine import Engine

    folder = collection_folder(collection)
    with file_progress() as update:
        graph = (store_of(folder).folder / NEIGHBORS).is_file()
        report = run(folder, workers=workers, progress=update)
        if graph and not report.problems:
            with Collection(folder) as opened:
                if len(opened):
                    Engine(opened).refresh(update)
    if as_json:
        emit({**asdict(report), "sound": not report.problems})
    else:
        if report.tables:
            rows = [
                [name, f"{count.read:,}", f"{count.backup:,}", "unknown" if count.lost is None else f"{count.lost:,}"]
                for name, count in report.tables.items() if count.read or count.backup or count.gaps
            ]  # fmt: skip
            table(["table", "rows saved", "from the backup", "lost"], rows)
            _say_changes(report.changes)
            say(f"the damaged database is kept in {report.kept}")
        for problem in report.problems:
            say(problem)
        say(
            f"{report.blocks:,} damaged blocks repaired, {report.items:,} items described again, "
            f"{report.lost:,} items, vectors or thumbnails lost, {len(report.problems):,} problems left"
        )
    if report.problems:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("source")
@click.argument("target")
@json_option
def copy(source: str, target: str, as_json: bool) -> None:
    """Copy a collection to where there is none: from SOURCE to TARGET, each a folder or an address postgresql://...

    Everything is copied as it is at one moment, marks and albums too; then all rows and checksums are compared. The
    collection may be in use meanwhile. Name the folder of vectors and thumbnails for a copy in PostgreSQL with files=.

    \b
    Example:
      rankloom copy photos.rankloom backup/photos.rankloom
      rankloom copy photos.rankloom 'postgresql://db.example/archive?schema=photos&files=/shared/photos'
      rankloom copy 'postgresql://db.example/archive?schema=photos' photos.rankloom
    """
    from rankloom.collection.copying import copy_collection

    with file_progress("copying") as update:
        report = copy_collection(source, target, progress=update)
    if as_json:
        emit(asdict(report))
        return
    items, marks = report.rows["items"], report.rows["qrels"]
    say(
        f"{items:,} items, {marks:,} marks, {sum(report.rows.values()):,} rows in all, "
        f"{report.files:,} files, {report.bytes / 1e6:,.1f} MB -> {printable(target)}; compared, all equal"
    )


def _say_changes(changes: Changes) -> None:
    lines = (
        (changes.unknown_items, "items could not be read; those whose file is there were described again"),
        (changes.dropped_marks, "marks are lost: their items are not there any more"),
        (
            changes.unchecked_bytes,
            "bytes of vectors and thumbnails had lost their checksums and were taken as they are",
        ),
    )
    for count, text in lines:
        if count:
            say(f"{count:,} {text}")

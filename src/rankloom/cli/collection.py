"""index, info, export, descriptors: the collection from the shell."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import click

from rankloom._sizes import EXACT_GRAPH
from rankloom.cli._options import (
    InputFile,
    PathOrAddress,
    cluster_option,
    collection_folder,
    collection_option,
    json_option,
)
from rankloom.cli._output import emit, file_progress, say, table

if TYPE_CHECKING:
    from rankloom.cluster import ClusterPool
    from rankloom.collection import Collection, IndexReport


@click.command()
@click.argument("paths", nargs=-1, type=PathOrAddress())
@collection_option
@click.option("--preset", help="Descriptors to compute: fast (at first), paper36 or full.")
@click.option(
    "--descriptor", "descriptors", multiple=True, help="A descriptor to compute in addition; may be repeated."
)
@click.option("--captions", type=InputFile, help="A CSV or TSV file with captions.")
@click.option("--path-column", default="path", show_default=True, help="Its column with the paths.")
@click.option("--text-column", default="caption", show_default=True, help="Its column with the captions.")
@click.option("--workers", type=click.IntRange(min=0), help="Processes; one a core unless given, 0 for none.")
@cluster_option
@click.option("--retry", is_flag=True, help="Read files again that could not be read before.")
@click.option("--ocr/--no-ocr", default=None, help="Read text in pictures, from now on; on if it is installed.")
@click.option("--speech/--no-speech", default=None, help="Listen to videos, from now on; on if it is installed.")
@click.option("--reread", is_flag=True, help="Read text, speech and faces also from files described without.")
@click.option("--forget-missing", is_flag=True, help="Take files of empty and missing folders for deleted.")
@click.option(
    "--no-neighbours", "no_neighbors", is_flag=True,
    help=f"Leave the neighbour graph as it is; it is exact up to {EXACT_GRAPH:,} items.",
)  # fmt: skip
@click.option("--watch", "watched", is_flag=True, help="Then follow every change of the files, until Ctrl-C.")
@json_option
def index(
    paths: tuple[str, ...],
    collection: str | None,
    preset: str | None,
    descriptors: tuple[str, ...],
    captions: str | None,
    path_column: str,
    text_column: str,
    workers: int | None,
    cluster: str | None,
    retry: bool,
    ocr: bool | None,
    speech: bool | None,
    reread: bool,
    forget_missing: bool,
    no_neighbors: bool,
    watched: bool,
    as_json: bool,
) -> None:
    """Describe the pictures and videos under PATHS, or bring a collection up to date.

    Unchanged files are left alone; changed, renamed and deleted ones are followed. A folder that is suddenly empty or
    not there is taken for a drive that is not mounted: its files are kept, unless you say --forget-missing. Without
    PATHS those of earlier runs are looked at again. It may be stopped at any time and goes on where it was. At the end
    the nearest neighbours of new items are found.

    With the extras ocr and speech, text in pictures and speech in videos are read too. Files that were described before
    an extra was installed are left alone until you say --reread.

    With --watch (the extra watch) it goes on until Ctrl-C and indexes what changes, when it is completely written. With
    --cluster (the extra cluster) the workers of a Dask cluster describe the files; they must see the folders as they
    are here, and PATHS may be addresses such as s3://bucket/folder or https://host/folder/.

    \b
    Example:
      rankloom index ~/Pictures
      rankloom index photos/ -c photos.rankloom --captions captions.csv --preset full
      rankloom index ~/Pictures --watch
      rankloom index s3://bucket/photos --cluster tcp://10.0.0.5:8786
    """
    from rankloom.collection import Captions, Collection
    from rankloom.collection.watching import check_watching

    if watched:
        check_watching()
    options: dict[str, Any] = {
        "preset": preset, "descriptors": descriptors, "retry": retry, "ocr": ocr, "speech": speech, "reread": reread,
        "forget_missing": forget_missing,
        "captions": None if captions is None else Captions(captions, path_column, text_column),
    }  # fmt: skip
    with ExitStack() as stack:
        opened = stack.enter_context(Collection(collection_folder(collection), create=bool(paths)))
        options["workers"] = workers if cluster is None else _pool(cluster, workers, opened, paths, stack)

        def update(again: bool = False, **others: Any) -> None:
            report = _index(opened, paths, options | others, neighbors=not no_neighbors)
            if not again or _did_something(report):
                _show_report(report, str(opened.folder), captions is not None, as_json=as_json)

        _watch(opened, paths, update) if watched else update()


def _pool(cluster: str, workers: int | None, opened: Collection, paths: Sequence[str], stack: ExitStack) -> ClusterPool:
    from rankloom._addresses import is_address
    from rankloom.cluster import ClusterPool, connected
    from rankloom.collection.overview import indexed_roots

    if workers is not None:
        raise click.UsageError("--workers are processes of this machine; a cluster has its own: --cluster local:N")
    client = stack.enter_context(connected(cluster))
    seen = [os.path.abspath(path) for path in paths or indexed_roots(opened) if not is_address(path)]
    return stack.enter_context(closing(ClusterPool(client, seen)))


def _index(opened: Collection, paths: Sequence[str], options: Mapping[str, Any], *, neighbors: bool) -> IndexReport:
    """Index once, and find the neighbours of what is new."""
    from rankloom.collection import index as run
    from rankloom.collection.collection import NEIGHBORS

    try:
        with file_progress() as update:
            report = run(opened, paths, **options, progress=update)
            changed = report.items or report.removed or report.followed or report.captions
            if neighbors and len(opened) and (changed or not (opened.folder / NEIGHBORS).is_file()):
                from rankloom.engine import Engine

                Engine(opened).refresh(update)
    except KeyboardInterrupt:
        raise click.ClickException(
            f"stopped; {len(opened):,} items are stored, run the same command to go on"
        ) from None
    return report


def _watch(opened: Collection, paths: Sequence[str], update: Callable[..., None]) -> None:
    """Index, and again whenever files have changed and are written to the end; Ctrl-C ends it."""
    from rankloom.collection.overview import indexed_roots
    from rankloom.collection.watching import watch

    settled = watch(paths or indexed_roots(opened), opened.folder)
    try:
        update(leave=next(settled))
        say("watching for changes (Ctrl-C stops it)", err=True)
        for unfinished in settled:
            update(again=True, leave=unfinished, retry=False, reread=False)
    except KeyboardInterrupt:
        say("stopped watching", err=True)


def _did_something(report: IndexReport) -> bool:
    return any((report.stored, report.followed, report.removed, report.failed, report.away))


def _show_report(report: IndexReport, folder: str, with_captions: bool, *, as_json: bool) -> None:
    if as_json:
        emit({"collection": folder, **vars(report)})
        return
    say(
        f"{report.stored:,} files described ({report.items:,} items), {report.followed:,} known under another "
        f"name, {report.removed:,} gone, {report.unchanged:,} unchanged, {report.failed:,} could not be read; "
        f"{report.seconds:.1f} s -> {folder}"
    )
    if report.video_work:
        length, pace = report.video_seconds, report.video_seconds / report.video_work
        say(f"{length // 60:.0f} min {length % 60:.0f} s of video, at {pace:.1f} times real time a worker")
    if report.reread:
        say(f"text, speech or faces read from {report.reread:,} files that were described before")
    if with_captions:
        say(f"captions for {report.captions:,} files")
    for root, count in report.away:
        say(
            f"{root} is empty or not there: its {count:,} files are kept, as a drive that is not mounted looks so; "
            "if they are deleted: rankloom index --forget-missing", err=True,
        )  # fmt: skip
    for line in _unread(report.unread, report.absent):
        say(line, err=True)
    warnings = [*report.unreadable, *report.warnings]
    for path, why in warnings[:10]:
        say(f"warning: {path}: {why}", err=True)
    if len(warnings) > 10:
        say(f"and {len(warnings) - 10:,} more warnings; --json prints all", err=True)
    if report.failed:
        say("the reasons: rankloom info --errors", err=True)


def _unread(unread: int, absent: list[str]) -> list[str]:
    """What is not read yet, and what cannot be."""
    lines = [f"not installed: {', '.join(absent)}"] if absent else []
    if unread:
        lines.append(f"{unread:,} files were described without text, speech or faces: rankloom index --reread")
    return lines


@click.command()
@collection_option
@click.option("--errors", is_flag=True, help="Only the files that could not be read, with the reasons.")
@json_option
def info(collection: str | None, errors: bool, as_json: bool) -> None:
    """Show what a collection holds.

    \b
    Example:
      rankloom info
      rankloom info -c photos.rankloom --errors
    """
    from rankloom.collection import Collection
    from rankloom.collection.readers import READERS, absent_readers, active_readers, unread_count

    with Collection(collection_folder(collection)) as opened:
        if errors:
            for path, why in opened.errors():
                emit({"path": path, "reason": why}) if as_json else say(f"{path}: {why}")
            return
        held, readers = opened.info(), active_readers(opened)
        unread, absent = unread_count(opened, readers), absent_readers(opened)
    if as_json:
        descriptors = [descriptor._asdict() for descriptor in held.descriptors]
        emit({**vars(held), "descriptors": descriptors, "readers": readers, "unread": unread, "absent": absent})
        return
    say(
        f"{held.folder}: {held.items:,} items of {held.files:,} files "
        f"({held.pictures:,} pictures, {held.videos:,} videos with {held.shots:,} shots)"
    )
    say(
        f"{held.duplicates:,} copies, {held.hidden:,} items without a file, {held.texts:,} texts, "
        f"{held.marks:,} marks, {held.errors:,} files that could not be read, {held.bytes / 1e6:,.1f} MB"
    )
    say(f"read from files: {', '.join(READERS[name].what for name in readers)}", *_unread(unread, absent))
    rows = [
        [stored.name, stored.version, f"{stored.dimension:,}", stored.kind, f"{stored.rows:,}"]
        for stored in held.descriptors
    ]
    table(["descriptor", "version", "components", "kind", "vectors"], rows)


@click.command()
@click.argument("output", type=click.Path(), required=False)
@collection_option
@click.option("--marks", is_flag=True, help="Write the marks instead: a table, or else TREC qrels.")
@click.option("--user", help="Only the marks of this user; without it those of all.")
@click.option(
    "--xmp", is_flag=True, help="Write your captions, tags and stars as XMP sidecars below the folder OUTPUT."
)
@click.option("--beside", is_flag=True, help="Write the sidecars beside the files instead.")
@json_option
def export(
    output: str | None, collection: str | None, marks: bool, user: str | None, xmp: bool, beside: bool, as_json: bool
) -> None:
    """Write the items of a collection to OUTPUT (.csv, .tsv or .parquet), its marks, or sidecars of its files.

    Marks go to a table with a column for the user if OUTPUT ends so, else to TREC qrels, which `feedback --import`
    takes in. TREC qrels have one grade per query and item: where several users judged the same, the one that most gave,
    of equally many the latest; or that of --user.

    \b
    Example:
      rankloom export items.csv
      rankloom export qrels.txt --marks
      rankloom export marks.csv --marks --user anna
      rankloom export sidecars --xmp
    """
    from rankloom.collection import Collection, export_items, export_marks

    if user is not None and not marks:
        raise click.UsageError("--user goes with --marks: items belong to nobody")
    if (xmp and marks) or (beside and not xmp) or (output is None) != beside:
        raise click.UsageError("give OUTPUT: a file, or a folder with --xmp; or --xmp --beside without OUTPUT")
    if xmp:
        _export_sidecars(collection, output, as_json)
        return
    assert output is not None
    with Collection(collection_folder(collection)) as opened:
        if not marks:
            count = export_items(opened, output)
            emit({"items": count, "output": output}) if as_json else say(f"{count:,} items -> {output}")
            return
        exported = export_marks(opened, output, user)
    if as_json:
        counts = {"left_out": exported.left_out, "merged": exported.merged, "disputed": exported.disputed}
        emit({"marks": exported.written, **counts, "output": output})
    else:
        say(f"{exported.written:,} marks -> {output}")
    if exported.left_out:
        say(
            f"{exported.left_out:,} preferences left out, as TREC qrels have grades only; a .csv file has them",
            err=True,
        )
    if exported.merged:
        say(
            f"{exported.merged:,} of these are merged from several users, who differ on {exported.disputed:,}: "
            "the grade that most gave, of equally many the latest; --user NAME takes one user, a .csv file has all",
            err=True,
        )


def _export_sidecars(collection: str | None, output: str | None, as_json: bool) -> None:
    from rankloom.collection import Collection
    from rankloom.collection.xmp import export_sidecars

    with Collection(collection_folder(collection)) as opened:
        done = export_sidecars(opened, output, lambda line: say(f"warning: {line}", err=True))
    if as_json:
        emit({"sidecars": done.written, "left": done.left, "output": output})
        return
    say(f"{done.written:,} sidecars -> {output or 'beside the files'}")
    if done.left:
        say(f"{len(done.left):,} sidecars of other programs are left as they are", err=True)


@click.group()
def descriptors() -> None:
    """Descriptors: those there are, and encoders of your own.

    \b
    Example:
      rankloom descriptors list
    """


@descriptors.command("list")
@json_option
def list_descriptors(as_json: bool) -> None:
    """List the descriptors and the presets that hold them.

    \b
    Example:
      rankloom descriptors list
    """
    from rankloom.descriptors import DESCRIPTORS, PRESETS

    rows = []
    for name, descriptor in DESCRIPTORS.items():
        presets = [preset for preset, names in PRESETS.items() if name in names]
        if as_json:
            emit({"name": name, "components": descriptor.dimension, "kind": descriptor.kind, "presets": presets})
        rows.append([name, f"{descriptor.dimension or 'trained'}", descriptor.kind, ", ".join(presets)])
    if not as_json:
        table(["descriptor", "components", "kind", "presets"], rows)


@descriptors.command("add")
@click.argument("name")
@click.option("--image-onnx", required=True, type=InputFile, help="The image encoder.")
@click.option("--text-onnx", type=InputFile, help="The text encoder of the same space.")
@click.option("--tokenizer", type=InputFile, help="Its tokenizer.json.")
@collection_option
def add_descriptor(
    name: str, image_onnx: str, text_onnx: str | None, tokenizer: str | None, collection: str | None
) -> None:
    """Take an ONNX encoder of your own, such as CLIP, into a collection under NAME.

    \b
    Example:
      rankloom descriptors add clip --image-onnx a.onnx --text-onnx b.onnx --tokenizer t.json
    """
    from rankloom.collection import Collection, add_encoder

    with Collection(collection_folder(collection), create=True) as opened:
        dimension = add_encoder(opened, name, image_onnx, text_onnx, tokenizer)
        say(f"{name}: {dimension} components; compute its vectors with: rankloom index -c {opened.folder}")

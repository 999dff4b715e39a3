"""demo and sample: the drawn sample collection, taken to a search that was taught something, or only written."""

from __future__ import annotations

import csv
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankloom.cli._options import collection_folder, json_option
from rankloom.cli._output import emit, file_progress, progress, say, table

if TYPE_CHECKING:
    from rankloom.collection import Collection
    from rankloom.engine import Engine, Results, SearchHit

_PICTURES, _FILMS = 400, 4
_UNATTENDED = 300.0  # seconds that the page is there where nobody can press Ctrl-C


@click.command()
@click.option("--folder", type=click.Path(file_okay=False), help="Where the sample goes, if not to the data folder.")
@click.option("--pictures", default=_PICTURES, show_default=True, type=click.IntRange(min=60), help="How many.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="Of the page; 0 for any.")
@click.option("--serve/--no-serve", default=True, help="Whether to serve the page at the end.")
@click.option("--seconds", type=float, help="Stop serving after so long; without a terminal after five minutes.")
def demo(folder: str | None, pictures: int, port: int, serve: bool, seconds: float | None) -> None:
    """Draw a sample collection, index it, search it by words and pictures, teach it, and serve the page.

    \b
    Example:
      rankloom demo
      rankloom demo --no-serve
    """
    from rankloom.collection import Captions, Collection
    from rankloom.collection import index as run
    from rankloom.engine import Engine

    root = Path(folder or f"{collection_folder(None)}-demo")
    shown = root / "pictures"
    say(f"A sample collection in {root}: {pictures} pictures and {_FILMS} short films, drawn by a program.")
    _draw(shown, pictures)
    say("Describing them: colors, textures, shapes, what they show.")
    with Collection(root / "collection", create=True) as collection:
        with file_progress() as update:
            captions = Captions(str(shown / "captions.csv"))
            report = run(collection, [shown], captions=captions, ocr=False, speech=False, progress=update)
        say(f"{len(collection):,} pictures and shots described in {report.seconds:.0f} s.")
        say("Finding the nearest neighbours of each, then searching.", "")
        with file_progress("neighbours") as update:
            engine = Engine(collection)
            engine.refresh(update)
        _show(engine, collection, shown)
        if serve:
            _serve(engine, port, seconds)
        else:
            say(f"The page: {_own_name()} serve -c {collection.folder}")


def _draw(folder: Path, pictures: int) -> None:
    from rankloom.demo import write_sample

    if (folder / "labels.csv").is_file():
        say("They are drawn already.")
        return
    say("Drawing them.")
    with progress(pictures + _FILMS, "drawing") as advance:
        write_sample(folder, n_pictures=pictures, n_videos=_FILMS, progress=advance)


def _show(engine: Engine, collection: Collection, folder: Path) -> None:
    """Three searches with their reasons, and one that is taught."""
    from rankloom.collection import Mark
    from rankloom.collection.query import Example, Query
    from rankloom.engine import SearchOptions

    with open(folder / "labels.csv", newline="", encoding="utf-8") as file:
        kinds = {str((folder / row["path"]).absolute()): row["label"] for row in csv.DictReader(file)}

    def kind(path: str) -> str:
        return kinds.get(path, "a shot of a film")

    def show(title: str, query: Query) -> Results:
        results = engine.search(query, 5, SearchOptions(explain=True))
        rows = [[str(hit.rank), kind(hit.path), Path(hit.path).name, _reasons(hit)] for hit in results]
        table(["", "shows", "file", "why here"], rows, title)
        return results

    show('Words: "sunset boat"', Query("sunset boat"))
    example = next(item for item in collection.items() if kind(item.path) == "lighthouse")
    show(f"A picture of a lighthouse ({Path(example.path).name})", Query(examples=(Example(path=example.path),)))
    show("Both: that picture, and the word night", Query("night", (Example(item=example.id),)))

    query, wanted = Query("sea"), "lighthouse"
    before = engine.search(query, 20)
    given = [Mark(hit.id, float(kind(hit.path) == wanted)) for hit in before[:10]]
    engine.feedback(query, given, shown=[hit.id for hit in before])
    after = engine.search(query, 20)
    counts = [sum(kind(hit.path) == wanted for hit in answer) for answer in (before, after)]
    say(
        f'Taught: {counts[0]} of the first 20 results for "sea" showed a lighthouse. After ten marks, lighthouses '
        f"right and others wrong, {counts[1]} do."
    )
    while engine.undo(query) is not None:
        pass
    say("The marks were undone: now it is your turn.", "")


def _reasons(hit: SearchHit) -> str:
    from rankloom.engine.expert_names import part_name

    assert hit.why is not None
    return "; ".join(f"{part_name(part)} {part.value:+.2f}" for part in hit.why.largest()[:3])


def _serve(engine: Engine, port: int, seconds: float | None) -> None:
    from rankloom.server import serve
    from rankloom.server.settings import ServerSettings

    limit = seconds if seconds is not None else None if _attended() else _UNATTENDED

    def ready(address: str) -> None:
        say(f"The page is at {address}  Search, press r for right and w for wrong, then n for the new order.")
        if limit is None:
            say("Ctrl-C stops it.")
            click.launch(address)
        else:
            say(f"It stops by itself after {limit:.0f} s.")
            timer = threading.Timer(limit, os.kill, (os.getpid(), signal.SIGINT))
            timer.daemon = True
            timer.start()

    serve(engine, ServerSettings(port=port, demo=True), ready)


def _attended() -> bool:
    """Whether there is a terminal, in which somebody can press Ctrl-C."""
    return any(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def _own_name() -> str:
    """How this command can be called again from here."""
    called, here = Path(sys.argv[0]).absolute(), Path.cwd()
    in_here = called.name == "rankloom" and called.is_relative_to(here)
    return str(called.relative_to(here)) if in_here else "rankloom"


@click.command()
@click.argument("dir", type=click.Path(file_okay=False))
@click.option("--pictures", type=click.IntRange(min=1), default=1000, show_default=True, help="How many pictures.")
@click.option("--videos", type=click.IntRange(min=0), default=4, show_default=True, help="How many short films.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed, the same files.")
@json_option
def sample(dir: str, pictures: int, videos: int, seed: int, as_json: bool) -> None:
    """Write a sample collection into DIR, which must be new or empty.

    About forty kinds of scenes, things and patterns, all drawn by code and free to use (CC0), with captions as people
    write them (captions.csv), the true classes (labels.csv) and films with subtitles and known cuts.

    \b
    Example:
      rankloom sample pictures
      rankloom sample few --pictures 100 --videos 1 --seed 7
    """
    from rankloom.demo import write_sample

    with progress(pictures + videos, "drawing") as advance:
        written = write_sample(dir, n_pictures=pictures, n_videos=videos, seed=seed, progress=advance)
    if as_json:
        emit({**written._asdict(), "folder": str(written.folder)})
        return
    say(
        f"{written.n_pictures:,} pictures of {written.n_kinds} kinds, {written.n_videos} films, "
        f"{written.n_captions:,} captions",
        f"-> {written.folder}",
    )

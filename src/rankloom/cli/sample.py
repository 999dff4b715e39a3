"""sample: our own collection of pictures and films, drawn by code."""

from __future__ import annotations

import click

from rankloom.cli._options import json_option
from rankloom.cli._output import emit, progress


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
    click.echo(
        f"{written.n_pictures:,} pictures of {written.n_kinds} kinds, {written.n_videos} films, "
        f"{written.n_captions:,} captions\n-> {written.folder}"
    )

"""search: find pictures and shots by words, by examples, or both."""

from __future__ import annotations

import click

from rankloom.cli._options import collection_folder, collection_option, json_option
from rankloom.cli._output import emit, file_progress, table


@click.command()
@click.argument("text", nargs=-1)
@collection_option
@click.option("--like", multiple=True, type=click.Path(dir_okay=False), help="A picture of what is wanted; repeatable.")
@click.option("--unlike", multiple=True, type=click.Path(dir_okay=False), help="A picture of what is not wanted.")
@click.option("--item", "items", multiple=True, type=int, help="An item of the collection as an example; repeatable.")
@click.option("--region", help="The part of the picture of --like that counts: left,top,right,bottom from 0 to 1.")
@click.option("-k", default=20, show_default=True, type=click.IntRange(min=1), help="How many results.")
@click.option("--folder", type=click.Path(), help="Only files below this folder.")
@click.option("--kind", type=click.Choice(["picture", "shot"]), help="Only pictures, or only shots of videos.")
@click.option("--after", help="Only items taken from this date on (2024-05-01).")
@click.option("--before", help="Only items taken before this date.")
@click.option("--has-text/--no-text", default=None, help="Only items with, or without, a text of their own.")
@click.option("--no-diffusion", is_flag=True, help="Score every item by itself, without its neighbours.")
@click.option("--explain", is_flag=True, help="Show what each expert and neighbour added to the score.")
@json_option
def search(
    text: tuple[str, ...],
    collection: str | None,
    like: tuple[str, ...],
    unlike: tuple[str, ...],
    items: tuple[int, ...],
    region: str | None,
    k: int,
    folder: str | None,
    kind: str | None,
    after: str | None,
    before: str | None,
    has_text: bool | None,
    no_diffusion: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Find items by TEXT (words, "a phrase", begin*, -without), by pictures, or by both.

    \b
    Example:
      rankloom search red flower
      rankloom search --like photo.jpg --explain
      rankloom search boat --item 17 --folder ~/Pictures/2024
    """
    from rankloom.collection import Collection
    from rankloom.engine import Engine
    from rankloom.queries import Example, Filters, Query

    part = None if region is None else _region(region)
    examples = [Example(path=path, region=part) for path in like]
    examples += [Example(path=path, weight=-1.0) for path in unlike]
    examples += [Example(item=number) for number in items]
    query = Query(" ".join(text), tuple(examples), Filters(folder, kind, after, before, has_text))
    with Collection(collection_folder(collection)) as opened:
        engine = Engine(opened)
        found = engine.search(query, k, diffusion=not no_diffusion, explain=explain)
    if as_json:
        for one in found:
            record = {key: value for key, value in one._asdict().items() if value is not None}
            emit(record)
        return
    rows = []
    for one in found:
        time = "" if one.start is None else f"{one.start:.1f}-{one.end:.1f} s"
        rows.append([str(one.rank), f"{one.score:.4f}", str(one.id), time, one.path])
        if one.why is not None:
            parts = sorted(one.why.items(), key=lambda part: -abs(part[1]))[:6]
            rows.append(["", "", "", "", "  ".join(f"{name} {value:+.3f}" for name, value in parts)])
    table(["", "score", "item", "time", "file"], rows)


def _region(text: str) -> tuple[float, float, float, float]:
    try:
        left, top, right, bottom = (float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"expected left,top,right,bottom, got {text!r}", param_hint="--region") from None
    return left, top, right, bottom

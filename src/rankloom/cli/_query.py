"""The options that say what is searched for; several commands share them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rankloom.cli._options import InputFile

_OPTIONS = (
    click.argument("text", nargs=-1),
    click.option("--like", multiple=True, type=InputFile, help="A picture of what is wanted."),
    click.option("--unlike", multiple=True, type=InputFile, help="A picture of what is not wanted."),
    click.option("--item", "items", multiple=True, type=int, help="An item of the collection as an example."),
    click.option("--region", help="The part of --like and --item that counts: left,top,right,bottom from 0 to 1."),
    click.option("--concept", help="A concept that results should show."),
)

_FILTERS = (
    click.option("--folder", type=click.Path(), help="Only files below this folder."),
    click.option("--kind", type=click.Choice(["picture", "shot"]), help="Only pictures, or only shots of videos."),
    click.option(
        "--after", callback=lambda *given: read_date(*given), help="Only items of this date on: 2024, 30d ..."
    ),
    click.option("--before", callback=lambda *given: read_date(*given), help="Only items before this date begins."),
    click.option("--has-text/--no-text", default=None, help="Only items with, or without, a text of their own."),
    click.option("--stars", type=click.IntRange(1, 5), help="Only items with at least as many stars."),
    click.option("--tag", help="Only items with this tag of yours."),
    click.option(
        "--within",
        metavar="W,S,E,N",
        callback=lambda *given: read_within(*given),
        help="Only items taken inside this rectangle: west,south,east,north in degrees.",
    ),
    click.option(
        "--near",
        metavar="LAT,LON,KM",
        callback=lambda *given: read_near(*given),
        help="Only items taken in the rectangle so many kilometres around this place.",
    ),
    click.option("--marked/--unmarked", default=None, help="Only results that are marked, or not."),
    click.option("--hidden", is_flag=True, default=None, help="Only hidden items, which nothing else shows."),
)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What results must be."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


def query_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Words, pictures, items and a concept."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_query(
    text: tuple[str, ...],
    like: tuple[str, ...],
    unlike: tuple[str, ...],
    items: tuple[int, ...],
    region: str | None,
    concept: str | None,
    **filters: Any,
) -> Any:
    """The query that the options describe."""
    from rankloom.collection.query import Example, Filters, Query

    near = filters.pop("near", None)
    if near is not None:
        if filters.get("within") is not None:
            raise click.UsageError("--near and --within both say where: give one of them")
        filters["within"] = near
    part = None if region is None else _region(region)
    examples = [Example(path=path, region=part) for path in like]
    examples += [Example(path=path, weight=-1.0) for path in unlike]
    examples += [Example(item=number, region=part) for number in items]
    return Query(" ".join(text), tuple(examples), Filters(**filters), concept=concept)


def read_date(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """A date as it was given, if it is one; relative ones are resolved by the search."""
    from rankloom.collection.dates import start_of

    if text is not None:
        try:
            start_of(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return text


def read_within(_: click.Context, __: click.Parameter, text: str | None) -> Any:
    """A rectangle of the map."""
    from rankloom.collection.rectangles import rectangle

    try:
        return None if text is None else rectangle(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def read_near(_: click.Context, __: click.Parameter, text: str | None) -> Any:
    """The rectangle around a place."""
    from rankloom.collection.rectangles import around

    if text is None:
        return None
    try:
        latitude, longitude, km = map(float, text.split(","))
        return around(latitude, longitude, km)
    except ValueError:
        raise click.BadParameter(
            f"expected LATITUDE,LONGITUDE,KILOMETRES such as 48.86,2.35,10, got {text!r}"
        ) from None


def _region(text: str) -> tuple[float, float, float, float]:
    try:
        left, top, right, bottom = (float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"expected left,top,right,bottom, got {text!r}", param_hint="--region") from None
    return left, top, right, bottom

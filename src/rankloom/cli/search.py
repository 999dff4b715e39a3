"""search: find pictures and shots by words, by examples, or both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankloom.cli._options import collection_option, index_option, json_option, open_engine, user_option
from rankloom.cli._output import emit, say, table
from rankloom.cli._query import query_options, read_date, read_query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloom.collection.matching import MatchedText
    from rankloom.collection.query import Query
    from rankloom.engine import Explanation, Results, SearchHit


@click.command()
@query_options
@collection_option
@click.option("-k", default=20, show_default=True, type=click.IntRange(min=1), help="How many results.")
@click.option("--folder", type=click.Path(), help="Only files below this folder.")
@click.option("--kind", type=click.Choice(["picture", "shot"]), help="Only pictures, or only shots of videos.")
@click.option("--after", callback=read_date, help="Only items taken from this date on: 2024, 2024-05-17, 30d, 1y ...")
@click.option("--before", callback=read_date, help="Only items taken before this date begins.")
@click.option("--has-text/--no-text", default=None, help="Only items with, or without, a text of their own.")
@click.option("--no-diffusion", is_flag=True, help="Score every item by itself, without its neighbours.")
@click.option("--no-marks", is_flag=True, help="As if no result of this query had been marked.")
@click.option("--collapse", is_flag=True, help="Show only the best of near duplicates.")
@click.option("--diversity", default=0.0, type=click.FloatRange(0, 1), help="How much results should differ.")
@click.option("--method", default="experts", show_default=True, help="experts, or a reranker: visual_rank, smooth ...")
@click.option("--suggest", is_flag=True, help="Show the items whose mark would teach most instead.")
@click.option("--explain", is_flag=True, help="Show what each expert, mark and neighbour added to the score.")
@click.option("--above", nargs=2, type=int, metavar="A B", help="Say why item A is above item B instead.")
@index_option
@user_option
@json_option
def search(
    collection: str | None,
    k: int,
    folder: str | None,
    kind: str | None,
    after: str | None,
    before: str | None,
    has_text: bool | None,
    no_diffusion: bool,
    no_marks: bool,
    collapse: bool,
    diversity: float,
    method: str,
    suggest: bool,
    explain: bool,
    above: tuple[int, int] | None,
    index: str | None,
    user: str,
    as_json: bool,
    **asked: Any,
) -> None:
    """Find items by TEXT (words, "a phrase", begin*, -without), by pictures, or by both.

    Filters alone list the items that pass them, the newest first.

    \b
    Example:
      rankloom search red flower
      rankloom search --like photo.jpg --explain
      rankloom search boat --item 17 --folder ~/Pictures/2024
      rankloom search --kind picture --after 2024-05 --before 2024-06
      rankloom search boat --above 17 4
    """
    from rankloom.collection.matching import matched_texts
    from rankloom.engine import SearchOptions

    query = read_query(**asked, folder=folder, kind=kind, after=after, before=before, has_text=has_text)
    with open_engine(collection, index=index) as engine:
        options = SearchOptions(
            user=user, diffusion=not no_diffusion, feedback=not no_marks, explain=explain, collapse=collapse,
            diversity=diversity, method=method,
        )  # fmt: skip
        if above:
            _show_difference(engine.compare(query, *above, options), above, as_json)
            return
        results = (engine.suggest if suggest else engine.search)(query, k, options)
        matched = matched_texts(engine.collection, [hit.id for hit in results], query.text)
    _show(query, results, matched, as_json)
    if results.learning:
        say("marks are not all learned yet: 'rankloom serve' learns them in the background", err=True)


def _show(query: Query, results: Results, matched: Mapping[int, MatchedText], as_json: bool) -> None:
    if not results:
        say(_nothing(query), err=True)
    elif as_json:
        for hit in results:
            emit(_record(hit, query, matched.get(hit.id)))
    elif query.lists:
        rows = [[str(hit.rank), hit.taken or "", str(hit.id), _time(hit), _file(hit)] for hit in results]
        table(["", "taken", "item", "time", "file"], rows)
    else:
        _show_ranked(results, matched)
        if results.literal is not None and results.literal < results.total:
            say(_guessed(results.literal), err=True)


def _guessed(literal: int) -> str:
    """What to say of results that do not have the words: any words at all rank all pictures."""
    if literal == 0:
        return "no text or tag has these words: the order is a guess by looks"
    return (
        f"{literal:,} {'has' if literal == 1 else 'have'} these words in texts or tags; the others are a guess by looks"
    )


def _nothing(query: Query) -> str:
    """What to try where nothing was found."""
    if query.lists:
        return "nothing was found: no item passes the filters; leave one out"
    if query.filters.given:
        return "nothing was found: no item with something of the query passes the filters; leave a filter out"
    return "nothing was found: no item has these words; use fewer or other words, begin* for beginnings, or --like FILE"


def _record(hit: SearchHit, query: Query, matched: MatchedText | None) -> dict[str, Any]:
    """A result as JSON: what there is of it; a list by date has no scores."""
    record = {key: value for key, value in hit._asdict().items() if value is not None and value != ()}
    if hit.why is not None:
        record["why"] = hit.why.by_name()
    if matched is not None:
        record["matched"] = matched._asdict()
    if query.lists:
        del record["score"]
    return record


def _show_ranked(results: Results, matched: Mapping[int, MatchedText]) -> None:
    rows = []
    for hit in results:
        marked = "" if hit.mark is None else "right" if hit.mark > 0 else "wrong"
        rows.append([str(hit.rank), f"{hit.score:.4f}", str(hit.id), marked, _time(hit), _file(hit)])
        if hit.id in matched:
            rows.append(["", "", "", "", "", f"{matched[hit.id].source}: {matched[hit.id].text}"])
        if hit.why is not None:
            parts = hit.why.largest()[:6]
            rows.append(["", "", "", "", "", "  ".join(f"{part.name} {part.value:+.3f}" for part in parts)])
        if results.cutoff == hit.rank and hit is not results[-1]:
            rows.append(["", "", "", "", "", "--- the rest is probably not it ---"])
    table(["", "score", "item", "mark", "time", "file"], rows)


def _time(hit: SearchHit) -> str:
    return "" if hit.start is None else f"{hit.start:.1f}-{hit.end:.1f} s"


def _file(hit: SearchHit) -> str:
    return f"{hit.path} (+{len(hit.duplicates)})" if hit.duplicates else hit.path


def _show_difference(why: Explanation, above: tuple[int, int], as_json: bool) -> None:
    total = why.total
    if as_json:
        emit({"above": above[0], "below": above[1], "difference": total, "why": why.by_name()})
        return
    rows = [[part.name, f"{part.value:+.4f}"] for part in why if part.value][:20]
    word = "above" if total > 0 else "not above"
    say(f"item {above[0]} is {word} item {above[1]}: the scores differ by {total:+.4f}")
    table(["what", "difference"], rows)

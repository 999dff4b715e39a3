"""search: find pictures and shots by words, by examples, or both."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankloom.cli._options import cluster_option, collection_option, index_option, json_option, open_engine, user_option
from rankloom.cli._output import emit, say, table
from rankloom.cli._query import filter_options, query_options, read_query
from rankloom.cli.shard import say_missing, search_shards

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloom.collection.matching import MatchedText
    from rankloom.collection.query import Query
    from rankloom.engine import Engine, Explanation, Results, SearchHit, SearchOptions
    from rankloom.engine.sorting import Order

ORDERS = ("score", "newest", "oldest", "name", "uncertain")


@click.command()
@query_options
@collection_option
@click.option("-k", default=20, show_default=True, type=click.IntRange(min=1), help="How many results.")
@filter_options
@click.option("--album", help="Only items of this album.")
@click.option("--order", type=click.Choice(ORDERS), help="Of results; of a list newest, oldest or name.")
@click.option("--no-diffusion", is_flag=True, help="Score every item by itself, without its neighbours.")
@click.option("--no-marks", is_flag=True, help="As if no result of this query had been marked.")
@click.option("--collapse", is_flag=True, help="Show only the best of near duplicates.")
@click.option("--diversity", default=0.0, type=click.FloatRange(0, 1), help="How much results should differ.")
@click.option("--method", default="experts", show_default=True, help="experts, or a reranker: visual_rank, smooth ...")
@click.option("--explain", is_flag=True, help="Show what each expert, mark and neighbour added to the score.")
@click.option("--above", nargs=2, type=int, metavar="A B", help="Say why item A is above item B instead.")
@index_option
@cluster_option
@click.option("--shards", metavar="FOLDER", help="Of 'rankloom shard make', as the workers of --cluster see it.")
@user_option
@json_option
def search(
    collection: str | None,
    k: int,
    album: str | None,
    order: Order | None,
    no_diffusion: bool,
    no_marks: bool,
    collapse: bool,
    diversity: float,
    method: str,
    explain: bool,
    above: tuple[int, int] | None,
    index: str | None,
    cluster: str | None,
    shards: str | None,
    user: str,
    as_json: bool,
    **asked: Any,
) -> None:
    """Find items by TEXT (words, "a phrase", begin*, -without), by pictures, or by both.

    Filters alone list the items that pass them, the newest first; an --order alone lists all.

    \b
    Example:
      rankloom search red flower
      rankloom search --like photo.jpg --explain
      rankloom search boat --item 17 --folder ~/Pictures/2024
      rankloom search --kind picture --after 2024-05 --before 2024-06
      rankloom search boat --above 17 4
      rankloom search --album "Rome 2024" --stars 4
      rankloom search --order name
      rankloom search --item 17 --cluster tcp://10.0.0.5:8786 --shards shards
    """
    from rankloom import _compiled
    from rankloom.collection.albums import album_named
    from rankloom.collection.matching import matched_texts
    from rankloom.engine import SearchOptions
    from rankloom.engine.sorting import sorted_search

    query = read_query(**asked)
    plain = not (order or collapse or diversity or explain or above) and method == "experts"
    plain = plain and index in (None, "exact", "cascade")
    spread = _spread(cluster, shards, plain)
    with _compiled.brief(), open_engine(collection, index=index) as engine:
        if album is not None:
            query = replace(query, filters=replace(query.filters, album=album_named(engine.collection, album).id))
        options = SearchOptions(
            user=user, diffusion=not no_diffusion, feedback=not no_marks, explain=explain, collapse=collapse,
            diversity=diversity, method=method,
        )  # fmt: skip
        if spread:
            _over_shards(engine, query, k, options, spread, as_json)
            return
        if above:
            _show_difference(engine.compare(query, *above, options), above, as_json)
            return
        if query.empty and (order or album):
            results = _listed(engine, query, k, order)
        else:
            results = sorted_search(engine, query, k, options, order or "score")
        matched = matched_texts(engine.collection, [hit.id for hit in results], query.text)
        meant = _meant(engine, query, results)
    _show(query, results, matched, as_json, order)
    if meant is not None:
        say(f"did you mean: {meant}", err=True)
    if results.learning:
        say("marks are not all learned yet: 'rankloom serve' learns them in the background", err=True)


def _spread(cluster: str | None, shards: str | None, plain: bool) -> tuple[str, str] | None:
    """Where shards are searched; None where none are."""
    if cluster is None and shards is None:
        return None
    if cluster is None or shards is None:
        raise click.UsageError("--shards and --cluster go together: where the shards are, and whose workers hold them")
    if not plain:
        raise click.UsageError(
            "--order, --collapse, --diversity, --method, --explain, --above, and --index other than exact or cascade "
            "do not work over shards"
        )
    return cluster, shards


def _over_shards(
    engine: Engine, query: Query, k: int, options: SearchOptions, spread: tuple[str, str], as_json: bool
) -> None:
    """Search shards, show the hits, and say what is missing or left aside."""
    from rankloom.collection.matching import matched_texts

    found = search_shards(engine, query, k, *spread)
    _show(
        query, found.results, matched_texts(engine.collection, [hit.id for hit in found.results], query.text), as_json
    )
    say_missing(found, as_json)
    if options.feedback and (given := len(engine.marks(query, options.user))):
        say(f"over shards the experts alone rank: {given:,} marks of this query are left aside", err=True)


def _meant(engine: Engine, query: Query, results: Results) -> str | None:
    """The query with the words of the collection in place of misspelled ones, where nothing has its words."""
    from rankloom.collection.vocabulary import CollectionWords
    from rankloom.engine.spelling import did_you_mean

    if not query.text.strip() or results.literal:
        return None
    return did_you_mean(query.text, engine.snapshot(), CollectionWords(engine.collection).current)


def _listed(engine: Engine, query: Query, k: int, order: str | None) -> Results:
    """All items that pass the filters, in an order."""
    from rankloom.collection.browsing import SORTS, Catalogue
    from rankloom.engine import Results, SearchHit

    sort = next((name for name in SORTS if name == (order or "newest")), None)
    if sort is None:
        raise ValueError(f"there is nothing to order by {order}: give words or an example, or --order newest")
    listing = Catalogue(engine.collection).listing(query.filters, sort)
    items = engine.collection.items(listing.items[:k].tolist())
    hits = tuple(SearchHit.of(rank, item, 0.0) for rank, item in enumerate(items, 1))
    return Results(hits, len(listing.items))


def _show(
    query: Query, results: Results, matched: Mapping[int, MatchedText], as_json: bool, order: str | None = None
) -> None:
    if not results:
        say(_nothing(query), err=True)
    elif as_json:
        for hit in results:
            emit(_record(hit, query, matched.get(hit.id)))
    elif query.empty:
        rows = [[str(hit.rank), hit.taken or "", str(hit.id), _time(hit), _file(hit)] for hit in results]
        table(["", "taken", "item", "time", "file"], rows)
    else:
        _show_ranked(results, matched)
        say(_how_many(results, order), err=True)
        if results.literal is not None:
            say(_with_words(results), err=True)


def _how_many(results: Results, order: str | None) -> str:
    """How many results are likely right, by the first two digits; or how many items are in this order."""
    if results.likely is not None:
        return f"about {float(f'{results.likely:.2g}'):,.0f} likely"
    count = f"{results.total:,} {'item' if results.total == 1 else 'items'}"
    return f"{count}, best first" if order in (None, "score") else count


def _with_words(results: Results) -> str:
    """How many items have the words, and that the others are a guess: any words at all rank all pictures."""
    if not results.literal:
        return "no text or tag has these words: the order is a guess by looks"
    written, tagged = results.in_texts or 0, results.in_tags or 0
    some = max(0, results.literal - written - tagged)
    said = [f"{written:,} {_have(written)} these words"] if written else []
    if tagged:
        said.append(
            f"{tagged:,} more by automatic tags"
            if written
            else f"{tagged:,} {_have(tagged)} these words as automatic tags"
        )
    if not said:
        said.append("none has all these words")
    if some:
        said.append(f"{some:,} {_have(some)} some of them")
    if results.literal < results.total:
        said.append("the others are a guess by looks")
    return ", ".join(said)


def _have(n: int) -> str:
    return "has" if n == 1 else "have"


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
    if query.empty:
        del record["score"]
    return record


def _show_ranked(results: Results, matched: Mapping[int, MatchedText]) -> None:
    from rankloom.engine.expert_names import part_name

    rows = []
    for hit in results:
        marked = "" if hit.mark is None else "right" if hit.mark > 0 else "wrong"
        rows.append([str(hit.rank), f"{hit.score:.4f}", str(hit.id), marked, _time(hit), _file(hit)])
        if hit.id in matched:
            rows.append(["", "", "", "", "", f"{matched[hit.id].source}: {matched[hit.id].text}"])
        if hit.why is not None:
            parts = hit.why.largest()[:6]
            rows.append(["", "", "", "", "", "  ".join(f"{part_name(part)} {part.value:+.3f}" for part in parts)])
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
    from rankloom.engine.expert_names import part_name

    rows = [[part_name(part), f"{part.value:+.4f}"] for part in why if part.value][:20]
    word = "above" if total > 0 else "not above"
    say(f"item {above[0]} is {word} item {above[1]}: the scores differ by {total:+.4f}")
    table(["what", "difference"], rows)

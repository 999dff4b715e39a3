"""Results in another order than by score: by date, by name, or the most doubtful first."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from rankloom.collection.albums import Album, judged_items
from rankloom.collection.browsing import dates_of, natural
from rankloom.collection.query import Query
from rankloom.engine.engine import Engine
from rankloom.engine.options import SearchOptions
from rankloom.engine.results import Results, SearchHit

Order = Literal["score", "newest", "oldest", "name", "uncertain"]
ORDERS: tuple[Order, ...] = get_args(Order)
BEST = 200  # results that are put into another order, where nothing says how many are what was looked for


def sorted_search(engine: Engine, query: Query, k: int, options: SearchOptions, order: Order) -> Results:
    """The best k items, or the best results of a search in another order.

    Every item has some score, so that only those before the suggested end of the list, or the best `BEST`, are put into
    another order. The most doubtful ones are found on both sides of that end, or of what marks call right and wrong.

    Parameters
    ----------
    engine : what searches.
    query : with words, examples or a concept.
    k, options : how many, and how to search.
    order : of the results.
    """
    if order == "score":
        return engine.search(query, k, options)
    whole = replace(options, offset=0)
    if order == "uncertain":
        results = engine.uncertain(query, BEST, whole)
        return _page(results, [*results], k, options)
    results = engine.search(query, BEST, whole)
    if results.cutoff is not None and results.cutoff > len(results):
        results = engine.search(query, results.cutoff, whole)
    hits = [*results][: results.cutoff]
    if order == "name":
        hits.sort(key=lambda hit: (natural(hit.path.rsplit("/", 1)[-1]), hit.path, hit.id))
    else:
        dates = dates_of(engine.collection, [hit.id for hit in hits])
        hits.sort(key=lambda hit: (dates.get(hit.id, ""), hit.id), reverse=order == "newest")
    return _page(results, hits, k, options)


def _page(results: Results, hits: list[SearchHit], k: int, options: SearchOptions) -> Results:
    """A page of the hits of a search that are put into another order."""
    ranked = [hit._replace(rank=rank) for rank, hit in enumerate(hits, 1)]
    shown = tuple(ranked[options.offset : options.offset + k])
    literal = None if results.literal is None else sum(bool(hit.literal) for hit in hits)
    return replace(results, hits=shown, total=len(hits), cutoff=None, likely=None, literal=literal)


def orders_of(results: Results) -> list[Order]:
    """The orders that the results of a search can have."""
    return [order for order in ORDERS if order != "uncertain" or results.bordered]


def suggested_members(engine: Engine, album: Album, n: int, user: str = "") -> Results:
    """The best items of a living album's query that are neither in it nor refused.

    Parameters
    ----------
    engine : what searches.
    album : with a query.
    n : how many at most.
    user : whose marks of the query count.
    """
    if album.query is None:
        raise ValueError(f"the album {album.name!r} is made by hand: it has no search that suggests members")
    judged = judged_items(engine.collection, album.id)
    results = engine.search(album.query, BEST + len(judged), SearchOptions(user=user))
    hits = [hit for hit in [*results][: results.cutoff] if hit.id not in judged]
    return replace(results, hits=tuple(hits[:n]), total=len(hits), cutoff=None, likely=None)

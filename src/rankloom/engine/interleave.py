"""Two models in live search: their results as one list, and which of them gets the marks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankloom.collection import Collection
from rankloom.collection.interleavings import InterleavingSession, add_session, sessions
from rankloom.collection.marks import marks
from rankloom.collection.models import model_in_use
from rankloom.collection.query import Query
from rankloom.engine.options import SearchOptions
from rankloom.engine.pipeline import Pipeline
from rankloom.engine.results import Results

if TYPE_CHECKING:
    from rankloom.evaluation.interleaving import Preference


def interleave(
    collection: Collection, pipeline: Pipeline, query: Query, against: int | None, k: int, user: str
) -> Results:
    """The hits of what is in use and of another model as one list; `Engine` says what the parameters are."""
    from rankloom.evaluation.interleaving import team_draft  # takes long, and a plain search does without it

    used = model_in_use(collection)
    if against == used:
        raise ValueError("a model cannot be compared with itself: it is the one in use")
    kept, options, view = pipeline.encoder.kept(query), SearchOptions(user=user), pipeline.view()
    other = replace(view, model=None, scorer=None) if against is None else view
    rankings = [pipeline.rank(view, kept, options), pipeline.rank(other, kept, options, model=against)]
    first, second = ((pipeline.arranged(ranking, options, 2 * k).order[: 2 * k] + 1).tolist() for ranking in rankings)
    items, teams = team_draft(first, second, k)
    members = {item: int(team) for item, team in zip(items, teams, strict=True) if team}
    session = add_session(collection, kept.qid, user, (used, against), members)
    hits = pipeline.hits(rankings[0].view.snapshot, np.array(items, dtype=np.int64) - 1, total=rankings[0].total)
    named = tuple(hit._replace(team=int(team)) for hit, team in zip(hits, teams, strict=True))
    return Results(named, len(first), session=session)


class InterleavingResult(NamedTuple):
    """A comparison of two models (None: the online weights) by the marks of interleaved lists."""

    first: int | None
    second: int | None
    preference: Preference


def interleaving_results(collection: Collection) -> list[InterleavingResult]:
    """What the marks say of each pair of models: a win is a session in which one had more items marked right.

    Of several sessions of the same query and user, the marks after one and before the next count for it.
    """
    from rankloom.evaluation.interleaving import Preference, credit

    preferences: dict[tuple[int | None, int | None], Preference] = {}
    all_sessions = sessions(collection)
    for place, session in enumerate(all_sessions):
        same = (later for later in all_sessions[place + 1 :] if later[1:3] == session[1:3])
        grades = _grades(collection, session, until=next((later.at for later in same), None))
        pair = (session.first, session.second)
        preference = preferences.setdefault(pair, Preference())
        if any(grades.values()):
            preferences[pair] = preference.after(credit([session.teams[item] for item in grades], [*grades.values()]))
    return [InterleavingResult(*pair, preference) for pair, preference in preferences.items()]


def _grades(collection: Collection, session: InterleavingSession, until: str | None) -> dict[int, float]:
    """The items of a session that were marked in it: 1 for right, 0 for wrong."""
    return {
        mark.item: float(mark.grade > 0)
        for mark in marks(collection, session.qid, session.user)
        if mark.over is None
        and mark.item in session.teams
        and mark.at >= session.at
        and (until is None or mark.at < until)
    }

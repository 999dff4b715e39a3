"""feedback, train and models: the learning loop from the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankloom.cli._options import (
    RANKER_NAMES,
    InputFile,
    collection_option,
    json_option,
    open_engine,
    read_settings,
    set_option,
    user_option,
)
from rankloom.cli._output import emit, say, table
from rankloom.cli._query import query_options, read_query

if TYPE_CHECKING:
    from rankloom.collection import StoredMark
    from rankloom.engine import Engine


@click.command()
@query_options
@collection_option
@click.option("--right", multiple=True, type=int, help="An item that is what was looked for; repeatable.")
@click.option("--wrong", multiple=True, type=int, help="An item that is not; repeatable.")
@click.option("--grade", "grades", multiple=True, metavar="ITEM=GRADE", help="An item with a grade, 0 for wrong.")
@click.option("--prefer", nargs=2, type=int, metavar="A B", help="Item A answers the query better than item B.")
@click.option("--undo", is_flag=True, help="Undo the last mark: of the query, or of all if there is none.")
@click.option("--list", "show", is_flag=True, help="Show the active marks of all users: of the query, or all.")
@click.option("--import", "source", type=InputFile, help="Take in judgements, TREC qrels.")
@click.option("--adopt", multiple=True, metavar="NAME", help="Take over what the profile NAME marked and saved.")
@click.option(
    "--user", help="Who marks, the owner of the collection unless given; whose marks to show, else those of all."
)
@json_option
def feedback(
    collection: str | None,
    right: tuple[int, ...],
    wrong: tuple[int, ...],
    grades: tuple[str, ...],
    prefer: tuple[int, int] | None,
    undo: bool,
    show: bool,
    source: str | None,
    adopt: tuple[str, ...],
    user: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Mark results of a query as right or wrong; the next search knows. `export FILE --marks` writes them as qrels.

    \b
    Example:
      rankloom feedback red flower --right 17 --right 4 --wrong 9
      rankloom feedback red flower --undo
      rankloom feedback --import judgements.qrels
      rankloom feedback --list
    """
    from rankloom.collection import Mark
    from rankloom.engine.second_looks import second_looks

    if adopt and user:
        raise click.UsageError("--adopt goes without --user: it is the owner of the collection who takes over")
    query, who = read_query(**asked), user or ""
    with open_engine(collection, writes=True) as engine:
        for name in adopt:
            say(_adopt(engine, name), err=as_json)
        if source is not None:
            counted = _import(engine, source, who)
            say(f"{counted[0]} marks taken in, {counted[1]} of unknown items left out", err=as_json)
        given = [Mark(item, 1.0) for item in right] + [Mark(item, 0.0) for item in wrong]
        given += [Mark(int(item), grade) for item, grade in map(_grade, grades)]
        if (given or prefer) and query.empty:
            raise ValueError("say which query the marks are for: give its words or examples")
        if given:
            engine.feedback(query, given, who)
        if prefer:
            engine.prefer(query, *prefer, who)
        if undo:
            number = engine.undo(None if query.empty else query, who)
            say("there is no mark to undo" if number is None else f"mark {number} undone", err=as_json)
        listed = show or as_json
        asked_for = None if query.empty else query
        active = engine.marks(asked_for, user if listed else who)
        odd = second_looks(engine, active, asked_for) if listed else frozenset()
    if listed:
        _list(active, odd, as_json)
    else:
        say(f"{len(active)} active marks")


def _list(active: list[StoredMark], odd: frozenset[int], as_json: bool) -> None:
    """Show marks; whose they are only where somebody has a name, and which to look at again where there are some."""
    if as_json:
        for mark in active:
            told = {key: value for key, value in mark._asdict().items() if value not in (None, ())}
            emit({**told, "contradicted": mark.id in odd})
        return
    columns = ["mark", "query", "item", "grade", "rather than"]
    columns += ["user"] * any(mark.user for mark in active) + ["look again"] * bool(odd)
    rows = [
        {
            "mark": str(mark.id), "query": mark.qid, "item": str(mark.item), "grade": f"{mark.grade:g}",
            "rather than": str(mark.over or ""), "user": mark.user or "(owner)",
            "look again": "the other marks say otherwise" if mark.id in odd else "",
        }
        for mark in active
    ]  # fmt: skip
    table(columns, [[row[column] for column in columns] for row in rows])


def _adopt(engine: Engine, name: str) -> str:
    """Take over what a profile marked and saved; returns what was done."""
    from rankloom.collection.profiles import adopt

    taken = adopt(engine.collection, name)
    kept = f" ({taken.replaced} more are replaced by later ones of yours)" if taken.replaced else ""
    return f"{taken.marks} marks{kept} and {taken.saved} saved searches of {name} are yours now"


def _grade(text: str) -> tuple[str, float]:
    item, sign, grade = text.partition("=")
    try:
        if not sign:
            raise ValueError
        return str(int(item)), float(grade)
    except ValueError:
        raise click.BadParameter(f"expected ITEM=GRADE, got {text!r}", param_hint="--grade") from None


def _import(engine: Any, source: str, user: str) -> tuple[int, int]:
    """Judgements of queries that have marks already, or whose query is its own text."""
    from rankloom.collection import Mark
    from rankloom.collection.query import Query
    from rankloom.datasets.trec import qid_from_trec, read_qrels

    by_query: dict[str, list[Mark]] = {}
    unknown = 0
    n_items = len(engine.collection)
    for qid, item, grade in read_qrels(source):
        if not item.isdigit() or not 1 <= int(item) <= n_items:
            unknown += 1
            continue
        by_query.setdefault(qid_from_trec(qid), []).append(Mark(int(item), float(grade)))
    for qid, marks in by_query.items():
        engine.feedback(engine.asked(qid) or Query(qid), marks, user)
    return sum(len(marks) for marks in by_query.values()), unknown


@click.command()
@collection_option
@click.option("--ranker", default="rlr", show_default=True, help=f"What learns: {RANKER_NAMES}.")
@set_option
@json_option
def train(collection: str | None, ranker: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Fit a ranker on all marks; it is put in use unless it is worse on queries left out than what is in use.

    \b
    Example:
      rankloom train --ranker rlr --set nu=0.1
    """
    with open_engine(collection, writes=True) as engine:
        model = engine.train(ranker, read_settings(settings))
    if as_json:
        emit(model._asdict())
        return
    say(
        f"model {model.id} ({model.ranker}) from {model.n_marks} marks: {model.metric} {model.value:.4f} "
        f"[{model.low:.4f}, {model.high:.4f}] on queries left out, {model.gain:+.4f} "
        f"[{model.gain_low:+.4f}, {model.gain_high:+.4f}] against what was in use"
    )
    say("it is in use now" if model.status == "in use" else "it is worse there, so it was not put in use")


@click.group()
def models() -> None:
    """List, compare and choose the models of a collection.

    \b
    Example:
      rankloom models list
    """


@models.command("list")
@collection_option
@json_option
def list_models(collection: str | None, as_json: bool) -> None:
    """Show all models, oldest first.

    \b
    Example:
      rankloom models list
    """
    with open_engine(collection) as engine:
        known = engine.models()
    if as_json:
        for model in known:
            emit(model._asdict())
        return
    rows = [
        [str(model.id), model.ranker, str(model.n_marks), f"{model.value:.4f} [{model.low:.4f}, {model.high:.4f}]",
         f"{model.gain:+.4f}", f"{model.seconds:.1f} s", model.at[:16], model.status]
        for model in known
    ]  # fmt: skip
    table(["", "ranker", "marks", "AP on queries left out", "gain", "cost", "made", "status"], rows)


@models.command("compare")
@click.argument("numbers", nargs=-1, type=int, metavar="MODEL...")
@collection_option
@json_option
def compare_models(numbers: tuple[int, ...], collection: str | None, as_json: bool) -> None:
    """Compare models, and the online weights, on all marks that there are now.

    \b
    Example:
      rankloom models compare 1 2
    """
    with open_engine(collection) as engine:
        comparison = engine.compare_models(numbers)
    if as_json:
        emit(comparison.to_dict())
    else:
        say(*str(comparison).splitlines())


@models.command()
@click.argument("model", type=int)
@query_options
@collection_option
@click.option("-k", default=20, show_default=True, type=click.IntRange(min=1), help="How many results.")
@user_option
@json_option
def interleave(model: int, collection: str | None, k: int, user: str, as_json: bool, **asked: Any) -> None:
    """Search with the model in use and with MODEL (0: the online weights) in one list; marks say which is better.

    \b
    Example:
      rankloom models interleave 2 red flower
    """
    with open_engine(collection) as engine:
        hits = engine.interleave(read_query(**asked), model or None, k, user)
    if as_json:
        for hit in hits:
            emit({key: value for key, value in hit._asdict().items() if value not in (None, ())})
        return
    table(["", "item", "file"], [[str(hit.rank), str(hit.id), hit.path] for hit in hits])


@models.command()
@collection_option
@json_option
def preferences(collection: str | None, as_json: bool) -> None:
    """Show which of two models people prefer, by marks of interleaved lists; it may be read at any time.

    \b
    Example:
      rankloom models preferences
    """
    with open_engine(collection) as engine:
        results = engine.interleaving_results()
    rows = []
    for first, second, so_far in results:
        low, high = so_far.interval
        if as_json:
            counts = {"wins": so_far.wins, "losses": so_far.losses, "ties": so_far.ties}
            p = so_far.p_value
            emit(
                {"first": first, "second": second, **counts, "p": p, "verdict": so_far.verdict, "interval": [low, high]}
            )
            continue
        names = [f"model {number}" if number else "library" for number in (first, second)]
        counted = f"{so_far.wins} : {so_far.losses} ({so_far.ties} ties)"
        rows.append([*names, counted, f"[{low:.2f}, {high:.2f}]", f"{so_far.p_value:.4f}", so_far.verdict])
    if not as_json:
        table(["first", "second", "wins", "share of the first", "p", "preferred"], rows)


@models.command("use")
@click.argument("number", type=int, metavar="MODEL")
@collection_option
def use_model(number: int, collection: str | None) -> None:
    """Put a model in use; 0 for the weights that follow every mark from the start.

    \b
    Example:
      rankloom models use 2
    """
    with open_engine(collection, writes=True) as engine:
        engine.use(number or None)
    say(f"model {number} is in use" if number else "the weights that follow every mark are in use")


@models.command()
@collection_option
def rollback(collection: str | None) -> None:
    """Return to what was in use before.

    \b
    Example:
      rankloom models rollback
    """
    with open_engine(collection, writes=True) as engine:
        number = engine.rollback()
    say(f"model {number} is in use" if number else "the weights that follow every mark are in use")


@models.command("export")
@click.argument("number", type=int, metavar="MODEL")
@click.argument("output", type=click.Path(dir_okay=False))
@collection_option
def export_model_of(number: int, output: str, collection: str | None) -> None:
    """Write the ranker of a model as JSON, for `predict` and `export-model`; 0 for the online weights.

    \b
    Example:
      rankloom models export 2 model.json
    """
    with open_engine(collection) as engine:
        engine.ranker(number or None).save(output)
    say(f"-> {output}")

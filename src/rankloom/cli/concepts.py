"""concepts: detectors from marked examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rankloom.cli._options import collection_option, json_option, open_engine
from rankloom.cli._output import emit, say, table

if TYPE_CHECKING:
    from rankloom.collection import Collection


@click.group()
def concepts() -> None:
    """Make detectors of what examples have in common, and rank a collection by them.

    \b
    Example:
      rankloom concepts train anchor -p 17 -p 40
    """


@concepts.command()
@click.argument("name")
@collection_option
@click.option("--positive", "-p", multiple=True, required=True, help="A file or item that shows it; repeatable.")
@click.option("--negative", "-n", multiple=True, help="A file or item that does not; without any, others are taken.")
@click.option("--method", default="linear", show_default=True, help="linear (semantic) or cascade (all descriptors).")
@json_option
def train(
    name: str, collection: str | None, positive: tuple[str, ...], negative: tuple[str, ...], method: str, as_json: bool
) -> None:
    """Train a detector of the concept NAME; its score becomes an expert of every search.

    \b
    Example:
      rankloom concepts train anchor -p 17 -p studio.jpg -p 40 -n 3
    """
    with open_engine(collection, writes=True) as engine:
        items = [_items(engine.collection, examples) for examples in (positive, negative)]
        concept = engine.train_concept(name, items[0], items[1] or None, method=method)
    if as_json:
        emit(concept._asdict())
        return
    say(
        f"{concept.name}: AP {concept.ap:.3f}, AUC {concept.auc:.3f} on {concept.n_positive} right and "
        f"{concept.n_negative} other examples that it had not seen"
    )


def _items(collection: Collection, given: Sequence[str]) -> list[int]:
    """Item numbers, from numbers and files."""
    numbers = []
    for text in given:
        if text.isdigit():
            numbers.append(int(text))
            continue
        items = collection.find(text)
        if not items:
            raise ValueError(f"{text} is not in the collection; index it first")
        numbers += [item.id for item in items]
    return numbers


@concepts.command()
@click.argument("name")
@collection_option
@click.option("-k", default=20, show_default=True, type=click.IntRange(min=1), help="How many results.")
@json_option
def rank(name: str, collection: str | None, k: int, as_json: bool) -> None:
    """Rank the collection by the concept NAME; a cascade asks its cheap models first.

    \b
    Example:
      rankloom concepts rank anchor -k 10
    """
    with open_engine(collection) as engine:
        ranked = engine.rank_concept(name, k)
        items = engine.collection.items((ranked.rows + 1).tolist())
    hits = [*enumerate(zip(items, ranked.scores.tolist(), strict=True), 1)]
    if as_json:
        for number, (item, score) in hits:
            times = {} if item.start is None else {"start": item.start, "end": item.end}
            emit({"rank": number, "id": item.id, "path": item.path, "score": score, **times})
        return
    rows = [[str(number), f"{score:.4f}", str(item.id), item.path] for number, (item, score) in hits]
    table(["", "score", "item", "file"], rows)
    say(f"{ranked.n_evaluations} outputs of models were computed", err=True)


@concepts.command("list")
@collection_option
@json_option
def list_concepts(collection: str | None, as_json: bool) -> None:
    """Show the concepts of a collection.

    \b
    Example:
      rankloom concepts list
    """
    with open_engine(collection) as engine:
        known = engine.concepts()
    if as_json:
        for concept in known:
            emit(concept._asdict())
        return
    rows = [
        [concept.name, concept.method, str(concept.n_positive), f"{concept.ap:.3f}", f"{concept.auc:.3f}"]
        for concept in known
    ]
    table(["concept", "method", "examples", "AP", "AUC"], rows)


@concepts.command()
@click.argument("name")
@collection_option
def drop(name: str, collection: str | None) -> None:
    """Forget the concept NAME.

    \b
    Example:
      rankloom concepts drop anchor
    """
    with open_engine(collection, writes=True) as engine:
        engine.drop_concept(name)
    say(f"{name} is forgotten")

"""train-prior: the weights that a new collection starts with, from labelled collections."""

from __future__ import annotations

import click

from rankloom.cli._output import write_json


@click.command("train-prior")
@click.argument("pairs", nargs=-1, required=True, metavar="COLLECTION=LABELS...")
@click.option("--column", default="class", show_default=True, help="The column of LABELS with the class of a path.")
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False), help="Where to write the weights.")
def train_prior(pairs: tuple[str, ...], column: str, output: str) -> None:
    """Learn starting weights from PAIRS of a collection (indexed with --preset full) and a CSV file of classes.

    LABELS has a column path, relative to its own folder. Weights are learned for each preset.

    \b
    Example:
      rankloom train-prior art.rankloom=art/labels.csv photos.rankloom=photos/labels.csv -o weights.json
    """
    from rankloom.descriptors import PRESETS
    from rankloom.experiments.labeled import load_labeled
    from rankloom.experiments.prior import train_prior as learn

    collections = []
    for pair in pairs:
        collection, sign, labels = pair.partition("=")
        if not sign:
            raise click.BadParameter(f"expected COLLECTION=LABELS, got {pair!r}")
        collections.append(load_labeled(collection, labels, column))
    weights = {}
    for preset, names in PRESETS.items():
        weights[preset] = learn([collection.only(set(names) & set(collection.vectors)) for collection in collections])
    write_json(dict(sorted(weights.items())), output)
    click.echo(f"weights of {', '.join(weights)} from {len(collections)} collections -> {output}")

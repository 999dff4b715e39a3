"""evaluate-collection, train-prior, train-words: how good search is on collections, and what they teach."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankloom.cli._options import RANKER_NAMES, json_option, read_settings, set_option
from rankloom.cli._output import emit, file_progress, say, table, write_json

if TYPE_CHECKING:
    from rankloom.experiments import CollectionQuality


@click.command("evaluate-collection")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--labels", required=True, type=click.Path(dir_okay=False), help="CSV: path, relative to it, and class.")
@click.option("--column", default="class", show_default=True, help="The column of the labels with the class.")
@click.option("--preset", help="Only the descriptors of a preset: fast, paper36 or full.")
@click.option("--ranker", "rankers", multiple=True, default=("rlr",), show_default=True, help=f"Any of {RANKER_NAMES}.")
@set_option
@click.option("--queries", default=500, show_default=True, type=click.IntRange(min=5), help="How many queries.")
@click.option("--folds", default=5, show_default=True, type=click.IntRange(min=2), help="Parts of the queries.")
@click.option("--no-diffusion", is_flag=True, help="Without the neighbour graph.")
@click.option("--classes", is_flag=True, help="Also show the MAP of each class.")
@click.option("--work", type=click.Path(file_okay=False), help="Where to keep the collection of a FOLDER of pictures.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write all results as JSON.")
@json_option
def evaluate_collection(
    folder: str,
    labels: str,
    column: str,
    preset: str | None,
    rankers: tuple[str, ...],
    settings: tuple[str, ...],
    queries: int,
    folds: int,
    no_diffusion: bool,
    classes: bool,
    work: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Query a labelled collection (or of pictures) FOLDER by example: what is of the query's class is relevant.

    Rankers learn from the queries of four folds and are judged on the fifth: folds of queries (seen classes), and folds
    of classes (unseen).

    \b
    Example:
      rankloom evaluate-collection photos --labels photos/labels.csv --work photos.rankloom
      rankloom evaluate-collection photos.rankloom --labels photos/labels.csv --preset paper36 --ranker ranksvm
    """
    from tempfile import TemporaryDirectory

    from rankloom.experiments import evaluate_collection as judge
    from rankloom.experiments import load_labeled
    from rankloom.rankers import make_ranker

    chosen = {name: make_ranker(name, **read_settings(settings)) for name in rankers}
    options: dict[str, Any] = {"n_queries": queries, "folds": folds, "diffusion": not no_diffusion}
    with TemporaryDirectory() as scratch, file_progress() as update:
        data = load_labeled(folder, labels, column, preset=preset, work=work or scratch, progress=update)
        seen, unseen = (judge(data, chosen, unseen=unseen, **options, progress=update) for unseen in (False, True))
    document = {"items": len(data), "experts": len(data.experts), "seen": seen.to_dict(), "unseen": unseen.to_dict()}
    if output:
        write_json(document, output)
    if as_json:
        emit(document)
        return
    say(f"{len(data)} items, {len(data.experts)} experts, {len(seen.queries)} queries")
    _show_means(seen, unseen)
    if classes:
        _show_classes(seen)


def _show_means(seen: CollectionQuality, unseen: CollectionQuality) -> None:
    rows = [
        [name, *(f"{quality.mean(name, metric):.4f}" for quality in (seen, unseen) for metric in ("AP", "nDCG@10"))]
        for name in seen.values
    ]
    table(["", "MAP", "nDCG@10", "MAP, unseen classes", "nDCG@10, unseen classes"], rows)


def _show_classes(quality: CollectionQuality) -> None:
    columns = {name: quality.by_class(name) for name in quality.values}
    rows = [[label, *(f"{values[label]:.3f}" for values in columns.values())] for label in next(iter(columns.values()))]
    table(["class", *columns], rows)


@click.command("train-prior")
@click.argument("pairs", nargs=-1, metavar="[COLLECTION=LABELS]...")
@click.option("--captions", multiple=True, type=click.Path(exists=True), help="A collection with captions; repeatable.")
@click.option("--column", default="class", show_default=True, help="The column of LABELS with the class of a path.")
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False), help="Where to write the weights.")
def train_prior(pairs: tuple[str, ...], captions: tuple[str, ...], column: str, output: str) -> None:
    """Learn starting weights from PAIRS of a collection (indexed with --preset full) and a CSV file of classes.

    LABELS has a column path, relative to its own folder. Of a collection with captions, pictures are alike as far as
    their captions are. Weights are learned for each preset.

    \b
    Example:
      rankloom train-prior art.rankloom=art/labels.csv --captions photos.rankloom -o weights.json
    """
    from rankloom.descriptors import PRESETS
    from rankloom.experiments.captioned import load_captioned
    from rankloom.experiments.labeled import LabeledCollection, load_labeled
    from rankloom.experiments.prior import train_prior as learn

    if not pairs and not captions:
        raise click.UsageError("name a COLLECTION=LABELS, or --captions COLLECTION")
    collections: list[LabeledCollection] = [load_captioned(folder) for folder in captions]
    for pair in pairs:
        collection, sign, labels = pair.partition("=")
        if not sign:
            raise click.BadParameter(f"expected COLLECTION=LABELS, got {pair!r}")
        collections.append(load_labeled(collection, labels, column))
    weights = {}
    for preset, names in PRESETS.items():
        weights[preset] = learn([collection.only(set(names) & set(collection.vectors)) for collection in collections])
    write_json(dict(sorted(weights.items())), output)
    say(f"weights of {', '.join(weights)} from {len(collections)} collections -> {output}")


@click.command("train-words")
@click.argument("collections", nargs=-1, required=True, metavar="COLLECTION...", type=click.Path(exists=True))
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False), help="Where to write the map (.npz).")
def train_words(collections: tuple[str, ...], output: str) -> None:
    """Learn the map from words to looks from collections of photos with captions; some thousand are needed.

    The file that comes with the package, experts/word_map.npz, was made so.

    \b
    Example:
      rankloom index photos --captions photos/captions.tsv -c photos.rankloom
      rankloom train-words photos.rankloom -o word_map.npz
    """
    from rankloom._io import atomic_write
    from rankloom.experiments.words import captioned_photos
    from rankloom.experiments.words import train_words as learn

    folder = Path(output).absolute().parent
    if not folder.is_dir():  # said before minutes of learning, not after
        raise click.ClickException(f"cannot write {output}: the folder {folder} does not exist")
    photos = captioned_photos(collections)
    word_map = learn(photos, progress=say)
    with atomic_write(output) as file:
        file.write(word_map.to_bytes())
    say(f"map {word_map.version} from {len(photos.captions):,} captions of {len(photos.vectors):,} photos -> {output}")

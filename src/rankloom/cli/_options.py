"""Options that several commands share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rankloom._addresses import is_address, local_path
from rankloom._sizes import EXACT_SEARCH

if TYPE_CHECKING:
    from rankloom.engine import Engine

# Written out, as asking the rankers would load them for --help; a test compares it.
RANKER_NAMES = (
    "uniform, best, nb, lr, rlr, frlr, ranksvm, opr, opar1, opar2, ogdr, arow, listnet, ranknet, coordascent, "
    "lambdamart, rankboost, irankboost, softcascade, car"
)

COLLECTION = "rankloom.collection"  # where the context of a command keeps the folder of its collection
# A file that is read: one that is not there is named at once, before anything heavy is loaded.
InputFile = click.Path(exists=True, dir_okay=False)


class PathOrAddress(click.Path):
    """A path that exists, or an address such as `s3://bucket/folder`, which is only read."""

    def __init__(self) -> None:
        super().__init__(exists=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The address as it is, or the path; that of a `file://` address too."""
        return value if is_address(value) else super().convert(local_path(value), param, ctx)


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of tables.")
policy_option = click.option(
    "--policy", default="trec", show_default=True, help="Conventions: trec, letor4, sklearn, lightgbm or xgboost."
)
collection_option = click.option(
    "--collection", "-c", metavar="DIR", envvar="RANKLOOM_COLLECTION", show_envvar=True, type=click.Path(),
    help="The folder of the collection, or its address postgresql://...; rankloom in the user's data folder unless "
    "given.",
)  # fmt: skip
user_option = click.option("--user", default="", help="Whose marks: the name of a user, if there are several.")
index_option = click.option(
    "--index", type=click.Choice(["exact", "cascade", "faiss", "pgvector"]), help="Which items all experts look at: "
    f"all, those that sketches, FAISS or pgvector propose; beyond {EXACT_SEARCH:,} items those of the sketches unless "
    "given.",
)  # fmt: skip
cluster_option = click.option(
    "--cluster", metavar="ADDRESS", help="Work on a Dask cluster: tcp://HOST:8786, or local:N for N processes here."
)
set_option = click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the ranker; may be repeated."
)


def metric_option(*default: str) -> Callable[[Any], Any]:
    """The option --metric, which may be given several times."""
    text = "AP, nDCG@10, P@5, RR, ERR@20, tau, swaps, MeanNDCG ...; may be repeated."
    return click.option("--metric", "-m", "metrics", multiple=True, default=default, show_default=True, help=text)


def collection_folder(given: str | None) -> str:
    """The folder of the collection: as given, or in the user's data folder. The context of the command keeps it."""
    home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    folder = given or os.path.join(home, "rankloom")
    click.get_current_context().meta[COLLECTION] = folder
    return folder


@contextmanager
def open_engine(
    collection: str | None, *, writes: bool = False, create: bool = False, index: str | None = None
) -> Iterator[Engine]:
    """The engine of a collection, which is closed at the end; what was written is learned before that."""
    from rankloom.collection import Collection
    from rankloom.engine import Engine

    with Collection(collection_folder(collection), create=create) as opened:
        engine = Engine(opened, index=index)
        yield engine
        if writes:
            engine.settle()


def split_names(text: str) -> list[str]:
    """`"rlr, opr"` -> ["rlr", "opr"]."""
    return [name.strip() for name in text.split(",") if name.strip()]


def read_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """`["nu=1"]` -> {"nu": 1}: JSON values where they are, else text."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise click.BadParameter(f"expected NAME=VALUE, got {pair!r}", param_hint="--set")
        try:
            settings[name] = json.loads(value)
        except json.JSONDecodeError:
            settings[name] = value
    return settings

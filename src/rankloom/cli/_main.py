"""The root command: help, version, and errors in one line."""

from __future__ import annotations

import sqlite3
import warnings
from typing import Any

import click

from rankloom import __version__
from rankloom.cli._options import COLLECTION
from rankloom.cli._output import printable, say
from rankloom.cli.bench import bench
from rankloom.cli.collection import descriptors, export, index, info
from rankloom.cli.compare import compare
from rankloom.cli.concepts import concepts
from rankloom.cli.demo import demo, sample
from rankloom.cli.duplicates import duplicates
from rankloom.cli.export_model import export_model
from rankloom.cli.learning import feedback, models, train
from rankloom.cli.letor import evaluate, fit, predict
from rankloom.cli.make_ranking import make_ranking
from rankloom.cli.organizing import albums, notes
from rankloom.cli.people import people
from rankloom.cli.plan import plan
from rankloom.cli.quality import evaluate_collection, train_prior, train_words
from rankloom.cli.safety import backup, copy, repair, restore, verify
from rankloom.cli.search import search
from rankloom.cli.serve import serve
from rankloom.cli.shard import shard
from rankloom.cli.simulate import simulate

# The commands as --help shows them: what most people need comes first.
COMMANDS = {
    "Search": (index, search, serve, demo),
    "Keeping what you find": (notes, albums),
    "Learning from marks": (feedback, train, models, concepts),
    "Upkeep of collections": (
        info,
        people,
        verify,
        backup,
        restore,
        repair,
        copy,
        duplicates,
        export,
        descriptors,
        shard,
        plan,
    ),
    "Learning to rank on files of features": (make_ranking, fit, predict, evaluate, compare, export_model),
    "Experiments": (evaluate_collection, simulate, train_prior, train_words, bench, sample),
}


class Main(click.Group):
    """A group whose commands are shown by subject, and end with one line that says what is wrong, not a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _say
            try:
                return super().invoke(ctx)
            except (ValueError, KeyError, OSError, ImportError, MemoryError, sqlite3.Error) as error:
                if isinstance(error, BrokenPipeError):
                    raise
                raise click.ClickException(printable(_one_line(error))) from error
            except click.UsageError as error:  # click quotes what it was given
                line = "\n".join(map(printable, error.format_message().split("\n")))
                if line == error.format_message():
                    raise
                raise click.UsageError(line, error.ctx) from error
            except UNEXPECTED as error:
                damage = _damage(ctx, error)
                if damage is error:
                    raise
                raise click.ClickException(printable(str(damage))) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands subject by subject."""
        shown = {command.name for commands in COMMANDS.values() for command in commands}
        others = tuple(command for name, command in self.commands.items() if name not in shown)
        for subject, commands in {**COMMANDS, **({"Others": others} if others else {})}.items():
            with formatter.section(subject):
                width = formatter.width - 6 - max(len(str(command.name)) for command in commands)
                formatter.write_dl([(str(command.name), command.get_short_help_str(width)) for command in commands])


UNEXPECTED = (TypeError, IndexError, AttributeError, ArithmeticError, AssertionError)


def _damage(ctx: click.Context, error: BaseException) -> BaseException:
    """The damage of the collection, if any, that is behind an error not meant for users; else the error itself."""
    from rankloom.collection._stores import store_of

    folder = ctx.meta.get(COLLECTION)
    return error if folder is None else store_of(folder).damage_behind(error)


def _one_line(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"{error.filename}: no such file or folder"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__


def _say(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}", err=True)


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rankloom")
def main() -> None:
    """Learned image and video search that you own, and its rankers for anyone with features.

    \b
    Start here:
      rankloom index ~/Pictures
      rankloom serve --open
      rankloom search red flower
    """


for command in (command for commands in COMMANDS.values() for command in commands):
    main.add_command(command)

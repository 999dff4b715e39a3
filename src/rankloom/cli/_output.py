"""What commands print: tables for people, JSON lines for programs, a progress bar that disappears when piped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import click


def emit(record: Any) -> None:
    """Print one JSON object on one line."""
    click.echo(json.dumps(record, allow_nan=False, default=_plain))


def write_json(record: Any, path: str | os.PathLike[str]) -> None:
    """Write a JSON file; it appears whole or not at all."""
    from rankloom.datasets._files import atomic_write

    with atomic_write(os.fspath(path)) as file:
        file.write((json.dumps(record, indent=1, allow_nan=False, default=_plain) + "\n").encode())


def _plain(value: Any) -> Any:
    """NumPy numbers and arrays as Python's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """Print a table: the first column to the left, the others to the right. As wide as it is when piped."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(head):
        shown.add_column(name, justify="left" if i == 0 else "right", no_wrap=True)
    for row in rows:
        shown.add_row(*row)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    if title is not None:
        console.print(title, style="bold", soft_wrap=True)
    console.print(shown)


class Advance(Protocol):
    """Move a progress bar on by one step with a new text."""

    def __call__(self, text: str) -> None:
        """Advance."""


@contextmanager
def file_progress() -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar with throughput and time left, for work whose size shows later; on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), Speed(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("looking for files", total=None)

        def update(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total, description=text)

        yield update


@contextmanager
def progress(total: int, text: str) -> Iterator[Advance]:
    """A progress bar on standard error, shown on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(text, total=total)
        begun = 0

        def advance(text: str) -> None:
            nonlocal begun
            bar.update(task, description=text, completed=begun)
            begun += 1

        yield advance

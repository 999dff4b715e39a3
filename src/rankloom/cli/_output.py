"""What commands print: tables for people, JSON lines for programs, progress as a bar or, when piped, as lines."""

from __future__ import annotations

import json
import logging
import os
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from time import monotonic
from typing import Any, Protocol

import click

# Signs that turn the direction of what follows, so that a name looks like another.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    """A text in which no sign commands a terminal: names of files and texts in them may hold any.

    >>> printable("a\\x1b[2Jb\\n\\x9b1m.jpg"), printable("Häfen 灯台.jpg")
    ('a\\\\x1b[2Jb\\\\n\\\\x9b1m.jpg', 'Häfen 灯台.jpg')
    """
    if text.isprintable():
        return text
    return "".join(
        letter.encode("unicode_escape").decode()
        if letter in _TURNING or unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
        else letter
        for letter in text
    )


def say(*lines: str, err: bool = False) -> None:
    """Print lines for people."""
    click.echo("\n".join(map(printable, lines)), err=err)


class PrintableFormatter(logging.Formatter):
    """Formats lines of the log as `say` prints them."""

    def format(self, record: logging.LogRecord) -> str:
        """The lines of a record."""
        return "\n".join(printable(line) for line in super().format(record).split("\n"))


def emit(record: Any) -> None:
    """Print one JSON object on one line."""
    click.echo(json.dumps(record, allow_nan=False, default=_plain))


def write_json(record: Any, path: str | os.PathLike[str]) -> None:
    """Write a JSON file; it appears whole or not at all."""
    from rankloom._io import atomic_write

    with atomic_write(os.fspath(path)) as file:
        file.write((json.dumps(record, indent=1, allow_nan=False, default=_plain) + "\n").encode())


def say_written(*paths: str | None, err: bool = False) -> None:
    """Name the files that were written, those that were asked for."""
    for path in paths:
        if path is not None:
            say(f"-> {path}", err=err)


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
    from rich.text import Text

    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(head):
        shown.add_column(name, justify="left" if i == 0 else "right", no_wrap=True)
    for row in rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))  # a name in brackets is no markup
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    if title is not None:
        console.print(Text(printable(title)), style="bold", soft_wrap=True)
    console.print(shown)


class Advance(Protocol):
    """Move a progress bar on by one step with a new text."""

    def __call__(self, text: str) -> None:
        """Advance."""


Update = Callable[[int, int, str], None]


class Lines:
    """Progress where there is no terminal: a line for every tenth that is done, and one at least every few seconds.

    Parameters
    ----------
    write : takes a line.
    clock : the time in seconds.
    text : what is done at first.
    """

    OFTEN, RARELY = 1.0, 5.0  # seconds between two lines: at least, and at most while something happens
    SILENT = 10.0  # seconds after which is said what still goes on

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = monotonic, text: str = ""):
        self.write, self.clock = write, clock
        self._last, self._tenth = clock(), 0
        self._doing, self._since = text, clock()
        self._lock = threading.Lock()

    def update(self, done: int, total: int, text: str) -> None:
        """Say how far it is, if it is time."""
        with self._lock:
            self._doing, self._since = f"{done:,} of {total:,}: {text}" if total else text, self.clock()
            waited, tenth = self.clock() - self._last, 10 * done // total if total else 0
            if waited >= self.RARELY or (waited >= self.OFTEN and tenth != self._tenth):
                self._last, self._tenth = self.clock(), tenth
                self.write(self._doing)

    def remind(self) -> None:
        """Say what still goes on, if nothing was said for long."""
        with self._lock:
            if self.clock() - self._last >= self.SILENT:
                self._last = self.clock()
                self.write(f"{self._doing} (for {self.clock() - self._since:.0f} s)")

    @contextmanager
    def reminding(self) -> Iterator[None]:
        """Look every second whether to remind, by a thread."""
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(1.0):
                self.remind()

        thread = threading.Thread(target=look, name="rankloom progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


@contextmanager
def file_progress(text: str = "looking for files") -> Iterator[Update]:
    """Progress on standard error, for work whose size shows later: a bar with throughput and time left, or lines."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        lines = Lines(lambda line: say(line, err=True), text=text)
        with lines.reminding():
            yield lines.update
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    said = TextColumn("{task.description}", markup=False)
    columns = (BarColumn(), MofNCompleteColumn(), Speed(), TimeRemainingColumn(), said)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, total, now: bar.update(task, completed=done, total=total, description=printable(now))


@contextmanager
def progress(total: int, text: str) -> Iterator[Advance]:
    """The same for work of a known number of steps, each of which says that it begins."""
    with file_progress(text) as update:
        steps = count()
        yield lambda text: update(next(steps), total, text)

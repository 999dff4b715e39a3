"""bench: the papers' tables and figures, measured here."""

from __future__ import annotations

import click

from rankloom.cli.bench_all import everything
from rankloom.cli.bench_car import car
from rankloom.cli.bench_cascade import cascade
from rankloom.cli.bench_letor import letor
from rankloom.cli.bench_online import online
from rankloom.cli.bench_rlr import rlr


@click.group()
def bench() -> None:
    """Measure the methods of the papers and show which of their findings appear.

    \b
    Example:
      rankloom bench cascade --quick
    """


for command in (car, cascade, everything, letor, online, rlr):
    bench.add_command(command)

"""The command line as a user types it, in this process."""

from __future__ import annotations

from math import inf

import click
import pytest
from click.testing import CliRunner, Result

from rankloom.cli import main
from rankloom.cli._output import Lines


def invoke(*arguments: object, command: click.Command = main, pace: float = inf, **options) -> Result:
    """Run a command, however it ends, with the options of click's own runner.

    It is silent about its progress unless a pace is given, the seconds between two lines of it: without a terminal a
    command prints such lines once it takes long, and what a test reads must not depend on how busy the machine is.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lines, "OFTEN", pace)
        patch.setattr(Lines, "RARELY", pace)
        patch.setattr(Lines, "SILENT", inf)
        return CliRunner().invoke(command, [str(argument) for argument in arguments], **options)


def rankloom(*arguments: object, code: int = 0) -> Result:
    """Run a command that ends with this code."""
    result = invoke(*arguments)
    assert result.exit_code == code, result.output
    return result

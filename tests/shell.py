"""The command line as a user types it, in this process."""

from click.testing import CliRunner, Result

from rankloom.cli import main


def rankloom(*arguments: object, code: int = 0) -> Result:
    """Run a command that ends with this code."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result

"""The command `rankloom`. Each module here holds the commands of one subject; heavy imports wait inside commands."""

from rankloom.cli._main import main

__all__ = ["main"]

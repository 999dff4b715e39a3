"""The command `rankloom`: each module holds the commands of one subject, and heavy imports wait inside commands.

Commands read options, call the library and print; what a result means is decided below.
"""

from rankloom.cli._main import main

__all__ = ["main"]

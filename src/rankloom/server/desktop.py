"""The file manager of this machine, for a browser that runs on it, too."""

from __future__ import annotations

import ipaddress
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request

from rankloom.server.errors import Refused
from rankloom.server.settings import ServerSettings, is_loopback

# Headers by which a proxy tells that it asks for somebody else, whether it is believed or not.
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
SECONDS = 5.0  # after which a file manager that still runs has opened its window
ELSEWHERE = "only a browser on the server's own machine can open its folders"
NO_DESKTOP = "this machine has no file manager that could be opened"


def asks_from_here(request: Request, settings: ServerSettings) -> bool:
    """Whether a request comes from a browser on this machine: nothing says that it comes from elsewhere.

    The server is bound to an address of this machine alone, knows no proxy and no token (which are for others), and
    the client has such an address, calls the server by one, and sends no header of a proxy.
    """
    client = request.client
    return (
        is_loopback(settings.host)
        and not settings.proxies
        and settings.token is None
        and client is not None
        and is_loopback(client.host)
        and _names_this_machine(request.url.hostname or "")
        and not any(name in request.headers for name in FORWARDED)
    )


def _names_this_machine(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def has_file_manager() -> bool:
    """Whether there is something to open a folder with."""
    return bool(_commands("/"))


def show_in_folder(path: str) -> None:
    """Open the file manager at a file; a refusal says why not.

    Parameters
    ----------
    path : absolute, of a file that exists.
    """
    if not any(_run(command) for command in _commands(path)):
        raise Refused(501, NO_DESKTOP)


def _commands(path: str, platform: str = sys.platform) -> list[list[str]]:
    """What shows a file, the best first; each is run without a shell.

    >>> _commands("/photos/a b.jpg", "darwin"), _commands("C:/photos/a b.jpg", "win32")
    ([['open', '-R', '/photos/a b.jpg']], [['explorer', '/select,C:/photos/a b.jpg']])
    """
    if platform == "darwin":
        return [["open", "-R", path]]
    if platform == "win32":
        return [["explorer", f"/select,{path}"]]
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return []
    known = (_show_items(path), ["xdg-open", os.path.dirname(path)])
    return [command for command in known if shutil.which(command[0])]


def _show_items(path: str) -> list[str]:
    """A call of the desktop's file manager over D-Bus. In an address quotes and spaces are encoded.

    >>> _show_items("/photos/it's [1].jpg")[-3:]
    ['org.freedesktop.FileManager1.ShowItems', "['file:///photos/it%27s%20%5B1%5D.jpg']", '']
    """
    bus = "org.freedesktop.FileManager1"
    place = ["--session", "--dest", bus, "--object-path", "/org/freedesktop/FileManager1"]
    return ["gdbus", "call", *place, "--method", f"{bus}.ShowItems", f"['{Path(path).as_uri()}']", ""]


def _run(command: Sequence[str]) -> bool:
    """Whether a command worked, or still runs after a while; it has none of our streams."""
    nothing = subprocess.DEVNULL
    try:
        process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
    except OSError:
        return False
    try:
        return process.wait(SECONDS) == 0 or sys.platform == "win32"  # where it always says that it failed
    except subprocess.TimeoutExpired:
        threading.Thread(target=process.wait, daemon=True).start()
        return True

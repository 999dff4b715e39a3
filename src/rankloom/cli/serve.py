"""serve: the page and the API, for a browser on this machine or, with a token, for others."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankloom.cli._options import collection_option, index_option, open_engine
from rankloom.cli._output import PrintableFormatter, say

if TYPE_CHECKING:
    from rankloom.collection import Collection

_MOST_NAMED = 3  # profiles with the most marks


@click.command()
@collection_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; others need a token.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--token-file", type=click.Path(exists=True, dir_okay=False),
    help="A file with the token that clients must know. Without it the variable RANKLOOM_TOKEN.",
)  # fmt: skip
@click.option("--allow-host", "names", multiple=True, metavar="NAME", help="A name of this server; may be repeated.")
@click.option(
    "--trusted-proxy", "proxies", multiple=True, metavar="ADDRESS",
    help="A proxy that says for whom it asks (X-Forwarded-For, X-Forwarded-Proto); may be repeated.",
)  # fmt: skip
@click.option("--read-only", is_flag=True, help="Refuse marks, uploads and everything else that writes.")
@click.option(
    "--profiles", is_flag=True,
    help="Each browser has marks and saved searches of its own; otherwise all share those of the shell.",
)  # fmt: skip
@click.option(
    "--allow-root", "roots", multiple=True, type=click.Path(exists=True, file_okay=False),
    help="A folder below which the page may add folders; may be repeated. Your home unless given, if only this machine "
    "reaches the server.",
)  # fmt: skip
@click.option("--watch", is_flag=True, help="Follow every change of the indexed files (the extra watch).")
@click.option("--new", is_flag=True, help="Make an empty collection if there is none; the page fills it.")
@click.option("--open/--no-open", "open_page", default=False, help="Open the page in the browser.")
@click.option("--quiet", is_flag=True, help="No line for each request.")
@index_option
def serve(
    collection: str | None,
    host: str,
    port: int,
    token_file: str | None,
    names: tuple[str, ...],
    proxies: tuple[str, ...],
    read_only: bool,
    profiles: bool,
    roots: tuple[str, ...],
    watch: bool,
    new: bool,
    open_page: bool,
    quiet: bool,
    index: str | None,
) -> None:
    """Serve the page that searches a collection and learns from marks.

    \b
    Example:
      rankloom serve
      rankloom serve -c photos.rankloom --read-only
      rankloom serve -c new.rankloom --new --allow-root ~/Pictures --watch
      rankloom serve --host 0.0.0.0 --token-file token --profiles
      rankloom serve --token-file token --trusted-proxy 127.0.0.1 --allow-host photos.example.org
    """
    import os

    from rankloom.server.settings import ServerSettings

    token = Path(token_file).read_text(encoding="utf-8").strip() if token_file else os.environ.get("RANKLOOM_TOKEN")
    settings = ServerSettings(
        host, port, token or None, read_only=read_only, profiles=profiles, names=names, proxies=proxies,
        roots=tuple(map(os.path.abspath, roots)) or None, watch=watch,
    )  # fmt: skip
    settings.check()
    if watch:
        from rankloom.collection.watching import check_watching

        check_watching()

    from rankloom.server import serve as run

    log = logging.StreamHandler(sys.stderr)
    log.setFormatter(PrintableFormatter("%(asctime)s %(message)s"))
    logging.basicConfig(handlers=[log], level=logging.WARNING)
    logging.getLogger("rankloom.server.access").setLevel(logging.WARNING if quiet else logging.INFO)

    with open_engine(collection, create=new, index=index) as engine:
        others = [] if profiles else _of_other_profiles(engine.collection)

        def ready(address: str) -> None:
            say(f"Rankloom is at {address}  (Ctrl-C stops it)", *others)
            if open_page:
                click.launch(address)

        run(engine, settings, ready)


def _of_other_profiles(collection: Collection) -> list[str]:
    """A line on marks and saved searches that are not the owner's, if there are any: the page does not show them."""
    from rankloom.collection.profiles import profiles

    known = profiles(collection)
    if not known:
        return []
    largest = sorted(known, key=lambda profile: -profile.marks)
    named = ", ".join(profile.name for profile in largest[:_MOST_NAMED]) + ", ..." * (len(known) > _MOST_NAMED)
    marks, saved = sum(profile.marks for profile in known), sum(profile.saved for profile in known)
    return [
        f"{marks:,} marks and {saved:,} saved searches of other profiles ({named}) are not shown in the page: "
        "'rankloom feedback --list' lists the marks, 'rankloom feedback --adopt NAME' takes them over, "
        "'rankloom serve --profiles' keeps people apart"
    ]

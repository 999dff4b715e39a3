"""Run a server until it is asked to stop, and let it finish what it writes."""

from __future__ import annotations

import errno
import gc
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rankloom.engine import Engine
from rankloom.server.app import create_app
from rankloom.server.settings import ServerSettings

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

GRACE_SECONDS = 10
GARBAGE = 10_000  # new objects after which unused ones are looked for


def serve(engine: Engine, settings: ServerSettings, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until SIGINT or SIGTERM; requests that were accepted are answered, writes are finished.

    Parameters
    ----------
    engine : what answers.
    settings : where to listen, and who may ask.
    ready : called with the address of the page when the server listens.
    """
    import uvicorn

    listening = listen(settings.host, settings.port)

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """As uvicorn does, but without raising the signal again at the end: this stop is an orderly one."""
            signals = (signal.SIGINT, signal.SIGTERM)
            if threading.current_thread() is not threading.main_thread():
                yield
                return
            before = {number: signal.signal(number, self.handle_exit) for number in signals}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                _settle_memory()
                ready(address_of(settings.host, listening.getsockname()[1]))

    config = uvicorn_config(create_app(engine, settings), settings)
    with listening:
        Server(config).run(sockets=[listening])


def _settle_memory() -> None:
    """Let the garbage collector look at what requests make, and not again and again at what stays to the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE)


def uvicorn_config(app: FastAPI, settings: ServerSettings) -> uvicorn.Config:
    """How uvicorn serves the application."""
    import uvicorn

    from rankloom.server.connections import connections_of

    return uvicorn.Config(
        app, http=connections_of(settings), log_config=None, access_log=False, server_header=False, date_header=True,  # type: ignore[arg-type]
        timeout_keep_alive=10, timeout_graceful_shutdown=GRACE_SECONDS, limit_concurrency=settings.connections.at_once,
        ws="none", proxy_headers=False,
    )  # fmt: skip


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address; before anything else, so that a port in use is reported at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ValueError(f"port {port} is in use; stop what uses it, or serve with --port {port + 1}") from None
        raise ValueError(f"cannot listen on {host}: {os.strerror(error.errno or 0).lower()}") from None
    # Small answers must not wait for more. Connections inherit it; asyncio sets it only for sockets that name their
    # protocol, and those of uvloop do not take it.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address_of(host: str, port: int) -> str:
    """The address of the page, as a browser takes it.

    >>> address_of("::1", 8765), address_of("0.0.0.0", 80)
    ('http://[::1]:8765/', 'http://127.0.0.1:80/')
    """
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"

"""Connections: how long a client may take to send a request or to read an answer, and how many may take their time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from rankloom.server.settings import ConnectionLimits, ServerSettings

C = TypeVar("C", bound=Hashable)


class Awaited(Generic[C]):
    """The connections whose client we wait for, the longest wait first. Who is too many pushes out the first.

    Parameters
    ----------
    in_all : the most that are waited for.
    of_one : the most of one address.

    Examples
    --------
    >>> awaited = Awaited(in_all=3, of_one=2)
    >>> [awaited.add(connection, connection[0]) for connection in ("a1", "a2", "b1", "a3", "c1")]
    [None, None, None, 'a1', 'a2']
    """

    def __init__(self, in_all: int, of_one: int):
        self.in_all, self.of_one = in_all, of_one
        self._addresses: dict[C, str | None] = {}
        self._counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._addresses)

    def add(self, connection: C, address: str | None) -> C | None:
        """Wait for a client; returns the connection that must go for it. Without an address only the sum counts."""
        self.remove(connection)
        self._addresses[connection] = address
        if address is not None:
            self._counts[address] += 1
            if self._counts[address] > self.of_one:
                return self._pop(lambda other: other == address)
        return self._pop(lambda _: True) if len(self._addresses) > self.in_all else None

    def _pop(self, wanted: Callable[[str | None], bool]) -> C:
        first = next(connection for connection, address in self._addresses.items() if wanted(address))
        self.remove(first)
        return first

    def remove(self, connection: C) -> None:
        """Wait no more, if we did."""
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]


class Connection(H11Protocol):
    """A connection that is cut when its client takes too long, or when too many others have come since.

    Uvicorn bounds the pause between two requests of a connection, but not the time in which one arrives.

    Parameters
    ----------
    limits : of time and number.
    awaited : all connections of the server whose client we wait for.
    proxies : addresses of proxies, which have the connections of many.
    options : those of uvicorn's protocols.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        awaited: Awaited[Connection],
        proxies: Collection[str],
        **options: Any,
    ):
        super().__init__(**options)
        self._limits, self._awaited, self._proxies = limits, awaited, proxies
        self._phase: str | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._follow()

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._follow()

    def pause_writing(self) -> None:
        """Wait until the client reads."""
        super().pause_writing()
        self._stalled = True
        self._follow()

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        super().resume_writing()
        self._stalled = False
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._wait(None)
        super().connection_lost(exc)

    def _follow(self) -> None:
        """Look whether it is the client's turn, and since when."""
        phase = None if self.transport.is_closing() else self._current_phase()
        if phase != self._phase:
            self._wait(phase)

    def _current_phase(self) -> str | None:
        if self._stalled:
            return "stalled"
        if self.conn.their_state is h11.IDLE:
            return "header"
        if self.conn.their_state is h11.SEND_BODY:
            # What comes after the answer, such as a refusal, is only read so that the client gets to see the answer.
            return "body" if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE, h11.SEND_BODY) else "rest"
        return None

    def _wait(self, phase: str | None) -> None:
        self._phase = phase
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if phase is None:
            self._awaited.remove(self)
            return
        address = self.client[0] if self.client else None
        self._deadline = self.loop.call_later(self._seconds(phase), self.transport.abort)
        surplus = self._awaited.add(self, None if address in self._proxies else address)
        if surplus is not None:
            surplus.transport.abort()

    def _seconds(self, phase: str) -> float:
        limits = self._limits
        if phase == "body":
            length = dict(self.headers).get(b"content-length", b"0")
            return limits.body_seconds + (int(length) / limits.bytes_per_second if length.isdigit() else 0.0)
        return {"header": limits.header_seconds, "stalled": limits.stalled_seconds}.get(phase, limits.rest_seconds)


def connections_of(settings: ServerSettings) -> Callable[..., Connection]:
    """What makes the connections of one server."""
    limits = settings.connections
    return partial(Connection, limits, Awaited(limits.in_all, limits.of_one), settings.proxies)

"""The settings of a server."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from rankloom.collection.pictures import UploadLimits

SHORTEST_TOKEN = 16


class Rate(NamedTuple):
    """Calls a client may make: so many a second in the long run, so many at once."""

    per_second: float
    burst: int


class ConnectionLimits(NamedTuple):
    """How long a client may keep us waiting, and how many may.

    Parameters
    ----------
    header_seconds : for the header of a request, from the connection or the last answer on.
    body_seconds, bytes_per_second : for its body, and for so many bytes of it one second more.
    rest_seconds : for what is still sent of a body that was refused.
    stalled_seconds : in which nothing of an answer is read.
    in_all, of_one : connections that are waited for, and those of one address; the longest wait ends for a new one.
    at_once : connections at all.
    """

    header_seconds: float = 20.0
    body_seconds: float = 20.0
    bytes_per_second: float = 20_000.0
    rest_seconds: float = 10.0
    stalled_seconds: float = 120.0
    in_all: int = 400
    of_one: int = 100
    at_once: int = 800  # with files and databases fewer than the 1,024 that a process may usually have open


# Generous for a person, tight for a program that has run away.
LIMITS: Mapping[str, Rate] = MappingProxyType(
    {
        "search": Rate(20, 200),
        "upload": Rate(2, 30),
        "mark": Rate(50, 500),
        "train": Rate(0.2, 10),
        "view": Rate(20, 200),
        "token": Rate(0.2, 30),
    }
)


@dataclass(frozen=True)
class ServerSettings:
    """Where a server listens, who may ask, and how much.

    Parameters
    ----------
    host, port : the address.
    token : what others must know; required unless the address is this machine's own.
    read_only : refuse everything that writes.
    profiles : each browser has marks and saved searches of its own; otherwise all have those of the owner.
    demo : the page shows its reader around.
    names : host names under which the server may be called, beside addresses and "localhost".
    proxies : addresses of proxies that are believed when they say for whom they ask.
    roots : folders below which the page may choose folders to add, beside those that are indexed; None for the user's
        home where only this machine reaches the server, and for no others elsewhere.
    watch : follow all changes of files, and index them.
    searches : threads that search; twice the cores, at least 4, unless given.
    waiting : searches that may wait for a thread; more are refused.
    upload_bytes, upload_pixels : the largest picture that may be sent.
    uploads : how long pictures that were sent are kept, and how many.
    limits : the rate of each kind of expensive call, a client.
    connections : how long clients may keep the server waiting, and how many.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = field(default=None, repr=False)
    read_only: bool = False
    profiles: bool = False
    demo: bool = False
    names: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    roots: tuple[str, ...] | None = None
    watch: bool = False
    searches: int = max(4, 2 * (os.cpu_count() or 1))
    waiting: int = 256
    upload_bytes: int = 25_000_000
    upload_pixels: int = 60_000_000
    uploads: UploadLimits = field(default_factory=UploadLimits)
    limits: Mapping[str, Rate] = field(default_factory=lambda: LIMITS)
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)

    def check(self) -> None:
        """Refuse an address that others reach without a token.

        >>> ServerSettings(host="0.0.0.0").check()
        Traceback (most recent call last):
        ValueError: others can reach 0.0.0.0, so it needs a token: openssl rand -hex 24 > token, ...
        """
        if self.token is None and not is_loopback(self.host):
            raise ValueError(
                f"others can reach {self.host}, so it needs a token: openssl rand -hex 24 > token, "
                "then serve with --token-file token"
            )
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise ValueError(
                f"the token has {len(self.token)} characters, {SHORTEST_TOKEN} are the least: "
                "openssl rand -hex 24 > token"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise ValueError("the token must be of ASCII letters, digits and signs: openssl rand -hex 24 > token")
        for proxy in self.proxies:
            if not _is_address(proxy):
                raise ValueError(f"a trusted proxy is an address such as 127.0.0.1 or ::1, got {proxy!r}")
        if self.watch and self.read_only:
            raise ValueError("a read-only server cannot index what changes: leave out --watch, or --read-only")

    def addable_roots(self) -> tuple[str, ...]:
        """Folders below which others may be added, beside those that are indexed.

        >>> ServerSettings(host="0.0.0.0").addable_roots(), ServerSettings(roots=("photos",)).addable_roots()
        ((), ('photos',))
        """
        if self.roots is not None:
            return self.roots
        return (os.path.expanduser("~"),) if self.local else ()

    @property
    def local(self) -> bool:
        """Whether only this machine reaches the server."""
        return is_loopback(self.host) and not self.proxies


def _is_address(text: str) -> bool:
    """Whether a text is an address, written as the system writes it."""
    try:
        return str(ipaddress.ip_address(text)) == text
    except ValueError:
        return False


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "a.b")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

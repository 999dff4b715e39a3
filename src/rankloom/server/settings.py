"""The settings of a server."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

SHORTEST_TOKEN = 16


class Rate(NamedTuple):
    """Calls a client may make: so many a second in the long run, so many at once."""

    per_second: float
    burst: int


# Generous for a person, tight for a program that has run away.
LIMITS: Mapping[str, Rate] = MappingProxyType(
    {
        "search": Rate(20, 200),
        "upload": Rate(2, 30),
        "mark": Rate(50, 500),
        "train": Rate(0.2, 10),
        "view": Rate(20, 200),
        "token": Rate(0.2, 10),
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
    names : host names under which the server may be called, beside addresses and "localhost".
    searches : threads that search; twice the cores, at least 4, unless given.
    waiting : searches that may wait for a thread; more are refused.
    upload_bytes, upload_pixels : the largest picture that may be sent.
    limits : the rate of each kind of expensive call, a client.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = field(default=None, repr=False)
    read_only: bool = False
    names: tuple[str, ...] = ()
    searches: int = max(4, 2 * (os.cpu_count() or 1))
    waiting: int = 256
    upload_bytes: int = 25_000_000
    upload_pixels: int = 60_000_000
    limits: Mapping[str, Rate] = field(default_factory=lambda: LIMITS)

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

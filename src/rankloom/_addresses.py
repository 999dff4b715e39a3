"""Files that are elsewhere: addresses such as `s3://bucket/folder/a.jpg`, read through fsspec (the extra `cluster`).

A path of this machine, also as `file://`, is no address: it is read as a file.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote, urlsplit

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://")  # two signs at least: C:// would be a drive
_TIMES = ("LastModified", "mtime", "updated", "last_modified", "created")
_MARKS = ("ETag", "etag", "md5Hash", "crc32c", "checksum")


class RemoteFile(NamedTuple):
    """A file elsewhere: its address, its bytes, and a number that changes when it does (its time, where it has one)."""

    path: str
    size: int
    mtime_ns: int


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether a path names something that is not on this machine.

    >>> is_address("s3://bucket/a.jpg"), is_address("/data/a.jpg"), is_address("file:///data/a.jpg")
    (True, False, False)
    """
    text = os.fspath(path)
    return bool(_ADDRESS.match(text)) and not text.lower().startswith("file://")


def local_path(path: str | os.PathLike[str]) -> str:
    """A path as it is, or that of a `file://` address.

    >>> local_path("file:///data/a%20b.jpg"), local_path("a.jpg")
    ('/data/a b.jpg', 'a.jpg')
    """
    text = os.fspath(path)
    if not text.lower().startswith("file://"):
        return text
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost"):
        raise ValueError(f"{text}: a file address has three slashes, as in file:///data/pictures")
    return unquote(parts.path)


def filesystem(address: str) -> tuple[Any, str]:
    """The file system of an address, and what it calls it."""
    try:
        import fsspec
    except ImportError:
        raise ImportError(f"{address} is read through fsspec: pip install 'rankloom[cluster]'") from None
    try:
        system, path = fsspec.core.url_to_fs(address)
    except ImportError as error:  # the package of a protocol
        raise ImportError(f"{address}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{address}: {error}") from None
    return system, path


def open_address(address: str) -> BinaryIO:
    """The open file of an address, for reading anywhere in it."""
    system, path = filesystem(address)
    with _one_line_errors(address):
        opened: BinaryIO = system.open(path, "rb")
    return opened


def address_exists(address: str) -> bool:
    """Whether there is a file or a folder at an address."""
    system, path = filesystem(address)
    with _one_line_errors(address):
        return bool(system.exists(path))


def copy_address(address: str, path: str) -> None:
    """Copy the file of an address to a path of this machine."""
    system, name = filesystem(address)
    with _one_line_errors(address):
        system.get_file(name, path)


@contextmanager
def _one_line_errors(address: str) -> Iterator[None]:
    """Turn what the packages of the protocols raise (no credentials, no such host) into an OSError."""
    try:
        yield
    except (OSError, ImportError, ValueError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise OSError(f"{address}: {reason}") from None


def remote_file(address: str) -> RemoteFile:
    """The file as it is now; a FileNotFoundError where there is none."""
    system, path = filesystem(address)
    with _one_line_errors(address):
        return _described(address, system.info(path))


def find_addresses(address: str) -> Iterator[RemoteFile]:
    """All files under an address, or the file that it names, by name; a FileNotFoundError where there is nothing."""
    system, path = filesystem(address)
    system.invalidate_cache()
    with _one_line_errors(address):
        entries: dict[str, Any] = system.find(path, detail=True)
    if not entries:
        raise FileNotFoundError(2, "no such file or folder", address)
    protocol = address.split("://", 1)[0]
    for name in sorted(entries):
        info = entries[name]
        if info.get("type") == "directory":
            continue
        if info.get("size") is None or not any(info.get(key) for key in (*_TIMES, *_MARKS)):
            with _one_line_errors(address):
                info = {**info, **system.info(name)}  # listings of web servers have names only
        yield _described(name if "://" in name else f"{protocol}://{name}", info)


def matching_addresses(pattern: str) -> list[str]:
    """The addresses that match a pattern with `*`, `?` or `[...]`, sorted."""
    system, path = filesystem(pattern)
    protocol = pattern.split("://", 1)[0]
    with _one_line_errors(pattern):
        return sorted(name if "://" in name else f"{protocol}://{name}" for name in system.glob(path))


def _described(address: str, info: dict[str, Any]) -> RemoteFile:
    return RemoteFile(address, int(info.get("size") or 0), _stamp(info))


def _stamp(info: dict[str, Any]) -> int:
    """The time of a change in nanoseconds; else a number made of what the store says of the content; else 0."""
    for key in _TIMES:
        value = info.get(key)
        if isinstance(value, datetime):
            return int(value.timestamp()) * 10**9 + value.microsecond * 1000
        if isinstance(value, int | float):
            return int(value * 10**9)
        if isinstance(value, str):
            try:
                return int(datetime.fromisoformat(value).timestamp() * 10**6) * 1000
            except ValueError:
                continue
    mark = next((str(info[key]) for key in _MARKS if info.get(key)), "")
    return int.from_bytes(hashlib.blake2b(mark.encode(), digest_size=7).digest(), "big") if mark else 0

"""Files that can be trusted: ours are there whole or not at all, and weights in other packages are the ones we know."""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import IO, Any


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name in the folder of `path`; what was written there then takes its place.

    Readers see the old file or the new one, whole, also after the power has failed. After an error the old one stays.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {os.fspath(path)}: the folder {target.parent} does not exist")
    temporary = target.parent / f".{_host()}-{os.getpid()}-{secrets.token_hex(8)}.tmp"
    try:
        yield temporary
        sync(temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Delete what processes of this machine that were killed left in a folder in the middle of writing."""
    for path in Path(folder).glob(f".{_host()}-*.tmp*"):
        process = path.name.split("-")[1]
        if process.isdigit() and not _runs(int(process)):
            path.unlink(missing_ok=True)


def _host() -> str:
    """A short name of this machine: a shared folder may hold files of others."""
    return f"{zlib.crc32(os.fsencode(platform.node())):08x}"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # of another user
    return True


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a file to write to; it takes the place of `path` when all is written.

    A name that ends in `.gz` is compressed, without a time stamp, so that equal data make equal files.
    """
    with replaced(path) as temporary, open(temporary, "xb") as file:
        if os.fspath(path).endswith(".gz"):
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield file


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: str | os.PathLike[str]) -> None:
    """Make a folder and those above it, unless they are there; their names are on disk when this returns."""
    path = Path(folder)
    missing = [place for place in (path, *path.parents) if not place.is_dir()]
    path.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync_folder(place.parent)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Wait until the names in a folder are on disk."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        sync(folder)


# Weight files of other packages ---------------------------------------------------------------------------------------


class PackagedFile:
    """A file of an installed package that must be exactly the one that we know.

    Parameters
    ----------
    package : the package's name on PyPI.
    path : the file, as the package's list of files has it.
    sha256 : what the file must have; another is a clear error.
    install : what is to be installed where it is absent.

    Examples
    --------
    >>> PackagedFile("no-such-package", "a/b.onnx", "00", "pip install no-such-package").present
    False
    """

    def __init__(self, package: str, path: str, sha256: str, install: str) -> None:
        self.package, self.path, self.sha256, self.install = package, path, sha256, install

    @property
    def present(self) -> bool:
        """Whether the package is installed with such a file; its content is not looked at."""
        return self._file() is not None

    def checked(self) -> Path:
        """Where the file is, after its content was compared with what we know."""
        file = self._file()
        if file is None:
            raise ImportError(f"{Path(self.path).name} of the package {self.package} is missing; run: {self.install}")
        found = _sha256(file, file.stat().st_mtime_ns)
        if found != self.sha256:
            raise ImportError(
                f"{file.name} of the package {self.package} is not the file that Rankloom knows: its SHA-256 is "
                f"{found[:12]}..., expected {self.sha256[:12]}...; run: {self.install}"
            )
        return file

    def _file(self) -> Path | None:
        try:
            file = Path(str(metadata.distribution(self.package).locate_file(self.path)))
        except metadata.PackageNotFoundError:
            return None
        return file if file.is_file() else None


@lru_cache(maxsize=64)
def _sha256(file: Path, changed: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def load_onnxruntime() -> Any:
    """Import onnxruntime with its telemetry switched off, and return it.

    Since 1.31 importing it writes a device id and a queue of events below the user's cache folder, and sends them to
    its vendor, unless the variable is set before.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    # Where another part of the program has imported it before, what it sends from now on is off, too.
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def open_session(path: str | os.PathLike[str], threads: int = 1) -> Any:
    """Load an ONNX or ORT file into onnxruntime on the CPU; workers run side by side, so each keeps to one thread."""
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])

"""Weight files that come in other packages: found without importing these, and checked before they are read."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any


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


def open_session(path: str | os.PathLike[str], threads: int = 1) -> Any:
    """Load an ONNX or ORT file into onnxruntime on the CPU; workers run side by side, so each keeps to one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])

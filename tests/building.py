"""Folders that are made once a run and read by all: by the first test that wants one, in whichever process it runs."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from rankloom.collection.copying import copy_collection
from rankloom.collection.postgres.address import POINTER

ROOT = "RANKLOOM_TESTS_FOLDER"  # the environment variable that tells the processes of one run where


def built(name: str, make: Callable[[Path], object]) -> Path:
    """The folder of this name, filled by `make(folder)` unless it was already; other processes wait meanwhile."""
    root = Path(os.environ[ROOT])
    folder, done = root / name, root / f"{name}.done"
    with open(root / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # what a failure left
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


def copy_folder(source: Path, target: Path) -> Path:
    """A copy of a closed or checkpointed collection that may be changed, wherever its tables are."""
    if (source / POINTER).exists():
        copy_collection(source, target)
        return target
    return shutil.copytree(source, target)

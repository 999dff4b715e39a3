"""The folder of a run of the tests, where `tests.building` keeps what all processes share."""

from __future__ import annotations

import atexit
import math
import os
import shutil
import signal
import tempfile
from collections import Counter
from pathlib import Path

import joblib
import psutil
import pytest
from hypothesis import HealthCheck, settings

from rankloom.collection import lagging
from tests.building import ROOT
from tests.postgres import SWITCH, database

# No test is judged by the clock of a busy machine.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def _run_folder() -> str:
    """A folder of this run; in memory where there is room, as collections wait for a disk many thousand times."""
    place, name = Path("/dev/shm"), "rankloom-tests-"
    for left in place.glob(f"{name}*-*"):  # a run that was killed could not tidy up
        if not psutil.pid_exists(int(left.name.removeprefix(name).split("-")[0])):
            shutil.rmtree(left, ignore_errors=True)
    try:
        room = min(shutil.disk_usage(place).free, psutil.virtual_memory().available)
        fits = room > 6 << 30 and not os.statvfs(place).f_flag & os.ST_NOEXEC  # some tests write a program
    except OSError:
        fits = False
    return tempfile.mkdtemp(prefix=f"{name}{os.getpid()}-", dir=place if fits else None)


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # workers of pytest-xdist inherit what the first process set
        root = _run_folder()
        # Pytest's own folders are in it too, as those of the processes that tests start.
        os.environ[ROOT] = os.environ["TMPDIR"] = tempfile.tempdir = root
        # It runs after what registers later: PostgreSQL writes until it stops.
        atexit.register(shutil.rmtree, root, ignore_errors=True)
        # A shell lets what it starts in the background ignore Ctrl-C, and processes of tests would inherit that.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        # Side by side, threads of BLAS only wait for each other.
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(name, "1")
    if SWITCH in os.environ:
        os.environ["RANKLOOM_DATABASE"] = database()


@pytest.fixture(scope="session", autouse=True)
def fresh_values():
    """Values that lag behind what changed where reading them takes long, which a busy machine would decide, do not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lagging, "QUICK", math.inf)
        yield


def pytest_xdist_auto_num_workers():
    """One process more than cores: servers, browsers and disks are waited for."""
    return joblib.cpu_count() + 1


def pytest_collection_modifyitems(config, items):
    """Files that take long come first, so that no process is left with one when the others have ended.

    Of those of the rankers only the longest: side by side, two processes would compile the same kernels.
    """
    if SWITCH in os.environ:
        left_out = [item for item in items if item.get_closest_marker("sqlite")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    first = Counter(item.path for item in items if item.get_closest_marker("slow"))
    rankers = [path for path, _ in first.most_common() if path.parent.name == "rankers"]
    first.update({item.path: 1000 for item in items if item.get_closest_marker("browser")})
    for path in rankers[1:]:
        del first[path]
    items.sort(key=lambda item: -first[item.path])

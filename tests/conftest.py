"""The folder of a run of the tests, where `tests.building` keeps what all processes share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter

import joblib
from hypothesis import HealthCheck, settings

from tests.building import ROOT
from tests.postgres import SWITCH, database

# No test is judged by the clock of a busy machine.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # workers of pytest-xdist inherit what the first process set
        os.environ[ROOT] = tempfile.mkdtemp(prefix="rankloom-tests-")
        # Side by side, threads of BLAS only wait for each other.
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(name, "1")
    if SWITCH in os.environ:
        os.environ["RANKLOOM_DATABASE"] = database()


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


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ[ROOT], ignore_errors=True)

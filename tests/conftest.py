"""The folder of a run of the tests, where `tests.building` keeps what all processes share."""

from __future__ import annotations

import os
import shutil
import tempfile

from tests.building import ROOT


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # workers of pytest-xdist inherit what the first process set
        os.environ[ROOT] = tempfile.mkdtemp(prefix="rankloom-tests-")


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ[ROOT], ignore_errors=True)

"""What every package's tests may ask for: the folder of this run, and servers of the sample collection."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

from tests.building import ROOT
from tests.serving import client, copied


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # workers of pytest-xdist inherit what the first process set
        os.environ[ROOT] = tempfile.mkdtemp(prefix="rankloom-tests-")


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ[ROOT], ignore_errors=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A collection of the sample pictures that the tests of one file write to."""
    return copied(tmp_path_factory.mktemp("sample") / "c")


@pytest.fixture(scope="module")
def web(folder):
    """A client of a server of `folder`."""
    with client(folder) as opened:
        yield opened


@pytest.fixture
def own_folder(tmp_path):
    """A collection of the sample pictures that nobody else writes to."""
    return copied(tmp_path / "c")


@pytest.fixture
def own(own_folder):
    """A client of a server of `own_folder`, with the cookie of a user."""
    with client(own_folder) as opened:
        opened.get("/")
        yield opened

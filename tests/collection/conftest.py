"""One collection with captions and marks for the tests that damage, restore and repair."""

import shutil

import pytest

from tests.building import built
from tests.damaging import make_collection


@pytest.fixture(scope="session")
def original():
    """The folder of a collection that is not changed."""
    return built("marked", make_collection) / "c"


@pytest.fixture
def folder(original, tmp_path):
    """A copy of it that may be changed."""
    return shutil.copytree(original, tmp_path / "c")

"""One collection with captions and marks for the tests that damage, restore and repair."""

import pytest

from tests.building import built, copy_folder
from tests.damaging import make_collection


@pytest.fixture(scope="session")
def original():
    """The folder of a collection that is not changed."""
    return built("marked", make_collection) / "c"


@pytest.fixture
def folder(original, tmp_path):
    """A copy of it that may be changed."""
    return copy_folder(original, tmp_path / "c")

"""One small collection for the tests of search and learning, and servers of the sample collection."""

import pytest

from rankloom.collection import Captions, Collection
from tests.archives import copied, make, write_pictures
from tests.building import built, copy_folder
from tests.serving import folder, own, own_folder, web  # noqa: F401


@pytest.fixture(scope="session")
def pictures():
    """Folders of 12 pictures of each of four colors, every second one with a caption."""
    return built("pictures", write_pictures)


@pytest.fixture(scope="module")
def original(pictures, tmp_path_factory):
    """A collection of them, with all 36 experts, that is read and not changed."""
    captions = Captions(str(pictures / "captions.csv"))
    place = tmp_path_factory.mktemp("original") / "c"
    copy_folder(built("collection", lambda root: make(root / "c", pictures, captions=captions)) / "c", place)
    with Collection(place) as opened:
        yield opened


@pytest.fixture
def changing(original, tmp_path):
    """A copy of it that may be changed."""
    with copied(original, tmp_path / "c") as opened:
        yield opened

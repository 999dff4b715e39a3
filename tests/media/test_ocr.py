"""Text in pictures is read with its place, offline."""

import re
import socket
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from rankloom._io import PackagedFile
from rankloom.media import ocr, read_image
from tests.data import SHARED, needs_shared

needs_ocr = pytest.mark.skipif(not ocr.available(), reason=f"text in pictures is not installed: {ocr.INSTALL}")


def drawn(words, font=None):
    """A picture with words on it."""
    picture = Image.new("RGB", (400, 300), (90, 120, 150))
    letters = ImageFont.load_default(40) if font is None else ImageFont.truetype(font, 40)
    ImageDraw.Draw(picture).text((40, 120), words, font=letters, fill=(255, 255, 255))
    return np.asarray(picture)


@needs_ocr
@pytest.mark.slow
class TestReading:
    def test_words_and_where_they_are(self, monkeypatch):
        def refuse(*_):
            raise OSError("the network was used")

        monkeypatch.setattr(socket.socket, "connect", refuse)
        (found,) = ocr.read_text(drawn("Hello world"))
        assert found.text == "Hello world"
        assert found.left == pytest.approx(0.1, abs=0.05)
        assert found.top == pytest.approx(0.42, abs=0.08)
        assert 0.4 < found.width < 0.75
        assert 0.05 < found.height < 0.25
        assert 0.9 < found.score <= 1

    def test_pictures_without_anything(self):
        gradient = np.repeat(np.linspace(0, 255, 300).astype(np.uint8)[:, None, None], 3, axis=2).repeat(200, axis=1)
        for picture in (np.zeros((1, 1, 3), np.uint8), np.full((500, 30, 3), 200, np.uint8), gradient):
            assert ocr.read_text(picture) == []

    @pytest.mark.parametrize("words", ["Straße", "élève", "mañana"])
    def test_letters_with_marks(self, words):
        font = Path(pytest.importorskip("matplotlib").get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
        assert [found.text for found in ocr.read_text(drawn(words, font))] == [words]

    def test_a_large_picture_has_the_same_places(self):
        picture = drawn("EXIT")
        (small,), (large,) = ocr.read_text(picture), ocr.read_text(picture.repeat(8, axis=0).repeat(8, axis=1))
        assert small.text == large.text == "EXIT"
        assert small[1:5] == pytest.approx(large[1:5], abs=0.05)

    @needs_shared
    def test_stop_signs(self):
        files = sorted(SHARED.joinpath("images-caltech101", "images", "stop_sign").iterdir())
        read = [" ".join(found.text for found in ocr.read_text(read_image(file))) for file in files]
        assert sum("STOP" in text.upper().replace(" ", "") for text in read) >= 28


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(ocr, "DETECTOR", PackagedFile("no-such-package", "models/det.onnx", "0", ocr.INSTALL))
    monkeypatch.setattr(ocr, "_engines", [])
    assert not ocr.available()
    with pytest.raises(ImportError, match=re.escape("pip install 'rankloom[ocr]'")):
        ocr.read_text(drawn("EXIT"))

"""Text in pictures, speech in videos and faces are read while a folder is indexed, with their places and times."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from rankloom._io import PackagedFile
from rankloom.collection import Collection, index, verify
from rankloom.collection.contents import texts_after
from rankloom.collection.matching import matched_texts
from rankloom.collection.overview import boxes_of, cues_of, item_summaries
from rankloom.collection.query import Query
from rankloom.collection.readers import active_readers
from rankloom.engine import Engine
from rankloom.media import ocr, speech
from rankloom.media.sound import RATE
from tests.building import built
from tests.data import SHARED, needs_shared
from tests.media.drawn_videos import frames, write_with_sound
from tests.media.test_speech import samples_of
from tests.shell import invoke

needs_ocr = pytest.mark.skipif(not ocr.available(), reason=f"text in pictures is not installed: {ocr.INSTALL}")
needs_speech = pytest.mark.skipif(not speech.available(), reason=f"speech is not installed: {speech.INSTALL}")
FEW = ["color_layout", "edge_histogram"]


def sign(words: str, size: tuple[int, int] = (400, 300), letters: int = 40) -> Image.Image:
    """A picture with words in its middle."""
    picture = Image.new("RGB", size, (90, 120, 150))
    place, font = (size[0] // 10, 2 * size[1] // 5), ImageFont.load_default(letters)
    ImageDraw.Draw(picture).text(place, words, font=font, fill=(255, 255, 255))
    return picture


def write_files(folder: Path) -> None:
    """A sign, a large one, a picture without words, and a film of three shots in which someone speaks."""
    folder.mkdir()
    sign("Harbour Road").save(folder / "a.png")
    sign("Grand Opening", (2400, 1800), 90).save(folder / "b.jpg", quality=90)
    Image.effect_noise((200, 150), 40).convert("RGB").save(folder / "c.png")
    if speech.available():
        sample = metadata.distribution("moonshine-voice").locate_file("moonshine_voice/assets/beckett.wav")
        samples = samples_of(sample)
        n_frames = round(len(samples) / RATE * 25)
        write_with_sound(folder / "talk.mp4", frames([60, 90, n_frames - 150], (320, 240)), samples, RATE)


@pytest.fixture
def few(monkeypatch):
    """Two cheap descriptors: these tests are about what is read."""
    from rankloom.descriptors import PRESETS

    monkeypatch.setitem(PRESETS, "fast", FEW)


def make(root: Path) -> None:
    write_files(root / "files")
    with pytest.MonkeyPatch.context() as patch:
        from rankloom.descriptors import PRESETS

        patch.setitem(PRESETS, "fast", FEW)
        with Collection(root / "c", create=True) as collection:
            report = index(collection, [root / "files"], workers=1)
            assert report.warnings == []
            assert report.failed == 0


@pytest.fixture
def collection():
    with Collection(built("read", make) / "c") as opened:
        yield opened


def names(collection, hits):
    return [Path(collection.items([hit.id])[0].path).name for hit in hits]


@needs_ocr
@pytest.mark.slow
class TestText:
    def test_words_in_pictures_are_found_and_say_where_they_are_from(self, collection):
        for words, name in (("harbour road", "a.png"), ("opening", "b.jpg")):
            hits = Engine(collection).search(Query(words), 5)
            assert names(collection, hits) == [name]
            assert matched_texts(collection, [hits[0].id], words)[hits[0].id].source == "ocr"
        assert not Engine(collection).search(Query("submarine"), 5)

    def test_boxes_are_shares_of_the_whole_picture(self, collection):
        for words in ("harbour", "grand"):
            (hit,) = Engine(collection).search(Query(words), 5)
            (box,) = [box for box in boxes_of(collection, hit.id) if box.kind == "ocr"]
            assert words in box.text.lower()
            assert (box.left, box.top) == pytest.approx((0.1, 0.42), abs=0.06)
            assert 0.2 < box.width < 0.8
            assert box.time is None

    def test_a_page_is_read_in_the_memory_of_a_worker(self, tmp_path, few):
        page, font = Image.new("RGB", (1280, 960), "white"), ImageFont.load_default(20)
        for line in range(6):
            ImageDraw.Draw(page).text((20, 10 + 140 * line), "the quick brown fox jumps " * 5, font=font, fill="black")
        (tmp_path / "p").mkdir()
        page.save(tmp_path / "p" / "page.png")
        with Collection(tmp_path / "c", create=True) as collection:
            report = index(collection, [tmp_path / "p"], workers=1)
            assert report.warnings == []
            assert len(boxes_of(collection, 1)) == 6

    def test_the_command_says_the_source(self, collection):
        result = invoke("search", "harbour", "-c", str(collection.folder), "--json")
        assert json.loads(result.stdout)["matched"] == {"source": "ocr", "text": "Harbour Road"}
        result = invoke("search", "harbour", "-c", str(collection.folder))
        assert "ocr: Harbour Road" in result.stdout


@needs_speech
@pytest.mark.slow
class TestSpeech:
    def test_shots_have_what_is_said_in_them(self, collection):
        hits = Engine(collection).search(Query("tried"), 5)
        assert set(names(collection, hits)) == {"talk.mp4"}
        assert matched_texts(collection, [hits[0].id], "tried")[hits[0].id].source == "speech"
        cues = cues_of(collection, hits[0].id)
        assert cues == sorted(cues)
        assert "tried" in cues[0].text.lower()
        said = {text.item: text.text for text in texts_after(collection, 0) if text.source == "speech"}
        for item, text in said.items():
            (shot,) = collection.items([item])
            inside = [cue for cue in cues if cue.end > shot.start and cue.start < shot.end]
            assert text in " ".join(cue.text for cue in inside)
            assert item_summaries(collection, [item])[item].caption == text

    def test_pictures_have_no_cues(self, collection):
        assert cues_of(collection, 1) == []


@needs_shared
@pytest.mark.shared
def test_faces_have_boxes(tmp_path, few):
    photo = SHARED / "imagetext-flickr8k" / "images" / "103106960_e8a41d64f8.jpg"
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [photo], workers=0, ocr=False)
        faces = [box for box in boxes_of(collection, 1) if box.kind == "face"]
        assert len(faces) == collection.items([1])[0].faces == 1
        assert all(0 <= share <= 1 for share in faces[0][1:6])


@needs_ocr
class TestLater:
    """A collection that was made before the extra was installed."""

    @pytest.fixture
    def older(self, tmp_path, few):
        (tmp_path / "p").mkdir()
        sign("Harbour Road").save(tmp_path / "p" / "a.png")
        Image.new("RGB", (60, 40), "red").save(tmp_path / "p" / "b.png")
        with Collection(tmp_path / "c", create=True) as collection:
            index(collection, [tmp_path / "p"], workers=0, ocr=False)
            yield collection

    @pytest.mark.slow
    def test_an_unchanged_folder_is_read_again_only_on_request(self, older):
        assert "ocr" not in active_readers(older)
        report = index(older, workers=0, ocr=True)
        assert (report.unchanged, report.reread, report.unread) == (2, 0, 2)
        assert not Engine(older).search(Query("harbour"), 5)
        report = index(older, workers=0, reread=True)
        assert (report.unchanged, report.reread, report.unread) == (2, 2, 0)
        assert names(older, Engine(older).search(Query("harbour"), 5)) == ["a.png"]
        before = texts_after(older, 0), boxes_of(older, 1)
        assert index(older, workers=0, reread=True).reread == 0
        assert (texts_after(older, 0), boxes_of(older, 1)) == before
        assert verify(older).problems == []

    def test_the_choice_is_kept(self, older, tmp_path):
        sign("Station").save(tmp_path / "p" / "c.png")
        assert index(older, workers=0).unread == 0
        assert boxes_of(older, 3) == []

    def test_the_command_says_what_to_do(self, older):
        folder = str(older.folder)
        result = invoke("index", "-c", folder, "--ocr", "--workers", "0", "--no-neighbours")
        assert "2 files were described without text, speech or faces: rankloom index --reread" in result.stderr
        result = invoke("info", "-c", folder)
        assert "read from files: text in pictures" in result.stdout
        assert "rankloom index --reread" in result.stdout


class TestWithout:
    """The extra is not installed, or not what it should be."""

    @pytest.fixture
    def pictures(self, tmp_path, few):
        (tmp_path / "p").mkdir()
        sign("Harbour Road").save(tmp_path / "p" / "a.png")
        return tmp_path / "p"

    def test_everything_else_works_and_one_line_says_what_is_missing(self, pictures, tmp_path, monkeypatch):
        monkeypatch.setattr(ocr, "DETECTOR", PackagedFile("no-such-package", "det.onnx", "0", ocr.INSTALL))
        arguments = ["-c", str(tmp_path / "c")]
        result = invoke("index", str(pictures), "--workers", "0", "--no-neighbours", *arguments)
        assert result.exit_code == 0
        assert "not installed: text in pictures (pip install 'rankloom[ocr]')\n" in result.stderr
        assert "speech" not in result.stderr  # there are no videos
        assert "not installed: text" in invoke("info", *arguments).stdout
        result = invoke("index", "--ocr", *arguments)
        assert result.exit_code == 1
        assert "pip install 'rankloom[ocr]'" in result.stderr
        result = invoke("index", "--no-ocr", "--no-neighbours", *arguments)
        assert "not installed" not in result.stderr

    @needs_ocr
    def test_other_weights_are_an_error(self, pictures, tmp_path, monkeypatch):
        wrong = PackagedFile("rapidocr", "rapidocr/models/PP-OCRv6_det_small.onnx", "00", ocr.INSTALL)
        monkeypatch.setattr(ocr, "DETECTOR", wrong)
        monkeypatch.setattr(ocr, "_engines", [])
        with (
            Collection(tmp_path / "c", create=True) as collection,
            pytest.raises(ImportError, match="is not the file that Rankloom knows"),
        ):
            index(collection, [pictures], workers=0)


def test_words_around_the_first_that_matches(tmp_path):
    with Collection(tmp_path / "c", create=True) as collection:
        text = " ".join(np.repeat("word", 30)) + " Élan and more"
        with collection.transaction() as db:
            db.execute(
                "INSERT INTO texts (item, path, source, text) VALUES (1, '', 'ocr', ?), (1, '', 'tag', 'elan')", (text,)
            )
        for words in ("elan", "ela*", '"elan and"'):
            matched = matched_texts(collection, [1, 2], words)
            assert matched[1].text.endswith("word word Élan and more")
            assert matched[1].text.startswith("… ")
        assert matched_texts(collection, [1], "-word") == {}
        assert matched_texts(collection, [1], "fish") == {}

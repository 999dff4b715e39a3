"""The page shows where text and faces are, and what is said, with a jump to its time."""

from __future__ import annotations

import io
import shutil

import pytest
from PIL import Image

from rankloom.collection import Collection
from rankloom.media import ocr, speech
from tests.building import built
from tests.collection.test_reading import make
from tests.server.pages import DESKTOP, PHONE, audit, expect, results, serving, until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (ocr.available() and speech.available()), reason="the extras ocr and speech are absent"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = shutil.copytree(built("read", make) / "c", tmp_path_factory.mktemp("read") / "c")
    with Collection(place) as collection, collection.transaction() as db:  # a face that nobody has to draw
        db.execute(
            "INSERT INTO boxes (item, kind, \"left\", top, width, height, score) VALUES (1, 'face', .5, .5, .2, .3, .9)"
        )
    return place


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_text_and_faces_are_shown_on_demand(opened, size):
    page = opened("/?q=harbour", viewport=size)
    results(page)
    assert "Text in it: “Harbour Road”" in page.locator(".tile").first.inner_text()
    page.locator(".tile").first.focus()
    page.keyboard.press("o")
    text = page.get_by_role("button", name="Text 1")
    expect(text).to_have_attribute("aria-pressed", "false")
    assert page.locator(".boxes").count() == 0
    page.keyboard.press("t")
    expect(text).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Faces 1").click()
    expect(page.get_by_role("img", name="Marked: 1 line of text, 1 face")).to_be_visible()
    # Over the picture, wherever that is in its frame.
    places = """() => {
      const picture = document.querySelector(".stage img"), rect = document.querySelector(".boxes .face");
      const frame = picture.getBoundingClientRect(), box = rect.getBoundingClientRect();
      const scale = Math.min(frame.width / picture.naturalWidth, frame.height / picture.naturalHeight);
      const left = frame.left + (frame.width - scale * picture.naturalWidth) / 2;
      return [(box.left - left) / (scale * picture.naturalWidth), box.width / (scale * picture.naturalWidth)];
    }"""
    until(page, "document.querySelector('.stage img').complete")
    assert page.evaluate(places) == pytest.approx([0.5, 0.2], abs=0.02)
    audit(page, f"boxes-{size['width']}")
    page.keyboard.press("t")
    page.keyboard.press("f")
    expect(page.locator(".boxes")).to_have_count(0)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_line_of_speech_plays_the_video_from_there(opened, size):
    page = opened("/?q=tried", viewport=size)
    results(page)
    page.locator(".tile").first.focus()
    page.keyboard.press("o")
    strip = page.get_by_role("region", name="Shots of this video, and what is said")
    lines = strip.locator(".cue")
    expect(lines.first).to_contain_text("tried")
    item = page.evaluate("fetch('/api/items/4').then((answer) => answer.json())")
    starts = [shot["start"] for shot in item["shots"]]
    # Each line stands under the shot in which it begins.
    under = page.evaluate("[...document.querySelectorAll('.shot')].map((shot) => shot.querySelectorAll('.cue').length)")
    said = [max(place for place, start in enumerate(starts) if start <= cue["start"] + 0.05) for cue in item["speech"]]
    assert under == [said.count(place) for place in range(len(starts))]
    audit(page, f"speech-{size['width']}")
    last = lines.last
    start = page.evaluate(
        "fetch('/api/items/4').then((answer) => answer.json()).then((item) => item.speech.at(-1).start)"
    )
    last.click()
    until(page, f"document.querySelector('video').currentTime >= {start}")
    expect(last).to_have_attribute("aria-current", "true")
    assert page.evaluate("document.querySelector('video').muted") is False


def test_why_here_says_what_was_read(opened):
    page = opened("/?q=harbour")
    results(page)
    page.locator(".tile").first.focus()
    page.keyboard.press("e")
    expect(page.locator(".why .hint").first).to_have_text("Text in it: “Harbour Road”")


class TestPeople:
    """The tab Collection, where groups of faces are named, merged and split."""

    @pytest.fixture
    def people(self, tmp_path):
        folder = shutil.copytree(built("read", make) / "c", tmp_path / "c")
        jpeg = io.BytesIO()
        Image.new("RGB", (112, 112), (200, 150, 120)).save(jpeg, "JPEG")
        with Collection(folder) as collection, collection.transaction() as db:
            db.execute("INSERT INTO people VALUES (1, 'Anna'), (2, NULL), (3, NULL)")
            for number, (item, person) in enumerate([(1, 1), (2, 1), (3, 2), (1, 2), (2, 3), (3, 3), (1, 3)], 101):
                box = (item, "face", 0.1, 0.1, 0.2, 0.2, 0.9, number)
                columns = 'item, kind, "left", top, width, height, score, number'
                db.execute(f"INSERT INTO boxes ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", box)
                db.execute("INSERT INTO known_faces VALUES (?, ?, ?, ?)", (number, bytes(256), jpeg.getvalue(), person))
        with serving(folder) as address:
            yield address

    def test_name_merge_split_and_search(self, opened, people):
        page = opened("/?tab=collection", address=people)
        groups = page.locator(".person")
        expect(groups).to_have_count(3)
        until(page, "[...document.querySelectorAll('.person img')].every((face) => face.complete && face.naturalWidth)")
        audit(page, "people")
        page.get_by_label("Name of Person 2").fill("Harbour Master")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Search for Harbour Master")).to_be_visible()
        person = groups.filter(has=page.get_by_label("Name of Person 3"))
        expect(person.get_by_role("button", name="Not this person")).to_be_disabled()
        person.get_by_role("button", name="Face 1 of Person 3").click()
        person.get_by_role("button", name="Not this person").click()
        expect(person.locator(".face")).to_have_count(2)  # the third is alone, and so not listed
        person.get_by_label("Person 3 is the same as").select_option(label="Anna")
        person.get_by_role("button", name="Merge").click()
        expect(groups).to_have_count(2)
        expect(groups.first.locator(".face")).to_have_count(4)
        page.get_by_role("button", name="Search for Anna").click()
        assert sorted(results(page)) == [1, 2, 3]
        assert "Shows: “Anna”" in page.locator(".tile").first.inner_text()

"""The page shows where text and faces are, and what is said, with a jump to its time."""

from __future__ import annotations

import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe

from rankloom.collection import Collection
from rankloom.media import ocr, speech
from tests.building import built
from tests.collection.test_reading import make
from tests.server.test_page import DESKTOP, PHONE, browser, expect, keep, opened, results, until  # noqa: F401
from tests.serving import Served

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (ocr.available() and speech.available()), reason="the extras ocr and speech are absent"),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory, browser):  # noqa: F811
    folder = shutil.copytree(built("read", make) / "c", tmp_path_factory.mktemp("read") / "c")
    with Collection(folder) as collection, collection.transaction() as db:  # a face that nobody has to draw
        db.execute(
            "INSERT INTO boxes (item, kind, \"left\", top, width, height, score) VALUES (1, 'face', .5, .5, .2, .3, .9)"
        )
    found = Served(folder, "--quiet")
    yield found
    assert found.stop() == 0


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_text_and_faces_are_shown_on_demand(opened, size):  # noqa: F811
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
    assert Axe().run(page).violations_count == 0
    keep(page, f"boxes-{size['width']}")
    page.keyboard.press("t")
    page.keyboard.press("f")
    expect(page.locator(".boxes")).to_have_count(0)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_line_of_speech_plays_the_video_from_there(opened, size):  # noqa: F811
    page = opened("/?q=tried", viewport=size)
    results(page)
    page.locator(".tile").first.focus()
    page.keyboard.press("o")
    lines = page.get_by_role("region", name="What is said").get_by_role("button")
    expect(lines.first).to_contain_text("tried")
    assert Axe().run(page).violations_count == 0
    keep(page, f"speech-{size['width']}")
    last = lines.last
    start = page.evaluate(
        "fetch('/api/items/4').then((answer) => answer.json()).then((item) => item.speech.at(-1).start)"
    )
    last.click()
    until(page, f"document.querySelector('video').currentTime >= {start}")
    expect(last).to_have_attribute("aria-current", "true")
    assert page.evaluate("document.querySelector('video').muted") is False


def test_why_here_says_what_was_read(opened):  # noqa: F811
    page = opened("/?q=harbour")
    results(page)
    page.locator(".tile").first.focus()
    page.keyboard.press("e")
    expect(page.locator(".why .hint").first).to_have_text("Text in it: “Harbour Road”")

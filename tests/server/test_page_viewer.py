"""An opened result: closer looks, fingers, its file, parts of it as examples, what the experts say of it."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import time

import numpy as np
import pytest
from PIL import Image

from rankloom.collection import Collection, index
from tests.server.pages import DESKTOP, PHONE, audit, drop, expect, keep, results, until, wait_for
from tests.serving import Served

pytestmark = pytest.mark.browser

SCALE = "Number(document.querySelector('.pane').style.getPropertyValue('--zoom'))"
PLACE = """() => {
  const { left, top, width, height } = document.querySelector(".pane img").getBoundingClientRect();
  return { left, top, width, height };
}"""


@pytest.fixture
def large(tmp_path, browser):
    """A server of a large JPEG and of a TIFF, which no browser shows, on a machine with a file manager."""
    pictures, programs = tmp_path / "my pictures", tmp_path / "bin"
    pictures.mkdir()
    programs.mkdir()
    noise = np.random.default_rng(0).integers(0, 255, (30, 45, 3), dtype=np.uint8)
    for name in ("harbour at noon.jpg", "harbour at night.tif"):
        Image.fromarray(noise).resize((2700, 1800)).save(pictures / name)
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [pictures], preset="paper36", workers=0, ocr=False, speech=False)
        with collection.transaction() as db:
            columns = 'item, kind, "left", top, width, height, score'
            db.executemany(f"INSERT INTO boxes ({columns}) VALUES (?, 'face', .5, .5, .1, .2, .9)", [(1,), (2,)])
    (programs / "xdg-open").write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{tmp_path}/shown"\n')
    (programs / "xdg-open").chmod(0o755)
    path = f"{programs}:{os.path.dirname(shutil.which('sh'))}"
    found = Served(tmp_path / "c", "--quiet", env={"DISPLAY": ":0", "PATH": path})
    yield found, pictures, tmp_path / "shown"
    assert found.stop() == 0


def open_result(page, place=0):
    results(page)
    page.locator(".tile").nth(place).focus()
    page.keyboard.press("o")
    page.wait_for_selector("#viewer .file-tools")
    until(page, "document.querySelector('.pane img, .pane video') !== null")


def test_closer_looks_and_the_file_of_a_picture(opened, large):
    found, pictures, shown = large
    page = opened("/?q=harbour+noon", address=found.address, permissions=["clipboard-read", "clipboard-write"])
    open_result(page)
    expect(page.locator("[data-name=right]")).to_be_focused()
    until(page, "document.querySelector('.pane img').naturalWidth === 1600")
    before = page.evaluate(PLACE)
    at = (before["left"] + before["width"] * 0.25, before["top"] + before["height"] * 0.5)
    page.mouse.move(*at)
    page.mouse.wheel(0, -500)
    until(page, f"{SCALE} > 2")
    after, scale = page.evaluate(PLACE), page.evaluate(SCALE)
    assert after["width"] == pytest.approx(scale * before["width"], rel=1e-3)
    share = (at[0] - after["left"]) / after["width"]
    assert share == pytest.approx(0.25, abs=0.01)  # what is under the pointer stays there
    # More is shown than the server's view has: the original takes its place. Boxes follow the picture.
    until(page, "document.querySelector('.pane img').naturalWidth === 2700")
    page.keyboard.press("f")
    box = page.locator(".boxes .face").bounding_box()
    assert box["width"] == pytest.approx(after["width"] * 0.1, rel=0.05)
    keep(page, "zoom-light")
    page.mouse.down()
    page.mouse.move(at[0] - 60, at[1] - 20, steps=3)
    page.mouse.up()
    dragged = page.evaluate(PLACE)
    assert (dragged["left"], dragged["top"]) == pytest.approx((after["left"] - 60, after["top"] - 20), abs=1)
    for _ in range(40):
        page.keyboard.press("Shift+ArrowRight")
    frame = page.locator(".stage").bounding_box()
    end = page.evaluate(PLACE)
    assert end["left"] + end["width"] == pytest.approx(frame["x"] + frame["width"], abs=2)  # no gap
    page.keyboard.press("c")
    assert page.evaluate(SCALE) == 1
    page.mouse.dblclick(*at)
    assert page.evaluate(SCALE) == 2.5
    page.mouse.dblclick(*at)
    page.keyboard.press("z")
    expect(page.locator(".tools output")).to_have_text("1.5×")
    expect(page.locator("#live")).to_have_text("Shown 1.5×")
    page.keyboard.press("x")
    page.get_by_role("button", name="Full screen").click()
    until(page, "document.fullscreenElement?.className.includes('stage')")
    page.keyboard.press("v")
    until(page, "document.fullscreenElement === null")
    path = str(pictures / "harbour at noon.jpg")
    expect(page.locator("#viewer .path")).to_have_text(path)
    page.get_by_role("button", name="Copy path").click()
    expect(page.locator(".toast", has_text="The path is copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == path
    with page.expect_download() as download:
        page.keyboard.press("d")
    assert download.value.suggested_filename == "harbour at noon.jpg"
    assert download.value.path().read_bytes() == (pictures / "harbour at noon.jpg").read_bytes()
    page.get_by_role("button", name="Show in folder").click()
    wait_for(page, lambda: shown.exists() and shown.read_text())
    assert shown.read_text() == str(pictures)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#viewer")).to_have_attribute("aria-label", re.compile("night.tif"))
    assert page.evaluate(SCALE) == 1
    until(page, "document.querySelector('.pane img').naturalWidth === 1600")
    with page.expect_response("**/file?*"):
        page.keyboard.press("z")
        page.keyboard.press("z")
        page.keyboard.press("z")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.querySelector('.pane img').naturalWidth") == 1600  # the server's view stays
    page.complaints[:] = [one for one in page.complaints if "MIME" not in one]


class Hand:
    """Fingers on a page."""

    def __init__(self, page):
        self.session = page.context.new_cdp_session(page)

    def touch(self, kind, *points, at=None):
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        when = {} if at is None else {"timestamp": at}
        self.session.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": touches, **when})

    def drag(self, *paths, steps=6):
        """Each path is the start and the end of a finger."""
        self.touch("Start", *(start for start, _ in paths))
        for step in range(1, steps + 1):
            share = step / steps
            self.touch("Move", *((a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])) for a, b in paths))
        self.touch("End")

    def tap_twice(self, at):
        """The times are said to the browser: how long it takes here is of no account."""
        now = time.time()
        for begin in (now, now + 0.1):
            self.touch("Start", at, at=begin)
            self.touch("End", at=begin + 0.03)


def test_fingers_on_a_phone(opened):
    page = opened("/?q=sea&x=i5", viewport=PHONE, is_mobile=True, has_touch=True, device_scale_factor=2)
    open_result(page)
    hand, label = Hand(page), page.locator("#viewer")
    middle, right, left, below = (180, 200), (300, 200), (60, 210), (190, 330)
    hand.drag((right, left))
    expect(label).to_have_attribute("aria-label", re.compile("^Result 2:"))
    hand.drag((left, right))
    expect(label).to_have_attribute("aria-label", re.compile("^Result 1:"))
    until(page, "document.querySelector('.pane img').naturalWidth > 0")
    hand.drag(((160, 200), (80, 200)), ((200, 200), (280, 200)))
    assert page.evaluate(SCALE) == pytest.approx(5, rel=0.2) or page.evaluate(SCALE) == 4
    place = page.evaluate(PLACE)
    hand.drag((right, left))  # a picture that is larger than its frame is moved, not left
    expect(label).to_have_attribute("aria-label", re.compile("^Result 1:"))
    assert page.evaluate(PLACE)["left"] < place["left"] - 50
    keep(page, "zoom-phone")
    for scale in (1, 2.5, 1):
        hand.tap_twice(middle)
        until(page, f"{SCALE} === {scale}")
    assert page.evaluate("scrollX === 0 && visualViewport.scale === 1")
    hand.drag((middle, below))
    page.wait_for_selector("#viewer", state="hidden")
    expect(page.locator(".tile").first).to_be_visible()


def test_search_with_a_part(opened):
    page = opened("/?q=sea")
    open_result(page)
    found = int(page.locator(".pane img").get_attribute("data-item"))
    place = page.evaluate(PLACE)
    page.get_by_role("button", name="Search a part").click()
    search = page.get_by_role("button", name="Search this part")
    expect(search).to_be_disabled()
    middle = (place["left"] + place["width"] / 2, place["top"] + place["height"] / 2)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 90, middle[1] + 120, steps=4)
    page.mouse.up()
    expect(page.locator("#live")).to_contain_text("of the width")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowDown")
    audit(page, "part-light")
    search.click()
    page.wait_for_url(f"**/?x=i{found}.*")
    region = [int(value) for value in re.search(r"x=i\d+\.([\d.]+)", page.url)[1].split(".")]
    assert region[0] == pytest.approx(480, abs=3)
    assert region[1] == pytest.approx(500, abs=3)
    first = results(page)
    expect(page.get_by_role("img", name=f"a part of item {found}")).to_be_visible()
    page.reload()
    assert results(page) == first
    # Another part, by keys, from the chip; a part of one's own picture.
    page.get_by_role("button", name=f"a part of item {found}: search with a part of it").click()
    picker = page.get_by_role("application")
    expect(picker).to_be_focused()
    for key in ("ArrowUp", "ArrowUp", "Shift+ArrowLeft"):
        page.keyboard.press(key)
    keep(page, "part-sheet-light")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"x=i{found}\.{region[0]}\.{region[1] - 40}\."))
    assert results(page) != first
    page.go_back()
    assert results(page) == first
    page.get_by_role("button", name=re.compile("^Remove")).click()
    page.wait_for_selector(".welcome")
    drop(page, "drop")
    whole = results(page)
    page.get_by_role("button", name="your picture: search with a part of it").click()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Search this part").click()
    page.wait_for_url("**/?x=p*.250.250.750.750")
    assert results(page) != whole
    # Escape ends it, and the viewer stays.
    open_result(page)
    page.keyboard.press("p")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    expect(page.locator(".stage .picker")).to_have_count(0)
    expect(page.locator("[data-name=part]")).to_be_focused()
    expect(page.locator("#viewer")).to_be_visible()


def test_search_with_a_part_of_a_frame(opened):
    page = opened("/?x=i1&kind=shot")
    open_result(page)
    video = "document.querySelector('#viewer video')"
    until(page, f"{video}.readyState >= 2 || {video}.error !== null")
    if page.evaluate(f"{video}.error !== null"):
        pytest.skip("this browser lacks the codec")
    page.keyboard.press("p")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?x=p*")
    assert results(page)
    expect(page.get_by_role("img", name="your picture")).to_be_visible()


def test_what_the_experts_say(opened):
    page = opened("/?q=sea&x=i5")
    open_result(page)
    page.keyboard.press("g")
    groups = page.locator(".standing li")
    expect(groups.first).to_be_visible()
    item = int(page.locator(".pane img").get_attribute("data-item"))
    ask = """async (item) => {
      const headers = { "X-Rankloom": "1", "Content-Type": "application/json" };
      const query = { text: "sea", examples: [{ item: 5 }] };
      const body = JSON.stringify({ query, item, standing: true });
      return (await (await fetch("/api/explain", { method: "POST", body, headers })).json()).standing;
    }"""
    said = page.evaluate(ask, item)
    assert groups.count() == len(said["groups"]) > 5
    shown = page.evaluate("[...document.querySelectorAll('.standing li')].map((line) => Number(line.dataset.below))")
    assert shown == [group["below"] for group in said["groups"]]
    expect(page.get_by_role("img", name=re.compile("^What it shows: more like the search than"))).to_be_visible()
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        groups.last.scroll_into_view_if_needed()
        audit(page, f"standing-{size['width']}")
    page.keyboard.press("ArrowRight")  # it stays open from one result to the next
    until(page, f"document.querySelector('.pane img')?.dataset.item !== '{item}'")
    expect(groups.first).to_be_visible()
    page.keyboard.press("g")
    expect(groups).to_have_count(0)


def test_labels_of_a_long_curve_do_not_overlap(opened):
    page = opened()
    points = [{"query": {"text": "sea"}, "marks": 5, "start": 0.5, "learned": 0.3 + i / 3000} for i in range(1000)]
    page.route("**/api/curve", lambda route: route.fulfill(body=json.dumps(points), content_type="application/json"))
    page.click("#tab-learning")
    page.wait_for_selector(".chart text")
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        until(page, "((svg) => svg.viewBox.baseVal.width === svg.clientWidth)(document.querySelector('.chart svg'))")
        keep(page, f"learning-long-{size['width']}")
        boxes = page.evaluate(
            """[...document.querySelectorAll(".chart text, .chart .axis, .chart .legend span")].map((text) => {
              const { left, right, top, bottom } = text.getBoundingClientRect();
              return { left, right, top, bottom, text: text.textContent };
            })"""
        )
        assert {"1", "1,000", "0.25"} <= {box["text"] for box in boxes}
        frame = page.locator(".chart").bounding_box()
        assert frame["x"] + frame["width"] <= size["width"]
        for box in boxes:
            assert frame["x"] <= box["left"] <= box["right"] <= frame["x"] + frame["width"], box
        for a, b in itertools.combinations(boxes, 2):
            beside = a["right"] <= b["left"] or b["right"] <= a["left"]
            assert beside or a["bottom"] <= b["top"] + 1 or b["bottom"] <= a["top"] + 1, (a["text"], b["text"])
        letters = page.evaluate("document.querySelector('.chart text').getBoundingClientRect().height")
        assert letters > 10  # legible on a phone, too

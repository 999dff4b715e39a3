"""Servers that come and go, are new, locked or lose files, and the page that is open meanwhile."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from rankloom.collection import Collection, index
from tests.server.pages import DESKTOP, expect, keep, precision, results, serving, until
from tests.serving import Served, copied, sample

pytestmark = pytest.mark.browser


def test_a_deleted_file_is_said_to_be_gone(opened, tmp_path):
    pictures = tmp_path / "shots"
    pictures.mkdir()
    for number, path in enumerate(sorted((sample() / "pictures").glob("coast/*.jpg"))[:3]):
        shutil.copy(path, pictures / f"sea {number}.jpg")
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [pictures], preset="fast", workers=0)
    (pictures / "sea 1.jpg").unlink()
    with serving(tmp_path / "c") as address:
        page = opened("/?q=sea", address=address)
        results(page)
        page.locator(".tile", has_text="sea 1.jpg").or_(page.locator(".tile[data-id='2']")).first.click()
        pane = page.locator("#viewer .gone")
        expect(pane).to_contain_text("This file is gone")
        expect(pane).to_contain_text("shots/sea 1.jpg")
        until(page, "document.querySelector('#viewer .gone img')?.naturalWidth > 0")
        assert page.locator("#viewer a").count() == 0
        keep(page, "gone-light")
        page.keyboard.press("Escape")
        expect(page.locator(".tile.is-gone")).to_have_count(1)  # its small picture is there, and says so, too
        assert "its file is gone" in page.locator(".tile.is-gone").get_attribute("aria-label")
        keep(page, "gone-tile-light")
    page.complaints[:] = [one for one in page.complaints if "404" not in one]


def test_one_judged_search_explains_what_is_missing(opened, tmp_path):
    with serving(copied(tmp_path / "c")) as address:
        page = opened("/?tab=learning", address=address)
        expect(page.locator(".notice")).to_contain_text("No search is judged yet")
        for search, points in (("/?x=i5", 0), ("/?q=sea", 2)):
            page.goto(address + search)
            results(page)
            page.locator(".tile").nth(1).focus()
            for key in ("r", "ArrowRight", "w"):
                page.keyboard.press(key)
            expect(page.locator(".tile.is-wrong")).to_have_count(1)
            page.wait_for_load_state("networkidle")
            page.click("#tab-learning")
            page.wait_for_selector(".weights")
            keep(page, f"learning-{points}-light")
            expect(page.locator(".point.learned")).to_have_count(points)
            if not points:
                expect(page.locator(".notice")).to_contain_text("One search is judged: the next one can be compared")
                expect(page.locator(".notice")).to_contain_text(
                    re.compile(r"The first was a picture: .* [01]\.\d\d of 1")
                )
        expect(page.locator(".lead")).to_contain_text("the mean over 2 judged searches")
        page.get_by_text("The numbers", exact=True).click()
        assert page.locator("tbody tr td:first-child").all_inner_texts()[:2] == ["a picture", "“sea”"]


def test_two_collections_in_turn_on_one_port(opened, tmp_path):
    """A browser shows no picture that it kept of the other, and marks nothing there."""
    first, second = copied(tmp_path / "first"), tmp_path / "second"
    (tmp_path / "p").mkdir()
    for number in range(4):
        Image.new("RGB", (80, 60), (60 * number, 200, 30)).save(tmp_path / "p" / f"{number}.png")
    with Collection(second, create=True) as collection:
        index(collection, [tmp_path / "p"], preset="fast", workers=0)
        shown = [collection.thumbnail(item) for item in range(1, 5)]
    with serving(first) as address:
        page = opened("/?x=i1", address=address)
        results(page)
    page.locator(".tile").nth(1).focus()
    page.keyboard.press("r")
    expect(page.locator("#banner")).to_contain_text("does not answer")
    with serving(second, port=int(address.rsplit(":", 1)[1])) as address:
        expect(page.locator("#banner")).to_be_hidden()
        expect(page.locator(".toast", has_text="another collection").first).to_be_visible()
        later = opened("/?x=i1", context=page.context, address=address)
        assert sorted(results(later)) == [1, 2, 3, 4]
        sources = "(tile) => [Number(tile.dataset.id), tile.querySelector('img').src]"
        read = "async (source) => [...new Uint8Array(await (await fetch(source)).arrayBuffer())]"
        for item, source in later.evaluate(f"[...document.querySelectorAll('.tile')].map({sources})"):
            assert bytes(later.evaluate(read, source)) == shown[item - 1]
        keep(later, "second-collection")
    with Collection(second) as collection:
        assert not collection.marks()
    page.complaints[:] = [one for one in page.complaints if "ERR_" not in one and "409" not in one]


def test_the_demo_leads_to_a_better_ranking(opened, tmp_path):
    """From nothing: the command that a newcomer types, its page, a search, ten marks."""
    served = Served(tmp_path, "--pictures", "117", "--seconds", "200", command="demo")
    try:
        with open(tmp_path / "pictures" / "labels.csv", encoding="utf-8") as file:
            kinds = {Path(row["path"]).name: row["label"] for row in csv.DictReader(file)}
        page = opened(address=served.address)
        page.fill("#text", "sea")
        page.keyboard.press("Enter")
        found = results(page)
        name = "async (id) => (await (await fetch(`/api/items/${id}`)).json()).files[0].name"
        right = [kinds.get(page.evaluate(name, number)) == "sunset" for number in found[:10]]
        assert 0 < sum(right) < len(right), "the search has something to learn"
        page.keyboard.press("ArrowDown")
        for good in right:
            page.keyboard.press("r" if good else "w")
            page.keyboard.press("ArrowRight")
        expect(page.locator(".tile.is-right")).to_have_count(sum(right))
        keep(page, "demo-marked")
        page.keyboard.press("n")
        page.wait_for_selector("#pill", state="hidden")
        after = [kinds.get(page.evaluate(name, number)) == "sunset" for number in results(page)[:10]]
        keep(page, "demo-better")
        assert precision([*range(10)], {i for i, good in enumerate(after) if good}) == 1.0 or sum(after) > sum(right)
    finally:
        served.stop()


def test_token_and_read_only(opened, browser, folder):
    served = Served(folder, "--quiet", "--read-only", env={"RANKLOOM_TOKEN": "a-token-for-this-test"})
    try:
        context = browser.new_context(viewport=DESKTOP)
        page = context.new_page()
        page.goto(f"{served.address}/?q=sea")
        page.get_by_role("textbox", name="Token").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#token .error")).to_contain_text("not the token")
        page.get_by_role("textbox", name="Token").fill("a-token-for-this-test")
        page.keyboard.press("Enter")
        results(page)
        assert page.locator(".act.right").count() == 0
        context.close()
    finally:
        served.stop()

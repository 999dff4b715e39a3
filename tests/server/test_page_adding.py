"""Adding folders in the page: from an empty collection to items that come while one looks."""

from __future__ import annotations

import pytest
from PIL import Image

from rankloom.demo import write_sample
from tests.server.pages import PHONE, audit, expect, keep
from tests.serving import Served

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_fill_an_empty_collection(opened, tmp_path):
    write_sample(tmp_path / "photos" / "2024", n_pictures=10, n_videos=0)
    (tmp_path / "photos" / "2023").mkdir()
    Image.new("RGB", (90, 60), "red").save(tmp_path / "photos" / "2023" / "red.png")
    (tmp_path / "photos" / "2023" / "broken.jpg").write_bytes(b"no picture")
    server = Served(tmp_path / "c", "--quiet", "--new", "--allow-root", str(tmp_path / "photos"))
    try:
        page = opened(address=server.address)
        expect(page.locator(".empty-collection")).to_contain_text("still empty")
        audit(page, "empty-light")
        page.fill("#text", "sea")
        page.keyboard.press("Enter")
        expect(page.locator(".status")).to_contain_text("0 items")
        expect(page.locator(".empty-collection")).to_contain_text("still empty")
        page.click("#home")
        expect(page.locator(".welcome .empty-collection")).to_be_visible()
        # Choosing a folder by keys: the root, then 2024.
        page.get_by_role("button", name="Add a folder…").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="photos")).to_be_visible()
        page.get_by_role("button", name="photos").press("Enter")
        expect(page.locator(".folders-choice li")).to_have_text(["2023", "2024"])
        page.get_by_role("button", name="2024").press("Enter")
        expect(page.locator(".here")).to_contain_text("Folders below it are added, too.")
        audit(page, "choose-folder-light")
        page.get_by_role("button", name="Add 2024").click()
        # Paused, it says so; it goes on, and items come by themselves.
        page.locator(".empty-collection").get_by_role("button", name="Pause").click()
        expect(page.locator(".how-far")).to_contain_text("paused")
        audit(page, "adding-light")
        page.locator(".empty-collection").get_by_role("button", name="Go on").click()
        expect(page.locator(".tile").first).to_be_visible()
        expect(page.locator(".status")).to_contain_text("10 items")
        # A second folder, from the tab Collection on a phone; what failed is listed with its reason.
        phone = opened("/?tab=collection", address=server.address, viewport=PHONE, color_scheme="dark", has_touch=True)
        phone.get_by_role("button", name="Add a folder…").click()
        phone.get_by_role("button", name="photos").click()
        phone.get_by_role("button", name="2023").click()
        keep(phone, "choose-folder-phone-dark")
        phone.get_by_role("button", name="Add 2023").click()
        expect(phone.locator(".errors")).to_contain_text("broken.jpg")
        audit(phone, "collection-phone-dark")
        expect(page.locator(".status")).to_contain_text("11 items")
        # Who searches for something is told, and nothing moves before it is asked for.
        page.get_by_role("combobox", name="Words").fill("coast")
        page.keyboard.press("Enter")
        expect(page.locator(".status")).to_contain_text("best first")
        Image.new("RGB", (90, 60), "blue").save(tmp_path / "photos" / "2023" / "blue.png")
        phone.get_by_role("button", name="Look for changes").click()
        expect(page.locator(".news")).to_be_visible()
        expect(page.locator(".news")).to_contain_text("1 new item")
        audit(page, "news-light")
        page.locator(".news").get_by_role("button", name="Show").click()
        expect(page.locator(".news")).to_be_hidden()
        for seen in (page, phone):
            seen.close()
    finally:
        assert server.stop() == 0

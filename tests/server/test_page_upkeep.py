"""Upkeep in the page: check, repair and go back to a backup, each after a question that says what will happen."""

from __future__ import annotations

import csv

import pytest

from tests.server.pages import PHONE, audit, expect, results, serving

pytestmark = pytest.mark.browser


def mark_first(page, key):
    page.locator(".tile").first.focus()
    page.keyboard.press(key)
    expect(page.locator("#pill")).to_be_visible()


def test_check_repair_and_restore(opened, own_folder):
    with serving(own_folder) as address:
        page = opened("/?tab=collection", address=address)
        page.get_by_role("button", name="Back up now").click()
        expect(page.get_by_role("button", name="Restore the backup of").last).to_be_visible()
        page.goto(f"{address}/?q=sea")
        results(page)
        mark_first(page, "r")
        page.get_by_role("tab", name="Collection").click()
        page.get_by_role("button", name="Check the collection").click()
        expect(page.locator(".upkeep .good")).to_contain_text("Everything was in order")
        with open(own_folder / "thumbnails.bin", "r+b") as file:
            file.write(b"damaged!")
        page.get_by_role("button", name="Check again").click()
        expect(page.locator(".upkeep .bad")).to_contain_text("1 thing is damaged")
        expect(page.locator(".problems")).to_have_text("thumbnails.bin has other content at byte 0")
        page.locator("section.upkeep").scroll_into_view_if_needed()
        audit(page, "upkeep-light")
        page.get_by_role("button", name="Repair…").click()
        sheet = page.locator("#sheet")
        expect(sheet).to_contain_text("Your pictures and videos stay as they are")
        audit(page, "upkeep-repair-light")
        sheet.get_by_role("button", name="Repair", exact=True).click()
        expect(page.locator(".upkeep .good")).to_contain_text("Everything was in order")
        # By keys alone, on a phone in the dark: the backup of before the mark, without what came since.
        phone = opened("/?tab=collection", address=address, viewport=PHONE, color_scheme="dark", has_touch=True)
        way_back = phone.get_by_role("button", name="Restore the backup of").last
        way_back.focus()
        phone.keyboard.press("Enter")
        sheet = phone.locator("#sheet")
        expect(sheet).to_contain_text("More than in the backup: 1 mark.")
        expect(sheet.get_by_role("radio", name="keep it")).to_be_focused()
        assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        audit(phone, "upkeep-restore-phone-dark")
        phone.keyboard.press("ArrowDown")
        phone.keyboard.press("Tab")
        phone.keyboard.press("Enter")
        expect(phone.locator(".toast").last).to_contain_text("Going back to a backup: done")
        expect(phone.locator(".fact", has_text="mark")).to_contain_text("0")
        page.get_by_role("tab", name="Search").click()
        expect(page.locator(".tile").first).to_be_visible()
        page.locator("#text").fill("")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.locator(".menu-body button", has_text="CSV").first.click()
        with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
            assert len([*csv.DictReader(file)]) > 100
        # Who asks while the collection is replaced is told to wait.
        page.complaints[:] = [line for line in page.complaints if "503" not in line]
        for seen in (page, phone):
            seen.close()

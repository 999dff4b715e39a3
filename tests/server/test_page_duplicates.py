"""Duplicates in the page: side by side, chosen, confirmed by their names, moved to the bin of the system."""

from __future__ import annotations

import os

import pytest

from tests.server.pages import PHONE, audit, expect
from tests.server.test_duplicates import make_doubled
from tests.serving import Served

pytestmark = pytest.mark.browser


def test_keep_one_and_move_the_other(opened, tmp_path):
    root = make_doubled(tmp_path)
    home = {"HOME": str(root), "XDG_DATA_HOME": str(root)}
    server = Served(root / "c", "--quiet", env=home)
    try:
        page = opened("/?tab=collection", address=server.address)
        page.get_by_role("button", name="Look for duplicates").click()
        group = page.locator(".copy-group", has_text="a.jpg")
        expect(group).to_contain_text("Equal files")
        expect(group.locator(".copy").first).to_contain_text("proposed: it is the oldest")
        expect(group.get_by_role("radio", name="a.jpg")).to_be_checked()
        group.scroll_into_view_if_needed()
        audit(page, "duplicates-light")
        group.get_by_role("radio", name="b.jpg").check()
        group.get_by_role("button", name="Keep the chosen one").click()
        sheet = page.locator("#sheet")
        expect(sheet).to_contain_text("Move 1 file to the bin?")
        expect(sheet.locator(".to-bin")).to_have_text("more/a.jpg")
        audit(page, "duplicates-confirm-light")
        sheet.get_by_role("button", name="Move them to the bin").click()
        expect(page.locator(".copy-group", has_text="a.jpg")).to_have_count(0)
        assert [path.name for path in (root / "more").iterdir()] == ["b.jpg"]
        assert [path.name for path in (root / "Trash" / "files").iterdir()] == ["a.jpg"]
        # Restored, and looked for: it is back. On a phone in the dark.
        os.rename(root / "Trash" / "files" / "a.jpg", root / "more" / "a.jpg")
        phone = opened("/?tab=collection", address=server.address, viewport=PHONE, color_scheme="dark", has_touch=True)
        phone.get_by_role("button", name="Look for changes").click()
        expect(phone.locator(".toast").first).to_contain_text("Looking for changes")
        phone.get_by_role("button", name="Look for duplicates").click()
        expect(phone.locator(".copy-group", has_text="a.jpg")).to_be_visible()
        phone.locator(".copy-group", has_text="a.jpg").scroll_into_view_if_needed()
        assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        audit(phone, "duplicates-phone-dark")
        for seen in (page, phone):
            seen.close()
    finally:
        assert server.stop() == 0

"""Profiles in the page: a new one is made and named, and the first is gone back to, by keys and on a phone."""

from __future__ import annotations

import pytest

from tests.server.pages import PHONE, audit, expect, results

pytestmark = pytest.mark.browser


def test_another_profile_has_marks_of_its_own(opened):
    page = opened("/?q=sea", viewport=PHONE, color_scheme="dark", has_touch=True)
    results(page)
    page.locator(".tile").first.focus()
    page.keyboard.press("r")
    expect(page.locator(".tile.is-right")).to_have_count(1)
    page.locator("#help").click()
    page.get_by_role("button", name="New profile…").click()
    page.get_by_label("Name", exact=True).fill("Anna")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-ready]")
    results(page)
    expect(page.locator(".tile.is-right")).to_have_count(0)
    page.keyboard.press("?")
    choice = page.locator("#profile")
    expect(choice.locator("option:checked")).to_have_text("Anna")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    audit(page, "profiles-phone-dark")
    choice.focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".tile.is-right")).to_have_count(1)
    page.reload()
    page.wait_for_selector("body[data-ready]")
    results(page)
    expect(page.locator(".tile.is-right")).to_have_count(1)  # it is remembered

"""The most uncertain results first, results compared that are far apart, words beside a concept: as in the guide."""

from __future__ import annotations

import pytest

from tests.server.pages import PHONE, audit, expect, results

pytestmark = pytest.mark.browser


def test_doubt_far_comparisons_and_a_concept_with_words(opened):
    page = opened("/?q=sea")
    first = results(page)
    order = page.get_by_label("Order", exact=True)
    assert "Most uncertain first" not in order.inner_text()
    tiles = page.locator(".tile")
    for place, key in ((0, "r"), (1, "r"), (6, "w")):
        tiles.nth(place).focus()
        page.keyboard.press(key)
    expect(page.locator(".tile.is-wrong")).to_have_count(1)
    page.keyboard.press("n")
    expect(order.locator("option").last).to_have_text("Most uncertain first")
    results(page)
    # Hold the first result, and compare the fifth with it.
    page.locator(".tile").first.focus()
    page.keyboard.press("e")
    page.get_by_role("button", name="Hold to compare").press("Enter")
    page.locator(".tile").nth(4).focus()
    page.get_by_role("button", name="With result 1").press("Enter")
    expect(page.locator(".versus figcaption").last).to_have_text("Result 5")
    page.get_by_role("tab", name="Concepts").click()
    page.get_by_label("Name of the new concept").fill("waves")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Rank everything by waves").click()
    expect(page).to_have_url(f"{served_of(page)}/?concept=waves")
    page.locator("#text").fill("boat")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{served_of(page)}/?q=boat&concept=waves")
    results(page)
    page.go_back()
    page.go_back()
    results(page)
    order.select_option("uncertain")
    expect(page).to_have_url(f"{served_of(page)}/?q=sea&sort=uncertain")
    expect(page.locator(".status")).to_contain_text("most uncertain first")
    expect(page.locator(".status")).not_to_contain_text("best first")
    doubtful = results(page)
    assert not {first[0], first[1], first[6]} & {*doubtful}
    audit(page, "uncertain-light")
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.locator("#text").fill("boat")  # another search: nothing is known of it
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{served_of(page)}/?q=boat")
    results(page)
    assert "Most uncertain first" not in order.inner_text()


def served_of(page):
    """The address of the server that a page is from."""
    return page.evaluate("location.origin")

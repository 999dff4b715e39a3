"""The map: groups of items, zooming and moving by all means, rectangles as filters, and the list that says the same."""

from __future__ import annotations

import re

import pytest

from rankloom.collection import Collection
from tests.server.pages import PHONE, ask, audit, expect, keep, results, serving, until
from tests.serving import copied

pytestmark = pytest.mark.browser
PLACES = [(48.8577, 2.295)] * 5 + [(48.2, 16.4)] * 2 + [(-33.86, 151.21)] * 4 + [(-18.1, 178.4), (-16.8, -179.9)]


def traveled(target):
    """The sample collection; the first pictures were taken in Paris, Vienna, Sydney and on both sides of Fiji."""
    with Collection(copied(target)) as collection, collection.transaction() as db:
        for item, place in enumerate(PLACES, 1):
            db.execute(
                "UPDATE positions SET latitude = ?, longitude = ? WHERE hash = (SELECT hash FROM items WHERE id = ?)",
                (*place, item),
            )
    return target


def sizes(page):
    return page.evaluate("[...document.querySelectorAll('.marker')].map((one) => Number(one.textContent || 1))")


def test_places(opened, tmp_path):
    with serving(traveled(tmp_path / "c")) as address:
        page = opened("/?tab=places", address=address)
        until(page, "document.querySelectorAll('.marker').length > 0")
        total = ask(page, "/api/places")["total"]
        expect(page.locator(".places [role=status]")).to_contain_text(f"{total} of ")
        assert sum(sizes(page)) == total
        audit(page, "places-light")
        # Zooming into a group by a click takes it apart; one place is listed.
        page.get_by_role("button", name=re.compile("Zoom in at 4")).first.click()
        until(page, "document.querySelectorAll('.marker').length === 2")
        assert sorted(sizes(page)) == [2, 5]
        keep(page, "places-europe")
        page.locator(".marker", has_text="5").click()
        results(page)
        expect(page.locator(".status")).to_contain_text("5 items")
        assert "within=" in page.url
        expect(page.get_by_role("button", name="A part of the map")).to_be_visible()
        # The viewer has the place, with a way to the map; there the rectangle is seen, and can be taken away.
        page.locator(".tile").first.dblclick()
        page.get_by_role("button", name="48.858° N, 2.295° E").click()
        expect(page.locator("#view-places")).to_be_visible()
        page.get_by_role("button", name="Anywhere", exact=True).click()
        expect(page.locator("#view-search")).to_be_visible()
        until(page, "!location.search.includes('within')")
        # By keys: the map moves, zooms, and Enter searches in what is seen, over the date line, too.
        page.get_by_role("tab", name="Places").click()
        page.get_by_role("button", name="All places").click()
        world = page.get_by_role("application", name="Map of the world")
        world.focus()
        before = ask(page, "/api/places?view=170,-30,-170,-10")
        assert sum(one["size"] for one in before["clusters"]) == 2
        for key in ("+", "ArrowRight", "-", "ArrowUp", "Enter"):
            page.keyboard.press(key)
        until(page, "location.search.includes('within')")
        # A rectangle by the mouse, around everything that is seen.
        page.get_by_role("tab", name="Places").click()
        page.get_by_role("button", name="All places").click()
        page.get_by_role("button", name="Draw a rectangle").click()
        box = world.bounding_box()
        page.mouse.move(box["x"] + 5, box["y"] + 5)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] - 5, steps=5)
        page.mouse.up()
        expect(page.locator("#view-search")).to_be_visible()
        expect(page.locator(".status")).to_contain_text(re.compile("^1[123] items"))  # without the edges
        # A phone in the dark: the list has the same groups.
        phone = opened("/?tab=places", address=address, viewport=PHONE, color_scheme="dark", has_touch=True)
        until(phone, "document.querySelectorAll('.marker').length > 0")
        assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        audit(phone, "places-phone-dark")
        phone.get_by_role("button", name=re.compile("^Show 7 items at 48")).click()
        expect(phone.locator(".status")).to_contain_text("7 items")
        for seen in (page, phone):
            seen.close()


def test_an_empty_map_says_what_to_do(opened):
    page = opened("/?tab=places")
    expect(page.locator("#view-places")).to_contain_text("No item says where it was taken")
    expect(page.locator("#view-places").get_by_role("button", name="Look for changes")).to_be_visible()
    audit(page, "places-empty")

"""The page for everybody: no violation in any view, dark or light, a visible focus, a phone."""

from __future__ import annotations

import pytest

from tests.server.pages import DESKTOP, PHONE, RULES, VIEWS, expect, keep, results, still, violations

pytestmark = pytest.mark.browser


def test_the_focus_ring_stays_below_the_search_box(opened):
    page = opened("/?x=i5", reduced_motion="reduce")
    results(page)
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".tile:focus-visible")).to_have_count(1)
    head = "document.querySelector('.search-head').getBoundingClientRect()"
    page.evaluate(f"scrollBy(0, document.activeElement.getBoundingClientRect().top - {head}.bottom / 2)")
    still(page)
    height = page.evaluate(f"{head}.bottom")
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") < height
    clip = {"x": 0, "y": 0, "width": DESKTOP["width"], "height": height}
    keep(page, "ring-light")
    focused = page.screenshot(clip=clip)
    page.evaluate("document.activeElement.blur()")
    still(page)
    assert page.screenshot(clip=clip) == focused


def test_phone(opened):
    page = opened("/?q=sea&x=i5", viewport=PHONE, is_mobile=True, has_touch=True, device_scale_factor=2)
    results(page)
    page.locator(".act.right").first.tap()
    expect(page.locator(".tile.is-right")).to_have_count(1)
    expect(page.locator("#reorder")).to_be_in_viewport()
    keep(page, "phone-search")
    page.locator("#reorder").tap()
    page.wait_for_selector("#pill", state="hidden")
    page.locator("#panel-toggle").tap()
    page.wait_for_selector(".sum")
    keep(page, "phone-why")
    page.get_by_label("Close the panel").tap()
    page.locator(".tile").first.tap(position={"x": 12, "y": 12})
    page.wait_for_selector("#viewer[open] .stage > *")
    keep(page, "phone-viewer")
    page.get_by_label("Close", exact=True).tap()
    for view in VIEWS:
        page.locator(f"#tab-{view}").tap()
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], view


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_without_violations(opened, served, scheme):
    found = []
    rules = RULES if scheme == "light" else ["color-contrast"]  # nothing else depends on the colours

    def audit(page, name):
        found.extend(f"{name}: {rule}: {nodes}" for rule, nodes in violations(page, rules))

    page = opened(color_scheme=scheme)
    page.wait_for_selector(".card img")
    audit(page, "first page")
    page.goto(f"{served.address}/?q=sea&x=i5&x=i9~-1&kind=picture")
    results(page)
    page.locator(".tile").first.focus()
    page.keyboard.press("r")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("w")
    page.wait_for_selector("#reorder")
    page.keyboard.press("e")
    page.wait_for_selector(".sum")
    audit(page, "search")
    for part in ("marks", "experts", "concepts"):
        page.click(f"#part-{part}")
        page.wait_for_load_state("networkidle")
        audit(page, part)
    page.click("#part-experts")
    page.locator(".experts summary").first.click()
    keep(page, f"experts-{scheme}")
    audit(page, "an expert")
    page.locator(".tile").first.focus()
    page.keyboard.press("o")
    page.wait_for_selector("#viewer dl")
    audit(page, "viewer")
    keep(page, f"viewer-{scheme}")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    audit(page, "help")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Export").click()
    audit(page, "menu")
    page.keyboard.press("Escape")
    for view in VIEWS[1:]:
        page.click(f"#tab-{view}")
        page.wait_for_load_state("networkidle")
        audit(page, view)
        keep(page, f"{view}-{scheme}")
    page.goto(f"{served.address}/?q=%22thisisnowhere%22")
    page.wait_for_selector(".notice")
    audit(page, "nothing found")
    assert not found, "\n".join(found)


def test_colours_can_be_chosen(opened):
    page = opened(color_scheme="light")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.click("#theme")
    page.click("#theme")
    expect(page.locator("#theme")).to_have_attribute("aria-label", "Colours: dark")
    assert page.evaluate(paper) != light
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate(paper) != light

"""Nothing that people do in the page is lost: whole tasks of several rounds, read back from the server."""

from __future__ import annotations

import io
import json
import re
import signal

import pytest
from PIL import Image

from tests.server.pages import DESKTOP, PHONE, expect, keep, results, serving, still, until
from tests.serving import Served, copied

pytestmark = pytest.mark.browser

QUERY = {"examples": [{"item": 7}]}
CALL = """async ([path, body]) => {
  const headers = { "X-Rankloom": "1", "Content-Type": "application/json" };
  const method = body === null ? "GET" : "POST";
  const answer = await fetch(path, { method, headers, body: body === null ? undefined : JSON.stringify(body) });
  return answer.json();
}"""


def call(page, path, body=None):
    """Ask the server as this user, past the page's own modules."""
    return page.evaluate(CALL, [path, body])


def stored(page):
    """Return the grades that the server has of this user's marks in the search."""
    return {mark["item"]: mark["grade"] for mark in reversed(call(page, "/api/marks", {"query": QUERY}))}


def shown(page):
    """Return the grades that the tiles show."""
    return {
        int(tile.get_attribute("data-id")): float("is-right" in tile.get_attribute("class"))
        for tile in page.locator(".tile.is-right, .tile.is-wrong").all()
    }


def by_keys(page, item, grade):
    page.locator(f".tile[data-id='{item}']").focus()
    page.keyboard.press("r" if grade else "w")


def by_mouse(page, item, grade):
    tile = page.locator(f".tile[data-id='{item}']")
    tile.hover()
    tile.locator(".act.right" if grade else ".act.wrong").click()


def by_touch(page, item, grade):
    page.locator(f".tile[data-id='{item}']").locator(".act.right" if grade else ".act.wrong").tap()


TOUCH = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
WAYS = {
    "keys": (by_keys, lambda page: page.keyboard.press("n"), {}),
    "mouse": (by_mouse, lambda page: page.click("#reorder"), {}),
    "touch": (by_touch, lambda page: page.locator("#reorder").tap(), TOUCH),
}


def one_round(page, mark, reorder, marked):
    """Mark the first two unmarked results, one right and one wrong, and show the new order."""
    fresh = [item for item in results(page) if item not in marked][:2]
    for item, grade in zip(fresh, (1, 0), strict=True):
        mark(page, item, grade)
        marked[item] = grade
        state = re.compile("is-right" if grade else "is-wrong")
        expect(page.locator(f".tile[data-id='{item}']")).to_have_class(state)
    reorder(page)
    page.wait_for_selector("#pill", state="hidden")
    results(page)


def saved(page, marked):
    """Check that server and page agree on the marks, also after a reload."""
    expect(page.locator("#unsent")).to_be_hidden()
    assert stored(page) == marked
    page.reload()
    results(page)
    expect(page.locator(".tile.is-right")).to_have_count(sum(marked.values()))  # wrong ones are far below
    assert shown(page).items() <= marked.items()


@pytest.mark.parametrize("way", WAYS)
def test_three_rounds_of_marks(opened, way):
    mark, reorder, options = WAYS[way]
    page = opened("/?x=i7", **options)
    marked = {}
    for _ in range(3):
        one_round(page, mark, reorder, marked)
        assert stored(page) == marked
    assert len(marked) == 6
    saved(page, marked)


def test_rounds_with_a_server_that_is_killed(opened, tmp_path):
    folder = copied(tmp_path / "c")
    served = Served(folder, "--quiet")
    page = opened("/?x=i7", address=served.address)
    marked = {}
    try:
        for _ in range(2):
            one_round(page, *WAYS["keys"][:2], marked)
            port = served.port
            served.stop(signal.SIGKILL)
            clear(page)
            fresh = [item for item in results(page) if item not in marked][:2]
            for item in fresh:
                by_keys(page, item, 1)
                marked[item] = 1
            by_keys(page, fresh[0], 1)  # the same again takes it back, though the server has not heard of it
            del marked[fresh[0]]
            expect(page.locator("#banner")).to_contain_text("does not answer")
            expect(page.locator("#unsent")).to_have_text("3 changes not saved yet")
            assert page.locator(".toast").count() == 0, "nothing is said to be done"
            keep(page, "unsent")
            served = Served(folder, "--quiet", port=port)
            expect(page.locator("#banner")).to_be_hidden()
            expect(page.locator("#unsent")).to_be_hidden()
            assert stored(page) == marked
        one_round(page, *WAYS["keys"][:2], marked)
        assert len(marked) == 8
        saved(page, marked)
    finally:
        served.stop()
    page.complaints[:] = [line for line in page.complaints if "ERR_" not in line]


def test_rounds_in_two_windows(opened):
    first = opened("/?x=i7")
    second = opened("/?x=i7", context=first.context)
    marked = {}
    for page in (first, second, first, second):
        one_round(page, *WAYS["mouse"][:2], marked)
        until(second if page is first else first, "!document.querySelector('#pill').hidden")
    for page in (first, second):
        saved(page, marked)
    other = opened("/?x=i7")  # another user
    results(other)
    assert stored(other) == shown(other) == {}


def test_marks_that_are_given_while_a_search_runs(opened):
    """They belong to the results that are seen, and the new order knows that it does not follow them."""
    page = opened("/?x=i7")
    found = results(page)
    held = []
    page.route("**/api/search", lambda route: held.append(route))
    by_keys(page, found[1], 1)
    page.keyboard.press("n")
    until(page, "document.querySelector('#view-search').classList.contains('searching')")
    by_keys(page, found[2], 1)
    for route in held:
        route.continue_()
    page.unroute("**/api/search")
    results(page)
    expect(page.locator("#pill")).to_contain_text("1 change since this order")
    page.fill("#text", "sea")
    page.route("**/api/search", lambda route: held.append(route))
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#view-search').classList.contains('searching')")
    by_keys(page, found[3], 0)
    until(page, "document.querySelector('.tile.is-wrong') !== null")
    assert stored(page) == {found[1]: 1, found[2]: 1, found[3]: 0}
    held[-1].continue_()
    page.unroute("**/api/search")
    results(page)
    assert shown(page) == {}


def test_what_is_not_saved_yet_is_said_and_leaving_asks(opened):
    page = opened("/?x=i7")
    found = results(page)
    held = []
    page.route("**/api/feedback", lambda route: held.append(route))
    by_keys(page, found[1], 1)
    expect(page.locator("#unsent")).to_have_text("1 change not saved yet")
    assert in_sight(page, "#unsent")
    page.locator(".tile").nth(1).click()
    page.wait_for_selector("#viewer[open]")
    assert in_sight(page, "#unsent")
    keep(page, "unsent-viewer")
    page.keyboard.press("Escape")
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.close(run_before_unload=True)
    until(page, "true")
    assert asked == ["beforeunload"]
    assert not page.is_closed()
    held[0].continue_()
    page.unroute("**/api/feedback")
    expect(page.locator("#unsent")).to_be_hidden()
    assert stored(page) == {found[1]: 1}
    page.close(run_before_unload=True)
    assert asked == ["beforeunload"]


def in_sight(page, selector):
    """Whether an element is painted, also where a dialog is open, and not over the offer of a new order."""
    page.wait_for_selector(selector, state="visible")
    still(page)
    x, y, color, apart = page.evaluate(
        """(selector) => {
          const element = document.querySelector(selector);
          const { left, right, top, height } = element.getBoundingClientRect();
          const pill = document.querySelector("#pill").getBoundingClientRect();
          const apart = right < pill.left || left > pill.right || top + height < pill.top || top > pill.bottom;
          return [left + 5, top + height / 2, getComputedStyle(element).backgroundColor, apart];
        }""",
        selector,
    )
    pixel = Image.open(io.BytesIO(page.screenshot(clip={"x": x, "y": y, "width": 1, "height": 1}))).convert("RGB")
    return apart and f"rgb{pixel.getpixel((0, 0))}" == color


def refusing(page, *paths):
    """Let the server refuse these requests from now on."""
    for path in paths:
        page.route(
            path,
            lambda route: (
                route.fulfill(
                    status=500, content_type="application/json", body=json.dumps({"error": "the disk is on fire"})
                )
                if route.request.method != "GET"
                else route.continue_()
            ),
        )


def refused(page):
    """Wait until the page has said in one line that the server refused, and clear it."""
    line = page.locator(".toast.bad")
    expect(line.first).to_contain_text("the disk is on fire")
    until(page, "document.querySelector('#toasts').matches(':popover-open')")  # also above a dialog
    assert page.locator(".toast:not(.bad)").count() == 0, "nothing else is said to be done"
    clear(page)


def clear(page):
    """Take away what was said so far."""
    page.evaluate("document.querySelectorAll('.toast').forEach((note) => note.remove())")


def test_whatever_the_server_refuses_is_taken_back_and_said(opened, tmp_path):
    """Marks, stars, tags, captions, hiding, albums, saved searches, weights: the page shows what the server has."""
    with serving(copied(tmp_path / "c"), profiles=True) as address:
        page = opened("/?x=i7", address=address, viewport=DESKTOP)
        found = results(page)
        by_keys(page, found[0], 1)
        until(page, "document.querySelector('.tile.is-right') !== null")
        page.get_by_role("button", name="Saved").click()
        page.get_by_label("Name for this search").fill("kept")
        page.get_by_role("button", name="Save this").click()
        expect(page.locator(".toast")).to_have_count(1)
        expect(page.locator(".toast")).to_have_count(0)
        album = call(page, "/api/albums", {"name": "holiday", "items": [1, 2, 3], "query": {"text": "sea"}})["id"]
        before = call(page, f"/api/items/{found[1]}")["notes"]
        refusing(page, "**/api/feedback", "**/api/undo", "**/api/items/*", "**/api/albums/**", "**/api/saved/*")
        refusing(page, "**/api/experts", "**/api/concepts")

        by_keys(page, found[1], 0)
        refused(page)
        page.keyboard.press("u")
        refused(page)
        assert shown(page) == stored(page) == {found[0]: 1}
        page.keyboard.press("ControlOrMeta+a")
        page.get_by_role("toolbar").get_by_role("button", name="Wrong", exact=True).click()
        refused(page)
        assert shown(page) == {found[0]: 1}
        page.keyboard.press("Escape")

        page.locator(f".tile[data-id='{found[1]}']").click()
        page.wait_for_selector("#viewer[open] .notes")
        page.locator("[data-name='stars-4']").click()
        refused(page)
        expect(page.locator(".stars .given")).to_have_count(before["stars"])
        page.keyboard.press("3")
        refused(page)
        expect(page.locator(".stars .given")).to_have_count(before["stars"])
        page.locator(".new-tag").fill("red")
        page.keyboard.press("Enter")
        refused(page)
        expect(page.locator(".notes .tag")).to_have_count(0)
        expect(page.locator(".new-tag")).to_have_value("red")
        page.get_by_label("Your caption").fill("my words")
        page.keyboard.press("ControlOrMeta+Enter")
        refused(page)
        expect(page.get_by_label("Your caption")).to_have_value("my words")  # they are still there to be sent again
        page.unroute("**/api/items/*")
        page.keyboard.press("ControlOrMeta+Enter")
        expect(page.locator(".toast")).to_have_text("The caption is saved")
        assert call(page, f"/api/items/{found[1]}")["notes"]["caption"] == "my words"
        clear(page)
        refusing(page, "**/api/items/*")
        page.locator("#viewer").get_by_label("Your caption").press("Escape")
        page.keyboard.press("Escape")
        page.locator(f".tile[data-id='{found[2]}']").focus()
        page.keyboard.press("h")
        refused(page)
        assert found[2] in results(page)

        page.get_by_role("button", name="Saved").click()
        page.get_by_role("button", name="Forget kept").click()
        refused(page)
        expect(page.get_by_role("button", name="Forget kept")).to_be_visible()
        page.keyboard.press("Escape")
        page.click("#panel-toggle")
        page.click("#part-experts")
        page.locator(".experts summary").first.click()
        slider = page.locator(".experts input[type='range']").first
        value = slider.input_value()
        slider.focus()
        page.keyboard.press("End")
        refused(page)
        expect(page.locator(".experts input[type='range']").first).to_have_value(value)

        page.goto(f"{address}/?album={album}")
        results(page)
        suggested = page.locator(".suggested-members li")
        expect(suggested.first).to_be_visible()
        n = suggested.count()
        suggested.first.locator(".act.wrong").click()
        refused(page)
        expect(suggested).to_have_count(n)
        page.unroute("**/api/albums/**")
        assert [len(one["items"]) if "items" in one else one["size"] for one in call(page, "/api/albums")] == [3]
    page.complaints[:] = [line for line in page.complaints if "500" not in line]

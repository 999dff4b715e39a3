"""The page in a real Chromium: searching and looking, by mouse, by keys and by the address."""

from __future__ import annotations

import json
import re

import pytest

from tests.server.pages import drop, expect, keep, picture_bytes, results, until
from tests.serving import sample

pytestmark = pytest.mark.browser


def test_first_page_and_search_by_words(opened):
    page = opened()
    expect(page.locator(".welcome p").first).to_contain_text("Mark results right or wrong")
    page.wait_for_selector(".card img")
    keep(page, "home-light")
    page.locator(".card").first.click()
    assert results(page)
    page.go_back()
    page.wait_for_selector(".welcome")
    page.fill("#text", "sea")
    page.keyboard.press("Enter")
    found = results(page)
    assert "q=sea" in page.url
    expect(page.locator("#live")).to_have_text(re.compile(r"^“sea”: \d+ have these words$"))
    expect(page.locator(".status")).to_contain_text("more by automatic tags")
    tile = page.locator(".tile").first
    assert re.match(r"Result 1 of \d+, .+, score ", tile.get_attribute("aria-label"))
    keep(page, "search-light")
    page.fill("#text", '"zzqqxx"')
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("Nothing was found")
    page.go_back()
    assert results(page) == found


@pytest.mark.parametrize("how", ["drop", "paste", "file"])
def test_search_with_a_picture(opened, how):
    page = opened()
    if how == "file":
        page.set_input_files("#file", {"name": "a.png", "mimeType": "image/png", "buffer": picture_bytes()})
    else:
        drop(page, how)
    page.wait_for_selector(".chip img")
    found = results(page)
    first = page.locator(".tile").first
    assert sorted((sample() / "pictures").glob("coast/*.jpg"))[0].name in page.evaluate(
        "async (id) => (await (await fetch(`/api/items/${id}`)).json()).files[0].name", found[0]
    )
    assert "x=p" in page.url
    page.reload()
    page.wait_for_selector(".chip img")
    assert results(page) == found
    page.locator(".chip .sign").click()
    page.wait_for_selector(".chip.against")
    until(page, f"document.querySelector('.tile')?.dataset.id !== '{found[0]}'")
    page.locator(".chip .remove").click()
    page.wait_for_selector(".welcome")
    assert first


def test_several_examples_and_the_address(opened):
    page = opened("/?q=sea&x=i3&x=i9~-0.5&kind=picture")
    results(page)
    assert page.locator(".chip").count() == 2
    assert page.locator(".chip.against").count() == 1
    expect(page.locator(".tool-row")).to_contain_text("Filters (1)")
    page.locator(".chip select").first.select_option("2")
    page.wait_for_url("**x=i3%7E2**")
    page.go_back()
    page.wait_for_url("**x=i3&**")
    page.go_forward()
    page.wait_for_url("**x=i3%7E2**")
    results(page)
    assert page.locator(".chip select").first.input_value() == "2"


def test_filters_alone_list_items_by_date(opened):
    page = opened()
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Folder").select_option("pictures/coast")
    found = results(page)
    assert "in=pictures" in page.url
    ask = """async (id) => (await (await fetch(`/api/items/${id}`)).json())"""
    items = [page.evaluate(ask, number) for number in found]
    assert {item["files"][0]["folder"] for item in items} == {"pictures/coast"}
    taken = [item["taken"] for item in items if item["taken"]]  # the others have the dates of their files
    assert taken == sorted(taken, reverse=True)
    expect(page.locator(".row.month").first).to_be_visible()
    expect(page.locator(".status")).to_contain_text("newest first")
    assert "score" not in page.locator(".tile").first.get_attribute("aria-label")
    page.locator(".tile").first.hover()
    expect(page.locator(".tile").first.locator(".act.right")).to_be_hidden()
    keep(page, "list-light")
    page.locator(".tile").first.click()
    page.wait_for_selector("#viewer[open] dl")
    assert page.locator("#viewer").get_by_role("button", name="Right").count() == 0
    page.keyboard.press("Escape")
    expect(page.locator(".tile").first).to_be_focused()
    page.get_by_label("From", exact=True).fill("3000")
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("No item passes these filters")
    keep(page, "list-nothing-light")
    page.get_by_label("From", exact=True).fill("2024-02-31")
    with page.expect_response("**/api/browse?*"):  # what is typed stays when the filters are drawn again meanwhile
        page.get_by_label("Kind").select_option("picture")
    page.get_by_label("From", exact=True).press("Enter")
    expect(page.locator(".notice")).to_contain_text("'2024-02-31' is no date; give 2024, 2024-05")
    keep(page, "bad-date-light")
    page.get_by_role("button", name="Clear the filters").click()
    page.wait_for_selector(".welcome")
    page.complaints[:] = [one for one in page.complaints if "422" not in one]


def test_keyboard_alone(opened):
    page = opened()
    press = page.keyboard.press
    press("/")
    page.keyboard.type("sea")
    press("Enter")
    found = results(page)
    press("ArrowDown")
    expect(page.locator(".tile").first).to_be_focused()
    press("ArrowRight")
    press("r")
    expect(page.locator(".tile").nth(1)).to_have_class(re.compile("is-right"))
    expect(page.locator("#live")).to_contain_text("Result 2 marked right")
    press("ArrowLeft")
    press("-")
    expect(page.locator(".tile").first).to_have_class(re.compile("is-wrong"))
    press("u")
    expect(page.locator(".toast", has_text="The mark is undone")).to_be_visible()  # the page knows it, too
    expect(page.locator(".tile").first).not_to_have_class(re.compile("is-wrong"))
    press("n")
    page.wait_for_selector("#pill", state="hidden")
    assert results(page)[0] == found[1]
    expect(page.locator(".tile").first).to_be_focused()
    press("Enter")
    page.wait_for_selector("#viewer[open] .stage > *")
    press("ArrowRight")
    expect(page.locator("#viewer")).to_have_attribute("aria-label", re.compile("^Result 2"))
    press("w")
    expect(page.locator("#viewer .wrong")).to_have_attribute("aria-pressed", "true")
    press("Escape")
    expect(page.locator(".tile").nth(1)).to_be_focused()
    press("e")
    expect(page.locator(".sum")).to_be_visible()
    press("?")
    page.wait_for_selector("#keys[open]")
    keep(page, "help-light")
    press("Escape")
    expect(page.locator(".tile").nth(1)).to_be_focused()
    press("s")
    until(page, "location.search.startsWith('?x=i')")
    results(page)
    # Every control is reached by Tab, and the focus is always seen.
    press("/")
    reached = set()
    for _ in range(12):
        press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
            )
        )
        assert page.evaluate("document.activeElement.matches(':focus-visible')")
    assert {"pick", "go", "panel-toggle"} <= reached


def test_back_closes_the_viewer(opened):
    page = opened("/?q=beach")
    page.fill("#text", "sea")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=sea")
    found = results(page)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/api/search") else None)
    for close in (page.go_back, lambda: page.keyboard.press("Escape"), page.get_by_label("Close", exact=True).click):
        page.locator(".tile").nth(1).click()
        page.wait_for_selector("#viewer[open] dl")
        page.keyboard.press("ArrowRight")
        close()
        page.wait_for_selector("#viewer", state="hidden")
        until(page, "history.state === null")
        assert page.url.endswith("/?q=sea")
        expect(page.locator(".tile").nth(2)).to_be_focused()
    assert results(page) == found
    assert asked == []  # what is behind the viewer stays as it is
    page.locator(".tile").nth(1).click()
    page.wait_for_selector("#viewer[open] dl")
    page.keyboard.press("s")
    page.wait_for_url(f"**/?x=i{found[1]}")
    results(page)
    page.go_back()
    page.wait_for_url("**/?q=sea")
    page.go_back()
    page.wait_for_url("**/?q=beach")


def test_a_shot_plays_just_itself(opened):
    page = opened("/?x=i1&kind=shot")
    results(page)
    page.locator(".tile").first.click()
    page.wait_for_selector("#viewer video")
    page.wait_for_selector(".strip li")
    address = page.locator("#viewer video").get_attribute("src")
    assert re.search(r"/file\?collection=[0-9a-f]{16}#t=[\d.]+,[\d.]+$", address)
    video = "document.querySelector('#viewer video')"
    start, end = page.evaluate(f"{video}.src.split('#t=')[1].split(',').map(Number)")
    shot = page.evaluate(f"fetch('/api/items/' + {video}.dataset.item).then((answer) => answer.json())")
    assert start == shot["start"]
    assert end <= shot["end"] - 0.04 + 1e-9  # a frame before the next shot begins
    assert {*shot["tags"]} <= {text["text"] for text in shot["texts"] if text["source"] == "tag"}
    shown = page.locator("#viewer dl > div", has=page.locator("dt", has_text="Automatic tags")).locator("dd")
    assert shown.all_text_contents() == ([", ".join(shot["tags"])] if shot["tags"] else [])
    until(page, f"{video}.readyState >= 2 || {video}.error !== null")
    if page.evaluate(f"{video}.error === null"):  # a browser may lack the codec
        until(page, f"{video}.paused && !{video}.seeking && {video}.currentTime >= {end - 0.3}")
        assert start <= page.evaluate(f"{video}.currentTime") <= end + 1e-3
    keep(page, "video")
    page.locator(".strip .cut").nth(3).click()
    expect(page.locator(".strip .cut").nth(3)).to_have_attribute("aria-current", "true")
    expect(page.locator(".strip .cut[aria-current]")).to_have_count(1)
    expect(page.locator("#viewer dl")).to_contain_text("0:07 to")


def test_ten_thousand_results_stay_smooth(opened):
    page = opened()

    def answer(route):
        asked = json.loads(route.request.post_data)
        first, k = asked.get("offset", 0), asked["k"]
        plain = {
            "folder": "a",
            "mark": None,
            "literal": True,
            "kind": "picture",
            "start": None,
            "end": None,
            "taken": None,
            "height": 240,
        }
        hits = [
            {**plain, "rank": i + 1, "id": i + 1 if i < 150 else 1000 + i, "name": f"{i}.jpg", "score": 1 / (1 + i),
             "caption": f"picture {i}", "width": 300 + i % 200}
            for i in range(first, min(10_000, first + k))
        ]  # fmt: skip
        found = {
            "total": 10_000,
            "literal": 10_000,
            "cutoff": 300,
            "orders": ["score"],
            "likely": None,
            "diffused": False,
            "marks": 0,
            "seconds": 0.1,
        }
        found["hits"] = hits
        route.fulfill(json=found)

    page.route("**/api/search", answer)
    page.fill("#text", "many")
    page.keyboard.press("Enter")
    results(page)
    driver = page.context.new_cdp_session(page)
    driver.send("Performance.enable")

    def layouts():
        metrics = {entry["name"]: entry["value"] for entry in driver.send("Performance.getMetrics")["metrics"]}
        return metrics["LayoutCount"]

    scroll = """async ([step, until]) => {
      const grid = document.querySelector("#results");
      let frames = 0;
      for (; frames < until && (step || grid.getAttribute("aria-rowcount") === "-1"); frames += 1) {
        scrollBy(0, step || 1e6);
        await new Promise(requestAnimationFrame);
        if (document.querySelectorAll(".tile").length > 250) throw new Error("too many tiles");
      }
      return frames;
    }"""
    page.evaluate(scroll, [0, 3000])  # to the end, until all are there
    page.evaluate("scrollTo(0, 1e5)")
    before = layouts()
    frames = page.evaluate(scroll, [300, 120])
    # A frame of a fast scroll lays out a bounded number of tiles about once: nothing reads sizes between writes.
    assert (layouts() - before) / frames < 3
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    until(page, "Number(document.activeElement.dataset.index) >= 9990")
    assert page.locator(".tile").count() < 250
    page.goto("about:blank")
    page.complaints.clear()  # most of these items have no thumbnail

"""The page that people keep open: looking through everything, selecting many, albums, captions, tags and stars."""

from __future__ import annotations

import csv
import io
import re
import zipfile

import pytest
from PIL import Image

from tests.archives import write_rows
from tests.server.pages import PHONE, ask, audit, expect, keep, results, serving, until

pytestmark = pytest.mark.browser


def selected(page):
    return page.evaluate("[...document.querySelectorAll('.tile.is-selected')].map((tile) => Number(tile.dataset.id))")


def test_browse_months_folders_and_orders(opened):
    page = opened()
    found = results(page)
    whole = ask(page, "/api/browse?k=1000")
    order = [hit["id"] for hit in whole["hits"]]
    assert found == order[: len(found)]
    expect(page.locator(".status")).to_contain_text(f"{whole['total']} items")
    expect(page.locator(".row.month").first).to_be_visible()
    page.wait_for_selector(".card img")
    audit(page, "browse-light")
    # The scrubber, by keys and by the mouse.
    scrubber = page.get_by_role("slider", name="Month")
    newest = scrubber.get_attribute("aria-valuetext")
    scrubber.focus()
    page.keyboard.press("ArrowDown")
    expect(scrubber).not_to_have_attribute("aria-valuetext", newest)
    second = scrubber.get_attribute("aria-valuetext")
    page.keyboard.press("End")
    until(page, f"document.querySelector('.tile:last-of-type') && scrollY > 0 && "
          f"[...document.querySelectorAll('.tile')].some((tile) => tile.dataset.id === '{order[-1]}')")  # fmt: skip
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(scrubber).to_have_attribute("aria-valuetext", second)
    box = scrubber.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 6, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 6, box["y"] + box["height"] * 0.8, steps=4)
    expect(page.locator(".bubble")).to_be_visible()
    keep(page, "scrubber-light")
    page.mouse.up()
    assert page.evaluate("scrollY") > 500
    # A folder, chosen by keys.
    page.get_by_role("button", name="Folders").click()
    expect(page.get_by_role("treeitem", name=re.compile("^pictures, "))).to_be_focused()
    for key in ("ArrowLeft", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.get_by_role("treeitem", name=re.compile("^coast, "))).to_be_focused()
    audit(page, "folders-light")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?in=pictures%2Fcoast")
    results(page)
    page.get_by_label("Order", exact=True).select_option("oldest")
    page.wait_for_url("**sort=oldest")
    expect(page.locator(".status")).to_contain_text("oldest first")
    inside = [hit["id"] for hit in ask(page, "/api/browse?folder=pictures/coast&sort=oldest")["hits"]]
    found = results(page)
    assert found == inside[: len(found)]
    # Results of a search in other orders.
    page.goto(page.url.split("?")[0] + "?q=sea")
    results(page)
    page.get_by_label("Order", exact=True).select_option("oldest")
    page.wait_for_url("**/?q=sea&sort=oldest")
    expect(page.locator(".status")).to_contain_text("oldest first")
    page.go_back()
    page.wait_for_url("**/?q=sea")
    assert page.get_by_label("Order", exact=True).input_value() == ""


@pytest.mark.slow
def test_a_large_collection_scrolls_in_bounded_steps(opened, tmp_path):
    file = io.BytesIO()
    Image.linear_gradient("L").convert("RGB").resize((96, 72)).save(file, "JPEG")
    place = write_rows(
        tmp_path / "c", 20_000, thumbnail=file.getvalue(), dates=lambda n: f"{2000 + n * 7 % 20}-{1 + n % 12:02}-01"
    )
    with serving(place) as address:
        page = opened(address=address)
        results(page)
        height = page.evaluate("document.querySelector('#results').clientHeight")
        asked = []
        page.on("request", lambda request: asked.append(request.url) if "/api/browse" in request.url else None)
        driver = page.context.new_cdp_session(page)
        driver.send("Performance.enable")

        def metrics():
            return {entry["name"]: entry["value"] for entry in driver.send("Performance.getMetrics")["metrics"]}

        scroll = """async ([step, frames]) => {
          let tiles = 0;
          for (let i = 0; i < frames; i += 1) {
            scrollBy(0, step);
            await new Promise(requestAnimationFrame);
            tiles = Math.max(tiles, document.querySelectorAll(".tile").length);
          }
          return tiles;
        }"""
        before = metrics()["LayoutCount"]
        tiles = page.evaluate(scroll, [300, 100])
        # Nothing reads sizes between writes, and only what is near the window exists.
        assert (metrics()["LayoutCount"] - before) / 100 < 3
        assert tiles < 120
        page.evaluate(scroll, [60_000, 10])  # far jumps: of each at most two pages are fetched
        until(page, "!document.querySelector('.tile.waiting')")
        assert len(asked) < 40
        assert page.locator("*").count() < 2500
        assert page.evaluate("document.querySelector('#results').clientHeight") == height, "known from the start"
        page.locator(".tile").first.focus()
        page.keyboard.press("End")
        until(page, "document.activeElement.dataset.index === '19999' && document.activeElement.dataset.id")
        page.keyboard.press("Control+a")
        expect(page.locator(".how-many")).to_have_text("10,000 selected")
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        page.wait_for_selector("#viewer[open] .notes")
        expect(page.locator("#viewer")).to_have_attribute("aria-label", re.compile("^Item 20,000"))
        page.keyboard.press("Escape")
        until(page, "history.state === null")  # closing the viewer goes back a step
        page.goto("about:blank")
    page.complaints.clear()  # there are no files


def test_select_many(opened):
    page = opened("/?q=sea")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    found = results(page)
    tiles = page.locator(".tile")
    tiles.nth(1).click(modifiers=["Control"])
    tiles.nth(4).click(modifiers=["Shift"])
    assert selected(page) == found[1:5]
    tiles.nth(2).click()  # while something is selected, a click selects
    assert selected(page) == [found[1], found[3], found[4]]
    expect(page.locator("#live")).to_have_text("3 items selected")
    audit(page, "selection-light")
    page.keyboard.press("Escape")
    expect(page.locator("#selection")).to_be_hidden()
    # By keys.
    tiles.first.focus()
    for key in ("Space", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator(".how-many")).to_have_text("2 selected")
    assert selected(page) == found[:2]
    assert page.locator(".tile[aria-selected='true']").count() == 2
    # By a rectangle, which begins beside the pictures.
    page.keyboard.press("Escape")
    first, third = tiles.nth(0).bounding_box(), tiles.nth(2).bounding_box()
    page.focus("#text")
    page.mouse.move(first["x"] - 12, first["y"] + 20)
    page.mouse.down()
    page.mouse.move(third["x"] + 10, third["y"] + 60, steps=5)
    expect(page.locator(".band")).to_be_visible()
    keep(page, "band-light")
    page.mouse.up()
    assert selected(page) == found[:3]
    expect(page.locator(".band")).to_have_count(0)
    until(page, "document.activeElement.matches('.tile.is-selected')")  # keys are for these, not for the box
    # What is done with it.
    bar = page.get_by_role("toolbar", name="Selected items")
    bar.get_by_role("button", name="Right").click()
    expect(page.locator(".tile.is-right")).to_have_count(3)
    expect(page.locator("#pill")).to_contain_text("3 changes")
    bar.get_by_role("button", name="Tag").click()
    audit(page, "ask-tag-light")
    page.get_by_label("Tag", exact=True).fill("Zanzibar")
    page.keyboard.press("Enter")
    expect(page.locator(".toast", has_text="3 items tagged Zanzibar")).to_be_visible()
    page.keyboard.press("4")
    until(page, "document.querySelectorAll('.is-selected .stars-badge').length === 3")
    bar.get_by_role("button", name="Copy paths").click()
    expect(page.locator(".toast", has_text="3 paths copied")).to_be_visible()
    assert re.match(r"/.+/pictures/", page.evaluate("navigator.clipboard.readText()"))
    with page.expect_download() as download:
        bar.get_by_role("button", name="Download").click()
    assert len(zipfile.ZipFile(download.value.path()).namelist()) == 3
    bar.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("^CSV")).click()
    rows = [*csv.DictReader(download.value.path().read_text().splitlines())]
    assert [(row["stars"], row["tags"]) for row in rows] == [("4", "Zanzibar")] * 3
    bar.get_by_role("button", name="Concept").click()
    page.get_by_label("Name, e.g. harbour").fill("shore")
    page.keyboard.press("Enter")
    expect(page.locator(".toast", has_text="The concept shore is ready")).to_be_visible()
    bar.get_by_role("button", name="Hide").click()
    expect(page.locator("#undo")).to_contain_text("3 items are hidden")
    assert not {*found[:3]} & {*results(page)}
    keep(page, "hidden-light")
    page.locator("#undo button").click()
    until(page, f"document.querySelector('.tile[data-id=\"{found[0]}\"]')")
    # Only what is not marked yet.
    page.get_by_role("button", name="Filters").click()
    page.locator(".filters").get_by_label("Marks").select_option("0")
    page.wait_for_url("**marked=0")
    assert not {*found[:3]} & {*results(page)}
    page.locator(".filters").get_by_label("Tag").select_option("Zanzibar")
    page.locator(".filters").get_by_label("Marks").select_option("")
    page.wait_for_url("**/?q=sea&tag=Zanzibar")
    assert {*results(page)} == {*found[:3]}
    audit(page, "filters-light")


def test_notes_are_written_where_they_are_read(opened):
    page = opened(color_scheme="dark")
    found = results(page)
    page.locator(".tile").nth(3).click()
    caption = page.get_by_label("Your caption")
    caption.fill("Quixotic windmill")
    caption.press("Control+Enter")
    expect(page.locator("#viewer h2")).to_have_text("Quixotic windmill")
    page.get_by_label("Add a tag").fill("La Mancha")
    page.keyboard.press("Enter")
    expect(page.locator(".tag")).to_have_text(["La Mancha"])
    page.get_by_role("button", name="3 of 5 stars").click()
    expect(page.get_by_role("group", name="Stars: 3 of 5")).to_be_visible()
    page.get_by_role("button", name="Hide").focus()
    page.keyboard.press("5")
    expect(page.get_by_role("group", name="Stars: 5 of 5")).to_be_visible()
    audit(page, "notes-dark")
    caption.fill("not this")
    page.keyboard.press("Escape")
    expect(caption).to_have_value("Quixotic windmill")
    page.locator("#viewer .shut").click()
    expect(page.locator(".tile").nth(3).locator(".stars-badge")).to_have_text("★★★★★")
    expect(page.locator(".tile").nth(3)).to_be_focused()
    page.fill("#text", "quixotic mancha")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=quixotic**")
    assert results(page)[0] == found[3], "words of the owner are found at once"
    page.locator(".tile").first.click()
    page.get_by_role("button", name="Take away the tag La Mancha").click()
    expect(page.locator(".tag")).to_have_count(0)
    page.keyboard.press("Escape")
    notes = ask(page, f"/api/items/{found[3]}")["notes"]
    assert notes == {"caption": "Quixotic windmill", "tags": [], "stars": 5, "hidden": False}


def test_albums_by_hand_and_living(opened):
    page = opened(color_scheme="dark")
    found = results(page)
    for number in (0, 2, 5):
        page.locator(".tile").nth(number).click(modifiers=["Control"])
    page.keyboard.press("l")
    page.get_by_label("Name of a new album").fill("Rome '24")
    page.keyboard.press("Enter")
    expect(page.locator(".toast", has_text="The album Rome '24 has 3 items")).to_be_visible()
    page.click("#tab-albums")
    audit(page, "albums-dark")
    page.locator(".album", has_text="Rome '24").click()
    page.wait_for_url("**/?album=*")
    until(page, "document.querySelectorAll('.tile').length === 3")
    assert results(page) == [found[0], found[2], found[5]]
    page.get_by_label("Order of the album").select_option("hand")
    expect(page.locator(".albumbar .hint")).to_contain_text("drag a picture onto another")
    page.locator(".tile").nth(2).focus()
    page.keyboard.press("Alt+ArrowLeft")
    until(page, f"document.querySelectorAll('.tile')[1]?.dataset.id === '{found[5]}'")
    page.locator(".tile").nth(1).drag_to(page.locator(".tile").nth(0))
    until(page, f"document.querySelectorAll('.tile')[0]?.dataset.id === '{found[5]}'")
    expect(page.locator("#drop")).to_be_hidden()
    page.locator(".tile").nth(2).click(modifiers=["Control"])
    page.get_by_role("button", name="Cover").click()
    covers = "fetch('/api/albums').then((answer) => answer.json()).then((all) => all.map((one) => one.cover))"
    until(page, f"{covers}.then((all) => all.includes({found[2]}))")
    page.get_by_role("button", name="Take out").click()
    until(page, "document.querySelectorAll('.tile').length === 2")
    page.locator("#undo button").click()
    until(page, "document.querySelectorAll('.tile').length === 3")
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Name", exact=True).fill("Roma")
    page.keyboard.press("Enter")
    expect(page.locator(".album-head h2")).to_have_text("Roma")
    audit(page, "album-dark")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.locator(".album", has_text="Roma")).to_have_count(0)
    # A living one around a search.
    page.goto(page.url.split("?")[0] + "?q=sea")
    results(page)
    page.click("#tab-albums")
    page.get_by_label("New album").fill("By the sea")
    page.get_by_label("Members suggested by").select_option(label="This search: “sea”")
    page.get_by_role("button", name="Make").click()
    page.wait_for_selector(".suggested-members li")
    offered = page.locator(".suggested-members img").evaluate_all("(all) => all.map((one) => one.src)")
    audit(page, "living-dark")
    page.get_by_role("button", name=re.compile("^Not this one:")).first.click()
    page.get_by_role("button", name=re.compile("^Add: ")).first.click()
    until(page, "document.querySelectorAll('.tile').length === 1")
    assert f"/items/{results(page)[0]}/" in offered[1]
    until(page, f"![...document.querySelectorAll('.suggested-members img')].some((one) => one.src === '{offered[0]}')")


def test_a_finger_that_is_held_selects(opened, served):
    page = opened(viewport=PHONE, is_mobile=True, has_touch=True, device_scale_factor=2)
    found = results(page)
    page.wait_for_selector(".card img")
    tile = page.locator(".tile").nth(4)
    tile.scroll_into_view_if_needed()
    box = tile.bounding_box()
    driver = page.context.new_cdp_session(page)
    point = {"x": box["x"] + 30, "y": box["y"] + 30}
    driver.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    expect(tile).to_have_class(re.compile("is-selected"))
    driver.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.locator(".tile").nth(6).tap()
    assert selected(page) == [found[4], found[6]]
    expect(page.locator("#viewer")).to_be_hidden()
    audit(page, "phone-selection")
    page.get_by_role("button", name="Select nothing").tap()
    page.get_by_role("slider", name="Month").wait_for()
    page.locator(".tile").nth(4).tap()
    page.wait_for_selector("#viewer[open] .notes")
    audit(page, "phone-notes")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_label("Close", exact=True).tap()


def test_a_finger_orders_an_album_and_other_windows_see_albums(opened, served):
    page = opened(viewport=PHONE, is_mobile=True, has_touch=True, device_scale_factor=2)
    found = results(page)[:4]

    def send(path, **body):
        answer = page.request.post(served.address + path, data=body, headers={"X-Rankloom": "1"})
        assert answer.ok, answer.text()
        return answer.json()

    number = send("/api/albums", name="By finger", items=found)["id"]
    send(f"/api/albums/{number}", by_hand=True)
    page.goto(f"{served.address}/?album={number}")
    expect(page.locator(".albumbar .hint")).to_contain_text("hold a picture and drag it onto another")
    assert results(page) == found
    driver = page.context.new_cdp_session(page)

    def touch(kind, *places):
        boxes = [page.locator(".tile").nth(place).bounding_box() for place in places]
        points = [{"x": box["x"] + 40, "y": box["y"] + 40} for box in boxes]
        driver.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

    # Held and dragged onto the second one; then by one place with the bar.
    touch("Start", 3)
    expect(page.locator(".tile").nth(3)).to_have_class(re.compile("carried"))
    touch("Move", 1)
    touch("End")
    until(page, f"document.querySelectorAll('.tile')[1]?.dataset.id === '{found[3]}'")
    expect(page.locator("#selection")).to_be_hidden()
    touch("Start", 0)
    expect(page.locator(".tile").nth(0)).to_have_class(re.compile("is-selected"))
    touch("End")
    page.get_by_role("button", name="Later").tap()
    until(page, f"document.querySelectorAll('.tile')[1]?.dataset.id === '{found[0]}'")
    audit(page, "phone-album-by-hand")
    page.locator("#help").focus()
    page.keyboard.press("Escape")  # wherever the focus is
    expect(page.locator("#selection")).to_be_hidden()
    # What another device does shows without being asked for.
    send(f"/api/albums/{number}/items", remove=[found[1]])
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # the next look comes in seconds anyway
    until(page, "document.querySelectorAll('.tile').length === 3")
    page.locator("#tab-albums").tap()
    expect(page.locator(".album", has_text="By finger")).to_contain_text("3 items")
    send("/api/albums", name="Elsewhere", items=found)
    page.locator("#tab-albums").evaluate(
        "(tab) => { tab.blur(); document.dispatchEvent(new Event('visibilitychange')); }"
    )
    expect(page.locator(".album", has_text="Elsewhere")).to_be_visible()


def test_the_sheet_of_a_phone_makes_room_for_what_the_tools_open(opened):
    page = opened("/?q=sea", viewport=PHONE, is_mobile=True, has_touch=True, device_scale_factor=2)
    results(page)
    page.locator("#panel-toggle").tap()
    expect(page.locator("#panel")).to_be_visible()
    page.get_by_role("button", name="Saved").first.tap()
    expect(page.locator("#panel")).to_be_hidden()
    page.get_by_role("button", name="Save this").tap(trial=True)  # nothing covers it

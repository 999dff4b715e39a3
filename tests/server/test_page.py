"""The page in a real Chromium: what people do with it, by mouse, by keys, by touch, and while the server is away."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import re
import shutil
from pathlib import Path

import httpx2 as httpx
import pytest
from PIL import Image

from rankloom.collection import Collection, index
from tests.serving import HEADER, Served, copied, labels, sample

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
expect = playwright.expect
expect.set_options(timeout=60_000)  # a busy machine is slow, not wrong

ARTEFACTS = Path(os.environ.get("RANKLOOM_ARTEFACTS", "test-artifacts"))
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
VIEWS = ("search", "albums", "places", "learning", "models", "collection")


def chromium() -> str:
    """The browser of this system; in CI it must be there."""
    found = os.environ.get("RANKLOOM_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        reason = "no Chromium: install it (apt install chromium) or name one in RANKLOOM_CHROMIUM"
        if os.environ.get("CI") or os.environ.get("RANKLOOM_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    with playwright.sync_playwright() as driver:
        # A container has no user namespaces for the sandbox, and the page is our own.
        found = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return copied(tmp_path_factory.mktemp("page") / "c")


@pytest.fixture(scope="module")
def served(folder, browser):
    found = Served(folder, "--quiet", "--profiles")
    yield found
    assert found.stop() == 0


@pytest.fixture
def opened(browser, served):
    """Open the page as a new user; what it complains about fails the test."""
    contexts, complaints = [], []

    def open_page(path="/", context=None, address=served.address, **options):
        if context is None:
            options.setdefault("viewport", DESKTOP)
            context = browser.new_context(**options)
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.complaints = complaints
        page.goto(address + path)
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not [line for line in complaints if "ERR_CONNECTION_REFUSED" not in line]  # their server was stopped


def keep(page, name):
    """Keep a screenshot of the run."""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(250)
    page.screenshot(path=ARTEFACTS / f"{name}.png")


def until(page, expression):
    """Wait until something is true; Playwright's own waiting evaluates text, which the page's policy forbids."""
    for _ in range(300):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"it never came: {expression}")


def results(page):
    """The items of the tiles in the document, once no search runs and nothing moves."""
    page.wait_for_selector(".tile")
    until(page, "!document.querySelector('#view-search').classList.contains('searching')")
    running = "getAnimations({ subtree: true }).some((one) => one.playState === 'running')"
    until(page, f"!document.querySelector('#results').{running}")
    return page.evaluate("[...document.querySelectorAll('.tile')].map((tile) => Number(tile.dataset.id))")


def whole_order(page, item):
    """All results of an item as this user has them."""
    ask = """async (item) => {
      const body = JSON.stringify({ query: { examples: [{ item }] }, k: 1000 });
      const headers = { "X-Rankloom": "1", "Content-Type": "application/json" };
      const answer = await fetch("/api/search", { method: "POST", body, headers });
      return (await answer.json()).hits.map((hit) => hit.id);
    }"""
    return page.evaluate(ask, item)


def precision(order, same):
    """The average precision of an order."""
    places = [place for place, number in enumerate(order, 1) if number in same]
    return sum(found / place for found, place in enumerate(places, 1)) / len(places)


def api(served):
    return httpx.Client(base_url=served.address, headers=HEADER, timeout=300)


def picture_bytes():
    file = io.BytesIO()
    path = sorted((sample() / "pictures").glob("coast/*.jpg"))[0]
    Image.open(path).save(file, "PNG")
    return file.getvalue()


def doubtful(served):
    """An item whose first results are partly right: id, and the ids of the items that show the same."""
    names = labels()
    with api(served) as web:
        best = (9, 0, set())
        for item in range(1, 60):
            found = web.post("/api/search", json={"query": {"examples": [{"item": item}]}, "k": 160}).json()["hits"]
            kinds = {hit["id"]: names.get(hit["name"]) for hit in found}
            same = {number for number, kind in kinds.items() if kind is not None and kind == kinds.get(item)}
            right = sum(hit["id"] in same for hit in found[:8])
            if len(same) >= 4 and 2 <= right <= 5:
                best = min(best, (abs(right - 3), item, same), key=lambda one: one[:2])
            if best[0] == 0:
                break
    assert best[1], "no item with doubtful results"
    return best[1], best[2]


# Searching -----------------------------------------------------------------------------------------------------------


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
    expect(page.locator("#live")).to_contain_text("for “sea”")
    expect(page.locator(".status")).to_contain_text("result")
    tile = page.locator(".tile").first
    assert re.match(r"Result 1 of \d+, .+, score ", tile.get_attribute("aria-label"))
    keep(page, "search-light")
    page.fill("#text", '"zzqqxx"')
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("Nothing was found")
    page.go_back()
    assert results(page) == found


def drop(page, how):
    """Hand a picture to the page as a drop or a paste would."""
    page.evaluate(
        """([data, how]) => {
          const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
          const transfer = new DataTransfer();
          transfer.items.add(new File([bytes], "photo.png", { type: "image/png" }));
          const both = { bubbles: true, cancelable: true };
          const event = how === "drop" ? new DragEvent("drop", { dataTransfer: transfer, ...both })
            : new ClipboardEvent("paste", { clipboardData: transfer, ...both });
          document.body.dispatchEvent(event);
        }""",
        [base64.b64encode(picture_bytes()).decode(), how],
    )


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
    page.get_by_label("From", exact=True).fill("3000")
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("No item passes these filters")
    keep(page, "list-nothing-light")
    page.get_by_label("From", exact=True).fill("2024-02-31")
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("'2024-02-31' is no date; give 2024, 2024-05")
    keep(page, "bad-date-light")
    page.get_by_role("button", name="Clear the filters").click()
    page.wait_for_selector(".welcome")
    page.complaints[:] = [one for one in page.complaints if "422" not in one]


# Marking -------------------------------------------------------------------------------------------------------------


def test_marks_make_the_order_better(opened, served):
    item, same = doubtful(served)
    page = opened(f"/?x=i{item}")
    before, start = results(page), whole_order(page, item)
    assert start[:8] == before[:8]
    for number in before[:8]:
        tile = page.locator(f".tile[data-id='{number}']")
        tile.hover()
        tile.locator(".act.right" if number in same else ".act.wrong").click()
        expect(tile).to_have_class(re.compile("is-right" if number in same else "is-wrong"))
    assert results(page) == before, "nothing moves before it is asked for"
    expect(page.locator("#pill")).to_contain_text("8 changes")
    keep(page, "marked-light")
    page.click("#reorder")
    page.wait_for_selector("#pill", state="hidden")
    after = results(page)
    better = whole_order(page, item)
    assert better[:8] == after[:8] != before[:8]
    assert precision(better, same) > precision(start, same)
    right = [number for number in before[:8] if number in same]
    assert set(after[: len(right)]) == set(right)
    expect(page.locator("#live")).to_contain_text("moved up")
    expect(page.locator(".status")).to_contain_text("follows 8 marks")
    page.reload()
    assert results(page)[:8] == after[:8]
    assert page.locator(".tile.is-right").count() == len(right)
    page.click("#panel-toggle")
    page.click("#part-marks")
    expect(page.locator(".mark-list li")).to_have_count(8)
    page.locator(".mark-list li button").first.click()
    expect(page.locator(".mark-list li")).to_have_count(7)
    keep(page, "marks-light")


def test_a_mark_that_the_others_contradict_is_looked_at_again(opened):
    """The best twelve are right, the last twelve wrong; but one among the best is said to be wrong."""
    from axe_playwright_python.sync_playwright import Axe

    page = opened("/?x=i5")
    results(page)
    order = whole_order(page, 5)
    order.remove(5)
    slip = order[3]
    marks = [{"item": item, "grade": int(item != slip)} for item in order[:12]]
    marks += [{"item": item, "grade": 0} for item in order[-12:]]
    tell = """async (marks) => {
      const body = JSON.stringify({ query: { examples: [{ item: 5 }] }, marks });
      const headers = { "X-Rankloom": "1", "Content-Type": "application/json" };
      return (await fetch("/api/feedback", { method: "POST", body, headers })).ok;
    }"""
    assert page.evaluate(tell, marks)
    assert whole_order(page, 5).index(slip) < 14
    page.reload()
    results(page)
    page.click("#panel-toggle")
    page.click("#part-marks")
    expect(page.locator(".mark-list li")).to_have_count(24)
    first = page.locator(".mark-list li").first
    expect(first).to_contain_text("The other marks say otherwise: look again")
    expect(page.locator(".mark-list .doubt")).to_have_count(1)
    assert f"/{slip}/" in first.locator("img").get_attribute("src")
    for width, scheme in ((1280, "light"), (1280, "dark"), (360, "light")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        keep(page, f"contradicted-{width}-{scheme}")
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert not [one["help"] for one in found], (width, scheme)
    page.set_viewport_size({"width": 1280, "height": 800})
    first.get_by_role("button", name="Keep the mark").click()
    expect(page.locator(".mark-list .doubt")).to_have_count(0)
    expect(page.locator(".mark-list li")).to_have_count(24)
    assert whole_order(page, 5).index(slip) >= len(order) - 14  # a confirmed mark holds its item at the end
    undo = page.locator(".mark-list li", has=page.locator(f"img[src*='/{slip}/']")).get_by_role("button")
    undo.click()
    expect(page.locator(".mark-list .doubt")).to_have_count(1)
    page.locator(".mark-list li").first.get_by_role("button", name="Undo").click()
    expect(page.locator(".mark-list li")).to_have_count(23)
    expect(page.locator(".mark-list .doubt")).to_have_count(0)


def test_why_here_sums_to_the_score(opened):
    page = opened("/?q=sea&x=i5")
    results(page)
    page.locator(".tile").nth(1).focus()
    page.keyboard.press("e")
    line = page.locator(".sum")
    expect(line).to_contain_text("= the score")
    added, total = (float(line.get_attribute(f"data-{name}")) for name in ("sum", "total"))
    assert added == pytest.approx(total, abs=1e-6)
    groups = page.evaluate(
        """[...document.querySelectorAll(".bars > div > .bar .value, .bars > div > details > summary .value")]
          .map((one) => Number(one.dataset.value))"""
    )
    assert sum(groups) == pytest.approx(total, abs=1e-6)
    assert page.locator(".neighbours img").count() > 3
    keep(page, "why-light")
    page.get_by_role("button", name="Why is 1 above it?").click()
    expect(page.locator(".sum")).to_contain_text("= the difference")
    added, total = (float(line.get_attribute(f"data-{name}")) for name in ("sum", "total"))
    assert added == pytest.approx(total, abs=1e-6)


def shown_score(page):
    """The score in the head of the panel, once it is that of the answer with the parts."""
    line = page.locator(".sum")
    expect(line).to_be_visible()
    added, total = (float(line.get_attribute(f"data-{name}")) for name in ("sum", "total"))
    head = page.locator(".why-head [data-score]")
    assert float(head.get_attribute("data-score")) == total == pytest.approx(added, abs=1e-6)
    assert head.inner_text().startswith(f"score {total:.3f}")
    return total


def test_why_here_right_after_a_mark(opened):
    page = opened("/?x=i5")
    results(page)
    page.locator(".tile").nth(3).focus()
    page.keyboard.press("e")
    before = shown_score(page)
    page.keyboard.press("r")
    expect(page.locator(".bar .label").filter(has_text="Your marks")).to_be_visible()
    after = shown_score(page)
    assert after > before + 1
    expect(page.locator(".why-head")).to_contain_text(f"{before:.3f} in the order shown")
    expect(page.locator(".bar .label").filter(has_text="Like your pictures")).to_be_visible()
    keep(page, "why-after-mark-light")
    other = page.locator(".tile").nth(5)  # whose score the mark has changed, too
    other.focus()
    expect(page.locator(".why-head .place")).to_have_text("Result 6")
    assert shown_score(page) != pytest.approx(float(other.locator(".score").inner_text()), abs=1e-3)
    expect(page.locator(".why-head")).to_contain_text("in the order shown")
    page.locator(".tile").nth(3).focus()
    expect(page.locator(".why-head .place")).to_have_text("Result 4")
    assert shown_score(page) == pytest.approx(after, abs=1e-6)
    page.keyboard.press("u")
    expect(page.locator(".bar .label").filter(has_text="Your marks")).to_have_count(0)
    assert shown_score(page) == pytest.approx(before, abs=1e-6)


def test_compare_and_export_follow_the_filter_on_neighbours(opened):
    page = opened("/?x=i5&plain=1")
    results(page)
    bodies = []
    page.on("request", lambda request: bodies.append((request.url.rsplit("/", 1)[1], request.post_data)))
    page.locator(".tile").nth(1).focus()
    page.keyboard.press("e")
    page.get_by_role("button", name="Why is 1 above it?").click()
    expect(page.locator(".sum")).to_contain_text("= the difference")
    page.get_by_role("button", name="Export").click()
    with page.expect_download():
        page.get_by_role("button", name="CSV").first.click()
    sent = {name: json.loads(body) for name, body in bodies if name in ("explain", "compare", "export")}
    assert {name: body["diffusion"] for name, body in sent.items()} == dict.fromkeys(sent, False)
    assert len(sent) == 3


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


def test_a_deleted_file_is_said_to_be_gone(opened, tmp_path):
    pictures = tmp_path / "shots"
    pictures.mkdir()
    for number, path in enumerate(sorted((sample() / "pictures").glob("coast/*.jpg"))[:3]):
        shutil.copy(path, pictures / f"sea {number}.jpg")
    with Collection(tmp_path / "c", create=True) as collection:
        index(collection, [pictures], preset="fast", workers=0)
    (pictures / "sea 1.jpg").unlink()
    served = Served(tmp_path / "c", "--quiet")
    try:
        page = opened("/?q=sea", address=served.address)
        results(page)
        page.locator(".tile", has_text="sea 1.jpg").or_(page.locator(".tile[data-id='2']")).first.click()
        pane = page.locator("#viewer .gone")
        expect(pane).to_contain_text("This file is gone")
        expect(pane).to_contain_text("shots/sea 1.jpg")
        until(page, "document.querySelector('#viewer .gone img')?.naturalWidth > 0")
        assert page.locator("#viewer a").count() == 0
        keep(page, "gone-light")
        page.keyboard.press("Escape")
        expect(page.locator(".tile.is-gone")).to_have_count(1)  # its small picture is there, and says so, too
        assert "its file is gone" in page.locator(".tile.is-gone").get_attribute("aria-label")
        keep(page, "gone-tile-light")
    finally:
        served.stop()
    page.complaints[:] = [one for one in page.complaints if "404" not in one]


def test_one_judged_search_explains_what_is_missing(opened, tmp_path):
    served = Served(copied(tmp_path / "c"), "--quiet")
    try:
        page = opened("/?tab=learning", address=served.address)
        expect(page.locator(".notice")).to_contain_text("No search is judged yet")
        for search, points in (("/?x=i5", 0), ("/?q=sea", 2)):
            page.goto(served.address + search)
            results(page)
            page.locator(".tile").nth(1).focus()
            for key in ("r", "ArrowRight", "w"):
                page.keyboard.press(key)
            expect(page.locator(".tile.is-wrong")).to_have_count(1)
            page.wait_for_load_state("networkidle")
            page.click("#tab-learning")
            page.wait_for_selector(".weights")
            keep(page, f"learning-{points}-light")
            expect(page.locator(".point.learned")).to_have_count(points)
            if not points:
                expect(page.locator(".notice")).to_contain_text("One search is judged: the next one can be compared")
                expect(page.locator(".notice")).to_contain_text(
                    re.compile(r"The first was a picture: .* [01]\.\d\d of 1")
                )
        expect(page.locator(".lead")).to_contain_text("the mean over 2 judged searches")
        page.get_by_text("The numbers", exact=True).click()
        assert page.locator("tbody tr td:first-child").all_inner_texts()[:2] == ["a picture", "“sea”"]
    finally:
        served.stop()


def test_the_focus_ring_stays_below_the_search_box(opened):
    page = opened("/?x=i5", reduced_motion="reduce")
    results(page)
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".tile:focus-visible")).to_have_count(1)
    head = "document.querySelector('.search-head').getBoundingClientRect()"
    page.evaluate(f"scrollBy(0, document.activeElement.getBoundingClientRect().top - {head}.bottom / 2)")
    page.wait_for_timeout(250)
    height = page.evaluate(f"{head}.bottom")
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") < height
    clip = {"x": 0, "y": 0, "width": DESKTOP["width"], "height": height}
    keep(page, "ring-light")
    focused = page.screenshot(clip=clip)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(250)
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


# Around it -----------------------------------------------------------------------------------------------------------


def test_two_windows_of_one_user(opened):
    first = opened("/?x=i7")
    found = results(first)
    second = opened("/?x=i7", context=first.context)
    assert results(second) == found
    first.locator(".tile").nth(2).focus()
    first.keyboard.press("r")
    expect(second.locator(f".tile[data-id='{found[2]}']")).to_have_class(re.compile("is-right"))
    assert results(second) == found
    second.click("#reorder")
    second.wait_for_selector("#pill", state="hidden")
    assert results(second)[0] == found[2]
    other = opened("/?x=i7")  # another user
    assert other.locator(".tile.is-right").count() == 0


def test_server_restarted_in_the_middle(opened, tmp_path):
    folder = copied(tmp_path / "c")
    served = Served(folder, "--quiet")
    page = opened("/?x=i7", address=served.address)
    found = results(page)
    port = served.port
    served.stop()
    page.locator(".tile").nth(1).focus()
    page.keyboard.press("r")
    expect(page.locator("#banner")).to_contain_text("does not answer")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("w")
    keep(page, "server-away")
    served = Served(folder, "--quiet", port=port)
    try:
        expect(page.locator("#banner")).to_be_hidden()
        expect(page.locator(".tile.is-right")).to_have_count(1)
        page.keyboard.press("n")
        page.wait_for_selector("#pill", state="hidden")
        assert results(page)[0] == found[1]
    finally:
        served.stop()
    with Collection(folder) as collection:
        assert sorted((int(one.id), one.grade) for one in collection.marks()) == sorted(
            [(found[1], 1.0), (found[2], 0.0)]
        )
    page.complaints[:] = [one for one in page.complaints if "ERR_" not in one]


def test_two_collections_in_turn_on_one_port(opened, tmp_path):
    """A browser shows no picture that it kept of the other, and marks nothing there."""
    first, second = copied(tmp_path / "first"), tmp_path / "second"
    (tmp_path / "p").mkdir()
    for number in range(4):
        Image.new("RGB", (80, 60), (60 * number, 200, 30)).save(tmp_path / "p" / f"{number}.png")
    with Collection(second, create=True) as collection:
        index(collection, [tmp_path / "p"], preset="fast", workers=0)
        shown = [collection.thumbnail(item) for item in range(1, 5)]
    served = Served(first, "--quiet")
    page = opened("/?x=i1", address=served.address)
    results(page)
    port = served.port
    served.stop()
    page.locator(".tile").nth(1).focus()
    page.keyboard.press("r")
    expect(page.locator("#banner")).to_contain_text("does not answer")
    served = Served(second, "--quiet", port=port)
    try:
        expect(page.locator("#banner")).to_be_hidden()
        expect(page.locator(".toast", has_text="another collection").first).to_be_visible()
        later = opened("/?x=i1", context=page.context, address=served.address)
        assert sorted(results(later)) == [1, 2, 3, 4]
        sources = "(tile) => [Number(tile.dataset.id), tile.querySelector('img').src]"
        read = "async (source) => [...new Uint8Array(await (await fetch(source)).arrayBuffer())]"
        for item, source in later.evaluate(f"[...document.querySelectorAll('.tile')].map({sources})"):
            assert bytes(later.evaluate(read, source)) == shown[item - 1]
        keep(later, "second-collection")
    finally:
        served.stop()
    with Collection(second) as collection:
        assert not collection.marks()
    page.complaints[:] = [one for one in page.complaints if "ERR_" not in one and "409" not in one]


def test_saved_searches_concepts_and_export(opened):
    page = opened("/?q=sea")
    results(page)
    page.get_by_role("button", name="Saved").click()
    page.get_by_label("Name for this search").fill("by the sea")
    page.get_by_role("button", name="Save this").click()
    for number in range(3):
        page.locator(".tile").nth(number).focus()
        page.keyboard.press("r")
    expect(page.locator(".tile.is-right")).to_have_count(3)
    page.click("#panel-toggle")
    page.click("#part-concepts")
    page.get_by_label("Name of the new concept").fill("water")
    page.click("#part-concepts")  # drawn again, as when marks come in
    page.wait_for_load_state("networkidle")
    expect(page.get_by_label("Name of the new concept")).to_have_value("water")
    page.get_by_role("button", name="Make from 3 right marks").click()
    page.get_by_role("button", name="Rank everything by water").click()
    expect(page.locator(".chip")).to_contain_text("concept: water")
    results(page)
    page.get_by_role("button", name="Saved").click()
    page.get_by_role("button", name=re.compile("^by the sea")).click()
    page.wait_for_url("**/?q=sea")
    results(page)
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").first.click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith("rank,id,name")
    page.click("#part-experts")
    page.locator(".experts summary").first.click()
    page.locator(".experts .lock").first.click()
    expect(page.locator(".experts .lock").first).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Back to the start").click()
    expect(page.locator(".experts .lock").first).to_have_attribute("aria-pressed", "false")


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
    page.locator(".strip button").nth(3).click()
    expect(page.locator(".strip button").nth(3)).to_have_attribute("aria-current", "true")
    expect(page.locator(".strip [aria-current]")).to_have_count(1)
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


def test_the_demo_leads_to_a_better_ranking(opened, tmp_path):
    """From nothing: the command that a newcomer types, its page, a search, ten marks."""
    served = Served(tmp_path, "--pictures", "117", "--seconds", "200", command="demo")
    try:
        with open(tmp_path / "pictures" / "labels.csv", encoding="utf-8") as file:
            kinds = {Path(row["path"]).name: row["label"] for row in csv.DictReader(file)}
        page = opened(address=served.address)
        page.fill("#text", "sea")
        page.keyboard.press("Enter")
        found = results(page)
        name = "async (id) => (await (await fetch(`/api/items/${id}`)).json()).files[0].name"
        right = [kinds.get(page.evaluate(name, number)) == "sunset" for number in found[:10]]
        assert 0 < sum(right) < len(right), "the search has something to learn"
        page.keyboard.press("ArrowDown")
        for good in right:
            page.keyboard.press("r" if good else "w")
            page.keyboard.press("ArrowRight")
        expect(page.locator(".tile.is-right")).to_have_count(sum(right))
        keep(page, "demo-marked")
        page.keyboard.press("n")
        page.wait_for_selector("#pill", state="hidden")
        after = [kinds.get(page.evaluate(name, number)) == "sunset" for number in results(page)[:10]]
        keep(page, "demo-better")
        assert precision([*range(10)], {i for i, good in enumerate(after) if good}) == 1.0 or sum(after) > sum(right)
    finally:
        served.stop()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_without_violations(opened, served, scheme):
    from axe_playwright_python.sync_playwright import Axe

    axe, found = Axe(), []
    every = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    rules = every if scheme == "light" else ["color-contrast"]  # nothing else depends on the colours

    def audit(page, name):
        page.wait_for_timeout(250)  # transitions of colours have ended
        answer = axe.run(page, options={"runOnly": rules, "resultTypes": ["violations"]})
        for one in answer.response["violations"]:
            nodes = [node["html"][:160] for node in one["nodes"][:3]]
            found.append(f"{name}: {one['id']} ({one['help']}): {nodes}")

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


def test_token_and_read_only(opened, browser, folder):
    served = Served(folder, "--quiet", "--read-only", env={"RANKLOOM_TOKEN": "a-token-for-this-test"})
    try:
        context = browser.new_context(viewport=DESKTOP)
        page = context.new_page()
        page.goto(f"{served.address}/?q=sea")
        page.get_by_role("textbox", name="Token").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#token .error")).to_contain_text("not the token")
        page.get_by_role("textbox", name="Token").fill("a-token-for-this-test")
        page.keyboard.press("Enter")
        results(page)
        assert page.locator(".act.right").count() == 0
        context.close()
    finally:
        served.stop()

"""The page that helps: suggestions, languages, the row Advanced, the way around the demo; its start, small windows."""

from __future__ import annotations

import json
import re

import httpx2 as httpx
import pytest

from rankloom.server.page import STATIC
from tests.server.pages import DESKTOP, PHONE, VIEWS, audit, expect, keep, results, serving, still, until
from tests.serving import HEADER, copied
from tests.waiting import LONG

pytestmark = pytest.mark.browser
ENGLISH = set(json.loads((STATIC / "messages" / "de.json").read_text(encoding="utf-8")))
SHARED = {"Name", "Album", "Status", "Text", "Token", "Wavelets", "Ctrl+A", "{n} ms", "{n} s"}  # the same in German
SEEN = """() => {
  const texts = [], shown = (one) => one.checkVisibility() && !one.closest(".card, .caption, kbd, option");
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (shown(node.parentElement)) texts.push(node.textContent.trim());
  }
  for (const one of document.querySelectorAll("[aria-label], [placeholder], [title]")) {
    if (shown(one)) for (const name of ["aria-label", "placeholder", "title"]) texts.push(one.getAttribute(name) ?? "");
  }
  return texts.filter(Boolean);
}"""


def offers(page):
    return page.locator("#offers [role=option]")


def test_the_box_offers_words_and_names(opened, served):
    with httpx.Client(base_url=served.address, headers=HEADER, timeout=LONG) as web:
        assert web.post("/api/items/tags", json={"items": [1, 2], "add": ["Lighted Windows"]}).status_code == 200
        # While one request reads the tags again, others are answered with those of before.
        assert "Lighted Windows" in web.get("/api/suggest", params={"prefix": "lig"}).text
    page = opened()
    box = page.get_by_role("combobox", name="Words to search for")
    assert page.locator("#offers").is_hidden()
    box.click()
    expect(offers(page)).to_have_text(re.compile("Ways to search"))  # there are no recent searches
    page.keyboard.type("sea lig")
    expect(offers(page).first).to_have_text("light")
    late, last = [], re.compile("/api/suggest.*ligh$")
    page.route(last, lambda route: late.append(route))
    with page.expect_request(last):
        page.keyboard.type("h")
    assert box.get_attribute("aria-expanded") == "true"
    expect(page.get_by_role("group", name="Tags").get_by_role("option")).to_contain_text("Lighted Windows")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#offers [aria-selected=true]")
    expect(chosen).to_have_text("lighthouse")
    assert box.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    assert page.evaluate("document.activeElement.id") == "text"
    with page.expect_response(last) as answer:
        late[0].continue_()
    answer.value.finished()
    page.unroute(last)
    page.wait_for_timeout(100)  # in which the list could be drawn again
    expect(chosen).to_have_text("lighthouse")  # what somebody has reached stays, whatever comes late
    audit(page, "offers-light")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(re.escape("q=sea+lighthouse")))
    found = results(page)
    expect(page.locator("#offers")).to_be_hidden()
    page.keyboard.press("ArrowDown")  # as before: the results
    assert page.evaluate("document.activeElement.dataset.id") == str(found[0])
    box.fill("ligh")
    page.get_by_role("option", name="Lighted Windows").click()
    expect(page).to_have_url(re.compile(re.escape("/?tag=Lighted+Windows")))
    assert sorted(results(page)) == [1, 2]
    box.click()
    box.fill("lig")
    expect(offers(page).first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#offers")).to_be_hidden()
    assert box.input_value() == "lig"
    page.keyboard.press("Escape")
    assert box.input_value() == ""
    box.fill("lighthose")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Did you mean “lighthouse”?").click()
    expect(page).to_have_url(re.compile(re.escape("q=lighthouse")))
    page.locator("#clear").click()
    assert box.input_value() == ""
    page.keyboard.press("Alt+ArrowDown")
    expect(page.get_by_role("group", name="Recent searches").get_by_role("option")).to_have_text(
        ["lighthose", "sea lighthouse", "Forget these searches"]
    )
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("#keys")).to_contain_text("words that begin so")
    audit(page, "help-light")
    page.keyboard.press("Escape")
    box.click()
    page.get_by_role("option", name="Forget these searches").click()
    assert page.evaluate("localStorage.getItem('searches')") is None
    phone = opened("/?q=sea", viewport=PHONE, has_touch=True, is_mobile=True, color_scheme="dark")
    results(phone)
    phone.tap("#text")
    expect(offers(phone).first).to_be_visible()
    audit(phone, "offers-phone-dark")
    offers(phone).first.tap()
    expect(phone.locator("#offers")).to_be_hidden()


def english(page):
    """Texts that the reader sees in English though there is a message."""
    return {text for text in page.evaluate(SEEN) if text in ENGLISH} - SHARED


def test_the_page_speaks_the_readers_language(opened):
    page = opened("/?q=sea", locale="de-DE")
    results(page)
    assert page.evaluate("document.documentElement.lang") == "de"
    expect(page.locator(".status")).to_contain_text(re.compile(r"\d haben diese Wörter"))
    expect(page.locator("#live")).to_contain_text("„sea“: ")
    label = page.locator(".tile").first.get_attribute("aria-label")
    assert re.match(r"Ergebnis 1 von \d+, .+, Punkte 0,\d{3}$", label), label
    page.click("#panel-toggle")
    page.click("#part-experts")
    expect(page.locator(".experts")).to_contain_text("Was es zeigt")
    assert not english(page)
    keep(page, "german-light")
    page.goto(page.url.split("?")[0] + "?sort=oldest")
    page.wait_for_selector(".card img")
    month = page.evaluate(
        """async () => {
          const { groups } = await (await fetch("/api/browse/months?sort=oldest")).json();
          return new Date(`${groups[0].month}-15`).toLocaleDateString("de", { year: "numeric", month: "long" });
        }"""
    )
    expect(page.locator(".row.month div").first).to_have_text(month)
    assert not english(page)
    page.goto(page.url.split("?")[0] + "?after=bald")
    expect(page.locator(".notice")).to_contain_text("'bald' ist kein Datum; möglich sind 2024")
    page.complaints.clear()
    page.get_by_role("button", name="Filter entfernen").click()
    page.wait_for_selector(".card img")
    page.click("#help")
    assert not english(page)
    page.get_by_label("Sprache").select_option("zh")
    page.wait_for_selector("html[lang=zh] body[data-ready]")
    page.wait_for_selector(".card img")
    expect(page.locator("#tab-search")).to_have_text("搜索")
    assert any(re.match(r"\d{4}年\d+月$", month) for month in page.locator(".row.month div").all_text_contents())
    assert not english(page)
    audit(page, "chinese-light")
    page.click("#help")
    page.get_by_label("语言").select_option("")
    page.wait_for_selector("html[lang=de] body[data-ready]")


def test_advanced_options_are_sent_and_kept(opened):
    page = opened("/?q=sea")
    before = results(page)
    bodies = []
    page.on("request", lambda asked: bodies.append(asked.post_data_json) if asked.url.endswith("/search") else None)
    page.click("#advanced-toggle")
    row = page.locator("#advanced")
    assert row.get_by_label("Mixed with").is_hidden()  # there is no model
    row.get_by_label("Only the best of near copies").check()
    results(page)
    row.get_by_label("Reranking by looks").select_option("visual_rank")
    results(page)
    row.get_by_label("Variety").fill("0.5")
    results(page)
    row.get_by_label("Neighbours count").uncheck()
    expect(page).to_have_url(re.compile(re.escape("plain=1")))
    results(page)
    query = bodies[-1].pop("query")
    assert query["text"] == "sea"
    chosen = {"collapse": True, "method": "visual_rank", "diversity": 0.5, "diffusion": False}
    assert bodies[-1] == {**chosen, "order": "score", "k": 200}
    expect(page.locator("#advanced-toggle")).to_have_text("Advanced (4)")
    page.reload()
    results(page)
    expect(row.get_by_label("Reranking by looks")).to_have_value("visual_rank")
    assert {name: bodies[-1][name] for name in chosen} == chosen
    page.locator(".tile").first.focus()
    page.keyboard.press("e")
    expect(page.locator(".sum")).to_contain_text("= the score")
    audit(page, "advanced-light")
    row.get_by_role("button", name="As usual").click()
    expect(page).to_have_url(re.compile(re.escape("/?q=sea")))
    now = results(page)  # the panel takes some of the room
    assert now == before[: len(now)]
    assert {"collapse", "method", "diversity"}.isdisjoint(bodies[-1])


@pytest.mark.parametrize("kind", ["desktop", "phone"])
def test_the_demo_shows_around(opened, tmp_path, kind):
    options = {"viewport": DESKTOP}
    if kind == "phone":
        options = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "color_scheme": "dark"}
    with serving(copied(tmp_path / "c"), demo=True) as address:
        page = opened(address=address, **options)
        card = page.locator("#tour")
        expect(card).to_contain_text("1 of 3")
        page.wait_for_selector(".card img")
        audit(page, f"tour-{kind}")
        card.get_by_role("button", name="Search for “sea”").click()
        expect(card).to_contain_text("2 of 3")
        for place, (mark, said) in enumerate(
            [("right", "3 more"), ("wrong", "2 more"), ("right", "One more"), ("wrong", "enough to learn from")]
        ):
            tile = page.locator(".tile").nth(place)
            tile.hover()
            tile.locator(f".act.{mark}").click()
            expect(card).to_contain_text(said)
        until(page, "document.querySelectorAll('.is-right, .is-wrong').length === 4")
        card.get_by_role("button", name="Show the new order").click()
        expect(card).to_contain_text("3 of 3")
        results(page)
        keep(page, f"tour-end-{kind}")
        if kind == "phone":
            card.get_by_role("button", name="Why this order").click()
            expect(page.locator(".bars")).to_contain_text("Your marks")
        else:
            card.get_by_role("button", name="What the experts learned").click()
            expect(page.locator(".experts .hint")).to_contain_text("Learned from 4 marks")
        expect(card).to_be_hidden()
        page.reload()
        results(page)
        assert card.is_hidden()  # it was seen
        page.click("#help")
        page.get_by_role("button", name="Show me around").click()
        expect(card).to_contain_text("2 of 3")  # there are results already
        card.get_by_role("button", name="Skip the first steps").click()
        expect(card).to_be_hidden()


def test_it_starts_well(opened, browser, served):
    """The frame is painted before any script has come, nothing moves when results come, and little is loaded."""
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    held, order = [], []
    page.on("request", lambda asked: order.append(asked.url.rsplit(".", 1)[-1]))
    page.route("**/js/*.js", lambda route: held.append(route))
    page.goto(served.address, wait_until="commit")
    until(page, "performance.getEntriesByName('first-contentful-paint').length === 1")
    assert page.locator(".skeleton").is_visible()
    assert page.locator("#text").is_visible()
    assert page.evaluate("document.body.dataset.ready") is None
    assert len(held) == 1
    assert order.index("css") < order.index("js")
    keep(page, "skeleton-light")
    page.evaluate(
        """() => {
          window.moved = 0;
          const add = (list) => { for (const one of list.getEntries()) window.moved += one.value; };
          new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
        }"""
    )
    for route in held:
        route.continue_()
    page.unroute("**/js/*.js")
    results(page)
    page.wait_for_selector(".card img")
    still(page)
    expect(page.locator(".skeleton")).to_have_count(0)
    assert page.evaluate("window.moved") < 0.02
    context.close()
    page = opened(cached=False)
    results(page)
    loaded = page.evaluate(
        """[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
          .filter((one) => !one.name.includes("/thumbnail")).map((one) => [one.name, one.transferSize])"""
    )
    assert all(name.startswith(served.address) for name, _ in loaded)
    assert len(loaded) <= 14
    assert sum(size for _, size in loaded) < 250_000  # of which 50,000 are 200 items
    manifest = page.evaluate("async () => (await fetch(document.querySelector('link[rel=manifest]').href)).json()")
    assert (manifest["start_url"], manifest["display"]) == ("/", "standalone")
    sizes = page.evaluate(
        """async (icons) => {
          const base = document.querySelector("link[rel=manifest]").href;
          return Promise.all(icons.map(async ({ src, type }) => {
            const answer = await fetch(new URL(src, base));
            return answer.ok && answer.headers.get("content-type").startsWith(type);
          }));
        }""",
        manifest["icons"],
    )
    assert sizes == [True] * 4
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    session = page.context.new_cdp_session(page)
    assert session.send("Page.getAppManifest")["errors"] == []
    errors = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert {error["errorId"] for error in errors} <= {"in-incognito"}  # a test has no profile


SMALL = """() => [...document.querySelectorAll("button, select, input, a, summary, [role=option]")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .map((one) => [one.closest("label.check") ?? one, one])
  .filter(([box]) => {
    const { width, height } = box.getBoundingClientRect();
    return width > 1 && (width < 24 || height < 24);
  })
  .map(([, one]) => one.outerHTML.slice(0, 120))"""
MAIN = "#go, #text, #reorder, .offer"


def test_it_fits_small_windows_fingers_and_large_letters(opened, served):
    touch = {"has_touch": True, "is_mobile": True}
    page = opened("/?q=sea", viewport=PHONE, **touch)
    results(page)
    for place, act in enumerate((".act.right", ".act.wrong")):
        page.locator(".tile").nth(place).locator(act).tap()
    page.wait_for_selector("#reorder")
    page.tap("#text")
    page.wait_for_selector(".offer")
    heights = page.evaluate(
        "(main) => [...document.querySelectorAll(main)].map((one) => one.getBoundingClientRect().height)", MAIN
    )
    assert len(heights) > 3
    assert min(heights) >= 44
    for view in VIEWS:
        page.goto(f"{served.address}/?q=sea&tab={view}" if view != "search" else f"{served.address}/?q=sea")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, view
        assert page.evaluate(SMALL) == [], view
    large = opened("/?q=sea", viewport=DESKTOP)
    for view in VIEWS:
        large.goto(f"{served.address}/?q=sea&tab={view}" if view != "search" else f"{served.address}/?q=sea")
        large.wait_for_load_state("networkidle")
        large.evaluate("document.documentElement.style.fontSize = '200%'")
        still(large)
        keep(large, f"large-letters-{view}")
        assert large.evaluate("document.documentElement.scrollWidth") <= 1280, view
        cut = large.evaluate(
            """[...document.querySelectorAll("button, h1, h2, h3, p, label, .status span")]
              .filter((one) => one.checkVisibility() && !one.closest(".tile, .unseen, .cards")
                && one.scrollWidth > one.clientWidth + 2 && getComputedStyle(one).overflowX === "hidden"
                && one.clientWidth > 1).map((one) => one.outerHTML.slice(0, 120))"""
        )
        assert cut == [], view

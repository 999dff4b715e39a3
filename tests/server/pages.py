"""What the tests of the page share: one way to wait, to look, and to check that everybody can use what is shown."""

from __future__ import annotations

import base64
import io
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image

from tests.serving import listening, sample

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
PATIENT = 120.0  # seconds: a busy machine is slow, not wrong, but a failure should be known in minutes
expect.set_options(timeout=1000 * PATIENT)

ARTEFACTS = os.environ.get("RANKLOOM_ARTEFACTS")  # the folder in which screenshots of a run are kept
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
VIEWS = ("search", "albums", "places", "learning", "models", "collection")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
STORED = "local_storage,indexeddb,service_workers,cache_storage,file_systems"


def chromium() -> str:
    """The browser of this system; in CI it must be there."""
    found = os.environ.get("RANKLOOM_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        reason = "no Chromium: install it (apt install chromium) or name one in RANKLOOM_CHROMIUM"
        if os.environ.get("CI") or os.environ.get("RANKLOOM_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


class Users:
    """New users of one server: the browser forgets who was there before, but not the modules that it has loaded."""

    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        self._idle: dict[str, list] = {}
        self._busy: list = []

    def come(self, **options):
        """A context of the browser with these options in which nobody was."""
        kind = repr(sorted(options.items()))
        if idle := self._idle.get(kind):
            context, blank = idle.pop()
        else:
            context = self.browser.new_context(**options)
            blank = context.new_page()  # keeps the window open; a new one is dear
        self._busy.append((kind, context, blank))
        return context

    def leave(self):
        """All go; what the browser knows of them goes with them."""
        for kind, context, blank in self._busy:
            for page in context.pages:
                if page is not blank:
                    page.close()
            context.clear_cookies()
            context.clear_permissions()
            session = context.new_cdp_session(blank)
            session.send("Storage.clearDataForOrigin", {"origin": self.address, "storageTypes": STORED})
            session.detach()
            self._idle.setdefault(kind, []).append((context, blank))
        self._busy.clear()


@contextmanager
def serving(folder, **options):
    """The address of a server of a collection in this process, which starts sooner than one of its own."""
    with listening(folder, **options) as (_, port):
        yield f"http://127.0.0.1:{port}"


def still(page):
    """Wait until no colour and no place is on its way to another."""
    ends = "one.effect.getComputedTiming().endTime !== Infinity"
    until(page, f"!document.getAnimations().some((one) => one.playState === 'running' && {ends})")


def keep(page, name):
    """Keep a screenshot of the run, where one is wanted."""
    if ARTEFACTS:
        still(page)
        page.screenshot(path=Path(ARTEFACTS) / f"{name}.png")


def until(page, expression):
    """Wait until something is true; Playwright's own waiting evaluates text, which the page's policy forbids."""
    wait_for(page, lambda: page.evaluate(expression), expression)


def wait_for(page, happened, what=None):
    """Wait until a function gives something that is true, while the page goes on, and return that."""
    end = time.monotonic() + PATIENT
    while not (value := happened()):
        assert time.monotonic() < end, f"it never came: {what or happened}"
        page.wait_for_timeout(50)
    return value


def results(page):
    """The items of the tiles in the document, once no search runs and nothing moves."""
    page.wait_for_selector(".tile")
    until(page, "!document.querySelector('#view-search').classList.contains('searching')")
    running = "getAnimations({ subtree: true }).some((one) => one.playState === 'running')"
    until(page, f"!document.querySelector('#results').{running}")
    return page.evaluate("[...document.querySelectorAll('.tile')].map((tile) => Number(tile.dataset.id))")


def violations(page, rules=RULES):
    """What is not accessible, once nothing moves: the rules, with the beginnings of what breaks them."""
    from axe_playwright_python.sync_playwright import Axe

    still(page)
    answer = Axe().run(page, options={"runOnly": rules, "resultTypes": ["violations"]})
    return [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in answer.response["violations"]]


def audit(page, *names):
    """The page has no violation; keeps a screenshot of each of its states."""
    for name in names:
        keep(page, name)
    found = violations(page)
    assert not found, f"{names}: {found}"


def ask(page, path):
    """What the server answers to this user."""
    return page.evaluate("async (path) => (await fetch(path)).json()", path)


def picture_bytes():
    file = io.BytesIO()
    path = sorted((sample() / "pictures").glob("coast/*.jpg"))[0]
    Image.open(path).save(file, "PNG")
    return file.getvalue()


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

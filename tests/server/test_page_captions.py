"""Captions are added, faces grouped and sidecars taken with the page alone, by keys and by touch."""

from __future__ import annotations

import pytest

from rankloom.collection import Collection
from rankloom.collection.organizing import set_caption
from tests.server.pages import PHONE, audit, expect, serving

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def by_keys(page, button):
    """Choose a button without a pointer."""
    button.focus()
    expect(button).to_be_focused()
    page.keyboard.press("Enter")


def test_by_keys_alone(opened, own_folder, tmp_path):
    with serving(own_folder) as address:
        page = opened("/?tab=collection", address=address)
        name = page.evaluate("async () => (await (await fetch('/api/items/3')).json()).files[0].name")
        table = tmp_path / "captions.csv"
        table.write_text(f"path,caption\n{name},a quixotic kite\nnowhere.jpg,lost\n", encoding="utf-8")
        by_keys(page, page.get_by_role("button", name="Add captions…"))
        sheet = page.locator("#sheet")
        expect(sheet.get_by_label("A CSV or TSV file")).to_be_focused()
        sheet.get_by_label("A CSV or TSV file").set_input_files(table)
        by_keys(page, sheet.get_by_role("button", name="Add", exact=True))
        expect(sheet).to_contain_text("Rows that matched: 1 of 2. Files with captions now: 1.")
        expect(sheet.locator(".problems")).to_have_text("nowhere.jpg")
        audit(page, "captions-light")
        page.keyboard.press("Escape")
        page.close()


def test_by_touch_on_a_phone(opened, own_folder):
    with serving(own_folder) as address:
        page = opened("/?tab=collection", address=address, viewport=PHONE, color_scheme="dark", has_touch=True)
        page.get_by_role("button", name="Add captions…").tap()
        expect(page.get_by_label("A CSV or TSV file")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        audit(page, "captions-phone-dark")
        page.locator("#sheet").get_by_role("button", name="Cancel").tap()
        page.get_by_role("button", name="Check the collection").tap()
        expect(page.locator(".upkeep .good")).to_contain_text("Everything was in order")
        page.close()


def test_faces_and_sidecars_by_keys_alone(opened, own_folder):
    with Collection(own_folder) as collection:
        set_caption(collection, 3, "the old bridge")
    with serving(own_folder) as address:
        page = opened("/?tab=collection", address=address)
        by_keys(page, page.get_by_role("button", name="Group faces by person"))
        expect(page.get_by_role("button", name="Look at faces again")).to_be_visible()
        by_keys(page, page.get_by_role("button", name="Stop grouping faces…"))
        expect(page.locator("#sheet")).to_contain_text("Stop grouping faces?")
        audit(page, "faces-light")
        page.keyboard.press("Escape")
        expect(page.locator("#sheet")).to_be_hidden()
        page.goto(f"{address}/")
        by_keys(page, page.get_by_role("button", name="Export"))
        with page.expect_download() as taken:
            by_keys(page, page.get_by_text("XMP: captions, tags and stars as sidecars"))
        assert taken.value.suggested_filename.endswith(".zip")
        page.close()

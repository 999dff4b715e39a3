"""Servers of the sample collection, and browsers that look at them."""

from types import SimpleNamespace

import pytest

from tests.serving import folder, own, own_folder, web  # noqa: F401


@pytest.fixture(scope="module")
def browser():
    from tests.server.pages import chromium, playwright

    path = chromium()
    with playwright.sync_playwright() as driver:
        # A container has no user namespaces for the sandbox, and the page is our own.
        found = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def served(folder, browser):  # noqa: F811
    """A server of `folder` for everybody who comes."""
    from tests.server.pages import serving

    with serving(folder, profiles=True) as address:
        yield SimpleNamespace(address=address)


@pytest.fixture(scope="module")
def users(browser, served):
    from tests.server.pages import Users

    return Users(browser, served.address)


@pytest.fixture
def opened(browser, request):
    """Open the page as a new user; what it complains about fails the test.

    A user of another server than `served`, or one who comes with an empty cache, gets a context of their own.
    """
    from tests.server.pages import DESKTOP, PATIENT

    contexts, complaints, came = [], [], set()

    def open_page(
        path="/", context=None, address=None, *, cached=True, viewport=DESKTOP, color_scheme="light", **options
    ):
        if context is None and address is None and cached:
            users = request.getfixturevalue("users")
            came.add(users)
            context = users.come(**options)
        elif context is None:
            context = browser.new_context(**options)
            contexts.append(context)
        page = context.new_page()
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme)
        page.set_default_timeout(1000 * PATIENT)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.complaints = complaints
        page.goto((address or request.getfixturevalue("served").address) + path)
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_page
    for users in came:
        users.leave()
    for context in contexts:
        context.close()
    assert not [line for line in complaints if "ERR_CONNECTION_REFUSED" not in line]  # their server was stopped

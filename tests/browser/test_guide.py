"""The guide as readers see it: on telephones and desks, light and dark, from a disk, offline."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.chromium import running_chromium

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
LOOKED_AT = {"index.html", "forms.html", "ask.html", "python.html", "promises.html"}


@pytest.fixture(scope="module")
def pages(guide):
    place, _ = guide
    return sorted(place.rglob("*.html"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_chromium() as running:
        yield running


def test_every_page_fits_and_is_accessible(browser, pages):
    """By axe-core on the telephone every fourth page; on the desk one page of each section.

    What was loaded on a telephone is as wide as it is on a desk.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    rules = {"preload": False, "resultTypes": ["violations"]}
    context = browser.new_context(offline=True)
    browser_page, requests, complaints = context.new_page(), [], []
    browser_page.on("request", lambda request: requests.append(request.url))
    browser_page.on("console", lambda message: complaints.append(message.text))
    browser_page.on("pageerror", lambda error: complaints.append(str(error)))
    wide, violations = [], []
    for number, page in enumerate(pages):
        of_section = page.name in LOOKED_AT
        for width, scheme, looked_at in (
            (390, "light", of_section or number % 4 == 0),
            (1400, "dark", of_section),
        ):
            browser_page.set_viewport_size({"width": width, "height": 900})
            browser_page.emulate_media(color_scheme=scheme)
            if looked_at or scheme == "light":  # else colours change for a while
                browser_page.goto(page.as_uri())
            if browser_page.evaluate("document.documentElement.scrollWidth") > width:
                wide.append((page.name, width))
            if looked_at:
                axe_violations = axe.run(browser_page, options=rules).response["violations"]
                nodes = [
                    (violation["id"], violation["nodes"][0]["html"]) for violation in axe_violations
                ]
                violations += [(page.name, width, *node) for node in nodes]
    context.close()
    assert (wide, violations, complaints) == ([], [], [])
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len(pages) > 40


def test_search_works_from_a_disk(browser, pages):
    (start,) = [page for page in pages if (page.parent / "search").is_dir()][:1]
    page = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True).new_page()
    page.goto(start.as_uri())
    box = page.locator("[data-md-component=search-query]")
    box.click()
    page.get_by_text("Type to start searching").wait_for()  # the index is read by then
    box.press_sequentially("withdraw")
    first = page.locator(".md-search-result__item a").first
    first.wait_for()
    assert "withdraw" in first.get_attribute("href")


def test_pictures_follow_the_switch_to_dark(browser, pages):
    """A picture is no part of the page: the browser tells it which scheme the page has."""
    (forms,) = [page for page in pages if page.parts[-2:] == ("concepts", "forms.html")]
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.goto(forms.as_uri())
    picture = page.get_by_role("img", name="Permuted").first
    light = picture.screenshot()
    page.locator("label[for=__palette_1]").click()
    page.wait_for_timeout(500)
    assert picture.screenshot() != light
    context.close()

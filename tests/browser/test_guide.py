"""The guide as readers see it: on telephones and desks, light and dark, from a disk, offline."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.test_page import ARGUMENTS
from tests.guide.site import build

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
WIDTHS = {"telephone": 390, "desk": 1400}
LOOKED_AT = {"index.html", "forms.html", "ask.html", "python.html", "promises.html"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    done = build(place)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(place.rglob("*.html"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield running
        running.close()


@pytest.mark.parametrize(("width", "scheme"), [("telephone", "light"), ("desk", "dark")])
def test_every_page_fits_and_is_accessible(browser, pages, width, scheme):
    """By axe-core on the telephone every fourth page; on the desk one page of each section."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    size = {"width": WIDTHS[width], "height": 900}
    context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
    shown, requests, complaints = context.new_page(), [], []
    shown.on("request", lambda request: requests.append(request.url))
    shown.on("console", lambda message: complaints.append(message.text))
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    wide, violations = [], []
    looked_at = [page for page in pages if page.name in LOOKED_AT]
    looked_at += pages[::4] if width == "telephone" else []
    for page in pages:
        shown.goto(page.as_uri())
        if shown.evaluate("document.documentElement.scrollWidth") > WIDTHS[width]:
            wide.append(page.name)
        if page not in looked_at:
            continue
        found = axe.run(shown, options={"preload": False}).response["violations"]
        violations += [(page.name, one["id"], one["nodes"][0]["html"]) for one in found]
    context.close()
    assert (wide, violations, complaints) == ([], [], [])
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len(pages) > 40


def test_search_works_from_a_disk(browser, pages):
    (start,) = [page for page in pages if (page.parent / "search").is_dir()][:1]
    shown = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True).new_page()
    shown.goto(start.as_uri())
    box = shown.locator("[data-md-component=search-query]")
    box.click()
    shown.get_by_text("Type to start searching").wait_for()  # the index is read by then
    box.press_sequentially("withdraw")
    first = shown.locator(".md-search-result__item a").first
    first.wait_for()
    assert "withdraw" in first.get_attribute("href")


def test_pictures_follow_the_switch_to_dark(browser, pages):
    """A picture is no part of the page: the browser tells it which scheme the page has."""
    (forms,) = [page for page in pages if page.name == "forms.html"]
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="light")
    shown = context.new_page()
    shown.goto(forms.as_uri())
    picture = shown.get_by_role("img", name="Permuted").first
    light = picture.screenshot()
    shown.locator("label[for=__palette_1]").click()
    shown.wait_for_timeout(500)
    assert picture.screenshot() != light
    context.close()

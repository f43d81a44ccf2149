"""From the page of a line to the verdict of the second verifier, in a real browser."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from sfumato.tasks.publication.withdrawal import withdraw
from tests.browser.test_page import CONTRAST, browser
from tests.release.small import Small, people

__all__ = ["browser"]
pytestmark = pytest.mark.browser
SEEN = 4.5
"""The least contrast of text (WCAG 2.2, success criterion 1.4.3)."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves a directory without a log."""

    def log_message(self, *_):
        """Log nothing."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a directory on this machine; yield its address."""
    handler = partial(Quiet, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A public place with a line of three versions, of which the second was withdrawn."""
    folder = tmp_path_factory.mktemp("place")
    small = Small(folder / "line")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(folder / "work"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        for number in range(3):
            small.write(people(1000 * number)).publish(f"run-{number}")
        withdraw(small.plan().line, "0002", "a wrong table")
    return folder / "line" / "public"


@pytest.fixture
def page(browser):
    """A page, and all addresses that it asks for."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.requests = []
    page.on("request", lambda request: page.requests.append(request.url))
    yield page
    context.close()


def verdict(page):
    page.click("#check")
    page.locator("#result:not([aria-busy])").wait_for()
    return page.text_content("#verdict")


def test_a_reader_comes_from_the_line_to_a_verdict(page, place):
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    with serve(place) as address:
        page.goto(f"{address}/wages/index.html")
        page.get_by_role("link", name="Check in this browser").first.click()
        page.locator("#line").wait_for()
        options = page.locator("#line-version option").all_text_contents()
        assert options == ["none of them", "0003", "0002 (withdrawn)", "0001 (superseded)"]
        assert page.input_value("#line-version") == page.input_value("#address") == "../0003/"
        assert verdict(page) == "Valid"
        assert "0003" in page.input_value("#address")
        page.select_option("#line-version", "../0001/")
        assert verdict(page) == "Valid"
        page.select_option("#line-version", "../0002/")
        assert verdict(page) == "Refused"
        assert "withdrawn" in page.text_content("#report")
        assert {"/".join(url.split("/")[:3]) for url in page.requests} == {address}
    assert faults == []


def test_a_version_that_was_changed_is_refused_and_files_from_the_disk_are_taken(
    page, place, tmp_path
):
    shutil.copytree(place, tmp_path / "copy")
    table = tmp_path / "copy" / "wages" / "0003" / "data" / "microdata.csv"
    table.chmod(0o644)
    table.write_bytes(table.read_bytes()[:-1] + b"9")
    with serve(tmp_path / "copy") as address:
        page.goto(f"{address}/wages/verifier/?version=0003")
        page.locator("#line").wait_for()
        assert verdict(page) == "Refused"
        page.set_input_files("#directory", place / "wages" / "0003")
        assert page.input_value("#line-version") == page.input_value("#address") == ""
        assert verdict(page) == "Valid"


@pytest.mark.parametrize("query", ["", "?version=../../x", "?version=0001"])
def test_at_the_top_of_a_server_there_is_no_line(page, place, query):
    with serve(place / "wages" / "verifier") as address:
        page.goto(f"{address}/index.html{query}")
        page.locator("#form").wait_for()
        assert not page.is_visible("#line")
        assert page.input_value("#address") == ("../0001/" if query.endswith("0001") else "")
        assert [url for url in page.requests if "releases.json" in url] == []


def test_from_a_disk_the_page_says_what_to_type(page, place):
    page.goto((place / "wages" / "verifier" / "index.html").as_uri())
    state = page.text_content("#start-state")
    assert "file://" in state
    assert "node verifier/verify.mjs 0001" in state
    assert page.is_visible("#start-state")
    assert not page.is_visible("#form")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_fits_and_is_legible(browser, place, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(20_000)
    with serve(place) as address:
        page.goto(f"{address}/wages/verifier/?version=0003")
        page.locator("#line").wait_for()
        assert verdict(page) == "Valid"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CONTRAST) >= SEEN
        assert page.get_by_text("Who vouches for this page?").is_visible()
    context.close()

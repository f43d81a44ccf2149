"""The question line of a page in a real browser: from a disk, by keyboard, by link."""

import http.server
import threading
from contextlib import contextmanager
from functools import partial
from urllib.parse import quote

import pytest

from sfumato.tasks.publication.check import check
from tests.browser.test_page import browser
from tests.release.small import people
from tests.script.test_same_answers import FORMS, people_of_every_type

__all__ = ["browser"]
pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
SQL = "SELECT town, AVG(wage) FROM microdata WHERE age >= 30 GROUP BY town"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def open_page(browser):
    """Open pages, and hold that they complain about nothing and ask nothing of the network."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    complaints, requests = [], []

    def show(address):
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address)
        return page

    yield show
    context.close()
    assert complaints == []
    assert {address.partition(":")[0] for address in requests} <= {"file"}
    assert len({address.partition("#")[0] for address in requests}) == 1


def answer_of(page):
    return page.locator("#question-line [role=status]")


def test_a_question_in_the_address_is_answered_from_a_disk(open_page, release):
    page = open_page(f"{(release / 'index.html').as_uri()}#ask={quote(SQL)}")
    answer = answer_of(page)
    assert answer.locator("caption").inner_text() == "Average of wage by town, where age >= 30"
    assert answer.locator("tbody tr").count() >= 3
    assert "±" in answer.locator("tbody").inner_text()
    assert answer.locator("svg path.inner").count() >= 3
    assert page.get_by_label("Compute").input_value() == "avg"
    assert page.get_by_label("where", exact=True).input_value() == "age >= 30"
    assert answer.get_by_role("button").all_inner_texts() == [
        "Copy link",
        "Copy SQL",
        "Copy command",
        "Copy Python",
    ]


def test_a_question_is_asked_by_keyboard(open_page, release):
    page = open_page((release / "index.html").as_uri())
    compute = page.get_by_label("Compute")
    compute.focus()
    page.keyboard.type("average")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("town")
    page.get_by_label("where", exact=True).focus()
    page.keyboard.type("age > 20")
    page.keyboard.press("Enter")
    assert answer_of(page).locator("caption").inner_text() == (
        "Average of wage by town, where age > 20"
    )
    assert quote("age > 20") in page.url


def test_what_is_not_answered_here_is_given_as_a_command(open_page, release):
    page = open_page(
        f"{(release / 'index.html').as_uri()}#ask={quote('SELECT STDDEV(wage) FROM x')}"
    )
    text = answer_of(page).inner_text()
    assert "Not answered on this page: " in text
    assert "sfumato query . 'SELECT STDDEV(wage) FROM x'" in text


@pytest.mark.parametrize("fragment", [HOSTILE, "SELECT '" + HOSTILE, "%", "SELECT \u202e FROM"])
def test_a_hostile_address_is_text(open_page, release, fragment):
    page = open_page(f"{(release / 'index.html').as_uri()}#ask={quote(fragment)}")
    assert page.locator("img").count() == 0
    assert "\u202e" not in page.inner_text("body")


def test_hostile_values_are_text(open_page, small):
    rows = [{**row, "town": row["town"] and f"{row['town']} {HOSTILE}"} for row in people()]
    directory = small.write(rows).publish("one").directory
    page = open_page(f"{(directory / 'index.html').as_uri()}#ask={quote(SQL)}")
    assert HOSTILE in answer_of(page).inner_text()
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("form", FORMS)
def test_every_form_answers_a_count(open_page, small, form):
    changes = {**FORMS[form], "evaluate": {"workloads": []}, "source": {"uri": "people.csv"}}
    directory = small.write(people_of_every_type(60), **changes).publish("one").directory
    sql = "SELECT COUNT(*) FROM microdata WHERE age BETWEEN 20 AND 45"
    page = open_page(f"{(directory / 'index.html').as_uri()}#ask={quote(sql)}")
    assert answer_of(page).locator("caption").inner_text().startswith("Number of people, where")
    assert answer_of(page).locator("tbody tr").count() == 1


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def serve(directory):
    """Serve a directory on this machine, and give its address."""
    handler = partial(Quiet, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_page_reads_tables_that_are_too_long_for_it(browser, small, monkeypatch):
    monkeypatch.setattr("sfumato.tasks.report.page_data._least_length", lambda _: 10**9)
    directory = small.write(people()).publish("one").directory
    check(directory)
    page = browser.new_page()
    page.goto(f"{(directory / 'index.html').as_uri()}#ask={quote(SQL)}")
    refused = answer_of(page).get_by_text("Opened from a disk it cannot")
    refused.wait_for()
    with serve(directory.parent) as address:
        page.goto(f"{address}/0001/index.html#ask={quote(SQL)}")
        caption = answer_of(page).locator("caption")
        caption.wait_for()
        assert caption.inner_text() == "Average of wage by town, where age >= 30"
    page.close()


def test_a_served_page_shows_what_the_lines_record_says(browser, two):
    with serve(two.public) as address:
        page = browser.new_page()
        page.goto(f"{address}/0001/index.html")
        note = page.get_by_text("is not the current one: that is 0002")
        note.wait_for()
        assert "this page does not verify it" in note.inner_text()
        page.close()

"""The pages of lines, of a catalogue and of a tombstone in a real browser."""

import pytest

from tests.browser.test_page import CONTRAST, browser
from tests.report.test_line_pages import HARD, line

__all__ = ["browser"]
pytestmark = pytest.mark.browser

HEADINGS = {
    "line": ["Versions", "How to use them"],
    "catalogue": ["Releases"],
    "tombstone": ["What this means"],
}


@pytest.fixture(scope="module", params=sorted(HEADINGS))
def line_page(request, tmp_path_factory):
    """A page of a kind, with plain and with hostile words, and its headings."""
    from sfumato.tasks.report.line_pages import catalogue_files, line_files, tombstone_page

    made = {
        "line": lambda source: line_files(source)["index.html"],
        "catalogue": lambda source: catalogue_files([source, line("housing", "Housing")])[
            "index.html"
        ],
        "tombstone": lambda source: tombstone_page(source.versions[1].tombstone, source.title),
    }
    paths = []
    for name, content in (("plain", line()), ("hostile", HARD)):
        path = tmp_path_factory.mktemp(name) / "index.html"
        path.write_text(made[request.param](content), encoding="utf-8")
        paths.append(path)
    return paths, HEADINGS[request.param]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(390, 740), (1400, 900)])
def test_pages_are_quiet_and_fit(browser, line_page, width, height, scheme):
    paths, headings = line_page
    for path in paths:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
        )
        page = context.new_page()
        requests, complaints = [], []
        page.on("request", lambda request, into=requests: into.append(request.url))
        page.on("console", lambda message, into=complaints: into.append(message.text))
        page.on("dialog", lambda dialog, into=complaints: into.append(dialog.message))
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.styleSheets[0].cssRules.length") > 50
        assert page.evaluate(CONTRAST) >= 4.5
        for text in headings:
            assert page.get_by_role("heading", name=text, exact=True).is_visible()
        assert requests == [path.as_uri()]
        assert complaints == []
        context.close()

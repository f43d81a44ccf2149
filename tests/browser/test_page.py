import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tasks.query.accuracy.spans import MeasuredAggregate, Span, Spans
from sfumato.tasks.report.page import PageContent, page
from sfumato.tasks.report.page_data import page_data
from sfumato.tasks.terms.utility import Utility
from tests.browser.chromium import running_chromium
from tests.intervals.releases import publish_permuted, wages, with_factors
from tests.report.content import ADULT_COLUMNS, content, losses, randomly_cut

pytestmark = pytest.mark.browser

KE = {"model": "ke-anonymity", "k": 5, "e": 500, "sensitive": "capital-loss"}
# The least ratio of contrast, over texts that are seen (WCAG 2.2, success criterion 1.4.3).
CONTRAST = """() => {
  const parse = color => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
  };
  const ratios = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(n => n.nodeType == 3 && n.data.trim());
    if (!own || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const text = light(parse(element.closest('svg') ? style.fill : style.color));
    const [high, low] = [text, light(ground(element))].sort((a, b) => b - a);
    ratios.push((high + .05) / (low + .05));
  }
  return Math.min(...ratios);
}"""
SIDES = ("top", "bottom", "left", "right")
ON_ONE_SHEET = ("few", "random")
"""Pages without names and reasons as long as these tests write them."""
CLIPPED = """() => [...document.querySelectorAll('svg.plot text')].filter(text => {
  const box = text.getBoundingClientRect();
  return box.left < 0 || box.right > innerWidth;
}).map(text => text.textContent)"""
CROWDED = """() => [...document.querySelectorAll('svg.plot')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect());
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
    a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom));
}).length"""


def _spans(column: str | None = None, over: str = "age") -> Spans:
    """Accuracies from 3.7 % to too wide to use."""
    medians = {0.05: Fraction(1), 0.1: Fraction(1, 7), 0.2: Fraction(1, 9), 0.4: Fraction(1, 27)}
    aggregate = MeasuredAggregate("COUNT(*)" if column is None else "AVG(x)", column)
    return Spans(aggregate, over, tuple(Span(share, (m,)) for share, m in medians.items()))


def _random() -> PageContent:
    rng = np.random.default_rng(1)
    sizes, values = randomly_cut(rng.integers(155, 4357, 1427), 5, 500)
    loss = {"capital-loss": pa.array(values)}
    made = content(sizes, loss, promises=[KE], unit="identifier", versions="accepted-risk")
    return replace(made, spans=_spans("capital-loss"))


def _hostile() -> PageContent:
    name = "w" * 90 + ' </script><b>"'
    columns = {
        **ADULT_COLUMNS,
        name: {"role": "sensitive", "type": "integer", "unprotected": "because " * 30},
        "admitted": {"role": "sensitive", "type": "timestamp"},
    }
    sizes = [5, 2000, 7, 90] * 30
    sensitive = {
        "capital-loss": pa.array(np.arange(sum(sizes)) * 10**9),
        name: pa.array(-np.arange(sum(sizes)) * 10**11 + 7),
        "admitted": pa.array(np.arange(sum(sizes)) * 6_000_000, pa.timestamp("us")),
    }
    made = content(sizes, sensitive, columns=columns, title="Donaudampfschiff" * 12)
    return replace(made, spans=_spans(name, "v" * 90))


def _recoded_page() -> PageContent:
    name = "a very long name of a quasi-identifier, or two " * 2
    columns = {
        **ADULT_COLUMNS,
        name: {"role": "quasi-identifier", "type": "date", "hierarchy": {"dates": ["year"]}},
    }
    promise = {"model": "k-anonymity", "k": 2, "quasi-identifiers": ["age", name]}
    partition = {"method": "full-domain", "suppression": "0.05", "suppressed": "star"}
    form = {"method": "generalized"}
    loss = losses(
        [26, 54, 1130], columns=columns, promises=[promise], partition=partition, form=form
    )
    third = Fraction(1, 3)
    lost = Utility(3, 403 + third, 201 + third, 10**12, 7, third, third, third, 26, 0)
    return replace(loss, utility=lost)


def _coded_page() -> PageContent:
    insensitive = {"role": "insensitive"}
    columns = {
        **ADULT_COLUMNS,
        "age": ADULT_COLUMNS["age"] | {"bottom": 18, "top": "9" * 60, "round": {"to": "3"}},
        "w" * 90: {**insensitive, "type": "string", "prefix": 3},
        "job <b>": {
            **insensitive,
            "type": "string",
            "fold": {"below": 10**9, "into": "</td>" * 25},
        },
        "came": {**insensitive, "type": "date", "shift": {"days": 36_500}},
        "seen": {**insensitive, "type": "timestamp", "shift": {"days": 36_500}},
        "born": {**insensitive, "type": "date", "top": {"share": "0.000000001"}},
        "note": {**insensitive, "type": "string", "free_text": "because " * 30},
    }
    return losses([26, 54, 1130], columns=columns, unit="identifier")


PAGES = {
    "coded": _coded_page,
    "few": lambda: replace(losses([26, 54, 1130, 209, 8], 3, promises=[KE]), spans=_spans()),
    "random": _random,
    "hostile": _hostile,
    "recoded": _recoded_page,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_chromium() as running:
        yield running


@pytest.fixture(scope="module", params=sorted(PAGES))
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(request.param) / "index.html"
    path.write_bytes(page(PAGES[request.param]()).encode())
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(360, 740), (1280, 900)])
def test_page_is_whole_quiet_and_fits(browser, file, width, height, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.styleSheets[0].cssRules.length") > 50
    assert page.evaluate(CONTRAST) >= 4.5
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate(CROWDED) == 0
    for text in ("What is promised", "It does not protect against", "How to verify"):
        assert page.get_by_role("heading", name=text).is_visible()
    assert page.get_by_role("img").count() >= 2
    assert requests == [file.as_uri()]
    assert complaints == []
    context.close()


def test_page_prints_on_paper(browser, file, tmp_path):
    page = browser.new_page()
    page.goto(file.as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.get_by_role("heading", name="What is promised").is_visible()
    assert page.get_by_text("Printed: promises, numbers and limits").is_visible()
    assert not page.get_by_role("heading", name="Codebook").is_visible()
    page.pdf(path=tmp_path / "page.pdf", format="A4", margin=dict.fromkeys(SIDES, "12mm"))
    pdf = (tmp_path / "page.pdf").read_bytes()
    assert len(pdf) > 10_000
    if file.parent.name.startswith(ON_ONE_SHEET):
        assert len(re.findall(rb"/Type /Page\b", pdf)) == 1
    page.close()


SEEN = """
window.seen = [];
new MutationObserver(() => {
  const table = document.querySelector('[aria-label="Answer"] tbody');
  if (!table || table === window.latest) return;
  const texts = [...table.querySelectorAll('td')].map(cell => cell.textContent);
  window.latest = table;
  window.seen.push({texts, height: table.getBoundingClientRect().height});
}).observe(document, {subtree: true, childList: true});
"""


def test_bounds_of_a_large_release_are_shown_before_its_likely_intervals(browser, tmp_path):
    tables, _ = publish_permuted(wages(12_000), boxes=False)
    data = page_data({"microdata": tables["microdata"]}, with_factors())
    file = tmp_path / "index.html"
    file.write_text(page(replace(PAGES["few"](), data=data)), encoding="utf-8")
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.add_init_script(SEEN)
    query = "SELECT town, AVG(wage) FROM microdata WHERE age >= 40 GROUP BY town"
    opened.goto(f"{file.as_uri()}#ask={quote(query)}")
    first, then = wait_for_answers(opened, 2)
    bounds, likely, estimates = (slice(place, None, 4) for place in range(3))
    assert first["texts"][bounds] == then["texts"][bounds]
    assert first["texts"][likely] == first["texts"][estimates] == ["…"] * 4
    assert all(re.fullmatch(r"[\d.]+ to [\d.]+", text) for text in then["texts"][likely])
    assert all(re.fullmatch(r"[\d.]+", text) for text in then["texts"][estimates])
    assert first["height"] == then["height"]
    opened.evaluate("window.seen = []")
    fragment = f"#ask={quote(query.replace('40', '41'))}"
    opened.evaluate("hash => { window.location.hash = hash }", fragment)
    wait_for_answers(opened, 1)
    opened.wait_for_timeout(300)
    (only,) = opened.evaluate("window.seen")
    assert "…" not in only["texts"]
    opened.close()


def wait_for_answers(opened, number):
    """Return the answers that a page has shown, once there are so many."""
    while len(seen := opened.evaluate("window.seen")) < number:
        opened.wait_for_timeout(20)
    return seen

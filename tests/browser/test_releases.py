"""Pages of whole releases, each form's, in a real browser: heard, read, on telephones, printed."""

import re
from urllib.parse import quote

import pytest

from sfumato.tasks.private.references import given_references
from sfumato.tasks.publication.files import page_beside
from sfumato.tasks.report.line_pages import catalogue_files, line_files, tombstone_page
from sfumato.tasks.schema.formats import software
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.stated_promises import with_statements
from sfumato.tasks.terms.tables import read_tables
from tests.browser.test_page import CONTRAST, browser
from tests.corpus.lines import CORPUS
from tests.report.test_line_pages import HARD, line, measured_line

__all__ = ["browser"]
pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

FORMS = ("ambiguous", "generalized", "permuted", "redistributed", "split", "suppressed")
RELEASES = {
    **{form: f"format-0/public/corpus-{form}" for form in FORMS},
    "composed": "format-2/public/corpus-permuted",
    "coded": "format-4/public/corpus-permuted",
    "likely": "format-5/public/corpus-permuted",
    "guesses": "format-6/public/corpus-generalized",
    "intervals of subdomains": "format-6/public/corpus-redistributed",
    "bars and publisher": "format-6-people/public/corpus-permuted",
    "weights": "format-6-people/public/corpus-suppressed",
}
TOLD = {
    "guesses": "What can be guessed",
    "bars and publisher": "Publisher, contact and licence",
    "weights": "weight",
    "signed": "with the key of fingerprint",
}
"""What some pages are there for."""
# The names of columns that go on in another line though the line had room for them.
BROKEN = """names => {
  const broken = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest('pre, svg')) continue;
    for (const name of names) {
      for (let at = node.data.indexOf(name); at >= 0; at = node.data.indexOf(name, at + 1)) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + name.length);
        const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
        if (tops.size > 1) broken.push(name);
      }
    }
  }
  return broken;
}"""
UNPRINTED = """() => [...document.querySelectorAll('main *')]
  .filter(one => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX == 'auto')
  .map(one => one.tagName)"""


@pytest.fixture(scope="module")
def release_pages(tmp_path_factory):
    """Pages by what they are of, and the names of the columns that they show."""
    place = tmp_path_factory.mktemp("pages")
    made = {
        "line": (line_files(line())["index.html"], ()),
        "measured line": (line_files(measured_line())["index.html"], ()),
        "hostile line": (line_files(HARD)["index.html"], ()),
        "catalogue": (catalogue_files([line("housing", "Housing"), HARD])["index.html"], ()),
        "tombstone": (tombstone_page(HARD.versions[1].tombstone, HARD.title), ()),
    }
    for name, path in RELEASES.items():
        release = open_release(CORPUS / path / "0002")
        tables = read_tables(release.declared, release.directory / "data")
        anew = release.declared.model_copy(update={"software": software()})
        made[name] = (_page(release, anew, tables), tuple(anew.columns))
    words = anew.words.model_copy(update={"key": "0123456789abcdef" * 2})
    signed = anew.model_copy(update={"words": words})
    made["signed"] = (_page(release, signed, tables), tuple(anew.columns))
    for name, expected_words in TOLD.items():
        assert expected_words in made[name][0], name
    for name, (page, _) in made.items():
        (place / f"{name}.html").write_text(page, encoding="utf-8")
    return {place / f"{name}.html": columns for name, (_, columns) in made.items()}


def _page(release, declared, tables):
    """The page of a release as it would be laid out today."""
    references = given_references(declared.promises, ())
    assessment, _ = with_statements(
        assess(declared, tables, references=references), release.manifest, references
    )
    return page_beside(release.directory, assessment)


ALL_RULES = {"preload": False, "resultTypes": ["violations"]}
COLOURS = {**ALL_RULES, "runOnly": ["color-contrast"]}


@pytest.mark.parametrize(
    ("width", "scheme", "media", "rules"),
    [
        (390, "light", "screen", ALL_RULES),
        (1400, "dark", "screen", COLOURS),
        (700, "dark", "print", None),
    ],
    ids=["telephone", "desk", "paper"],
)
def test_pages_are_accessible_and_fit(browser, release_pages, width, scheme, media, rules):
    """By axe-core; of what is dark the colours alone, all else is as it is in the light."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    page, wide, broken, violations = context.new_page(), [], [], []
    page.emulate_media(media=media)
    for path, columns in release_pages.items():
        page.goto(path.as_uri())
        page.evaluate("document.querySelector('#question-line form')?.requestSubmit()")
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        if page.get_by_role("button", name="Measure").count():
            page.get_by_role("button", name="Measure").click()
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(path.stem)
        if media == "print":
            wide += [(path.stem, tag) for tag in page.evaluate(UNPRINTED)]
        broken += [(path.stem, name) for name in page.evaluate(BROKEN, list(columns))]
        axe_violations = axe.run(page, options=rules).response["violations"] if rules else []
        violations += [
            (path.stem, violation["id"], violation["nodes"][0]["html"])
            for violation in axe_violations
        ]
    context.close()
    assert (wide, broken, violations) == ([], [], [])
    assert len(release_pages) == len(RELEASES) + 6


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_answers_with_likely_intervals_fit_a_telephone(browser, release_pages, scheme):
    path = next(path for path in release_pages if path.stem == "likely")
    context = browser.new_context(
        viewport={"width": 390, "height": 900}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    query = "SELECT sex, AVG(fnlwgt) FROM microdata WHERE age BETWEEN 20 AND 60 GROUP BY sex"
    page.goto(f"{path.as_uri()}#ask={quote(query)}")
    answer = page.get_by_role("group", name="Answer", exact=True)
    likely = answer.locator("[data-label^=Likely]").all_inner_texts()
    assert len(likely) == 2
    assert all(re.fullmatch(r"[\d,]+ to [\d,]+", text) for text in likely)
    assert answer.locator("path.likely").count() == 2
    assert answer.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert page.evaluate(CONTRAST) >= 4.5
    context.close()


def test_a_broken_name_is_found(browser, release_pages):
    """The check above sees what keeps names whole."""
    path = next(path for path in release_pages if path.stem == "redistributed")
    page = browser.new_page(viewport={"width": 320, "height": 900})
    page.goto(path.as_uri())
    page.evaluate("""document.styleSheets[0].insertRule(
      'code, .whole { display: inline !important; white-space: normal !important }')""")
    assert page.evaluate(BROKEN, list(release_pages[path])) != []
    page.close()

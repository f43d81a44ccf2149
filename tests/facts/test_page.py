"""The page of two tables with facts: first answers, and its question line in a real browser."""

import re
from urllib.parse import quote

import pytest

from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answers
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.terms.opened import open_release
from tests.facts.clinic import clinic, spec_of_clinic, tables
from tests.flow_here import release_here
from tests.related.drawn import HAS, JOIN
from tests.related.test_asking_page import answer, ask_for, control, visible_controls
from tests.release.test_asking_page import answer_of, browser, open_page

__all__ = ["browser", "open_page"]
FLU = HAS.format("diagnosis = 'flu'")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    place = tmp_path_factory.mktemp("clinic")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        return release_here(spec_of_clinic(place, clinic(5, 200)))


def test_first_answers_are_about_facts_then_about_stays(release):
    page = (release / "index.html").read_text(encoding="utf-8")
    captions = re.findall(r"<caption>((?:Average|Number) of .*?)</caption>", page)
    assert [re.sub("</?code>", "", caption) for caption in captions] == [
        "Number of people by admitted",
        "Average of days_between by sex",
        "Number of rows of stays by diagnosis",
        "Average of cost by sex",
        "Number of people with rows of stays by sex",
    ]
    check(release)


def test_without_truth_values_people_are_counted_by_a_number(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    spec = spec_of_clinic(tmp_path, clinic(6, 60), tables=tables("times", "total_cost"))
    page = (release_here(spec) / "index.html").read_text(encoding="utf-8")
    assert "Number of people by <code>times</code></caption>" in page


def lines_of(page):
    """The lines of an answer: the values that each is about, and its bounds as they are shown."""
    rows = page.locator("#question-line table").first.locator("tbody tr")
    return [row.inner_text() for row in rows.all()]


QUESTIONS = (
    "SELECT readmitted, COUNT(*) FROM patients WHERE age >= 30 GROUP BY readmitted",
    "SELECT sex, AVG(total_cost) FROM patients WHERE times >= 1 GROUP BY sex",
    f"SELECT readmitted, COUNT(*) FROM patients WHERE times >= 2 AND {FLU} GROUP BY readmitted",
    f"SELECT times, SUM(cost) {JOIN} WHERE admitted GROUP BY times",
)


@pytest.mark.browser
@pytest.mark.parametrize("query", QUESTIONS)
def test_it_answers_as_the_command_does(open_page, release, query):
    (expected,) = answers(open_release(release), [query])
    page = open_page(f"{(release / 'index.html').as_uri()}#ask={quote(query)}")
    assert answer_of(page).locator("caption").count() == 1
    lines = lines_of(page)
    assert len(lines) == len(expected.rows)
    for line, row in zip(lines, expected.rows, strict=True):
        (bounds,) = (cell for cell in row.values() if isinstance(cell, Bounds))
        if bounds.lower == bounds.upper == int(bounds.lower):
            assert f"{int(bounds.lower):,}" in line


@pytest.mark.browser
def test_the_controls_ask_for_averages_of_facts(open_page, release):
    page = open_page((release / "index.html").as_uri())
    ask_for(page, "average of a fact of patients")
    options = control(page, "of").locator("option").all_inner_texts()
    assert options == ["times", "total_cost", "days_between"]
    control(page, "of").select_option("total_cost")
    groups = control(page, "by")
    assert "diagnosis" not in groups.locator("option").all_inner_texts()
    groups.select_option("readmitted")
    page.get_by_label("patients where").fill("age >= 40 AND admitted")
    assert answer(page).locator("caption").inner_text() == (
        "Average of total_cost of patients by readmitted; "
        "patients where age >= 40 AND admitted = TRUE"
    )
    assert page.locator("#question-line textarea").input_value() == (
        "SELECT readmitted, AVG(total_cost) FROM patients WHERE age >= 40 AND admitted = TRUE "
        "GROUP BY readmitted"
    )
    ask_for(page, "sum")
    assert control(page, "of").locator("option").all_inner_texts() == ["cost"]


@pytest.mark.browser
def test_a_question_about_a_fact_fills_the_controls(open_page, release):
    query = "SELECT sex, SUM(total_cost) FROM patients WHERE readmitted GROUP BY sex"
    page = open_page(f"{(release / 'index.html').as_uri()}#ask={quote(query)}")
    assert answer_of(page).locator("tbody tr").count() == 2
    assert visible_controls(page) == {
        "Compute": "factsum",
        "of": "total_cost",
        "by": "sex",
        "and": "",
        "patients where": "readmitted = TRUE",
    }


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits(browser, release, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(f"{(release / 'index.html').as_uri()}#ask={quote(QUESTIONS[2])}")
    assert answer_of(page).locator("tbody tr").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()

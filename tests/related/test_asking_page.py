"""The question line of a page of two related tables in a real browser."""

import re
from urllib.parse import quote

import pytest

from sfumato.tasks.publication.check import check
from tests.flow_here import release_here
from tests.related.hospital import made_up, spec_with
from tests.release.test_asking_page import answer_of, browser, open_page, serve

__all__ = ["browser", "open_page"]
pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
FLU = "EXISTS (SELECT 1 FROM stays WHERE stays.patient = patients.patient AND diagnosis = 'flu')"
PROMISES = [{"model": "people", "k": 8}]
PROMISES += [{"model": "related-l-diversity", "l": 2, "sensitive": "diagnosis"}]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    place = tmp_path_factory.mktemp("hospital")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        yield release_here(spec_with(place, made_up(5, 200), promises=PROMISES))


def visible_controls(page):
    """The controls that a reader sees, with what they say."""
    labels = page.locator("#question-line > form").first.locator("label:visible")
    return {
        label.locator("span").inner_text(): label.locator("input, select").input_value()
        for label in labels.all()
    }


def control(page, name):
    """The control behind a label, of which only the text counts, not the options."""
    text = page.locator("span", has_text=re.compile(f"^{name}$"))
    return page.locator("label", has=text).locator("input, select")


def ask_for(page, aggregate):
    page.get_by_label("Compute").select_option(label=aggregate)


def answer(page):
    page.get_by_role("button", name="Answer", exact=True).click()
    return answer_of(page)


@pytest.mark.parametrize(
    ("query", "caption", "controls"),
    [
        (
            f"SELECT sex, COUNT(*) FROM patients WHERE age >= 30 AND {FLU} GROUP BY sex",
            "Number of patients with stays where diagnosis = 'flu', by sex; patients where "
            "age >= 30",
            {
                "Compute": "having",
                "at least so many stays": "1",
                "stays where": "diagnosis = 'flu'",
                "by": "sex",
                "and": "",
                "patients where": "age >= 30",
            },
        ),
        (
            "SELECT COUNT(*) FROM patients WHERE patient NOT IN (SELECT patient FROM stays WHERE "
            "cost > 5 OR diagnosis = 'flu' GROUP BY patient HAVING COUNT(*) >= 2)",
            "Number of patients with fewer than 2 stays where cost > 5 OR diagnosis = 'flu'",
            {
                "Compute": "without",
                "at least so many stays": "2",
                "stays where": "cost > 5 OR diagnosis = 'flu'",
                "by": "",
                "and": "",
                "patients where": "",
            },
        ),
        (
            "SELECT diagnosis, SUM(cost) / COUNT(DISTINCT patient) FROM patients JOIN stays USING "
            "(patient) WHERE sex = 'f' AND cost > 5 GROUP BY diagnosis",
            "Sum of cost of stays where cost > 5, per person with any, by diagnosis; patients "
            "where sex = 'f'",
            {
                "Compute": "each",
                "of": "cost",
                "stays where": "cost > 5",
                "by": "diagnosis",
                "and": "",
                "patients where": "sex = 'f'",
            },
        ),
    ],
)
def test_a_question_in_the_address_fills_the_controls(open_page, release, query, caption, controls):
    page = open_page(f"{(release / 'index.html').as_uri()}#ask={quote(query)}")
    assert answer_of(page).locator("caption").inner_text() == caption
    assert answer_of(page).locator("tbody tr").count() >= 1
    assert visible_controls(page) == controls
    assert page.locator("#question-line textarea").input_value() == query


def test_the_controls_ask_about_people_and_their_rows(open_page, release):
    page = open_page((release / "index.html").as_uri())
    texts = page.get_by_label("Compute").locator("option").all_inner_texts()
    assert texts == [
        "number of patients",
        "number of patients with stays",
        "number of patients without stays",
        "number of stays",
        "stays per person with any",
        "average",
        "sum",
        "sum per person with any",
    ]
    captions = []
    page.get_by_label("patients where").fill("age < 50 OR sex = 'm'")
    for aggregate in texts:
        ask_for(page, aggregate)
        rows = page.get_by_label("stays where")
        if rows.is_visible():
            rows.fill("cost > 5")
        captions.append(answer(page).locator("caption").inner_text())
        assert answer_of(page).locator("tbody tr").count() == 1
    among = "; patients where age < 50 OR sex = 'm'"
    assert captions == [
        f"Number of patients{among.replace(';', '')}",
        f"Number of patients with stays where cost > 5{among}",
        f"Number of patients without stays where cost > 5{among}",
        f"Number of stays where cost > 5{among}",
        f"Number of stays where cost > 5, per person with any{among}",
        f"Average of cost of stays where cost > 5{among}",
        f"Sum of cost of stays where cost > 5{among}",
        f"Sum of cost of stays where cost > 5, per person with any{among}",
    ]


def test_people_are_not_grouped_by_columns_of_their_rows(open_page, release):
    page = open_page((release / "index.html").as_uri())
    group_by = control(page, "by")
    assert group_by.locator("option").all_inner_texts() == ["–", "age", "sex"]
    ask_for(page, "number of stays")
    group_by.select_option("diagnosis")
    assert "Number of stays by diagnosis" in answer(page).locator("caption").inner_text()
    assert page.locator("#question-line textarea").input_value() == (
        "SELECT diagnosis, COUNT(*) FROM stays GROUP BY diagnosis"
    )
    ask_for(page, "number of patients with stays")
    assert group_by.input_value() == ""


def test_a_built_comparison_stands_with_its_table(open_page, release):
    page = open_page((release / "index.html").as_uri())
    page.get_by_text("Build a condition").click()
    for column, value in (("age", "40"), ("diagnosis", "flu"), ("cost", "5")):
        control(page, "Column").select_option(column)
        page.get_by_label("value", exact=True).fill(value)
        page.get_by_role("button", name="Add to the condition").click()
    assert page.get_by_label("patients where").input_value() == "age = 40"
    assert page.get_by_label("stays where").input_value() == "diagnosis = 'flu' AND cost = 5"
    assert page.get_by_label("Compute").input_value() == "having"


def test_accuracy_over_ranges_keeps_the_condition_on_rows(open_page, release):
    page = open_page((release / "index.html").as_uri())
    ask_for(page, "number of patients with stays")
    page.get_by_label("stays where").fill("diagnosis = 'flu'")
    page.get_by_text("How accurate are answers?").click()
    page.get_by_role("button", name="Measure").click()
    measured = page.locator("#question-line table caption")
    measured.wait_for()
    assert measured.inner_text().startswith(
        "Number of patients with stays where diagnosis = 'flu' over ranges of age"
    )
    assert page.locator("#question-line svg.plot circle").count() > 5


def test_what_only_the_command_answers_is_given_as_one(open_page, release):
    query = "SELECT COUNT(DISTINCT diagnosis) FROM stays"
    page = open_page(f"{(release / 'index.html').as_uri()}#ask={quote(query)}")
    text = answer_of(page).inner_text()
    assert "Not answered on this page: This page does not count different values" in text
    assert f"sfumato query . '{query}'" in text


def test_what_has_no_bounds_is_not_given_as_a_command(open_page, release):
    query = quote("SELECT MAX(cost) FROM stays")
    page = open_page(f"{(release / 'index.html').as_uri()}#ask={query}")
    text = answer_of(page).inner_text()
    assert text == "MAX of related rows has no bounds yet. Ask for COUNT, SUM or AVG."


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits(browser, release, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    query = f"SELECT sex, age, COUNT(*) FROM patients WHERE {FLU} GROUP BY sex, age"
    page.goto(f"{(release / 'index.html').as_uri()}#ask={quote(query)}")
    assert answer_of(page).locator("tbody tr").count() > 10
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_a_page_reads_tables_that_are_too_long_for_it(browser, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.setattr("sfumato.tasks.report.page_data._least_length", lambda _: 10**9)
    directory = release_here(spec_with(tmp_path, made_up(2, 60)))
    check(directory)
    page = browser.new_page()
    with serve(directory.parent) as address:
        query = f"SELECT COUNT(*) FROM patients WHERE {FLU}"
        page.goto(f"{address}/0001/index.html#ask={quote(query)}")
        caption = answer_of(page).locator("caption")
        caption.wait_for()
        assert caption.inner_text() == "Number of patients with stays where diagnosis = 'flu'"
    page.close()

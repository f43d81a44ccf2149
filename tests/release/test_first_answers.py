"""The answers on a release's page: three questions by a fixed rule, rounded outward."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answers, files_of_tables
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.first_answers import first_answers, first_questions
from sfumato.tasks.report.numbers import bounds_in_words, decimals_of
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.release.forge import made_with, reseal
from tests.release.small import people

LABELS = {
    "promises": [{"model": "l-diversity", "variant": "distinct", "l": 3}],
    "partition": {"method": "mondrian"},
    "form": {"method": "generalized"},
    "evaluate": {"workloads": []},
}


def page_of(directory):
    return (directory / "index.html").read_text(encoding="utf-8")


def section_of(page):
    return re.search(r'<section aria-labelledby="answers">.*?</section>', page, re.DOTALL)[0]


def asked_of(directory):
    release = open_release(directory)
    read = files_of_tables(release, release.declared.names_with_roles("sensitive"))
    tables = read_tables(release.declared, directory / "data")
    return release, first_answers(release.declared, {**read, **tables})


def ends(row):
    return [(cell.lower, cell.upper) for cell in row.values() if isinstance(cell, Bounds)]


def test_the_page_shows_means_by_a_column_a_mean_and_counts(release):
    section = section_of(page_of(release))
    captions = re.findall(r"<caption>(.*?)</caption>", section)
    assert captions == [
        "Average of <code>wage</code> by <code>town</code>",
        "Average of <code>wage</code>",
        "Number of people by <code>town</code>",
    ]
    assert section.count("sfumato query . ") == 3
    assert page_of(release).index("What it answers") < page_of(release).index("What is promised")


@pytest.mark.parametrize("terms", [{}, LABELS], ids=["permuted", "generalized"])
def test_they_are_the_answers_that_the_command_gives(small, terms):
    release, first = asked_of(small.write(people(), **terms).publish("one").directory)
    assert first
    for own, again in zip(first, answers(release, [f.question.sql for f in first]), strict=True):
        assert list(map(ends, own.answer.rows)) == list(map(ends, again.rows))


def test_a_page_of_an_earlier_layout_has_no_answers(release, writable):
    made_with(writable, **{"sfumato-page": "6"})
    assert "What it answers" not in page_of(writable)
    check(writable)


def test_an_answer_that_is_forged_is_refused_of_older_software_as_well(writable):
    made_with(writable, sfumato="0.0.3")
    page = page_of(writable)
    match = re.search(r"<span class=\"role\">([^<]*)</span>", section_of(page))
    (writable / "index.html").write_text(page.replace(match[0], match[0].replace(match[1], "7")))
    reseal(writable)
    with pytest.raises(PromiseError, match=r"index\.html: differs"):
        check(writable)


def test_names_and_values_are_text(small):
    rows = [{**row, "town": f'<b onclick="x">{row["town"]}</b>'} for row in people()]
    section = section_of(page_of(small.write(rows).publish("one").directory))
    assert "<b onclick" not in section
    assert "&lt;b onclick" in section


NUMBERS = st.fractions(-(10**9), 10**9) | st.fractions(-1, 1) | st.integers(-50, 50).map(Fraction)


@given(ends=st.tuples(NUMBERS, NUMBERS).map(sorted))
def test_what_is_shown_contains_the_bounds(ends):
    lower, upper = ends
    decimals = decimals_of(ends)
    words = bounds_in_words(lower, upper, decimals).replace(",", "").split(" to ")
    numbers = [Fraction(Decimal(number)) for number in words]
    step = Fraction(1, 10**decimals)
    assert decimals <= 4
    if lower == upper:
        assert len(numbers) == 1
        assert abs(numbers[0] - lower) <= step / 2
    else:
        assert 0 <= lower - numbers[0] < step
        assert 0 <= numbers[1] - upper < step
    whole = all(end.denominator == 1 for end in ends)
    assert whole or decimals == 4 or 1000 * step <= max(map(abs, ends))


def test_questions_name_few_values_first(release):
    opened = open_release(release)
    tables = read_tables(opened.declared, release / "data")
    places = first_questions(opened.declared, tables)
    assert [len(place) for place in places] == [1, 1, 1]
    assert places[0][0].sql == (
        'SELECT "town", AVG("wage") FROM microdata GROUP BY "town" ORDER BY "town"'
    )


def test_a_table_without_rows_or_words_has_fewer_answers(small):
    rows = [{**row, "town": "T"} for row in people()]
    directory = small.write(rows).publish("one").directory
    captions = re.findall(r"<caption>(.*?)</caption>", section_of(page_of(directory)))
    assert captions == ["Average of <code>wage</code>"]
    check(directory)


def test_the_first_screen_has_the_publishers_words_the_data_and_the_licence(small):
    words = {"description": "Wages in a town.\n\nBy survey.", "licence": "CC-BY-4.0"}
    page = page_of(small.write(people(), **words).publish("one").directory)
    screen, _, rest = page.partition('<main class="release">')
    assert '<p class="lead">Wages in a town.</p>' in screen
    assert re.search(
        r'<a href="./data/microdata.parquet">microdata.parquet</a> \([\d.]+ kB\)', screen
    )
    assert "<dd>CC-BY-4.0</dd>" in screen
    assert 'href="../CITATION.cff"' in screen
    assert "By survey." in rest
    assert "Wages in a town." not in rest


def test_the_first_screen_of_an_earlier_layout_is_as_it_was(writable):
    made_with(writable, **{"sfumato-page": "6"})
    screen, _, _ = page_of(writable).partition('<main class="release">')
    assert "A table about people" in screen
    assert "CITATION.cff" not in screen

"""The accuracy by span that a page draws: from its tables alone, and in words as well."""

import re

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.accuracy.spans import first_spans
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.report.numbers import half_widths
from sfumato.tasks.schema.formats import LAYOUT
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.release.forge import made_with, reseal
from tests.release.small import people


def page_of(directory):
    return (directory / "index.html").read_text(encoding="utf-8")


def section_of(page):
    return re.search(r'<section aria-labelledby="accuracy">.*?</section>', page, re.DOTALL)[0]


def accuracies_of(directory):
    declared = open_release(directory).declared
    tables = read_tables(declared, directory / "data")
    spans = first_spans(declared, tables, build_help_tables(tables, declared))
    return half_widths([2 * span.median for span in spans.by_length])


def test_the_page_shows_the_medians_as_a_table_and_as_a_chart(release):
    section = section_of(page_of(release))
    numbers = accuracies_of(release)
    assert len(numbers) == 5
    assert re.findall(r'<td class="number">([^<]*)</td>', section) == numbers
    assert re.findall(r'<th scope="row">([^<]*)</th>', section) == [
        f"{length} %" for length in (5, 10, 20, 40, 80)
    ]
    assert "<caption>Average of wage, over ranges of age. " in section
    (label,) = re.findall(r'role="img" aria-label="([^"]*)"', section)
    texts = (f"{text} at {5 * 2**place} %" for place, text in enumerate(numbers))
    assert label == f"How accurate: Average of wage, over ranges of age: {', '.join(texts)}"
    assert section.count("<circle") == 5
    assert 'href="#accuracy"' in page_of(release)


def test_a_page_of_an_earlier_layout_draws_none_and_passes(writable):
    made_with(writable, **{LAYOUT: "9"})
    page = page_of(writable)
    body = page.partition("<body>")[2].partition("<script")[0]
    assert not re.search(r'[#"]accuracy"', body)
    assert 'id="question-line"' in page
    assert check(writable).unlike == ()


def test_an_accuracy_that_is_forged_is_refused_of_older_software_as_well(writable):
    made_with(writable, sfumato="0.0.3")
    page = page_of(writable)
    section = section_of(page)
    number = re.search(r'<td class="number">±([^<]*) %</td>', section)[1]
    (writable / "index.html").write_text(page.replace(section, section.replace(number, "0.1")))
    reseal(writable)
    with pytest.raises(PromiseError, match=r"index\.html: differs"):
        check(writable)


def test_a_name_that_is_markup_stays_text(small):
    columns = {
        "person": {"role": "identifier", "unit": True},
        "age": {"role": "quasi-identifier", "type": "integer"},
        "town": {"role": "sensitive"},
        "note": {"role": "drop"},
        "wage": {"role": "drop"},
    }
    towns = ["<b>&", "Aa", "<b>&", "Bee"]
    rows = [{**row, "town": towns[place % 4]} for place, row in enumerate(people())]
    promises = [{"model": "l-diversity", "variant": "distinct", "l": 2}]
    form = {"promises": promises, "partition": {"method": "anatomy"}, "form": {"method": "split"}}
    directory = small.write(rows, columns=columns, **form).publish("one").directory
    page = page_of(directory)
    assert "<caption>Share of people with town = &lt;b&gt;&amp;, over ranges of age. " in page
    assert "<b>" not in page
    assert check(directory).derived == "equal"

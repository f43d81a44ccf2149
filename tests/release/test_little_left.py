"""Warnings of a version's page that its files tell little."""

import pytest

from sfumato.tasks.publication.check import check
from sfumato.tasks.schema.formats import LAYOUT
from sfumato.tasks.terms.opened import PAGE
from tests.release.forge import made_with
from tests.release.small import people
from tests.report.html import Read

ONE_GROUP = [{"model": "ke-anonymity", "k": 50, "e": 10.5}]


def words_in(directory):
    return " ".join(Read((directory / PAGE).read_text(encoding="utf-8")).text.split())


def test_the_page_warns_where_all_rows_are_in_one_group(small):
    directory = small.write(people(), promises=ONE_GROUP).publish("one").directory
    page_words = words_in(directory)
    assert "Little is left: all rows are in one group" in page_words
    assert (
        "the mean of wage over one in twenty rows of every group is known only within" in page_words
    )
    assert check(directory)


def test_the_page_warns_of_groups_that_have_all_values(small):
    """Two groups of the least and the greatest wage each: a mean of a few can be anything."""
    rows = [row | {"wage": 100 + 800 * (n % 2)} for n, row in enumerate(people()[:60])]
    small.write(
        rows,
        promises=[{"model": "l-diversity", "variant": "distinct", "l": 2}],
        partition={"method": "anatomy"},
    )
    page_words = words_in(small.publish("one").directory)
    assert "within 100 % of the range of all its values" in page_words
    assert "in one group" not in page_words


def test_nothing_is_said_where_something_is_left(small):
    assert "Little is left" not in words_in(small.publish("one").directory)


def test_nothing_is_said_of_declared_distributions(small):
    small.write(
        people(),
        promises=[{"model": "p-privacy", "target": "source"}],
        partition={"method": "stratum"},
        form={"method": "redistributed", "fakes": 5},
    )
    assert "Little is left" not in words_in(small.publish("one").directory)


@pytest.mark.parametrize("layout", ["1", "4"])
def test_an_older_page_says_nothing_of_it(small, layout):
    directory = small.write(people(), promises=ONE_GROUP).publish("one").directory
    assert check(directory, made_with(directory, **{LAYOUT: layout}))
    assert "Little is left" not in words_in(directory)

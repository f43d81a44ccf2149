"""The words of a page about codings."""

import pytest

from sfumato.tasks.report.codings import _WORDS, coding_lines, unmoved_dates
from sfumato.tasks.schema.codings import KEYS
from tests.report.content import ADULT_COLUMNS, make_release


def lines(unit="identifier", **columns):
    kinds = {
        name: {"role": "insensitive", **({"type": "integer"} | keys)}
        for name, keys in columns.items()
    }
    return coding_lines(make_release(9, columns={**ADULT_COLUMNS, **kinds}, unit=unit))


def test_every_coding_has_words_in_the_order_in_which_it_acts():
    assert tuple(_WORDS) == KEYS


def test_columns_that_are_coded_alike_stand_together():
    lines_found = lines(
        b={"round": {"to": 5}},
        a={"top": "90", "bottom": "5", "round": {"to": 5}},
        c={"top": 90, "round": {"to": 5}},
    )
    assert [(line.columns, line.title) for line in lines_found] == [
        (("a",), "Bottom-coded"),
        (("a", "c"), "Top-coded"),
        (("a", "b", "c"), "Rounded"),
    ]


@pytest.mark.parametrize(
    ("keys", "rule", "tells"),
    [
        ({"top": "90"}, "Every larger value is shown as 90.", "has that or more"),
        ({"bottom": "9"}, "Every smaller value is shown as 9.", "has that or less"),
        ({"bottom": {"share": "0.01"}}, "The smallest values are", "the smallest of them reveals"),
        ({"top": {"share": "0.00000001"}}, "a share of 0.00000001 stood", "or more"),
        ({"round": {"to": 5}}, "multiple of 5; one halfway between two as the even", "up to 2.5"),
        ({"round": {"to": 10, "ties": "up"}}, "as the larger multiple", "up to 5 less"),
        ({"round": {"to": 10, "ties": "down"}}, "as the smaller multiple", "up to 5 less"),
        ({"type": "string", "prefix": 1}, "Only the first character is kept.", "the true ones"),
        ({"type": "string", "prefix": 2}, "Only the first 2 characters are", "the true ones"),
        ({"type": "date", "shift": {"days": 1000}}, "1,000 earlier to 1,000 later", "person and"),
        ({"type": "timestamp", "shift": {"days": 3}}, "0 among them", "Times of day are as they"),
    ],
)
def test_words(keys, rule, tells):
    (line,) = lines(x=keys)
    assert rule in line.rule
    assert tells in line.tells
    assert ("Times" in line.tells) == (keys.get("type") == "timestamp")


def test_a_threshold_may_have_been_rounded_to():
    for end, so in (("top", "more"), ("bottom", "less")):
        words = lines(x={end: "90", "round": {"to": 10}})[0]
        assert words.tells == f"A person with 90 has that or {so}, or was rounded to it."
        assert "rounded" not in lines(x={end: "90"})[0].tells


def test_rows_are_not_called_people():
    fold = {"type": "string", "fold": {"below": 1000, "into": "other"}}
    assert "fewer than 1,000 people" in lines(x=fold)[0].rule
    assert "fewer than 1,000 rows" in lines("row", x=fold)[0].rule
    assert "version's rows" in lines("row", x={"top": {"share": "0.1"}})[0].rule


def test_dates_that_stay_are_those_beside_moved_ones():
    dates = {
        name: {"role": "insensitive", "type": kind}
        for name, kind in (("b", "date"), ("a", "timestamp"), ("c", "date"))
    }
    assert unmoved_dates(make_release(9, columns={**ADULT_COLUMNS, **dates})) == []
    dates["c"]["shift"] = {"days": 3}
    assert unmoved_dates(make_release(9, columns={**ADULT_COLUMNS, **dates})) == ["a", "b"]

"""OR of conditions on columns that are published apart: what is left of all rows, exactly."""

from collections import defaultdict
from dataclasses import replace

import pytest

from sfumato.tasks.query.ask import answer, answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.pooling import NARROWED
from sfumato.tasks.terms.opened import open_release
from tests.corpus.lines import CORPUS
from tests.query.test_language_of_forms import values_outside
from tests.query.test_language_of_worlds import AllWorlds, ends, extremes
from tests.query.test_matched import FORMS

LEFT_OF_ALL = (
    (0, "SELECT COUNT(*), SUM(loss) FROM microdata WHERE age = 1 OR loss > 0"),
    (1, "SELECT sex, COUNT(*) AS n FROM microdata WHERE age < 2 OR loss > 0 GROUP BY sex"),
    (0, "SELECT COUNT(*) FROM microdata WHERE sex = 'f' AND (age = 1 OR loss <> 0)"),
    (0, "SELECT COUNT(*) FROM microdata WHERE NOT (age = 1 AND loss > 0)"),
    (0, "SELECT COUNT(*) FROM microdata WHERE age < 2 AND (loss > 0 OR gain > 1)"),
    (0, "SELECT COUNT(*) FILTER (WHERE sex = 'f' OR loss IS NULL OR age = 2) FROM microdata"),
)
WITHIN = (
    (0, "SELECT COUNT(*) FROM microdata WHERE (age = 1 OR loss > 0) AND (sex = 'f' OR loss < 0)"),
    (1, "SELECT age, COUNT(*) FROM microdata WHERE sex = 'f' OR loss > 0 GROUP BY age"),
)


@pytest.fixture(scope="module", params=[(*form, 7) for form in FORMS], ids=str)
def all_worlds(request):
    return AllWorlds(*request.param)


@pytest.mark.parametrize(("keys", "query"), [*LEFT_OF_ALL, *WITHIN])
def test_bounds_hold_every_world_and_are_attained_where_one_conjunction_is_left(
    all_worlds, keys, query
):
    rows_by_key, answered = (
        defaultdict(list),
        answer_on(all_worlds.tables, all_worlds.declared, query),
    )
    for rows in all_worlds.answers(query):
        for row in rows:
            rows_by_key[row[:keys]].append(row[keys:])
    assert values_outside(answered, rows_by_key, keys, all_worlds.number) == []
    for row, sure in zip(answered.rows, answered.certain, strict=True):
        key, bounds = tuple(row.values())[:keys], tuple(row.values())[keys:]
        always = len(rows_by_key[key]) == all_worlds.number
        assert sure == always, "a count of at least one is a row that is there"
        for place, bounds_of_value in enumerate(bounds):
            counts = place == 0 and (keys, query) in LEFT_OF_ALL
            assert bounds_of_value.attained or not counts
            if bounds_of_value.attained:
                assert ends(bounds_of_value, always) == extremes(
                    bounds_of_value, rows_by_key[key], place, always
                )


@pytest.mark.parametrize("version", ["0001", "0002"])
def test_no_more_are_counted_than_there_are(version):
    place = CORPUS / "format-0" / "public" / "corpus-ambiguous" / version
    release = replace(open_release(place), verified=True)
    rows = release.declared.rows.published
    query = "SELECT COUNT(*) AS n FROM microdata WHERE age > 40 OR occupation IS NOT NULL"
    (row,) = answer(release, query).rows
    assert row["n"].upper <= rows
    by_sex = "SELECT sex, COUNT(*) AS n FROM microdata{} GROUP BY sex"
    where = " WHERE (age > 40 OR occupation = 'Sales') AND (age < 60 OR occupation = 'Sales')"
    most = {row["sex"]: row["n"].upper for row in answer(release, by_sex.format("")).rows}
    narrowed = answer(release, by_sex.format(where)).rows
    assert narrowed
    assert all(row["n"].upper <= most[row["sex"]] for row in narrowed)


def test_what_is_left_narrows_from_both_sides():
    loose, all_ = Bounds(2, 9, attained=False), Bounds(8, 8)
    assert NARROWED["count"](loose, all_, None) == Bounds(2, 8, attained=False)
    assert NARROWED["count"](loose, all_, Bounds(1, 3)) == Bounds(5, 7)
    assert NARROWED["count"](loose, Bounds(7, 8), Bounds(1, 3)) == Bounds(4, 7, attained=False)
    assert NARROWED["count"](loose, all_, Bounds(1, 3, attained=False)).attained is False
    assert NARROWED["sum"](loose, all_, Bounds(1, 3, may_be_empty=True)) == Bounds(5, 8)
    empty = Bounds(2, 9, may_be_empty=True, attained=False)
    assert NARROWED["sum"](empty, all_, Bounds(1, 3)).attained is False

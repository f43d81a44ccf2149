"""Risk of groups, by enumerating rows and people."""

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.groups import Groups, Population
from sfumato.expectations.measures.risk import risk
from sfumato.expectations.shared.errors import InputError

ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=60)


@given(rows=ROWS)
def test_risk_row_by_row(groups_of, rows):
    sizes = Counter(key for key, _ in rows)
    mine = [Fraction(1, sizes[key]) for key, _ in rows]
    risks = risk(groups_of(rows))
    assert (risks.highest, risks.average) == (max(mine), sum(mine) / len(rows))
    assert risks.alone == sum(m == 1 for m in mine)
    assert risks.smaller == {k: sum(sizes[key] < k for key, _ in rows) for k in (2, 3, 5, 10, 20)}
    pairs = Counter(rows)
    top = {key: max(n for (k, _), n in pairs.items() if k == key) for key in sizes}
    for level in risks.homogeneity["s"]:
        reached = [key for key in sizes if Fraction(top[key], sizes[key]) >= level.share]
        assert level.groups == len(reached)
        assert level.rows == sum(sizes[key] for key in reached)
        assert level.revealed == sum(top[key] for key in reached)
    assert risks.homogeneity["s"][0].rows == risks.homogeneity["s"][0].revealed


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 9)), min_size=1, max_size=12))
def test_journalist_and_marketer_person_by_person(classes):
    sizes = np.array([n for n, _ in classes])
    people = sizes + np.array([more for _, more in classes])
    journalist = risk(Groups(sizes, {}, population=Population(people, 4))).journalist
    rows = [Fraction(1, int(f)) for n, f in zip(sizes, people, strict=True) for _ in range(n)]
    assert journalist.highest == max(rows)
    assert journalist.marketer == sum(rows) / len(rows)
    assert journalist.average == max(journalist.marketer, Fraction(len(classes), int(people.sum())))
    assert journalist.elsewhere == 4


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=40),
    st.lists(st.integers(0, 8), max_size=60),
)
def test_journalist_over_the_rows_and_over_the_people(rows, others):
    people = Counter(rows + others)
    classes = sorted(set(rows))
    sizes = np.array([rows.count(c) for c in classes])
    population = Population(
        np.array([people[c] for c in classes]), sum(n for c, n in people.items() if c not in rows)
    )
    risks = risk(Groups(sizes, {}, population=population))
    of_rows = [Fraction(1, people[row]) for row in rows]
    of_people = [Fraction(1, people[p]) for p in rows + others if p in rows]
    assert risks.journalist.highest == max(of_rows)
    assert risks.journalist.marketer == sum(of_rows) / len(of_rows)
    assert risks.journalist.average == max(
        sum(of_rows) / len(of_rows), sum(of_people) / len(of_people)
    )
    assert risks.journalist.elsewhere == sum(p not in rows for p in others)
    assert risks.journalist.highest <= risks.highest
    assert risks.journalist.marketer <= risks.average
    if len(others) == risks.journalist.elsewhere:
        assert risks.journalist.highest == risks.highest
        assert risks.journalist.marketer == risks.average


def test_risks_of_a_sample_by_hand():
    groups = Groups(np.array([1, 2, 3]), {}, population=Population(np.array([4, 2, 12]), 7))
    risks = risk(groups)
    assert (risks.alone, risks.highest, risks.average) == (1, 1, Fraction(3, 6))
    assert risks.journalist.highest == Fraction(1, 2)
    assert risks.journalist.marketer == Fraction(1, 6) * (Fraction(1, 4) + 1 + Fraction(1, 4))
    assert risks.document()["journalist"] == {"highest": 0.5, "average": 0.25, "elsewhere": 7}
    assert risks.document()["marketer"] == 0.25


def test_without_a_population_there_is_no_journalist(groups_of):
    risks = risk(groups_of([("g", 1)]))
    assert risks.journalist is None
    assert "journalist" not in risks.document()


def test_inpatients_of_whom_a_third_are_revealed(groups_of):
    conditions = "hhvvchvvcccc"
    groups = groups_of([(row // 4, condition) for row, condition in enumerate(conditions)])
    whole, near = risk(groups).homogeneity["s"]
    assert (whole.groups, whole.rows, near.rows) == (1, 4, 4)
    half = risk(groups, near=Fraction(1, 2)).homogeneity["s"][1]
    assert (half.share, half.groups, half.rows, half.revealed) == (Fraction(1, 2), 3, 12, 8)
    above = risk(groups, near=Fraction(1, 2) + Fraction(1, 10**12)).homogeneity["s"][1]
    assert (above.groups, above.rows, above.revealed) == (1, 4, 4)


def test_nearly_homogeneous_at_exactly_the_share(groups_of):
    groups = groups_of([(0, "a")] * 19 + [(0, "b")] + [(1, "a")] * 94 + [(1, "b")] * 6)
    near = risk(groups).homogeneity["s"][1]
    assert (near.groups, near.rows, near.revealed) == (1, 20, 19)


def test_the_document_has_numbers_alone(groups_of):
    document = risk(groups_of([("Bob", "flu"), ("Bob", "flu"), ("Ann", "HIV")])).document()
    assert document["rows_alone"] == 1
    assert document["prosecutor"] == {"highest": 1.0, "average": 0.666667}
    assert json.loads(json.dumps(document)) == document
    assert not any(word in str(document) for word in ("Bob", "flu", "HIV"))


def test_one_person_among_millions_is_not_rounded_away():
    risks = risk(Groups(np.array([1] + [5] * 1_000_000), {}))
    assert risks.document()["share_alone"] == 2e-07
    assert risks.average == Fraction(1_000_001, 5_000_001)


def test_a_population_that_lacks_somebody():
    with pytest.raises(InputError, match="fewer people than the table has rows in 1 of the groups"):
        risk(Groups(np.array([2, 3]), {}, population=Population(np.array([2, 2]), 0)))


def test_nobody_is_at_no_risk():
    assert risk(Groups(np.zeros(0, np.int64), {})) is None

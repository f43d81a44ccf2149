"""Nothing passes that was not evaluated exactly as expected."""

from dataclasses import replace

import pyarrow as pa
import pytest

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.rules.structure import NotEmpty, RowCount
from sfumato.expectations.rules.verdicts import (
    GROUPS,
    Evaluated,
    Expectation,
    Finding,
    admit,
    examine,
    expectation_of,
    require,
    verdict_of,
)
from sfumato.expectations.shared.errors import PromiseError

K = expectation_of(KAnonymity(k=2, quasi_identifiers=("age",)))
ROWS = expectation_of(RowCount(3))
WANTED = [ROWS, K]
GX_NAMES = Expectation(K.type, {"model": "k-anonymity", "k": 2, "quasi_identifiers": ["age"]})
GOOD = [
    Evaluated(GX_NAMES, raised=False, passed=True, observed={"k": 2, "groups": 4, "failing": 0}),
    Evaluated(ROWS, raised=False, passed=True, observed=3),
]


def test_rows_stand_in_the_order_of_what_was_wanted():
    assert admit("microdata", WANTED, GOOD) == (
        Finding("microdata", ROWS.type, {"value": 3}, True, 3),
        Finding("microdata", K.type, K.parameters, True, GOOD[0].observed),
    )


def test_a_failed_expectation_is_a_row():
    failed = [GOOD[0], replace(GOOD[1], passed=False, observed=4)]
    rows = admit("microdata", WANTED, failed)
    assert [row.passed for row in rows] == [False, True]
    with pytest.raises(PromiseError) as error:
        require(rows)
    assert str(error.value) == (
        'microdata: expect_table_row_count_to_equal is broken: required {"value": 3}, observed 4'
    )


OTHER = replace(GOOD[1], expected=Expectation(ROWS.type, {"value": 2}))


@pytest.mark.parametrize(
    "outcomes",
    [
        [],
        GOOD[:1],
        GOOD[1:],
        [*GOOD, GOOD[0]],
        [GOOD[0], GOOD[0]],
        [GOOD[0], OTHER],
        [replace(GOOD[0], raised=True), GOOD[1]],
        [replace(GOOD[0], passed=None), GOOD[1]],
        [replace(GOOD[0], observed=None), GOOD[1]],
        [replace(GOOD[0], observed={}), GOOD[1]],
        [replace(GOOD[0], observed={"k": None}), GOOD[1]],
        [replace(GOOD[0], observed={"k": float("nan")}), GOOD[1]],
        [GOOD[0], replace(GOOD[1], raised=True, passed=False)],
    ],
)
def test_what_was_not_evaluated_is_refused(outcomes):
    with pytest.raises(PromiseError, match="evaluated"):
        admit("microdata", WANTED, outcomes)


def test_nothing_wanted_is_refused():
    with pytest.raises(PromiseError, match="nothing is expected"):
        admit("microdata", [], [])


def test_nothing_judged_is_refused():
    with pytest.raises(PromiseError, match="no part was judged"):
        require([])


TABLE = pa.table({"age": [1, 2]})


@pytest.mark.parametrize(
    ("tables", "structure", "promised"),
    [
        ({"microdata": TABLE}, {}, True),
        ({}, {"microdata": [NotEmpty()]}, True),
        ({"microdata": TABLE}, {"microdata": []}, True),
        ({"microdata": TABLE}, {"microdata": [NotEmpty()]}, False),
    ],
)
def test_what_nothing_is_expected_of_is_refused(groups_of, tables, structure, promised):
    promises = [(KAnonymity(k=1), groups_of([("g", 1)]))] if promised else []
    with pytest.raises(PromiseError):
        examine(tables, structure, promises)


def test_a_release_is_examined_without_great_expectations(groups_of):
    groups = groups_of([("g", 1), ("g", 2), ("h", 2)])
    rows = examine({"microdata": TABLE}, {"microdata": [NotEmpty()]}, [(KAnonymity(k=2), groups)])
    assert [(row.table, row.passed, row.observed) for row in rows] == [
        ("microdata", True, 2),
        ("groups", False, {"k": 1, "groups": 2, "failing": 1}),
    ]
    with pytest.raises(PromiseError, match=r"k-anonymity is broken in 1 of 2 groups: .*\"k\": 1"):
        require(rows)


@pytest.mark.parametrize(
    ("type_", "observed"),
    [
        (K.type, 3),
        ("expect_l_diversity", {"k": 2, "groups": 4, "failing": 0}),
    ],
)
def test_a_finding_of_something_else_is_no_verdict(type_, observed):
    finding = Finding(GROUPS, type_, {}, passed=True, observed=observed)
    with pytest.raises(PromiseError, match="k-anonymity: has no verdict"):
        verdict_of(KAnonymity(k=2), finding)


@pytest.mark.parametrize("k", [1, 2])
def test_a_verdict_is_the_same_after_it_was_a_finding(groups_of, k):
    promise, groups = KAnonymity(k=k), groups_of([("g", 1), ("g", 2), ("h", 2)])
    _, finding = examine({"microdata": TABLE}, {"microdata": [NotEmpty()]}, [(promise, groups)])
    assert verdict_of(promise, finding) == promise.check(groups)
    assert verdict_of(promise, finding).failing == k - 1


@pytest.mark.parametrize(
    ("passed", "words"), [(True, "k-anonymity holds"), (False, "k-anonymity is broken")]
)
def test_a_finding_says_whether_it_holds(passed, words):
    finding = Finding(GROUPS, "expect_k_anonymity", {"k": 3}, passed, {"failing": 1, "groups": 4})
    assert str(finding).startswith(f"{words} in 1 of 4 groups: required")

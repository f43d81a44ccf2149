"""Laws of every coding: of nulls, of coding again, of order, and of rows apart."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.tasks.microdata.codings import CODINGS, code_column
from tests.codings.coded import code_values, column_of, declare_coded, rows_of

CASES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "bottom": ("integer", {"bottom": "-3"}),
    "bottom-share": ("decimal", {"bottom": {"share": "0.2"}}),
    "top": ("date", {"top": "1990-01-01"}),
    "top-share": ("float", {"top": {"share": "0.2"}}),
    "round": ("decimal", {"round": {"to": "0.25"}}),
    "round-up": ("decimal", {"round": {"to": "7", "ties": "up"}}),
    "unite": ("string", {"unite": "spellings"}),
    "prefix": ("string", {"prefix": 2}),
    "fold": ("string", {"fold": {"below": 3, "into": "other"}}),
    "several": ("decimal", {"bottom": "-10", "top": "10", "round": {"to": "2.5"}}),
}


of_each = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def _first(case, data):
    """Rows, and what was found of them."""
    kind, wish = case
    values = data.draw(rows_of(kind, min_size=1))
    assume(any(v is not None for v in values))
    column, codings = code_column(column_of(kind, values), declare_coded(**wish), {})
    return values, column.array().to_pylist(), codings


def test_every_coding_has_a_case():
    """But for dates that move: that is a function of the unit, and moves them again."""
    assert {key for _, wish in CASES.values() for key in wish} == CODINGS.keys() - {"shift"}


@of_each
@given(data=st.data())
def test_nulls_pass(case, data):
    values, codings, _ = _first(case, data)
    assert [v is None for v in codings] == [v is None for v in values]


@of_each
@given(data=st.data())
def test_coded_values_are_coded_as_they_are(case, data):
    kind, wish = case
    _, once, codings = _first(case, data)
    if "fold" in wish:
        codings = {"fold": [*codings["fold"], "other"]}
    assert code_values(kind, once, codings, **wish) == once


@of_each
@given(data=st.data())
def test_order_is_kept(case, data):
    kind, _ = case
    if kind == "string":
        return
    values, codings, _ = _first(case, data)
    pairs = sorted((v, f) for v, f in zip(values, codings, strict=True) if v is not None)
    assert [f for _, f in pairs] == sorted(f for _, f in pairs)


@of_each
@given(data=st.data(), cut=st.integers(0, 25))
def test_rows_apart_are_coded_as_together(case, data, cut):
    kind, wish = case
    values, whole, codings = _first(case, data)
    parts = [code_values(kind, part, codings, **wish) for part in (values[:cut], values[cut:])]
    assert [*parts[0], *parts[1]] == whole


@of_each
@given(data=st.data())
def test_equal_values_are_coded_alike(case, data):
    values, codings, _ = _first(case, data)
    assert len(set(zip(values, codings, strict=True))) == len(set(values))

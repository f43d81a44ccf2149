"""Spellings of one value have one normal form; other values have others."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.microdata.notation.normal_form import (
    kind_of_difference,
    kinds_of,
    normal_form,
    normal_steps,
)

KINDS = [
    ("HIV", "HIV ", "a space at the end"),
    ("HIV", "HIV\u00a0", "a space at the end"),
    ("HIV", "HIV\t\r\n", "a space at the end"),
    ("HIV", " HIV", "a space at the beginning"),
    ("HIV", "\ufeffHIV", "a space at the beginning"),
    ("heart attack", "heart\u00a0 attack", "spaces"),
    ("123 456", "123456", "spaces"),
    ("caf\u00e9", "cafe\u0301", "the Unicode form"),
    ("HIV", "\uff28\uff29\uff36", "the Unicode form"),
    ("17", "\u0661\u0667", "the Unicode form"),
    ("J44-1", "J44\u20131", "the Unicode form"),
    ("HIV", "hiv", "case"),
    ("STRASSE", "stra\u00dfe", "case"),
    ("17", "00017", "leading zeros"),
    ("P17", "P00017", "leading zeros"),
    ("2020-01-05", "2020-1-5", "leading zeros"),
    ("17", "17.0", "the format of numbers"),
    ("17", "+17", "the format of numbers"),
    ("1200.5", "1,200.50", "the format of numbers"),
    ("1200.5", "1.200,5", "the format of numbers"),
    ("3.5", "3,5", "the format of numbers"),
    ("0.5", ".5", "the format of numbers"),
    ("120000", "1.2E+05", "case and the format of numbers"),
    ("1200000", "1'200'000", "the format of numbers"),
    ("P17", "p0017 ", "a space at the end and case and leading zeros"),
]


def normal(*texts):
    return normal_form(pa.array(texts, pa.string())).to_pylist()


@pytest.mark.parametrize(("first", "other", "kind"), KINDS)
def test_spellings_of_a_value_have_one_normal_form(first, other, kind):
    assert len(set(normal(first, other))) == 1
    assert kind_of_difference(first, other) == kind_of_difference(other, first) == kind


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("1.05", "1.5"),
        ("E11.01", "E11.1"),
        ("0", "00a"),
        ("10", "1"),
        ("P17", "Q17"),
        ("cafe", "caf\u00e9"),
        ("1.10", "1.01"),
        ("-5", "5"),
        ("12e45", "1.2e46"),
        ("1.2.3", "123"),
        ("", "0"),
    ],
)
def test_other_values_have_other_normal_forms(first, other):
    assert len(set(normal(first, other))) == 2


def test_nulls_stay_null_and_nothing_is_changed_in_place():
    texts = pa.array([None, "A", None])
    form, steps = normal_steps(texts)
    assert form.to_pylist() == [None, "a", None]
    assert texts.to_pylist() == [None, "A", None]
    assert steps.tolist() == [0, 16, 0]
    assert normal_form(pa.chunked_array([["A"], ["b "]])).to_pylist() == ["a", "b"]
    assert normal_form(pa.array([], pa.string())).to_pylist() == []
    assert normal_form(pa.array(["B", "B"]).dictionary_encode()).to_pylist() == ["b", "b"]


def test_an_exponent_makes_no_endless_number():
    assert normal("1e+99") == ["1" + "0" * 99]
    assert normal("1e+999999999") == ["1e+999999999"]


NUMBERS = st.from_regex(r"\A[+-]?[0-9.,' ]{1,12}(e[+-][0-9]{1,3})?\Z")
TEXTS = st.text() | NUMBERS | st.text(alphabet="aA0 .,-1\u00a0\u00df\u0130\u00b4\u0345")


@given(st.lists(TEXTS, max_size=20))
def test_the_normal_form_of_a_normal_form_is_itself(texts):
    form = normal(*texts)
    assert normal(*form) == form


@given(st.lists(TEXTS, max_size=20))
def test_a_text_is_normalised_by_itself(texts):
    form, steps = normal_steps(pa.array(texts, pa.string()))
    assert form.to_pylist() == [normal(text)[0] for text in texts]
    unchanged = np.array(texts, object) == np.array(form.to_pylist(), object)
    assert not steps[unchanged].any()


@given(TEXTS, st.sampled_from([" ", "\u00a0", "\t", "\u200b"]))
def test_blanks_say_nothing(text, blank):
    assert len(set(normal(text, text + blank, blank + text))) == 1


def test_kinds_are_named_by_what_differs():
    assert kinds_of(0b1, 0b10000) == "a space at the end and case"
    assert kinds_of(0, 0) == "nothing that the normal form leaves out"

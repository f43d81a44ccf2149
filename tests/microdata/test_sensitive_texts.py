"""Sensitive texts that promises cannot be about: spellings of one value, and all of their own."""

import random
import re
import unicodedata
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.microdata.suspect_values import SensitiveTexts, nearly_all_differ, spellings
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.schema.columns import ColumnSpec

FOUR = ["HIV", "HIV ", "hiv", "HIV\N{NO-BREAK SPACE}"]


def counted(texts, parts=1, **keys):
    """What is wrong with a column of texts, counted some rows at a time."""
    found = SensitiveTexts({"ill": ColumnSpec(role="sensitive", **keys)})
    size = max(1, -(-len(texts) // parts))
    for start in range(0, len(texts), size):
        some = texts[start : start + size]
        column = encode("ill", "sensitive", pa.array(some, pa.string()))
        found.add(Microdata((column,), len(some)))
    return found.faults()


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_spellings_of_one_illness_are_not_several(parts):
    (fault,) = counted([*FOUR * 5, "flu", None] * 2, parts)
    assert fault.words.startswith("columns.ill: 4 values are spellings of 1: ")
    assert "(spelling: as-written)" in fault.words
    assert sorted(fault.values.to_pylist()) == sorted(FOUR)
    assert "HIV" not in fault.words


def test_who_says_that_spellings_differ_is_believed():
    assert counted(FOUR * 5, spelling="as-written") == []


@pytest.mark.parametrize("different", [["E01", "E1"], ["1.0", "1"], ["a", "á"], ["ab", "ba"]])
def test_values_that_mean_different_things_are_no_spellings(different):
    assert counted(different * 5) == []


@pytest.mark.parametrize("parts", [1, 3])
def test_a_text_that_nearly_all_differ_in_is_asked_about(parts):
    texts = [f"P{number:05}" for number in range(150)] + ["none"] * 30
    (fault,) = counted(texts, parts)
    assert fault.words.startswith("columns.ill: 150 of 151 values are one row's alone")
    assert "P00" not in fault.words
    assert len(fault.values) == 150
    assert counted(texts, parts, all_different="codes of a public list") == []


def test_spellings_matter_to_promises_alone():
    assert counted(FOUR * 5, unprotected="nobody is harmed by it") == []


def test_only_sensitive_texts_are_counted():
    columns = {
        "age": ColumnSpec(role="sensitive", type="integer"),
        "town": ColumnSpec(role="quasi-identifier"),
    }
    assert SensitiveTexts(columns).columns == ()


@pytest.mark.parametrize("key", [{"spelling": "as-written"}, {"all_different": "why"}])
@pytest.mark.parametrize(
    "of", [{"role": "quasi-identifier"}, {"role": "sensitive", "type": "date"}]
)
def test_nothing_is_said_of_other_columns(key, of):
    with pytest.raises(ValueError, match="is about a sensitive column of type string"):
        ColumnSpec(**of, **key)


def plain(text):
    """A text without spaces, case and Unicode form, one character after the other."""
    kept = "".join(c for c in unicodedata.normalize("NFKC", text) if not re.match(r"\s", c))
    return unicodedata.normalize("NFKC", kept.casefold()).casefold()


TEXTS = st.lists(st.text("aAbßé \t\u00a0e\u0301ﬁfi1", max_size=4), min_size=1, unique=True)


@given(TEXTS)
def test_spellings_are_those_that_a_plain_comparison_finds(texts):
    times = Counter(map(plain, texts))
    assert spellings(pa.array(texts)).tolist() == [times[plain(text)] > 1 for text in texts]


@given(st.lists(st.integers(1, 3)))
def test_nearly_all_differ_by_definition(rows):
    alone = sum(1 for one in rows if one == 1)
    expected = len(rows) >= 20 and alone / len(rows) >= 0.9
    assert nearly_all_differ(np.array(rows, dtype=np.int64)) == expected


@given(st.lists(st.sampled_from([*FOUR, "flu", "cold", None])), st.integers(1, 5), st.randoms())
def test_some_rows_at_a_time_are_as_all_at_once(texts, parts, shuffled: random.Random):
    at_once = [(f.words, sorted(f.values.to_pylist())) for f in counted(texts)]
    shuffled.shuffle(texts)
    assert [(f.words, sorted(f.values.to_pylist())) for f in counted(texts, parts)] == at_once

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


def count_faults(texts, parts=1, **keys):
    """Return what is wrong with a column of texts, counted some rows at a time."""
    texts_seen = SensitiveTexts({"ill": ColumnSpec(role="sensitive", **keys)})
    size = max(1, -(-len(texts) // parts))
    for start in range(0, len(texts), size):
        some = texts[start : start + size]
        column = encode("ill", "sensitive", pa.array(some, pa.string()))
        texts_seen.add(Microdata((column,), len(some)))
    return texts_seen.faults()


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_spellings_of_one_illness_are_not_several(parts):
    (fault,) = count_faults([*FOUR * 5, "flu", None] * 2, parts)
    assert fault.words.startswith("columns.ill: 4 values are spellings of 1: they differ")
    assert "(unite: spellings)" in fault.words
    assert sorted(fault.values.to_pylist()) == sorted(FOUR)
    assert "HIV" not in fault.words


def test_who_says_that_spellings_differ_is_believed():
    assert count_faults(FOUR * 5, spelling="as-written") == []


@pytest.mark.parametrize("different", [["E01", "E1"], ["1.0", "1"], ["a", "á"], ["ab", "ba"]])
def test_values_that_mean_different_things_are_no_spellings(different):
    assert count_faults(different * 5) == []


@pytest.mark.parametrize("parts", [1, 3])
def test_a_text_that_nearly_all_differ_in_is_asked_about(parts):
    texts = [f"P{number:05}" for number in range(150)] + ["none"] * 30
    (fault,) = count_faults(texts, parts)
    assert fault.words.startswith("columns.ill: 150 of 151 values occur in one row only")
    assert "P00" not in fault.words
    assert len(fault.values) == 150
    assert count_faults(texts, parts, all_different="codes of a public list") == []


def test_spellings_matter_to_promises_alone():
    assert count_faults(FOUR * 5, unprotected="nobody is harmed by it") == []


def test_only_sensitive_texts_are_counted():
    columns = {
        "age": ColumnSpec(role="sensitive", type="integer"),
        "town": ColumnSpec(role="quasi-identifier"),
    }
    assert SensitiveTexts(columns).columns == ()


@pytest.mark.parametrize("key", [{"spelling": "as-written"}, {"all_different": "why"}])
@pytest.mark.parametrize(
    "definition", [{"role": "quasi-identifier"}, {"role": "sensitive", "type": "date"}]
)
def test_nothing_is_said_of_other_columns(key, definition):
    with pytest.raises(ValueError, match="is only for sensitive columns of type string"):
        ColumnSpec(**definition, **key)


def plain(text):
    """A text without spaces, case and Unicode form, one character after the other."""
    characters = "".join(c for c in unicodedata.normalize("NFKC", text) if not re.match(r"\s", c))
    return unicodedata.normalize("NFKC", characters.casefold()).casefold()


TEXTS = st.lists(st.text("aAbßé \t\u00a0e\u0301ﬁfi1", max_size=4), min_size=1, unique=True)


@given(TEXTS)
def test_spellings_are_those_that_a_plain_comparison_finds(texts):
    times = Counter(map(plain, texts))
    assert spellings(pa.array(texts)).tolist() == [times[plain(text)] > 1 for text in texts]


@given(st.lists(st.integers(1, 3)))
def test_nearly_all_differ_by_definition(rows):
    alone = sum(1 for row in rows if row == 1)
    expected = len(rows) >= 20 and alone / len(rows) >= 0.9
    assert nearly_all_differ(np.array(rows, dtype=np.int64)) == expected


@given(st.lists(st.sampled_from([*FOUR, "flu", "cold", None])), st.integers(1, 5), st.randoms())
def test_some_rows_at_a_time_are_as_all_at_once(texts, parts, shuffled: random.Random):
    at_once = [(f.words, sorted(f.values.to_pylist())) for f in count_faults(texts)]
    shuffled.shuffle(texts)
    assert [(f.words, sorted(f.values.to_pylist())) for f in count_faults(texts, parts)] == at_once

"""The days by which a unit's dates are moved: a function of unit and key, each as likely."""

import hashlib
import hmac

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.microdata.table import encode
from sfumato.tasks.private.keys import keyed_hashes
from sfumato.tasks.private.people.coding import draw_evenly, offsets_of

KEY = b"k" * 32


def draw(digest, size, key=KEY):
    """The same of one hash, in whole numbers."""
    whole = 2**64 - 2**64 % size
    for position in range(0, 32, 8):
        word = int.from_bytes(digest[position : position + 8], "little")
        if word < whole:
            return word % size
    return draw(hmac.digest(key, digest, hashlib.sha256), size, key)


def days_of(unit, days, key=KEY):
    return draw(hmac.digest(key, unit.encode(), hashlib.sha256), 2 * days + 1, key) - days


def units(values, kind=None):
    return encode("person", "identifier", pa.array(values, kind))


@given(st.lists(st.text("ab1", max_size=4), min_size=1, max_size=8), st.integers(1, 36_500))
def test_days_are_drawn_from_the_hash_of_the_unit(values, days):
    offsets = offsets_of(units(values), KEY, days)
    assert offsets.tolist() == [days_of(value, days) for value in values]
    assert offsets.dtype == np.int64


# Of so many numbers nearly half, or nearly all, of the words of a hash are passed over.
@pytest.mark.parametrize("size", [1, 61, 2**63, 2**63 + 1, 2**64 - 2**63 // 3])
def test_words_of_an_incomplete_round_are_passed_over(size):
    hashes = keyed_hashes([str(n).encode() for n in range(400)], KEY)
    offsets = draw_evenly(hashes, KEY, size)
    assert offsets.tolist() == [draw(hash_.tobytes(), size) for hash_ in hashes]


def test_every_number_of_days_is_as_likely():
    """Counts of 61,000 people, of which each lies within five standard deviations."""
    offsets = offsets_of(units([f"person {n}" for n in range(61_000)]), KEY, 30)
    counts = np.bincount(offsets + 30, minlength=61)
    assert len(counts) == 61
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
    assert counts[30], "0 is possible"


def test_the_last_number_is_not_less_likely_than_the_first():
    """A remainder of 64 bits by two thirds of their range would give small numbers twice."""
    size = 2**64 // 3 * 2
    hashes = keyed_hashes([str(n).encode() for n in range(20_000)], KEY)
    small = int((draw_evenly(hashes, KEY, size) < size // 2).sum())
    assert abs(small - 10_000) < 5 * np.sqrt(5_000)


def test_equal_units_of_other_types_move_alike():
    whole, text = units([7, 12], pa.int64()), units(["7", "12"])
    decimal = units([7, 12], pa.int64()).values.cast(pa.decimal128(38, 2))
    as_decimal = encode("person", "identifier", decimal)
    for other in (text, as_decimal):
        assert sorted(offsets_of(whole, KEY, 30)) == sorted(offsets_of(other, KEY, 30))


def test_another_key_moves_otherwise():
    many = units([f"person {n}" for n in range(200)])
    assert (offsets_of(many, KEY, 30) != offsets_of(many, b"j" * 32, 30)).mean() > 0.9

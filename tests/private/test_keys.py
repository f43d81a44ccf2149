"""Keyed hashes of values are HMAC-SHA256 of their texts, however many are hashed at once."""

import hmac

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tasks.private import keys
from sfumato.tasks.private.keys import hashes_of

SECRET = b"s" * 32


@pytest.mark.parametrize("at_once", [1, 3, 4, 100])
@pytest.mark.parametrize("values", [pa.array([5, -2, 0, 44]), pa.array(["", "ä", "x" * 99, "b"])])
def test_hashes_are_those_of_texts_in_their_order(monkeypatch, values, at_once):
    monkeypatch.setattr(keys, "_AT_ONCE", at_once)
    expected = [hmac.digest(SECRET, str(v).encode(), "sha256") for v in values.to_pylist()]
    hashes = hashes_of(values, str, SECRET)
    assert hashes.dtype == np.uint8
    assert [row.tobytes() for row in hashes] == expected
    assert hashes_of(values[:0], str, SECRET).shape == (0, 32)

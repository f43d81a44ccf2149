"""Secrets under a passphrase."""

from pathlib import Path

import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.private import wrapping
from sfumato.tasks.private.wrapping import unwrap, wrap

PLACE = Path("key.json")


def test_users_passphrases_take_long_to_guess(cheap_passphrases, monkeypatch):
    """Stretched with the cost that is written beside the secret."""
    assert cheap_passphrases >= 2**15
    monkeypatch.setattr(wrapping, "_COST", cheap_passphrases)
    document = wrap(b"secret", "long enough")
    assert document["cost"] == cheap_passphrases
    assert unwrap(PLACE, document, "long enough", "VARIABLE") == b"secret"
    with pytest.raises(InputError, match="the passphrase in VARIABLE is wrong"):
        unwrap(PLACE, {**document, "cost": 2}, "long enough", "VARIABLE")

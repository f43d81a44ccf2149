"""A store that breaks off in the middle of an object: its error is ours, and nothing is lost."""

import io

import pytest

from sfumato.expectations.shared.errors import TransientFault
from sfumato.tasks.verification.elsewhere import store as elsewhere
from sfumato.tasks.verification.elsewhere.store import StoreDirectory

ADDRESS = "s3://public/lines/town/0001"


class Broken(io.BytesIO):
    """Gives one piece, and fails at the next."""

    def read(self, size=-1):
        if self.tell():
            raise OSError("SECRET: connection reset")
        return super().read(3)


class Objects:
    """A stand-in for the objects that a store would open."""

    def __init__(self):
        self.asked = []

    def open_input_stream(self, place, compression):
        self.asked.append((place, compression))
        return Broken(b"abcdef")


def test_an_object_that_breaks_off_is_no_shorter_object(monkeypatch):
    objects = Objects()
    monkeypatch.setattr(elsewhere, "connect_store", lambda *_, **__: objects)
    with StoreDirectory(ADDRESS, {}).pieces("data/microdata.parquet") as pieces:
        assert next(pieces) == b"abc"
        with pytest.raises(TransientFault) as broken:
            next(pieces)
    assert str(broken.value).startswith(f"{ADDRESS}/data/microdata.parquet: the store cannot be")
    assert "SECRET" not in str(broken.value)
    assert objects.asked == [("public/lines/town/0001/data/microdata.parquet", None)]

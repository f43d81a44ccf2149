import pytest

from tests.codings.stays import Stays, stays


@pytest.fixture
def line(tmp_path, monkeypatch):
    """A line whose columns are coded, with a source."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return Stays(tmp_path / "line").write(stays())

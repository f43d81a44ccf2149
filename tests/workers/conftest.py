import pytest

from tests.parts.divided import Divided


@pytest.fixture
def divided(tmp_path, monkeypatch):
    """A line in parts whose source is not written yet."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return Divided(tmp_path / "line")

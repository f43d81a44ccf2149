import pytest

from tests.parts.divided import Divided


@pytest.fixture
def divided_line(tmp_path, monkeypatch):
    """A line in parts whose source is not written yet."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return Divided(tmp_path / "line")

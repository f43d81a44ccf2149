"""Private work beside the tables of each test."""

import pytest


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    """The work directory of whatever a test runs."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return tmp_path / "work"

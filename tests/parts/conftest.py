import shutil

import pytest

from tests.parts.divided import Divided, visits


@pytest.fixture
def divided(tmp_path, monkeypatch):
    """A line in parts whose source is not written yet."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return Divided(tmp_path / "line")


@pytest.fixture
def release(divided):
    """A published version of it."""
    return divided.write(visits()).publish("one").directory


@pytest.fixture
def writable(release, tmp_path):
    """A copy of it that may be changed."""
    copy = tmp_path / "copy"
    shutil.copytree(release, copy, copy_function=shutil.copyfile)
    return copy

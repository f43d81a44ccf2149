import importlib.util
import sys
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("small_line", Path(__file__).with_name("small.py"))
small_line = importlib.util.module_from_spec(_spec)
sys.modules["small_line"] = small_line
_spec.loader.exec_module(small_line)


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return small_line.Small(tmp_path / "line").write(small_line.people())


@pytest.fixture
def release(small):
    return small.publish("one").directory

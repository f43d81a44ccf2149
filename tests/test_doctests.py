"""Every example in a docstring is true."""

import doctest
import importlib
import linecache
from pathlib import Path

import pytest

import sfumato

ROOT = Path(*sfumato.__path__)
MODULES = [
    "sfumato." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for room in ("expectations", "flows", "tasks")
    for path in sorted((ROOT / room).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, monkeypatch):
    # each example would look at every file whose lines were shown before
    monkeypatch.setattr(linecache, "checkcache", lambda *_: None)
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0
    assert tried > 0


def test_there_are_examples():
    assert len(MODULES) > 100

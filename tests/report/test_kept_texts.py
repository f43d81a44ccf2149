"""Texts that take long to make are kept for other processes, and made again when they must be."""

import sys

import pytest

from sfumato.expectations.machine import imports
from sfumato.expectations.machine.imports import keep_text
from sfumato.tasks.report.rendering import make_script, page_script


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The directory in which texts are kept for this test."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(imports, "_KEPT", tmp_path)
    return tmp_path


def upper(*sources):
    return keep_text("upper", sources, lambda: "".join(sources).upper())


def made_before(*_):
    raise AssertionError("made again")


def test_a_text_is_made_once_for_the_same_sources(folder):
    assert upper("a\n", "ß") == "A\nSS"
    assert len([*folder.iterdir()]) == 1
    assert keep_text("upper", ("a\n", "ß"), made_before) == "A\nSS"
    with pytest.raises(AssertionError):
        keep_text("upper", ("a", "\nß"), made_before)
    with pytest.raises(AssertionError):
        keep_text("lower", ("a\n", "ß"), made_before)


@pytest.mark.parametrize("content", [b"", b"no text", b"\xff\n", b"0" * 64 + b"\nA"])
def test_a_damaged_file_is_made_again(folder, content):
    assert upper("a") == "A"
    (file,) = folder.iterdir()
    file.write_bytes(content)
    assert upper("a") == "A"
    assert keep_text("upper", ("a",), made_before) == "A"


def test_a_text_is_made_where_nothing_can_be_kept(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert upper("a") == "A"
    assert not [*folder.iterdir()]
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(imports, "_KEPT", folder / "missing")
    assert upper("a") == "A"


def test_a_script_that_was_kept_is_the_one_that_is_made(folder):
    made = make_script("rows")
    for _ in range(2):
        assert page_script.__wrapped__("rows") == made
    assert [file.name[:7] for file in folder.iterdir()] == ["script-"]

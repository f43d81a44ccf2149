"""One attempt counts, and no other is left."""

import shutil

import pytest

from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.workers.workers import attempt, keep_attempt, open_attempts


def try_attempt(attempts, name, text):
    with attempt(attempts, name) as place:
        (place / "rows").write_text(text)
    return place.name


def test_the_reported_one_counts(tmp_path):
    with open_attempts(tmp_path) as attempts:
        try_attempt(attempts, "0001", "of a worker thought dead")
        reported = try_attempt(attempts, "0001", "reported")
        try_attempt(attempts, "0001", "late")
        keep_attempt(attempts, reported, tmp_path / "0001")
    assert [path.name for path in tmp_path.iterdir()] == ["0001"]
    assert (tmp_path / "0001" / "rows").read_text() == "reported"


def test_who_comes_late_finds_no_place(tmp_path):
    with open_attempts(tmp_path) as attempts:
        pass
    with pytest.raises(FileNotFoundError), attempt(attempts, "0001"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_failed_is_gone_and_what_was_open_is_private(tmp_path):
    def fail(*folders):
        assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}
        raise ValueError("no")

    with open_attempts(tmp_path) as attempts:
        with pytest.raises(ValueError, match="no"), attempt(attempts, "0001") as place:
            fail(attempts, place)
        assert list(attempts.iterdir()) == []


def test_one_that_cannot_be_deleted_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "rmtree", lambda *_arguments, **_named: None)
    with (
        pytest.raises(Fault, match="a stopped worker was still writing"),
        open_attempts(tmp_path) as attempts,
    ):
        try_attempt(attempts, "0001", "stays")

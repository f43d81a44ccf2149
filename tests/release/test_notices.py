"""Notices of a run about a line that can never do what its owner may expect of it later."""

from tests.release.small import SPEC, Small, people

WITHOUT_UNIT = {**SPEC["columns"], "person": {"role": "identifier"}}


def notices(folder, monkeypatch, **changes):
    monkeypatch.setenv("SFUMATO_WORK", str(folder / "work"))
    return Small(folder / "small").write(people(), **changes).plan().notices


def test_rows_without_a_unit_can_never_change(tmp_path, monkeypatch):
    (notice,) = notices(tmp_path, monkeypatch, unit="row", columns=WITHOUT_UNIT)
    assert "a changed source can never be released" in notice
    assert "{role: identifier, unit: true}" in notice
    assert len(notice.splitlines()) == 1


def test_units_alone_can_never_be_composed(tmp_path, monkeypatch):
    (notice,) = notices(tmp_path, monkeypatch, remember="units")
    assert "remember: `units` does not keep who is in which group" in notice
    assert len(notice.splitlines()) == 1


def test_nothing_is_said_of_lines_that_can(tmp_path, monkeypatch):
    assert notices(tmp_path, monkeypatch) == ()
    assert notices(tmp_path, monkeypatch, versions="composed") == ()
    accepted = {"unit": "row", "columns": WITHOUT_UNIT, "versions": "accepted-risk"}
    assert notices(tmp_path, monkeypatch, **accepted) == ()

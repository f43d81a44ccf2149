"""People of two related tables who are in another line, or in an earlier version: advice works."""

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.inputs.spec import read_spec
from tests.flow_here import release_here
from tests.related.hospital import Hospital, made_up, spec_with


@pytest.fixture
def private(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return tmp_path


def with_other_spelling(hospital: Hospital) -> Hospital:
    """The hospital whose patients have other names, written in the same way in both tables."""
    tables = [table.to_pydict() for table in hospital]
    for table in tables:
        table["patient"] = [f" {name.upper()}" for name in table["patient"]]
    return Hospital(*(type(t).from_pydict(d) for t, d in zip(hospital, tables, strict=True)))


@pytest.mark.parametrize("change", [lambda hospital: hospital, with_other_spelling])
def test_people_of_another_line_are_refused_with_what_works(private, change):
    hospital = made_up(5, 100)
    release_here(spec_with(private / "one", hospital, name="one"))
    with pytest.raises(PromiseError, match="in line one") as refused:
        release_here(spec_with(private / "two", change(hospital), name="two"))
    advice = str(refused.value)
    assert "`people:" not in advice
    assert "leave their rows out (source.where of the table of people)" in advice
    assert "across-lines: accepted-risk" in advice
    accepted = {"across-lines": "accepted-risk"}
    directory = release_here(
        spec_with(private / "three", change(hospital), name="three", **accepted)
    )
    assert directory.is_dir()


def test_people_of_an_earlier_version_are_refused_with_what_works(private):
    spec = spec_with(private, made_up(5, 100))
    release_here(spec)
    spec_with(private, made_up(6, 100))
    with pytest.raises(PromiseError, match="100 units are in an earlier version") as refused:
        release_here(spec)
    assert "accepted-risk" not in str(refused.value)
    assert "source.where of the table of people" in str(refused.value)
    with_rows = made_up(7, 160)
    others = Hospital(
        with_rows.patients.slice(100),
        with_rows.stays.filter([int(n[1:]) >= 100 for n in with_rows.stays["patient"].to_pylist()]),
    )
    assert release_here(spec_with(private, others)).name == "0002"
    assert read_spec(spec).related is not None

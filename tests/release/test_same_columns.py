"""A column that another line of the same people has under another name, or banded."""

import json

import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.publication.check import check
from tests.release.evolving import DIVERSE, Evolving, spec

WORK = {"role": "sensitive", "same-as": "job"}


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    place = tmp_path / "work"
    monkeypatch.setenv("SFUMATO_WORK", str(place))
    return place


@pytest.fixture
def first(tmp_path):
    line = Evolving(tmp_path / "first", "split", "first")
    line.publish(people="town")
    return line


def renamed_line(first, **column):
    """A line in which the job of everybody is called work, and banded."""
    other = Evolving(first.folder.parent / "second", "split", "second", seed=9)
    other.people = {
        number: {**person, "work": f"branch {int(person['job'][-1]) // 2}"}
        for number, person in first.people.items()
    }
    columns = spec("split", "second", first.folder)["columns"]
    columns["job"] = {"role": "drop"}
    other.columns = {**columns, "work": {**WORK, **column}}
    return other


def publish(line, **changes):
    settings = {"people": "town", "columns": line.columns, "promises": [DIVERSE[0] | {"l": 2}]}
    return line.publish(**settings | changes)


def test_a_second_grouping_under_another_name_is_refused(first):
    with pytest.raises(PromiseError, match="'work' is called 'job' in the other line"):
        publish(renamed_line(first))


def test_by_its_own_name_it_is_another_column(first):
    assert check(publish(renamed_line(first, **{"same-as": "work"}))).verdicts


def test_not_even_in_the_same_groups_is_it_shown_under_two_names(first):
    """A person whose value changed since stands in one group with the old value and the new one."""
    with pytest.raises(
        PromiseError, match="'work' is called 'job' in the other line, so a value that changed"
    ):
        publish(renamed_line(first), groups="first", partition=None)


def test_a_column_that_is_open_elsewhere_under_another_name(first):
    second = renamed_line(first)
    second.columns = second.columns | {
        "hours": {"role": "sensitive", "type": "integer", "same-as": "edu"},
        "work": {"role": "drop"},
    }
    with pytest.raises(
        PromiseError, match="'hours' is protected in one line and open in the other"
    ):
        publish(second, versions={"rule": "composed"})


def test_what_two_versions_tell_counts_it(first, work):
    publish(renamed_line(first), **{"across-lines": "accepted-risk"})
    composition = json.loads(
        (work / "second" / "reports" / "0001" / "composition.json").read_bytes()
    )
    (column,) = composition["exposure"]["columns"]
    assert (column["column"], column["intersection"]["people"]) == ("work", 72)
    assert column["intersection"]["one"] > 0


def test_a_column_that_nobody_has(first):
    with pytest.raises(InputError, match="same-as: no line about the same people") as no:
        publish(renamed_line(first, **{"same-as": "trade"}))
    assert no.value.exit_code == 2


def test_only_a_sensitive_column_is_compared(first):
    other = renamed_line(first, role="quasi-identifier")
    with pytest.raises(
        SpecError, match=("same-as: only sensitive columns are compared with those")
    ):
        read_spec(other.write(columns=other.columns))

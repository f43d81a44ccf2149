"""Lines about the same people: what one of them promises, the other may not take away."""

import pytest

from sfumato.expectations.errors import InputError, PromiseError
from sfumato.tasks.private.state import read_state, write_state
from tests.release.evolving import DIVERSE, Evolving, spec

SIXES = [DIVERSE[0] | {"l": 6}]


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))


def line(folder, kind="split", name="first", people=None):
    found = Evolving(folder / name, kind, name)
    if people is not None:
        found.people = people
    return found


def by_sixes(folder):
    found = line(folder)
    for number, person in found.people.items():
        person.update(age=number // 6, zip=0, edu=0)
    return found


def six_by_six(found):
    """Groups of the six who are as old as each other, each with another job."""
    return found.publish(
        people="town",
        form={"method": "generalized"},
        partition={"method": "mondrian"},
        promises=[{"model": "k-anonymity", "k": 6}, *SIXES],
    )


def test_a_line_may_not_cut_the_groups_of_another_below_what_that_promises(tmp_path):
    first = by_sixes(tmp_path)
    six_by_six(first)
    halves = {n: p | {"age": p["age"] * 2 + n % 2} for n, p in first.people.items()}
    second = line(tmp_path, name="second", people=halves)
    with pytest.raises(PromiseError, match="groups of the other line are cut, which promises"):
        second.publish(
            people="town",
            form={"method": "generalized"},
            partition={"method": "mondrian"},
            promises=[{"model": "k-anonymity", "k": 3}, DIVERSE[0] | {"l": 3}],
        )


def test_a_line_may_join_groups_of_another(tmp_path):
    first = by_sixes(tmp_path)
    six_by_six(first)
    pairs = {n: p | {"age": p["age"] // 2} for n, p in first.people.items()}
    second = line(tmp_path, name="second", people=pairs)
    six_by_six(second)


def test_covers_of_the_same_people_are_not_drawn_twice(tmp_path):
    line(tmp_path, "ambiguous").publish(people="town")
    promises = [{"model": "alpha-beta", "alpha": "0.9", "beta": "0.5", "sensitive": "hours"}]
    columns = {"job": {"role": "drop"}, "hours": {"role": "sensitive", "type": "integer"}}
    second = line(tmp_path, "ambiguous", "second")
    columns = spec(second.kind, second.name, second.folder)["columns"] | columns
    with pytest.raises(PromiseError, match="both hide who is in them"):
        second.publish(people="town", columns=columns, promises=promises)


def test_distributions_and_values_are_not_shown_of_one_column(tmp_path):
    first = line(tmp_path, "redistributed")
    first.publish(people="town")
    second = line(tmp_path, "ranges", "second")
    with pytest.raises(PromiseError, match="'hours' is shown in both, and in one by distributions"):
        second.publish(people="town")


def cut_short(place):
    """As if the run had been killed between the version and the record of it."""
    state = read_state(place)
    write_state(
        place,
        state.model_copy(update={"versions": {}, "pending": ("0001", state.versions["0001"])}),
    )


def test_a_version_of_a_killed_run_counts(tmp_path):
    line(tmp_path).publish(people="town")
    cut_short(tmp_path / "work" / "first")
    second = line(tmp_path, name="second")
    with pytest.raises(PromiseError, match="72 units are in line first"):
        second.publish(people=None)
    follower = line(tmp_path, name="third")
    with pytest.raises(InputError, match="a run of line first was cut short"):
        follower.publish(people="town", groups="first", partition=None)

"""Releases of two tables that are drawn with wrong links on purpose, and what refuses each."""

import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.order import ALONG
from sfumato.tasks.forms.related import apart
from sfumato.tasks.forms.related.parameters import GROUPS, MOST, PEOPLE, ROWS
from sfumato.tasks.schema.names import GROUP_ID
from tests.conformance.drafts import Draft
from tests.conformance.verdicts import answers_of
from tests.flow_here import release_here
from tests.related.hospital import made_up, spec_with

HOSPITAL = made_up(14, 120)
ANSWERS = Path(__file__).parents[1] / "verifier" / "tools" / "answers.mjs"


def with_column(table, name, change):
    """Return a table with one column changed by a function of its values."""
    values = change(table[name].to_pylist())
    place = table.column_names.index(name)
    return table.set_column(place, table.schema.field(name), pa.array(values, table[name].type))


def exchange(values, first, second):
    """Return values with two of them exchanged."""
    order = list(values)
    order[first], order[second] = order[second], order[first]
    return order


def place_of_other(values):
    """Return the place of the first value that differs from the first one."""
    return next(place for place, value in enumerate(values) if value != values[0])


def with_stay_moved(tables):
    """A stay stands in another group than its patient."""
    moved = with_column(tables["stays"], GROUP_ID, lambda ids: [ids[place_of_other(ids)], *ids[1:]])
    return {**tables, "stays": moved}


def with_stay_moved_and_counted(tables):
    """A stay stands in another group, and the numbers of both groups follow."""
    groups = tables["stays"][GROUP_ID].to_pylist()
    source, target = groups[0], groups[place_of_other(groups)]

    def follow(numbers):
        return [n - (g == source) + (g == target) for g, n in enumerate(numbers)]

    counted = with_column(tables[GROUPS], ROWS, follow)
    rows, people = (counted[name].to_pylist() for name in (ROWS, PEOPLE))

    def possible(most):
        """Return the most rows of one person, where the numbers of rows admit them."""
        return [max(min(m, s), -(-s // k)) for m, s, k in zip(most, rows, people, strict=True)]

    return {**with_stay_moved(tables), GROUPS: with_column(counted, MOST, possible)}


def with_stays_exchanged(tables):
    """Two stays of different groups are exchanged: every number of rows stays as it is."""
    return {
        **tables,
        "stays": with_column(
            tables["stays"], GROUP_ID, lambda ids: exchange(ids, 0, place_of_other(ids))
        ),
    }


def with_cost_exchanged(tables):
    """Values that no promise is about are exchanged between groups."""
    ids, costs = (tables["stays"][name].to_pylist() for name in (GROUP_ID, "cost"))
    other = next(
        place for place in range(len(ids)) if ids[place] != ids[0] and costs[place] != costs[0]
    )
    return {
        **tables,
        "stays": with_column(tables["stays"], "cost", lambda values: exchange(values, 0, other)),
    }


def with_patients_exchanged(tables):
    """Two patients with different ages stand in each other's group."""
    people = tables["patients"]
    ids, ages = people[GROUP_ID].to_pylist(), people["age"].to_pylist()
    other = next(
        place for place in range(len(ids)) if ids[place] != ids[0] and ages[place] != ages[0]
    )
    return {
        **tables,
        "patients": with_column(people, GROUP_ID, lambda values: exchange(values, 0, other)),
    }


def of_counts(name, change):
    """Return a mutant that changes one column of the table of groups."""
    return lambda tables: {**tables, GROUPS: with_column(tables[GROUPS], name, change)}


def lower_one(numbers):
    """Return numbers, the largest lowered by one."""
    place = int(np.argmax(numbers))
    return [number - (i == place) for i, number in enumerate(numbers)]


def raise_one(numbers):
    """Return numbers, the first raised by one."""
    return [numbers[0] + 1, *numbers[1:]]


def impossible(numbers):
    """Return numbers of which the largest is 0: some rows would be of nobody."""
    place = int(np.argmax(numbers))
    return [0 if i == place else number for i, number in enumerate(numbers)]


MUTANTS = {
    "a stay in another group": (with_stay_moved, f"{ROWS} of a group|stays: a row"),
    "a stay in another group, counted there": (with_stay_moved_and_counted, "stays: a row"),
    "stays of two groups exchanged": (with_stays_exchanged, "stays: a row"),
    "values of two groups exchanged": (with_cost_exchanged, "stays: a row"),
    "patients of two groups exchanged": (with_patients_exchanged, "patients: a person"),
    "most rows too few": (of_counts(MOST, lower_one), f"{GROUPS}: {MOST} of a group"),
    "most rows too many": (of_counts(MOST, raise_one), f"{GROUPS}: {MOST} of a group"),
    "people too many": (of_counts(PEOPLE, raise_one), f"{GROUPS}: {PEOPLE} of a group"),
    "rows too many": (of_counts(ROWS, raise_one), f"{GROUPS}: {ROWS} of a group"),
}
"""What is wrong, the change, and the words of the refusal."""


@pytest.fixture
def spec(tmp_path, monkeypatch):
    """The spec of a hospital, whose work directory is its own."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return spec_with(tmp_path, HOSPITAL)


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """A release with right links."""
    place = tmp_path_factory.mktemp("right")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        return release_here(spec_with(place, HOSPITAL))


@pytest.mark.parametrize("name", MUTANTS)
def test_the_gate_refuses_wrong_links_of_a_draw(spec, monkeypatch, name):
    """The form itself is wrong, in canonical order and with hashes that agree."""
    change, words = MUTANTS[name]
    canonical = apart.canonical

    def wrong(tables):
        made = canonical(tables)
        if ALONG not in tables:  # groups get their last numbers when they are renamed with it
            return made
        return canonical({**made, **change({n: made[n] for n in ("patients", "stays", GROUPS)})})

    monkeypatch.setattr(apart, "canonical", wrong)
    events = []
    with pytest.raises(PromiseError, match=words):
        release_here(spec, events)
    assert events[-1] == ("validate", "failed")
    assert not list((spec.parent / "releases").glob("hospital/0*"))


FROM_FILES = {
    "a stay in another group": f"{GROUPS}: {ROWS} of a group differs",
    "most rows impossible": f"{GROUPS}: {MOST} of a group contradicts",
    "people too many": f"{GROUPS}: {PEOPLE} of a group differs",
    "rows too many": f"{GROUPS}: {ROWS} of a group differs",
}
"""What the files alone show, with the words of `check`."""
IN_FILES = {**MUTANTS, "most rows impossible": (of_counts(MOST, impossible), "")}


def sealed_release(right, tmp_path, name):
    """Write a release whose tables were changed, with sizes, hashes and digest of the change."""
    draft = Draft.read(right)
    tables = {table: draft.table(table) for table in ("patients", "stays", GROUPS)}
    wrong = draft.in_order(IN_FILES[name][0](tables))
    for table, content in wrong.items():
        if not content.equals(tables[table]):
            draft.put_table(table, content)
    return draft.write(tmp_path / "hospital", "0001")


def test_what_is_not_changed_is_valid(right, call):
    code, _, error = call("check", right)
    assert code == 0, error


@pytest.mark.parametrize("name", FROM_FILES)
def test_check_refuses_what_the_files_contradict(right, tmp_path, call, name):
    code, _, error = call("check", sealed_release(right, tmp_path, name))
    assert code == 3
    assert FROM_FILES[name] in error


@pytest.mark.parametrize("name", sorted(MUTANTS.keys() - FROM_FILES.keys()))
def test_check_refuses_files_that_followed_from_other_tables(right, tmp_path, call, name):
    """The tables contradict nothing: what was made of the right ones tells."""
    code, _, error = call("check", sealed_release(right, tmp_path, name))
    assert code == 3
    assert "differs from the published tables" in error


@pytest.mark.node
def test_the_second_verifier_refuses_them_by_name(right, tmp_path):
    names = sorted(FROM_FILES)
    releases = [sealed_release(right, tmp_path / str(i), name) for i, name in enumerate(names)]
    command = f"node {shlex.quote(str(ANSWERS))} {{*}}"
    whole, *answers = answers_of(command, [right, *releases])
    assert whole.verdict == "valid"
    for name, answer in zip(names, answers, strict=True):
        assert answer.verdict == "refused", name
        assert "tables-disagree" in answer.reasons, (name, answer)

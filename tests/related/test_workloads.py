"""Workloads over people and their related rows: truths by SQL, bounds as queries give them."""

import json
from datetime import date
from fractions import Fraction
from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.microdata.table import operating_system
from sfumato.tasks.query.accuracy.drawing import Exactly, InWindow
from sfumato.tasks.query.accuracy.evaluate import evaluate
from sfumato.tasks.query.accuracy.parameters import (
    CountsWorkload,
    PeopleWorkload,
    RangeWorkload,
)
from sfumato.tasks.query.accuracy.related import PeopleQueries, joined_tables
from sfumato.tasks.query.ask import answers, engine, files_of_tables
from sfumato.tasks.query.engines.truth import original_in_parts
from sfumato.tasks.terms.opened import open_release
from tests.flow_here import release_here
from tests.related.hospital import Hospital, made_up, spec_with
from tests.related.test_attacks import original_of
from tests.related.test_specs import words_of_refusal

PEOPLE = {"kind": "people", "over": "age", "span": 15, "of": "diagnosis", "queries": 20}
WORKLOADS = [
    {"kind": "range", "aggregate": "count", "over": "age", "spans": [5, 30], "queries": 20},
    {"kind": "range", "aggregate": "avg", "of": "cost", "over": "age", "spans": [15]},
    {"kind": "range", "aggregate": "sum", "of": "cost", "over": "age", "spans": [15]},
    {"kind": "counts", "of": "diagnosis", "attributes": 2, "selectivity": [10], "queries": 50},
    PEOPLE,
]
HOSPITAL = made_up(12, 250)


@pytest.fixture(scope="module")
def measured_version(tmp_path_factory):
    """A spec with workloads, and its version, in a work directory of its own."""
    place = tmp_path_factory.mktemp("workloads")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        spec = spec_with(place, HOSPITAL, evaluate={"workloads": WORKLOADS})
        yield spec, release_here(spec)


def workloads_of(workloads):
    kinds = {"range": RangeWorkload, "counts": CountsWorkload, "people": PeopleWorkload}
    return [kinds[w["kind"]].model_validate(w) for w in workloads]


def measure(directory, hospital, workloads=WORKLOADS):
    release = open_release(directory)
    rows = original_of(hospital)
    return evaluate(release, rows, workloads_of(workloads), operating_system, lambda _, __: None)


def test_a_release_publishes_widths_and_no_truths(measured_version):
    _, directory = measured_version
    record = json.loads((directory.parent / "releases.json").read_text(encoding="utf-8"))
    accuracy = record["versions"]["0001"]["accuracy"]
    assert {(entry["workload"], entry["level"]) for entry in accuracy} == {
        ("count(*) by range of age", 5),
        ("count(*) by range of age", 30),
        ("avg(cost) by range of age", 15),
        ("sum(cost) by range of age", 15),
        ("count(diagnosis) by ranges and a sensitive value", 10),
        ("count(people) by range of age and their rows with one value", 1),
        ("count(people) by range of age and their rows with one value", 2),
    }
    assert sum(entry["queries"] for entry in accuracy) == 330
    assert not any("truth" in key or "outside" in key for entry in accuracy for key in entry)


def test_every_truth_lies_within_its_bounds(measured_version):
    _, directory = measured_version
    queries = measure(directory, HOSPITAL)
    assert len(queries) == 330
    assert all(query.inside for query in queries)
    assert sum(query.lower != query.upper for query in queries) > 200
    assert all(0 <= query.share_of_known <= 1 for query in queries if query.share_of_known)


def test_truths_of_another_original_are_outside(measured_version):
    """The evaluation notices a release that is not about its original."""
    _, directory = measured_version
    stays = HOSPITAL.stays
    costs = pa.array([cost + 60 for cost in stays["cost"].to_pylist()])
    others = Hospital(HOSPITAL.patients, stays.set_column(2, "cost", costs))
    queries = measure(directory, others, WORKLOADS[1:2])
    assert not any(query.inside for query in queries if query.truth is not None)
    owners = pa.array(Random(3).choices(HOSPITAL.patients["patient"].to_pylist()[:9], k=len(stays)))
    moved = Hospital(HOSPITAL.patients, stays.set_column(0, "patient", owners))
    assert not all(query.inside for query in measure(directory, moved, [PEOPLE]))


@pytest.mark.parametrize("times", [1, 2, 3])
def test_people_are_counted_as_the_same_query_counts_them(measured_version, times):
    """Truths are those of SQL on the original tables; bounds those of SQL on the release."""
    release = open_release(measured_version[1])
    connection = duckdb.connect()
    connection.register("patients", HOSPITAL.patients)
    connection.register("stays", HOSPITAL.stays)
    files = files_of_tables(release, ["diagnosis"])
    counted = 0
    with engine(files, release.declared) as asking:
        parts = original_in_parts(original_of(HOSPITAL))
        tables = joined_tables(asking, release.declared, parts)
        workload = PeopleWorkload.model_validate(PEOPLE)
        people = PeopleQueries(workload, tables.engine, release.declared, tables.original)
        for low in range(20, 75, 9):
            for value in ("flu", "gout", "nothing"):
                window, condition = InWindow("age", low, low + 15), Exactly("diagnosis", value)
                bounds = people._bounds(window, condition, times)
                truth = people._truth(window, condition, times)
                sql = (
                    f"SELECT COUNT(*) FROM patients WHERE age BETWEEN {low} AND {low + 15} AND "
                    f"patient IN (SELECT patient FROM stays WHERE diagnosis = '{value}' "
                    f"GROUP BY patient HAVING COUNT(*) >= {times})"
                )
                assert truth == connection.execute(sql).fetchone()[0]
                (answer,) = answers(release, [sql])
                assert not isinstance(answer, QueryError)
                (same,) = answer.rows[0].values()
                assert (bounds.lower, bounds.upper) == (same.lower, same.upper)
                counted += truth
    assert counted > 0


def test_the_join_is_that_of_sql(measured_version):
    release = open_release(measured_version[1])
    with engine(files_of_tables(release, ["cost"]), release.declared) as asking:
        parts = original_in_parts(original_of(HOSPITAL))
        tables = joined_tables(asking, release.declared, parts)
        assert tables.ends("cost") == tuple(
            Fraction(end) for end in pa.compute.min_max(HOSPITAL.stays["cost"]).as_py().values()
        )
        (joined,) = tables.original.each(["age", "sex", "diagnosis", "cost"])
    connection = duckdb.connect()
    connection.register("patients", HOSPITAL.patients)
    connection.register("stays", HOSPITAL.stays)
    sql = "SELECT age, sex, diagnosis, cost FROM patients JOIN stays USING (patient)"
    rows = sorted(zip(*joined.table().to_pydict().values(), strict=True))
    assert rows == sorted(connection.execute(sql).fetchall())
    assert np.array_equal(np.unique(joined.person), np.unique(original_of(HOSPITAL).related.owner))


def test_a_version_is_evaluated_again(measured_version, call):
    spec, directory = measured_version
    code, output, error = call("evaluate", directory, "--spec", spec, "--format", "json")
    assert code == 0, error
    assert "count(people) by range of age" in output


def test_a_goal_may_be_missed(tmp_path, monkeypatch, call):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    goal = {"median-relative-width": 0.001, "on-failure": "refuse"}
    spec = spec_with(tmp_path, HOSPITAL, evaluate={"workloads": WORKLOADS[:1], "require": goal})
    code, _, error = call("release", spec)
    assert code == 3
    assert "evaluate.require" in error


def test_a_plan_that_is_too_wide_advises_what_two_tables_admit(tmp_path, monkeypatch, call):
    """It does not send to commands that refuse two tables."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    spec = spec_with(tmp_path, HOSPITAL, evaluate={"workloads": [{**PEOPLE, "times": [3]}]})
    code, output, error = call("plan", spec)
    assert code == 0, error
    assert "too wide for most uses" in output
    assert "to see what a smaller k or l" in output
    assert f"type sfumato compare {spec}" in output
    page = next((tmp_path / "work").glob(".drafts/*/report/draft.html")).read_text("utf-8")
    assert "No attack was tried" not in page
    assert "names no queries" not in page
    assert "of whom a value is certain" in page


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ({"kind": "arbitrary", "aggregate": "count", "selected": [10]}, "or `kind: people`"),
        ({**WORKLOADS[1], "aggregate": "max"}, "max has no bounds. Use count, sum, avg"),
        ({**PEOPLE, "over": "sex"}, "have no ranges"),
        ({**PEOPLE, "over": "cost"}, "not a column with role quasi-identifier"),
        ({**PEOPLE, "of": "age"}, "not a column with role sensitive"),
    ],
)
def test_what_is_not_asked_of_two_tables(tmp_path, workload, words):
    assert words in words_of_refusal(tmp_path, evaluate={"workloads": [workload]})


def test_people_are_counted_of_two_tables_only(tmp_path):
    table = {
        "tables": None,
        "source": {"uri": "patients.csv"},
        "columns": {
            "patient": {"role": "identifier", "unit": True},
            "age": {"role": "quasi-identifier", "type": "integer"},
            "sex": {"role": "sensitive"},
        },
        "promises": [{"model": "l-diversity", "variant": "distinct", "l": 2}],
        "form": {"method": "permuted"},
    }
    workload = {**PEOPLE, "of": "sex"}
    words = words_of_refusal(tmp_path, **table, evaluate={"workloads": [workload]})
    assert "Use `kind: counts`" in words


def test_windows_of_dates(tmp_path, monkeypatch):
    """Spans of dates are in days; people are found by their date of birth."""
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    patients = HOSPITAL.patients
    born = pa.array([date(2020 - age, 1 + age % 12, 1) for age in patients["age"].to_pylist()])
    tables = {"patients": patients_with_dates(), "stays": spec_stays()}
    hospital = Hospital(patients.set_column(1, "born", born), HOSPITAL.stays)
    workloads = [
        {"kind": "people", "over": "born", "span": 3000, "of": "diagnosis", "queries": 10},
        {"kind": "range", "aggregate": "count", "over": "born", "spans": [900], "queries": 10},
    ]
    spec = spec_with(tmp_path, hospital, tables=tables, evaluate={"workloads": workloads})
    queries = measure(release_here(spec), hospital, workloads)
    assert len(queries) == 30
    assert all(query.inside for query in queries)


def patients_with_dates():
    from tests.related.hospital import patients

    table = patients()
    columns = {name: keys for name, keys in table["columns"].items() if name != "age"}
    return {**table, "columns": {**columns, "born": {"role": "quasi-identifier", "type": "date"}}}


def spec_stays():
    from tests.related.hospital import stays

    return stays()

"""The spec of two related tables, and what is refused with what to write instead."""

import sqlite3
from copy import deepcopy

import duckdb
import pytest

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.spec import json_schema, read_spec
from sfumato.tasks.sql.reserved import RESERVED
from tests.related.hospital import patients, spec_of_hospital, spec_with, stays, toy

DIVERSE = {"model": "related-l-diversity", "l": 2, "sensitive": "diagnosis"}


def words_of_refusal(tmp_path, **changes):
    with pytest.raises(SpecError) as error:
        read_spec(spec_with(tmp_path, toy(), **changes))
    return str(error.value)


def tables(**of_stays):
    return {"patients": patients(), "stays": stays(**of_stays)}


def columns_of_stays(**columns):
    table = stays()
    return {**table, "columns": {**table["columns"], **columns}}


def test_two_tables_are_one_spec_with_the_columns_of_both(tmp_path):
    spec = read_spec(spec_with(tmp_path, toy()))
    assert list(spec.own_columns) == ["patient", "age", "sex"]
    assert list(spec.related_columns) == ["diagnosis", "cost"]
    assert spec.columns_with_key["patient"].type == "string"
    assert spec.form.related_columns == ("diagnosis", "cost")
    assert (spec.form.table_of_rows, spec.form.related_table) == ("patients", "stays")
    assert spec.unit == "patient"


def test_editors_know_the_keys_of_two_tables(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json_schema())
    spec = spec_of_hospital(tmp_path)
    assert list(validator.iter_errors(spec)) == []
    for same in (
        tables(numbers="hidden", show="apart", maximum="of-groups", orphans="drop"),
        tables(maximum={"at-most": 2, "else": "leave-out"}),
        tables(numbers="shuffled"),
        tables(numbers="published"),
        {"patients": patients(), "stays": columns_of_stays(day={"role": "drop", "type": "date"})},
    ):
        assert list(validator.iter_errors({**spec, "tables": same})) == []
    without = {key: value for key, value in spec.items() if key != "tables"}
    for wrong in (
        without,
        {**spec, "source": patients()["source"]},
        {**spec, "form": {"method": "permuted"}},
        {**spec, "columns": patients()["columns"]},
        {**spec, "related": {"source": {"uri": "x.csv"}, "key": "patient", "columns": ["cost"]}},
        {**spec, "tables": {"patients": patients()}},
        {**spec, "tables": tables(numbers="known")},
        {**spec, "tables": tables(maximum={"at-most": 2})},
        {**spec, "tables": tables(rows=3)},
        {**spec, "tables": {"stays": stays(), "patients": {**patients(), "orphans": "drop"}}},
        {
            **spec,
            "tables": {"patients": patients(), "stays": columns_of_stays(patient={"role": "keys"})},
        },
    ):
        assert list(validator.iter_errors(wrong)), wrong


def test_dropped_columns_are_read_and_not_published(tmp_path):
    table = columns_of_stays(day={"role": "drop"})
    spec = read_spec(spec_with(tmp_path, toy(), tables={"patients": patients(), "stays": table}))
    assert "day" in spec.related_columns
    assert "day" not in spec.form.related_columns


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tables": {"patients": patients()}}, "write two tables"),
        ({"tables": {"patients": patients(), "stays": None}}, "must be a mapping"),
        ({"tables": {"patients": patients(), "more": patients()}}, "of: NAME"),
        ({"tables": tables(of="people")}, "must be patients"),
        ({"tables": tables(show="histories")}, "must be 'apart'"),
        ({"tables": tables(numbers="known")}, "must be hidden, shuffled or published"),
        ({"tables": tables(maximum="hidden")}, "must be of-groups, or"),
        ({"tables": tables(rows=3)}, "is no key here"),
        ({"source": {"uri": "x.csv"}}, "is written for each table"),
        ({"form": {"method": "permuted"}}, "two tables have one form"),
        ({"partition": {"method": "anatomy"}}, "mondrian"),
        ({"versions": "composed"}, "versions: disjoint"),
        ({"versions": "accepted-risk"}, "versions: disjoint"),
        ({"people": "citizens"}, "people"),
        ({"evaluate": {"intervals": 95}}, "evaluate"),
        ({"attacks": {"homogeneity": {"max-lift": 0.1}}}, "attacks"),
        ({"promises": [{"model": "people", "k": 2}]}, "no promise protects"),
        (
            {
                "promises": [
                    {"model": "related-l-diversity", "l": 2, "numbers": "hidden", "insiders": 1}
                ]
            },
            "numbers: known",
        ),
    ],
)
def test_what_does_not_go_with_two_tables(tmp_path, changes, words):
    assert words in words_of_refusal(tmp_path, **changes)


def test_promises_over_rows_mean_nothing_there(tmp_path):
    promises = spec_of_hospital(tmp_path)["promises"]
    words = words_of_refusal(tmp_path, promises=[*promises, {"model": "k-anonymity", "k": 2}])
    assert "promises.2: k-anonymity is about one table" in words
    assert "promise people" in words


def test_faults_are_told_where_they_are_written(tmp_path):
    of_patients = {**patients(), "source": {"urii": "patients.csv"}}
    table = columns_of_stays(diagnosis={"role": "secret"}, cost={"role": "sensitive", "typ": "x"})
    both = {"patients": of_patients, "stays": {**table, "source": {"uri": 5}, "orphans": "keep"}}
    words = words_of_refusal(tmp_path, tables=both)
    for place in (
        "tables.patients.source.urii: is no key here; did you mean uri?",
        "tables.stays.source.uri: must be",
        "tables.stays.columns.diagnosis.role: must be",
        "tables.stays.columns.cost.typ: is no key here; did you mean type?",
    ):
        assert place in words
    assert "tables.stays.orphans: must be" in words_of_refusal(
        tmp_path, tables=tables(orphans="keep")
    )
    unprotected = columns_of_stays(cost={"role": "insensitive"})
    words = words_of_refusal(tmp_path, tables={"patients": patients(), "stays": unprotected})
    assert "tables.stays.columns.cost: every column" in words


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"patient": {"role": "drop"}}, "role: key"),
        ({"patient": {"role": "key", "type": "integer"}}, "no key but"),
        ({"age": {"role": "sensitive"}}, "source.rename"),
        ({"ward": {"role": "insensitive"}}, "role sensitive"),
        ({"ward": {"role": "quasi-identifier"}}, "single out"),
    ],
)
def test_columns_of_the_related_table(tmp_path, column, words):
    both = {"patients": patients(), "stays": columns_of_stays(**column)}
    assert words in words_of_refusal(tmp_path, tables=both)


def test_the_key_is_the_unit_of_people(tmp_path):
    people = patients()
    people["columns"]["patient"] = {"role": "identifier", "unprotected": "rows are people"}
    assert "identifier, unit: true" in words_of_refusal(
        tmp_path, tables={"patients": people, "stays": stays()}
    )


def test_people_have_no_sensitive_columns_yet(tmp_path):
    people = patients()
    people["columns"]["income"] = {"role": "sensitive", "type": "integer", "unprotected": "public"}
    assert "role drop" in words_of_refusal(tmp_path, tables={"patients": people, "stays": stays()})


@pytest.mark.parametrize(
    "maximum",
    [
        "hidden",
        6,
        {"at-most": 0, "else": "leave-out"},
        {"at-most": 6},
        {"at-most": 6, "else": 1},
    ],
)
def test_a_maximum_is_of_groups_or_leaves_people_out(tmp_path, maximum):
    words = words_of_refusal(tmp_path, tables=tables(maximum=maximum))
    assert "at-most: 6, else: leave-out" in words


def test_a_maximum_and_a_chance_to_be_left_out_are_told_apart(tmp_path):
    maximum = {"at-most": 6, "else": "leave-out"}
    words = words_of_refusal(
        tmp_path, tables=tables(maximum=maximum), partition={"method": "mondrian", "leave": 0.1}
    )
    assert "partition.leave: cannot be used with `maximum.at-most`" in words


@pytest.mark.parametrize("name", ["values", "order", "user", "range"])
def test_a_word_of_sql_names_no_table(tmp_path, name):
    both = {name: patients(), "stays": stays(of=name)}
    assert "is a word of SQL" in words_of_refusal(tmp_path, tables=both)


def test_words_that_databases_reserve_are_known():
    listed = duckdb.sql(
        "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
    ).fetchall()
    assert {word for (word,) in listed} <= RESERVED
    with sqlite3.connect(":memory:") as database:
        for name in ("patients", "stays", "visits", "admissions"):
            database.execute(f"CREATE TABLE {name} (a)")
            assert name not in RESERVED


@pytest.mark.parametrize("name", ["people", "groups", "group_counts", "Patients"])
def test_names_of_tables(tmp_path, name):
    both = {name: patients(), "stays": stays(of=name)}
    assert words_of_refusal(tmp_path, tables=both)


def test_the_form_is_made_of_tables_alone(tmp_path):
    document = deepcopy(spec_of_hospital(tmp_path))
    people = {"version": 2, "unit": "patient", **document["tables"]["patients"]}
    form = {"method": "apart", "people": "p", "related": "s", "key": "patient", "columns": ["age"]}
    changes = {**people, "tables": None, "form": form}
    assert "under `tables`" in words_of_refusal(tmp_path, **changes)

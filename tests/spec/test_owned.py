"""Expectations of the owner's own in a spec: what is refused, and what they are not."""

import pytest

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.spec import json_schema
from tests.spec.test_spec import change_spec, read  # noqa: F401 - a fixture

ROWS = {"expect_table_row_count_to_be_between": {"min_value": 1}}
AGES = {"expect_column_values_to_be_between": {"column": "age", "max_value": 120}}
TOWNS = {"expect_column_values_to_be_in_set": {"column": "town", "value_set": ["A", "B"]}}


def spec_with_rules(**rules):
    return change_spec({"expectations": rules})


def test_rules_are_read(read, tmp_path):  # noqa: F811
    spec = read(spec_with_rules(source=[ROWS, AGES], release=[TOWNS]))
    owned = spec.expectations
    assert [rule.type for rule in owned.source] == [*ROWS, *AGES]
    (towns,) = owned.release
    assert towns.expectation.parameters == TOWNS["expect_column_values_to_be_in_set"]


def test_they_are_no_terms_of_a_version(read, tmp_path):  # noqa: F811
    with_rules = read(spec_with_rules(source=[ROWS, AGES], release=[TOWNS])).terms(tmp_path)
    assert with_rules.digest() == read(change_spec({})).terms(tmp_path).digest()


def source_rule(name, **kwargs):
    return {"source": [{name: kwargs}]}


_OF = "expect_column_values_to"
REFUSED = {
    "source.0.expect_column_values_to_be_betwen: is no key here; did you mean "
    "expect_column_values_to_be_between?": source_rule(
        f"{_OF}_be_betwen", column="age", max_value=1
    ),
    "source.0.expect_column_max_to_be_between: is no key here": source_rule(
        "expect_column_max_to_be_between", column="age", max_value=1
    ),
    "source.0.expect_column_values_to_be_between.max_valu: is no key here; did you mean "
    "max_value?": source_rule(f"{_OF}_be_between", column="age", max_valu=1),
    "source.0: must be one expectation with its parameters": {"source": [{}]},
    "release.0: must be one expectation": {"release": [{**ROWS, **AGES}]},
    "expectations.sources: is no key here; did you mean source?": {"sources": [ROWS]},
    "source.0.expect_column_values_to_be_between: the source has no column 'agee'; "
    "did you mean age?": source_rule(f"{_OF}_be_between", column="agee", max_value=1),
    "source.0.expect_column_values_to_be_between: column 'town' has type string, and this "
    "expectation needs decimal, float, integer": source_rule(
        f"{_OF}_be_between", column="town", max_value=1
    ),
    "release.0.expect_column_values_to_not_be_null: the release has no column 'person'": {
        "release": [{f"{_OF}_not_be_null": {"column": "person"}}]
    },
    "min_value and max_value are missing": source_rule(f"{_OF}_be_between", column="age"),
    "min_value: must not be larger than max_value": source_rule(
        f"{_OF}_be_between", column="age", min_value=2, max_value=1
    ),
    "max_value: an integer may be at most 2^53 - 1": source_rule(
        f"{_OF}_be_between", column="age", max_value=2**53 + 1
    ),
    "max_value: must be a number": source_rule(f"{_OF}_be_between", column="age", max_value="1"),
    "mostly: must be at most 1": source_rule(f"{_OF}_be_null", column="age", mostly=2),
    "regex: is not a valid regular expression": source_rule(
        f"{_OF}_match_regex", column="town", regex="("
    ),
    "value_set: must have 1 or more entries": source_rule(
        f"{_OF}_be_in_set", column="town", value_set=[]
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_no_such_rule_is_refused_with_its_place(read, message):  # noqa: F811
    with pytest.raises(SpecError) as refused:
        read(spec_with_rules(**REFUSED[message]))
    assert f"{message}" in str(refused.value)
    assert "expectations" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_labels_are_texts(read):  # noqa: F811
    hierarchy = {"intervals": [10]}
    recoded = {
        "columns/age/hierarchy": hierarchy,
        "columns/town/hierarchy": {"prefixes": [1]},
        "columns/wage/unprotected": "is known",
        "promises": [{"model": "k-anonymity", "k": 2}],
        "partition": {"method": "mondrian"},
        "form": {"method": "generalized"},
    }
    labels = {"expect_column_values_to_match_regex": {"column": "age", "regex": "-"}}
    assert read(change_spec({**recoded, "expectations": {"release": [labels]}}))
    with pytest.raises(
        SpecError,
        match="column 'age' has type string, and this expectation needs decimal, float, integer",
    ):
        read(change_spec({**recoded, "expectations": {"release": [AGES]}}))


def test_parts_have_none(read):  # noqa: F811
    parts = {
        "parts": {"rows": 1000},
        "remember": "units",
        "source": {"uri": "people", "format": "parquet"},
        "expectations": {"source": [ROWS]},
    }
    with pytest.raises(
        SpecError, match=("expectations: check whole tables, and a release in parts")
    ):
        read(change_spec(parts))


def test_the_schema_of_specs_has_them():
    schema = json_schema()["$defs"]["OwnedRule"]["properties"]
    assert "expect_column_values_to_be_between" in schema

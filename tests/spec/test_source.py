"""The source in a spec, and what a run may change of it."""

import jsonschema
import pytest
from pydantic import ValidationError

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.overrides import ShownOverrides, read_overrides
from sfumato.flows.inputs.spec import json_schema
from tests.spec.test_spec import ABSENT, SPEC, read, refusal  # noqa: F401 - a fixture

QUERY = "SELECT person, age, town, wage FROM people WHERE month = :month"
MONTH = {"month": {"type": "date", "value": "2026-05-31"}}
CLINIC = {"uri": "postgresql://me:${DB_PASSWORD}@db/clinic", "query": QUERY, "parameters": MONTH}


def with_source(**source):
    return {**SPEC, "source": source}


def test_a_query_is_a_format_of_its_own(read):  # noqa: F811
    spec = read(with_source(**CLINIC))
    assert (spec.source.format, spec.source.parameters["month"].value) == ("sql", "2026-05-31")
    jsonschema.validate(with_source(**CLINIC), json_schema())


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"uri": "postgresql://me:hunter2@db/clinic"}, "source.uri: contains a password"),
        ({"uri": "jdbc:postgresql://me:hunter2@db/c"}, "source.uri: contains a password"),
        ({"uri": "postgresql:/me:hunter2@db/c"}, "source.uri: contains a password"),
        ({"uri": "${SCHEME}://me:hunter2@db/c"}, "source.uri: contains a password"),
        ({"uri": "postgresql://db/c?password=hunter2"}, "source.uri: contains a password"),
        ({"uri": "postgresql://me:hunter${X}@db/c"}, "source.uri: contains a password"),
        ({"format": "csv"}, "source: query: needs `format: sql`"),
        ({"query": ABSENT}, "source: parameters: belong to a query"),
        ({"sha256": "0" * 64}, "source: sha256: is the digest of files"),
        ({"sheet": "a"}, "source: sheet: needs `format: excel`"),
        ({"endpoint": "http://h"}, "source: endpoint: belongs to a store"),
        ({"parameters": {}}, "source.query: parameter :month is not declared"),
        (
            {"parameters": {**MONTH, "more": {"type": "string", "value": "x"}}},
            "source.query: parameter :more is not used",
        ),
        ({"parameters": {"month": {"type": "date", "value": "May"}}}, "value: not of type date"),
        ({"parameters": {"month": {"value": "2026-05-31"}}}, "source.parameters.month.type: is"),
        ({"query": "DELETE FROM people WHERE month = :month"}, "source.query: must be a SELECT"),
        ({"query": f"{QUERY}; {QUERY}"}, "source.query: must be one statement"),
        ({"query": f"{QUERY} FOR UPDATE"}, "source.query: may only read, so LOCK"),
        ({"query": "SELECT nextval('s'), :month"}, "source.query: may only read, but the function"),
        ({"timezone": "Amsterdam"}, "source: timezone: must be a time zone of the IANA"),
        (
            {"date-formats": {"age": "%d.%m.%Y"}},
            ("source.date-formats.age: the spec has no column of this"),
        ),
        ({"date-formats": {"age": "%d.%m.%y"}}, "source: date-formats.age: uses %y. Use only"),
    ],
)
def test_what_is_refused(read, changes, place):  # noqa: F811
    source = {key: value for key, value in {**CLINIC, **changes}.items() if value is not ABSENT}
    message = refusal(read, with_source(**source))
    assert place in message
    assert "hunter2" not in message


def test_a_sheet_is_named(read):  # noqa: F811
    assert "sheet: needs `format: excel`, and this format needs" in refusal(
        read, with_source(uri="people.xlsx", format="excel")
    )
    assert read(with_source(uri="people.xlsx", format="excel", sheet="a")).source.sheet == "a"


def test_parameters_may_be_overridden_and_the_query_may_not(read):  # noqa: F811
    june = read_overrides({"source.parameters.month.value": "2026-06-30"})
    assert read(with_source(**CLINIC), june).source.parameters["month"].value == "2026-06-30"
    for name, value in (
        ("source.query", "SELECT 1"),
        ("source.parameters.month.type", "string"),
        ("source.sheet", "b"),
        ("source.endpoint", "http://elsewhere"),
    ):
        assert "only source, publish" in refusal(read_overrides, {name: value})
    other = read_overrides({"source.parameters.year.value": "2026"})
    message = refusal(read, with_source(**CLINIC), other)
    assert message == (
        "--set source.parameters.year: the spec has no such parameter. Correct the name, or add it "
        "under source.parameters"
    )


def test_no_password_is_a_parameter_of_a_run():
    """The server refuses it by the schema, and so does the command."""
    schema = ShownOverrides.model_json_schema(by_alias=True)
    jsonschema.validate({"source": {"uri": "postgresql://me:${PW}@h/d"}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"source": {"uri": "postgresql://me:hunter2@h/d"}}, schema)
    message = refusal(read_overrides, {"source.uri": "postgresql://me:hunter2@h/d"})
    assert "in its place, and set NAME in the environment" in message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("dotted", "nested"),
    [
        ({"source.uri": "june.csv"}, {"source": {"uri": "june.csv"}}),
        (
            {"source.uri": "june.csv", "source": {"parameters": {"year": {"value": 2026}}}},
            {"source": {"uri": "june.csv", "parameters": {"year": {"value": 2026}}}},
        ),
        (
            {"publish.uri": "out", "publish.formats": ["csv"]},
            {"publish": {"uri": "out", "formats": ["csv"]}},
        ),
    ],
)
def test_parameters_of_a_run_may_have_dotted_keys(dotted, nested):
    """As `--set` has them; the server's schema admits them, and stays as strict."""
    schema = ShownOverrides.model_json_schema(by_alias=True)
    jsonschema.validate(dotted, schema)
    assert ShownOverrides.model_validate(dotted) == ShownOverrides.model_validate(nested)


@pytest.mark.parametrize(
    "document",
    [
        {"source.where": "age > 30"},
        {"source.sha256": "0" * 64},
        {"source.uri": 5},
        {"source.uri": "postgresql://me:hunter2@h/d"},
        {"publish.formats": ["xls"]},
        {"sourceXuri": "june.csv"},
        {"promises.k": 1},
    ],
)
def test_other_dotted_keys_are_refused(document):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, ShownOverrides.model_json_schema(by_alias=True))
    with pytest.raises(ValidationError):
        ShownOverrides.model_validate(document)


def test_a_key_that_is_set_in_both_ways_is_refused():
    with pytest.raises(ValidationError, match=r"source\.uri: is set twice"):
        ShownOverrides.model_validate({"source.uri": "a.csv", "source": {"uri": "b.csv"}})


def test_the_terms_do_not_know_the_source(read, tmp_path):  # noqa: F811
    plain = read(SPEC).terms(tmp_path).digest()
    assert read(with_source(**CLINIC)).terms(tmp_path).digest() == plain


def test_an_address_is_not_quoted_where_it_is_wrong(read):  # noqa: F811
    with pytest.raises(SpecError) as caught:
        read(with_source(uri="postgresql://me:hunter2@db/clinic"))
    assert "hunter2" not in repr(caught.value.args)

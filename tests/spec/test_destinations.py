"""Destinations in a spec: the places to which its line is copied."""

import jsonschema
import pytest

from sfumato.flows.inputs.spec import json_schema
from tests.spec.test_spec import SPEC, read, refusal  # noqa: F401 - a fixture

STORE = {"uri": "s3://open-data/releases", "endpoint": "https://store.example", "keys": "OPEN"}
DATABASE = {
    "uri": "postgresql://publisher:${OPEN_PASSWORD}@db.example/open",
    "schema": "wages",
    "readers": ["analysts"],
}


def spec_publishing(**publish):
    return {**SPEC, "publish": {"uri": "public", **publish}}


def test_they_are_read(read):  # noqa: F811
    document = spec_publishing(destinations=[STORE], database=DATABASE)
    spec = read(document)
    jsonschema.validate(document, json_schema())
    store, database = spec.publish.copies
    assert (store.uri, store.prefix) == (STORE["uri"], "OPEN")
    assert (database.schema_of("x"), database.readers) == ("wages", ("analysts",))
    assert "OPEN_SECRET_ACCESS_KEY" in store.variables
    assert database.variables == ["OPEN_PASSWORD"]
    assert read(SPEC).publish.copies == ()
    assert read(spec_publishing(database={**DATABASE, "schema": "x" * 57})).publish.copies


def test_they_are_no_other_release(read, tmp_path):  # noqa: F811
    plain = read(SPEC).terms(tmp_path)
    assert read(spec_publishing(destinations=[STORE], database=DATABASE)).terms(tmp_path) == plain


@pytest.mark.parametrize(
    ("publish", "place"),
    [
        ({"destinations": [{"uri": "gs://bucket/x"}]}, "publish.destinations.0.uri"),
        ({"destinations": [{"uri": "s3://key:hunter2@bucket/x"}]}, "publish.destinations.0.uri"),
        ({"destinations": [{**STORE, "endpoint": "https://me:hunter2@h"}]}, "0.endpoint"),
        ({"destinations": [{**STORE, "keys": "hunter2"}]}, "publish.destinations.0.keys"),
        ({"destinations": [{**STORE, "secret": "hunter2"}]}, "publish.destinations.0.secret"),
        ({"destinations": [STORE, STORE]}, "publish: destinations: name the same uri twice"),
        (
            {"database": {"uri": "postgresql://me:hunter2@db/x"}},
            ("in its place, and set NAME in the environment"),
        ),
        (
            {"database": {"uri": "postgresql://db/x?password=hunter2"}},
            ("in its place, and set NAME in the environment"),
        ),
        ({"database": {"uri": "mariadb://db/x"}}, "publish.database.uri"),
        ({"database": {**DATABASE, "schema": "pg_mine"}}, "names that begin with pg_"),
        ({"database": {**DATABASE, "schema": "x" * 58}}, "publish.database.schema"),
        ({"database": {**DATABASE, "schema": 'x"; DROP'}}, "publish.database.schema"),
        ({"database": {**DATABASE, "readers": ["a", "a"]}}, "readers: names a role twice"),
    ],
)
def test_what_is_refused(read, publish, place):  # noqa: F811
    message = refusal(read, spec_publishing(**publish))
    assert place in message
    assert "hunter2" not in message


def test_a_name_that_postgresql_would_cut_is_refused(read):  # noqa: F811
    long = {**spec_publishing(database={"uri": "postgresql://db/x"}), "name": "w" * 60}
    assert "publish.database: the line's name is too long" in refusal(read, long)
    named = {**long, "publish": {**long["publish"], "database": DATABASE}}
    assert read(named).publish.database.within == "wages"

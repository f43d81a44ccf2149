"""The address of a source, and the check that it is the file that was meant."""

import hashlib

import pytest

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.tasks.microdata.notation.address import local_path
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import ingest
from tests.microdata.sources import CANARY, column, refusal, values

X = {"x": column()}


def test_paths_are_relative_to_the_spec(tmp_path):
    environ = {"PLACE": "data", "DEEP": str(tmp_path)}
    assert local_path("people.csv", tmp_path, {}) == tmp_path / "people.csv"
    assert local_path("${PLACE}/a.csv", tmp_path, environ) == tmp_path / "data" / "a.csv"
    assert local_path("${DEEP}/a.csv", tmp_path / "b", environ) == tmp_path / "a.csv"
    assert local_path(f"file://{tmp_path}/a%20b.csv", tmp_path, {}) == tmp_path / "a b.csv"
    assert local_path("file://localhost/a?b#c", tmp_path, {}).as_posix() == "/a?b#c"


@pytest.mark.parametrize(
    ("uri", "environ", "named"),
    [
        ("${NOWHERE}/a.csv", {"ELSE": CANARY}, "NOWHERE"),
        ("s3://bucket/a.csv", {}, "s3://"),
        ("${DSN}", {"DSN": f"postgresql://user:{CANARY}@host/db"}, "postgresql://"),
        ("https://host/a.csv", {}, "https://"),
        ("file://host/a.csv", {}, "file://"),
        ("file://relative.csv", {}, "file://"),
    ],
)
def test_addresses_that_are_no_path(tmp_path, uri, environ, named):
    message = refusal(lambda: ingest(Source(uri=uri), X, "refuse", tmp_path, environ), SpecError)
    assert message.startswith(f"{uri}: ")
    assert named in message


def test_the_environment_is_not_told(tmp_path):
    source = Source(uri="${PLACE}/a.csv")
    message = refusal(
        lambda: ingest(source, X, "refuse", tmp_path, {"PLACE": f"/{CANARY}"}), InputError
    )
    assert message == "${PLACE}/a.csv: cannot be read (No such file or directory)"
    message = refusal(lambda: ingest(source, X, "refuse", tmp_path, {"PLACE": "\0"}), InputError)
    assert message == "${PLACE}/a.csv: cannot be read (no path)"


def test_pin(tmp_path):
    (tmp_path / "a.csv").write_text("x\nyes\n", encoding="utf-8")
    digest = hashlib.sha256(b"x\nyes\n").hexdigest()
    ingested = ingest(Source(uri="a.csv", sha256=digest), X, "refuse", tmp_path, {})
    assert values(ingested, "x") == ["yes"]
    source = Source(uri="a.csv", sha256="0" * 64)
    message = refusal(lambda: ingest(source, X, "refuse", tmp_path, {}), InputError)
    assert message.startswith("a.csv: its SHA-256 differs from source.sha256, so the file changed")

"""An identifier that is made where the source is read: the number of each row."""

import hashlib

import pytest

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import ingest
from sfumato.tasks.schema.columns import ColumnSpec
from tests.release.evolving import Evolving, spec

COLUMNS = {
    "person": ColumnSpec(role="identifier", type="integer", unit=True, generated="row-number"),
    "town": ColumnSpec(role="quasi-identifier"),
}
ROWS = "town\na\nb\na\nc\n"


@pytest.fixture
def source(tmp_path):
    (tmp_path / "people.csv").write_text(ROWS)
    return Source(uri="people.csv", where="town <> 'b'")


def test_rows_are_numbered_in_the_whole_file(source, tmp_path):
    microdata = ingest(source, COLUMNS, "refuse", tmp_path, {}).microdata
    assert microdata["person"].array().to_pylist() == [1, 3, 4]
    assert microdata["town"].array().to_pylist() == ["a", "a", "c"]


def test_a_column_of_that_name_is_another_one(source, tmp_path):
    (tmp_path / "people.csv").write_text("person,town\n1,a\n")
    with pytest.raises(InputError, match="column 1 of 2 is not in the spec"):
        ingest(source, COLUMNS, "refuse", tmp_path, {})


@pytest.mark.parametrize(
    ("column", "pinned", "why"),
    [
        (
            {"role": "identifier"},
            True,
            ("generated: row numbers need `role: identifier` and `type"),
        ),
        (
            {"role": "insensitive", "type": "integer"},
            True,
            ("generated: row numbers need `role: identifier` and `type"),
        ),
        ({"role": "identifier", "type": "integer", "unit": True}, False, "Write the file's digest"),
    ],
)
def test_what_row_numbers_cannot_be(column, pinned, why, tmp_path):
    line = Evolving(tmp_path / "line", "split")
    columns = spec("split", line.name, line.folder)["columns"]
    columns["id"] = {**column, "generated": "row-number"}
    pin = {"sha256": hashlib.sha256(b"").hexdigest()} if pinned else {}
    with pytest.raises(SpecError, match=why):
        read_spec(line.write(columns=columns, source={"uri": "people.csv", **pin}))

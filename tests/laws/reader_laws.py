"""Laws of every reader of source files: one suite for every entry of the registry.

A reader is known to the suite by a `ReaderCase`: its format, how a table is written in it, and
files that are none of that format, each with the canary where a value would stand.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.inferred_table import Written, read_inferred
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.microdata.source import Ingested, ingest
from tests.microdata.sources import CANARY, column, refusal

TYPES = {
    "integer": pa.int64(),
    "decimal": pa.decimal128(38, 2),
    "float": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "boolean": pa.bool_(),
    "string": pa.string(),
}
TEXTS = {
    "integer": ["7", "", "-9223372036854775808", "7"],
    "decimal": ["1.50", "0.01", "", "1.50"],
    "float": ["", "0.1", "1e300", "0.1"],
    "date": ["2024-02-29", "0001-01-01", "2024-02-29", ""],
    "timestamp": ["2024-02-29T12:00:00.000001", "", "", "1969-12-31T23:59:59"],
    "boolean": ["true", "false", "", "true"],
    "string": ["zoë", "a, b", "", "zoë"],
}
TABLE = pa.table(
    {
        type_: pa.array([text or None for text in texts], pa.string()).cast(TYPES[type_])
        for type_, texts in TEXTS.items()
    }
)


@dataclass(frozen=True)
class ReaderCase:
    """A reader as the laws try it; `written` makes a file, `broken` are files that are refused."""

    format: str
    written: Callable[[pa.Table], bytes]
    broken: Mapping[str, bytes]

    def read(self, folder: Path, content: bytes, types: Mapping[str, str]) -> Ingested:
        """Ingest a file with this content."""
        (folder / "people").write_bytes(content)
        columns = {name: column(type_) for name, type_ in types.items()}
        sheet = "people" if self.format == "excel" else None
        source = Source(uri="people", format=self.format, sheet=sheet)
        return ingest(source, columns, "category", folder, {})


class ReaderLaws:
    """Subclasses give the `case`."""

    def test_it_is_registered(self, case):
        assert case.format in READERS

    def test_a_table_in_it_is_measured_like_any_other(self, case, tmp_path):
        (ending, *_) = READERS[case.format].ENDINGS
        file = tmp_path / f"people{ending}"
        file.write_bytes(case.written(TABLE))
        names = [name for name in TYPES if name != "string"]  # of which a CSV file knows no null
        table = read_inferred(str(file), names, Written(types={name: name for name in names}))
        assert {name: table[name].array().to_pylist() for name in names} == {
            name: TABLE[name].to_pylist() for name in names
        }
        (number,) = read_inferred(str(file), ["integer"], Written()).columns
        assert number.array().to_pylist() == TABLE["integer"].to_pylist()

    @pytest.mark.parametrize("type_", TYPES)
    def test_types_nulls_and_the_order_of_rows_are_those_of_the_table(self, case, type_, tmp_path):
        table = case.read(tmp_path, case.written(TABLE), {name: name for name in TYPES})
        values = table.microdata[type_].array()
        assert values.to_pylist() == TABLE[type_].to_pylist()
        assert table.microdata[type_].values.type == TYPES[type_]
        assert table.read == table.microdata.rows == TABLE.num_rows

    def test_columns_stand_in_the_order_of_their_declaration(self, case, tmp_path):
        names = sorted(TYPES, reverse=True)
        table = case.read(tmp_path, case.written(TABLE), {name: name for name in names})
        assert [c.name for c in table.microdata.columns] == names

    def test_an_empty_file_is_refused(self, case, tmp_path):
        message = refusal(lambda: case.read(tmp_path, b"", {"n": "integer"}), InputError)
        assert message == "people: is empty"

    def test_a_table_without_rows_is_refused(self, case, tmp_path):
        content = case.written(TABLE.select(["string"]).slice(0, 0))
        assert refusal(lambda: case.read(tmp_path, content, {"string": "string"}), InputError)

    def test_what_is_not_of_the_format_is_refused_without_a_value(self, case, tmp_path):
        types = {"n": "string", "m": "string"}
        for name, content in case.broken.items():
            message = refusal(
                lambda content=content: case.read(tmp_path, content, types), InputError
            )
            assert message.startswith("people: "), name
            assert CANARY not in message, name

    @pytest.mark.parametrize("type_", ["integer", "decimal", "float", "date", "timestamp"])
    def test_a_value_of_another_type_is_refused_without_it(self, case, type_, tmp_path):
        content = case.written(pa.table({"n": [f"no {CANARY}"]}))
        message = refusal(lambda: case.read(tmp_path, content, {"n": type_}), InputError)
        assert "column 'n'" in message
        assert CANARY not in message

    def test_missing_and_unknown_columns_are_refused(self, case, tmp_path):
        content = case.written(pa.table({"n": ["1"], f"c{CANARY}": ["2"]}))
        message = refusal(lambda: case.read(tmp_path, content, {"n": "string"}), InputError)
        assert "column 2 of 2 is not in the spec" in message
        types = {"n": "string", f"c{CANARY}": "string", "m": "string"}
        assert "'m'" in str(refusal(lambda: case.read(tmp_path, content, types), InputError))


def text_of(value: Any) -> str:
    """A value as text files hold it, empty where it is missing."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)

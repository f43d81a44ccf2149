"""Inputs that fuzzing found, each refused in one line since."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.flows.cli.main import run


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int8())),
    ],
    ids=["lists", "structs", "maps"],
)
def test_values_without_an_order_cannot_be_measured(values, tmp_path, capfd):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"age": values, "wage": [1, 2]}), path)
    assert run(["measure", str(path), "--qi", "age", "--sensitive", "wage"]) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "column 'age': values of type" in shown.err
    assert len(shown.err.splitlines()) == 1


def test_half_floats_are_measured_as_the_numbers_that_they_are(tmp_path, capsys):
    path, told = tmp_path / "people.parquet", []
    ages = pa.array([1.5, 1.5, -0.0, 0.0], pa.float16())
    for type_ in (pa.float16(), pa.float64()):
        pq.write_table(pa.table({"age": ages.cast(type_), "wage": [1, 2, 1, 2]}), path)
        assert run(["measure", str(path), "--qi", "age", "--sensitive", "wage"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


def test_a_column_whose_name_is_not_text_cannot_be_measured(tmp_path, capfd):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"town": [1], "wage": [1]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"town", b"tow\xe8"))
    assert run(["measure", str(path), "--qi", "town", "--sensitive", "wage"]) == 2
    assert capfd.readouterr().err == f"sfumato: {path}: cannot be read as a table\n"

"""Inputs that fuzzing found, each refused in one line since."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml
from pydantic import ValidationError
from sqlglot import exp

from sfumato.expectations.shared.errors import InputError, QueryError
from sfumato.flows.cli.main import run
from sfumato.tasks.microdata.notation.spelling import FileDialect
from sfumato.tasks.microdata.readers import columnar
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.sql.parse import parse
from tests.fuzz.kinds import CORPUS


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
    output = capfd.readouterr()
    assert output.out == ""
    assert "column 'age': values of type" in output.err
    assert len(output.err.splitlines()) == 1


def test_half_floats_are_measured_as_the_numbers_that_they_are(tmp_path, capsys):
    path, outputs = tmp_path / "people.parquet", []
    ages = pa.array([1.5, 1.5, -0.0, 0.0], pa.float16())
    for type_ in (pa.float16(), pa.float64()):
        pq.write_table(pa.table({"age": ages.cast(type_), "wage": [1, 2, 1, 2]}), path)
        assert run(["measure", str(path), "--qi", "age", "--sensitive", "wage"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_a_column_whose_name_is_not_text_cannot_be_measured(tmp_path, capfd):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"town": [1], "wage": [1]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"town", b"tow\xe8"))
    assert run(["measure", str(path), "--qi", "town", "--sensitive", "wage"]) == 2
    refused = f"sfumato: {path}: cannot be read as a table. Name a CSV, "
    assert capfd.readouterr().err.startswith(refused)


@pytest.mark.parametrize("key", ["publish.uri", "source.uri", "columns.town.hierarchy"])
def test_no_path_holds_a_nul(key, tmp_path, capfd, monkeypatch):
    document = yaml.safe_load((CORPUS / "generalized.yaml").read_text(encoding="utf-8"))
    *parents, last = key.split(".")
    place = document
    for name in parents:
        place = place[name]
    place[last] = "\0"
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    assert run(["release", str(path)]) == 2
    assert (
        capfd.readouterr().err == f"sfumato: {path}: {key}: contains the character NUL. Remove it\n"
    )


def test_what_is_observed_may_be_larger_than_json_holds(tmp_path, capfd, monkeypatch):
    for path in CORPUS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    people = tmp_path / "people.csv"
    *_, wage = people.read_text(encoding="utf-8").split(",")
    people.write_bytes(people.read_bytes().replace(wage.encode(), f"{10**19}\n".encode()))
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    assert run(["release", str(tmp_path / "permuted.yaml")]) == 0
    version = capfd.readouterr().out.strip()
    assert run(["check", version]) == 0
    seen = capfd.readouterr().out
    (reached,) = re.findall(r"observed k=\d+, e=(\d+)", seen)
    assert int(reached) > 2**53


@pytest.mark.parametrize("key", ["source", "publish"])
def test_a_path_is_too_long(key, tmp_path, capfd, monkeypatch):
    for path in CORPUS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    spec = tmp_path / "permuted.yaml"
    document = yaml.safe_load(spec.read_text(encoding="utf-8"))
    document[key]["uri"] = "a" * 3000
    spec.write_text(yaml.safe_dump(document), encoding="utf-8")
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    assert run(["release", str(spec)]) == 2
    assert "a path is longer than this system allows" in capfd.readouterr().err
    assert run(["init", "a" * 3000]) == 2
    assert capfd.readouterr().err.startswith("sfumato: a path is longer than this system allows")


def test_colons_in_paths_make_no_addresses(tmp_path, capfd, monkeypatch):
    for path in CORPUS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pq.write_table(pyarrow.csv.read_csv("people.csv"), tmp_path / "people:2026")
    document = yaml.safe_load(Path("permuted.yaml").read_text(encoding="utf-8"))
    document["source"] |= {"uri": "people:2026", "format": "parquet"}
    document["columns"]["wage"]["type"] = "float"
    document["publish"]["uri"] = "public:"
    Path("permuted.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    assert run(["release", "permuted.yaml"]) == 0
    assert run(["check", "public:/fuzzed/0001"]) == 0
    assert run(["query", "public:/fuzzed/0001", "SELECT SUM(wage) FROM microdata"]) == 0
    Path("people:2026").rename("people:2026.parquet")
    assert run(["measure", "people:2026.parquet", "--qi", "age", "--sensitive", "wage"]) == 0


def test_a_number_that_is_none_is_refused():
    with pytest.raises(QueryError, match=r"1e3340\.5 is not a number"):
        parse("SELECT COUNT(*) FROM microdata WHERE wage > 1e3340.5", exp.Select)


@pytest.mark.parametrize(
    ("name", "changes", "refusal"),
    [
        ("permuted", {"publish": {"uri": "people.csv"}}, "a file is in the way"),
        (
            "redistributed",
            {
                "form": {"method": "redistributed", "denominator": 16, "fakes": 5e11},
                "strata": [{"column": "age", "bands": [30, 45]}],
            },
            "so many fake values need too much memory",
        ),
    ],
)
def test_a_release_that_cannot_be_made_is_bad_input(
    name, changes, refusal, tmp_path, capfd, monkeypatch
):
    for path in CORPUS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    spec = tmp_path / f"{name}.yaml"
    document = yaml.safe_load(spec.read_text(encoding="utf-8"))
    spec.write_text(yaml.safe_dump(document | changes), encoding="utf-8")
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    assert run(["release", str(spec)]) == 2
    assert refusal in capfd.readouterr().err


def test_dictionaries_of_damaged_files_lack_values(tmp_path, monkeypatch):
    read = pq.ParquetFile.read
    columns = pa.table({"town": ["a", "b"]}), pa.table({"town": pa.nulls(2, pa.string())})
    for number, table in enumerate(columns):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(table, path)
        whole = columnar.read(path, path.name, FileDialect())
        assert whole["town"].to_pylist() == table["town"].to_pylist()

    def damage_table(file):
        table = read(file)
        indices = pa.array([0, 2], pa.int32())
        town = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
        return table.set_column(0, "town", town)

    monkeypatch.setattr(pq.ParquetFile, "read", damage_table)
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        columnar.read(tmp_path / "0.parquet", "0.parquet", FileDialect())


@pytest.mark.parametrize("scale", [-1, 39, 2**40])
def test_decimals_have_no_more_digits_than_there_are(scale):
    column = {"role": "sensitive", "type": "decimal"}
    assert DeclaredColumn.model_validate({**column, "scale": 38}).arrow_type.scale == 38
    with pytest.raises(ValidationError, match="scale"):
        DeclaredColumn.model_validate({**column, "scale": scale})

"""A column of any Arrow type: dropped it stops nothing, else it is read or refused in words."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from sfumato.expectations.rules.owned import OwnedRule, columns_of_rules
from sfumato.expectations.shared.errors import InputError
from sfumato.flows.cli.main import run
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import ingest
from sfumato.tasks.microdata.source_files import source_files
from sfumato.tasks.parts.divide import read_chunks
from sfumato.tasks.schema.columns import TYPES
from tests.microdata.arrow_types import NAMES, ROWS, column_of_type, people_with
from tests.microdata.sources import column

SOURCE = Source(uri="people.parquet", format="parquet")
OTHERS = {
    "pid": column("integer"),
    "age": column("integer"),
    "sex": column(),
    "diagnosis": column(),
}
DROPPED = {**OTHERS, "extra": column(role="drop")}


@pytest.fixture
def people(tmp_path):
    def write(name):
        pq.write_table(people_with(column_of_type(name)), tmp_path / "people.parquet")
        return tmp_path

    return write


@pytest.mark.parametrize("name", NAMES)
def test_a_dropped_column_of_any_type_is_not_read(people, name):
    ingested = ingest(SOURCE, DROPPED, "refuse", people(name), {})
    assert [c.name for c in ingested.microdata.columns] == list(OTHERS)
    assert ingested.microdata.rows == ROWS


@pytest.mark.parametrize("name", NAMES)
def test_a_dropped_column_of_any_type_is_not_read_in_parts(people, name):
    files = source_files(SOURCE, people(name), {}, None)
    (chunk, _), *_ = read_chunks(files, SOURCE, DROPPED)
    assert [c.name for c in chunk.columns] == list(OTHERS)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_any_type_is_read_or_refused_in_words(people, name, type_):
    columns = {**OTHERS, "extra": column(type_)}
    try:
        ingested = ingest(SOURCE, columns, "category", people(name), {})
    except InputError as error:
        assert "column 'extra'" in str(error)
        return
    assert len(ingested.microdata["extra"].codes) == ROWS


@pytest.mark.parametrize(
    "keys", [{"nulls": "refuse"}, {"nulls": "drop-row"}, {"range": {"min": "0"}, "type": "integer"}]
)
def test_a_dropped_column_with_a_rule_of_its_own_is_read(people, keys):
    columns = {**OTHERS, "extra": column(**{"role": "drop", **keys})}
    with pytest.raises(InputError, match="column 'extra': the file has values of type list"):
        ingest(SOURCE, columns, "refuse", people("list"), {})


def test_a_dropped_column_that_the_filter_names_is_read(people):
    source = SOURCE.model_copy(update={"where": "extra > 5"})
    columns = {**OTHERS, "extra": column("integer", role="drop")}
    assert ingest(source, columns, "refuse", people("int8"), {}).microdata.rows < ROWS
    with pytest.raises(InputError, match="column 'extra': the file has values of type list"):
        ingest(source, columns, "refuse", people("list"), {})


@pytest.mark.parametrize(("largest", "code"), [(39, 0), (30, 3)])
def test_a_dropped_column_that_the_owner_expects_something_of_is_read(
    people, largest, code, monkeypatch, capsys
):
    monkeypatch.chdir(people("int8"))
    assert run(["init", "people.parquet", "--work", "work"]) == 0
    spec = yaml.safe_load(Path("people-data.yaml").read_text(encoding="utf-8"))
    spec["columns"]["extra"] = {"role": "drop", "type": "integer"}
    rule = {"column": "extra", "min_value": 0, "max_value": largest}
    spec["expectations"] = {"source": [{"expect_column_values_to_be_between": rule}]}
    spec["evaluate"] = {}
    Path("a.yaml").write_text(yaml.safe_dump(spec | {"roles": "confirmed"}), encoding="utf-8")
    assert run(["plan", "a.yaml"]) == code, capsys.readouterr().err


def test_all_columns_are_read_if_the_owner_counts_them():
    rules = [OwnedRule.model_validate({"expect_table_column_count_to_equal": {"value": 5}})]
    assert columns_of_rules(rules, DROPPED) == set(DROPPED)
    assert columns_of_rules([], DROPPED) == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_any_type_is_drafted(people, name, capsys, monkeypatch):
    monkeypatch.chdir(people(name))
    assert run(["init", "people.parquet", "--work", "work"]) == 0, capsys.readouterr().err
    text = (people(name) / "people-data.yaml").read_text(encoding="utf-8")
    assert "extra" in text


def test_dropped_columns_of_all_types_stop_no_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = people_with(column_of_type("list"))
    for number, name in enumerate(NAMES):
        table = table.append_column(f"v{number}", column_of_type(name))
    pq.write_table(table, "all.parquet")
    assert run(["init", "all.parquet", "--work", "work"]) == 0, capsys.readouterr().err
    spec = yaml.safe_load(Path("all.yaml").read_text(encoding="utf-8"))
    spec["columns"] = {name: spec["columns"][name] for name in OTHERS}
    spec["columns"] |= {name: {"role": "drop"} for name in spec["source"]["seen"][len(OTHERS) :]}
    del spec["other-columns"], spec["source"]["seen"]
    Path("all.yaml").write_text(yaml.safe_dump(spec | {"roles": "confirmed"}), encoding="utf-8")
    assert run(["measure", "all.parquet", "--qi", "age,sex", "--sensitive", "diagnosis"]) == 0
    for command in ("plan", "release"):
        assert run([command, "all.yaml"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("as_", ["qi", "sensitive"])
@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_any_type_is_measured_or_refused_in_words(people, name, as_, capsys):
    file = str(people(name) / "people.parquet")
    columns = {"qi": ["extra", "diagnosis"], "sensitive": ["age,sex", "extra"]}[as_]
    code = run(["measure", file, "--qi", columns[0], "--sensitive", columns[1]])
    assert code in (0, 2), capsys.readouterr().err

"""A new partition, form and reader are one entry of a registry each; nothing else is changed.

Each is entered for the test, keeps the laws of its kind, and goes through a release, its check, a
query, a rewritten one and the page.
"""

import csv
import json

import pytest
import yaml

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.spec import json_schema
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.sql.target import target
from tests.house import lines_of_json
from tests.house.runs_of_rows import runs_of_rows
from tests.house.runs_of_rows.parameters import RunsOfRowsParameters
from tests.house.turned import turned
from tests.house.turned.parameters import TurnedParameters
from tests.laws.form_laws import FormCase, FormLaws
from tests.laws.partition_laws import PartitionCase, PartitionLaws
from tests.laws.reader_laws import ReaderCase, ReaderLaws, text_of
from tests.laws.tables import QUASI
from tests.microdata.sources import CANARY

K2 = KAnonymity(k=2, quasi_identifiers=QUASI)
L2 = DistinctLDiversity(l=2, quasi_identifiers=QUASI, sensitive="wage")
CASE = PartitionCase(RunsOfRowsParameters(method="runs-of-rows"), [L2], [K2])
HOME = "home-town"  # a name that must be quoted in SQL
PROMISES = [{"model": "l-diversity", "variant": "distinct", "l": 3}]


@pytest.fixture(autouse=True)
def toys_registered(monkeypatch):
    """The registries with the toys, each under its name."""
    monkeypatch.setitem(PARTITIONS, "runs-of-rows", runs_of_rows.partition)
    monkeypatch.setitem(PARTITION_PARAMETERS, "runs-of-rows", RunsOfRowsParameters)
    monkeypatch.setitem(FORMS, "turned", turned)
    monkeypatch.setitem(FORM_PARAMETERS, "turned", TurnedParameters)
    monkeypatch.setitem(READERS, "json-lines", lines_of_json)


@pytest.mark.parametrize("case", [CASE], ids=["runs-of-rows"])
class TestPartition(PartitionLaws):
    """The toy partition."""


@pytest.mark.parametrize(
    "case", [FormCase(TurnedParameters(method="turned"), CASE)], ids=["turned"]
)
class TestForm(FormLaws):
    """The toy form."""


def lines_of(table):
    """A table as the toy reader's format has it."""
    rows = ({name: text_of(value) for name, value in row.items()} for row in table.to_pylist())
    return "\n".join(map(json.dumps, rows)).encode()


READER = ReaderCase(
    "json-lines",
    lines_of,
    {
        "unreadable": f'{{"n": "1", "m": {CANARY}x}}'.encode(),
        "no object": f'["{CANARY}"]'.encode(),
        "no text": f'{{"n": {CANARY}, "m": "1"}}'.encode(),
        "ragged": f'{{"n": "1", "m": "2"}}\n{{"n": "{CANARY}"}}'.encode(),
        "repeated": f'{{"n": "1", "n": "{CANARY}"}}'.encode(),
    },
)


@pytest.mark.parametrize("case", [READER], ids=["json-lines"])
class TestReader(ReaderLaws):
    """The toy reader."""


def changes_of_toy(part):
    """Return the keys of the small spec that the toy replaces."""
    return {
        "partition": {"partition": {"method": "runs-of-rows"}, "form": {"method": "generalized"}},
        "form": {"partition": {"method": "mondrian"}, "form": {"method": "turned"}},
        "both": {"partition": {"method": "runs-of-rows"}, "form": {"method": "turned"}},
        "reader": {"partition": {"method": "mondrian"}, "form": {"method": "permuted"}},
    }[part]


def small_with(small, part):
    """The small line with a toy, its promises ones that any partition keeps."""
    document = yaml.safe_load(small.spec.read_text(encoding="utf-8"))
    keys = {**document, "promises": PROMISES, "evaluate": {}, **changes_of_toy(part)}
    del keys["columns"]["note"]
    if part == "reader":
        keys["source"] = {"uri": "people.jsonl", "format": "json-lines"}
    source = small.folder / "people.csv"
    with source.open(encoding="utf-8", newline="") as file:
        rows = [{k: v for k, v in row.items() if k != "note"} for row in csv.DictReader(file)]
    with source.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    lines = "\n".join(map(json.dumps, rows))
    (small.folder / "people.jsonl").write_text(lines, encoding="utf-8")
    small.spec.write_text(yaml.safe_dump(keys), encoding="utf-8")
    return small


@pytest.mark.parametrize("part", ["partition", "form", "both", "reader"])
def test_a_release_with_it_is_published_checked_asked_and_shown(small, part, capsys):
    release = small_with(small, part).publish("first").directory
    assert run(["check", str(release)]) == 0
    capsys.readouterr()
    query = "SELECT COUNT(*) AS n, AVG(wage) FROM microdata WHERE age >= 30"
    assert run(["query", str(release), query, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["columns"]
    page = next(release.rglob("index.html")).read_text(encoding="utf-8")
    if part in ("partition", "both"):
        assert "Neighbours by age: a toy." in page
    if part in ("form", "both"):
        assert "Its values, turned: a toy." in page
    if part != "partition":  # labels are asked with `sfumato query` alone
        assert run(["query", str(release), query, "--rewrite", "duckdb"]) == 0
        assert "SELECT" in capsys.readouterr().out


def test_its_table_of_rows_may_have_any_name_and_so_may_its_columns(small, capsys, tmp_path):
    spec = yaml.safe_load(small.spec.read_text(encoding="utf-8"))
    spec["columns"] = {HOME if name == "town" else name: c for name, c in spec["columns"].items()}
    small.spec.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    source = small.folder / "people.csv"
    source.write_text(source.read_text(encoding="utf-8").replace("town", HOME, 1), encoding="utf-8")
    release = str(small_with(small, "form").publish("first").directory)
    assert run(["load", release, f"duckdb:///{tmp_path / 'people.duckdb'}"]) == 0
    aggregates = "COUNT(*) AS n, SUM(wage) AS s"
    for where in ("<> 'Aa'", "<> 'Aa' AND wage > 300"):
        query = f'SELECT "{HOME}", {aggregates} FROM microdata WHERE "{HOME}" {where} '
        query += f'GROUP BY "{HOME}"'
        capsys.readouterr()
        assert run(["query", release, query, "--rewrite", "duckdb"]) == 0
        rewritten = capsys.readouterr().out
        assert run(["query", release, query, "--format", "json"]) == 0
        answer = json.loads(capsys.readouterr().out)["rows"]
        with target(f"duckdb:///{tmp_path / 'people.duckdb'}") as database:
            bounds_by_town = {row[0]: row[1:3] for row in database.execute(rewritten)}
        assert len(answer) == 2
        for row in answer:
            assert bounds_by_town[row[HOME]] == (row["n"]["lower"], row["n"]["upper"])


def test_files_in_it_are_measured(tmp_path, capsys):
    for number in range(2):
        rows = [{"zip": f"0{i % 3}", "wage": f"{i}.{5 * number}"} for i in range(6)]
        lines = "\n".join(map(json.dumps, rows))
        (tmp_path / f"part-{number}.jsonl").write_text(lines, encoding="utf-8")
    measured = ["measure", str(tmp_path), "--qi", "zip", "--sensitive", "wage"]
    assert run([*measured, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["rows"], document["groups"], document["k"]) == (12, 3, 4)
    assert document["ke"] == {"k": 4, "e": 3.5}
    (tmp_path / "part-2.csv").write_text("zip,wage\n00,1\n", encoding="utf-8")
    assert run(measured) == 2
    assert "has files of different formats (csv, json-lines)" in capsys.readouterr().err


def test_the_spec_lists_them():
    json_schema.cache_clear()  # another test may have read specs without it
    schema = json.dumps(json_schema())
    for name in ("runs-of-rows", "turned", "json-lines"):
        assert f'"{name}"' in schema

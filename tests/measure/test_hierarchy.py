"""`sfumato hierarchy`: the labels that would be published, over the rows that would be."""

import json
from collections import Counter

import pytest

from sfumato.flows.cli.main import run
from tests.release.small import SPEC, people


@pytest.fixture
def spec(small):
    columns = {
        **SPEC["columns"],
        "age": {**SPEC["columns"]["age"], "hierarchy": {"intervals": [5, 10]}},
        "town": {**SPEC["columns"]["town"], "hierarchy": "towns.csv"},
    }
    (small.folder / "towns.csv").write_text('Aa,south,*\nBee,south,*\n"Cé, the long",north,*\n')
    small.write(people(), columns=columns)
    return str(small.spec)


def test_labels_with_how_many_values_they_stand_for(spec, capsys):
    assert run(["hierarchy", spec, "--column", "age", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    ages = {int(r["age"]) for r in people() if int(r["age"]) > 18 and r["wage"]}
    assert (document["column"], document["values"]) == ("age", len(ages))
    tens = Counter(f"{age // 10 * 10}-{age // 10 * 10 + 9}" for age in ages)
    assert document["levels"][1] == {"level": 2, "labels": dict(tens)}
    assert document["levels"][2]["labels"] == {"*": len(ages)}


def test_the_values_themselves_are_not_listed(spec, capsys):
    assert run(["hierarchy", spec, "--column", "town"]) == 0
    output = capsys.readouterr().out
    assert output == "town: 3 values\nlevel 1: south (2), north (1)\nlevel 2: * (3)\n"


@pytest.mark.parametrize("column", ["wage", "height"])
def test_a_column_without_a_hierarchy(spec, capsys, column):
    assert run(["hierarchy", spec, "--column", column]) == 2
    assert f"columns: {column!r} has no hierarchy" in capsys.readouterr().err

"""Strata by a level of a hierarchy: groups cross no node of it."""

import json

import pyarrow.parquet as pq
import pytest
import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.spec import read_spec
from tests.release.small import SPEC, Small, people

REGIONS = "Aa;north;*\nBee;north;*\nCé, the long;south;*\n"
LEVEL = [{"column": "town", "level": 1}]
OWN = {
    "promises": [{"model": "p-privacy", "target": "source"}],
    "form": {"method": "redistributed"},
    "partition": {"method": "stratum"},
}
WHERE = {"Aa": "north", "Bee": "north", "Cé, the long": "south"}


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))


def small(tmp_path, **changes):
    line = Small(tmp_path / "line")
    line.folder.mkdir()
    (line.folder / "towns.csv").write_text(REGIONS, encoding="utf-8")
    town = {"role": "quasi-identifier", "hierarchy": "towns.csv", "nulls": "drop-row"}
    columns = {**SPEC["columns"], "town": town}
    return line.write(people(rows=90), version=2, columns=columns, strata=LEVEL, **changes)


@pytest.mark.parametrize("changes", [{}, OWN], ids=["permuted", "redistributed"])
def test_no_group_crosses_a_node(tmp_path, capsys, changes):
    release = small(tmp_path, **changes).publish("first").directory
    table = pq.read_table(release / "data" / ("qit.parquet" if changes else "microdata.parquet"))
    regions = {}
    for row in table.select(["town", "group_id"]).to_pylist():
        regions.setdefault(row["group_id"], set()).add(WHERE[row["town"]])
    assert all(len(rows_of_region) == 1 for rows_of_region in regions.values())
    assert set().union(*regions.values()) == {"north", "south"}
    if changes:
        assert len(regions) == 2
    assert run(["check", str(release)]) == 0
    capsys.readouterr()
    declared = json.loads((release / "datapackage.json").read_text())["sfumato"]
    assert (declared["strata"], declared["format"]) == (LEVEL, 5)
    assert "town at level 1" in (release / "index.html").read_text(encoding="utf-8")


def test_versions_go_on_within_nodes(tmp_path):
    line = small(tmp_path, versions="composed")
    line.publish("first")
    line.write(
        people(rows=90) + people(first=500, rows=30, seed=3)[:30],
        **{k: v for k, v in yaml.safe_load(line.spec.read_text()).items() if k not in SPEC},
        **{k: v for k, v in yaml.safe_load(line.spec.read_text()).items() if k in SPEC},
    )
    assert line.publish("second").directory.name == "0002"


def test_a_level_that_is_not_there_is_refused(tmp_path):
    line = small(tmp_path)
    document = yaml.safe_load(line.spec.read_text())
    document["strata"] = [{"column": "town", "level": 9}]
    line.spec.write_text(yaml.safe_dump(document))
    with pytest.raises(SpecError, match="has levels 0 to 2"):
        line.publish("first")


@pytest.mark.parametrize(
    ("strata", "words"),
    [
        (
            [{"column": "age", "level": 1}],
            ("a level needs a hierarchy, and 'age' has no hierarchy"),
        ),
        (
            [{"column": "wage", "level": 1}],
            ("is not a column with role quasi-identifier or insensitive"),
        ),
        ([{"column": "town", "level": 0}], "strata.0.level"),
    ],
)
def test_a_level_of_nothing_is_refused(tmp_path, strata, words):
    line = small(tmp_path)
    document = {**yaml.safe_load(line.spec.read_text()), "strata": strata}
    line.spec.write_text(yaml.safe_dump(document))
    with pytest.raises(SpecError, match=words):
        read_spec(line.spec)

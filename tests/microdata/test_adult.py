"""UCI Adult, as the papers use it."""

import os
from pathlib import Path

import pytest

from sfumato.tasks.microdata.hierarchies import read_hierarchy
from sfumato.tasks.microdata.source import ingest
from sfumato.tasks.schema.sources import CsvDialect, Source
from tests.microdata.sources import column

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("SFUMATO_DATA", ROOT.parent / "shared" / "data"))
HIERARCHIES = ROOT / "deployments" / "releases" / "hierarchies"
LEAVES = {
    "workclass": 8,
    "education": 16,
    "marital-status": 7,
    "occupation": 14,
    "race": 5,
    "sex": 2,
    "native-country": 41,
}
NAMES = """
    age workclass fnlwgt education education-num marital-status occupation relationship race sex
    capital-gain capital-loss hours-per-week native-country salary-class
"""
HEADER = NAMES.split()
NUMBERS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}

needs_adult = pytest.mark.skipif(
    not (DATA / "adult" / "adult.data").exists(), reason="UCI Adult is not here"
)


def source(where=None):
    dialect = CsvDialect(header=HEADER, null_values=("?",), skip_initial_space=True)
    return Source(uri="${SFUMATO_DATA}/adult/adult.data", csv=dialect, where=where)


def columns():
    plain = {n: column("integer" if n in NUMBERS else "string") for n in HEADER}
    return plain | {
        name: column(role="quasi-identifier", hierarchy=f"{name}.csv") for name in LEAVES
    }


@pytest.mark.parametrize("name", LEAVES)
def test_hierarchies(name):
    hierarchy = read_hierarchy(HIERARCHIES / f"{name}.csv", name)
    assert len(hierarchy.leaves) == LEAVES[name]
    for level in range(hierarchy.height):
        assert len(set(hierarchy.level(level))) > len(set(hierarchy.level(level + 1)))


@needs_adult
def test_people_with_a_capital_loss():
    environ = {"SFUMATO_DATA": str(DATA)}
    where = '"capital-loss" > 0'
    ingested = ingest(source(where), columns(), "drop-row", HIERARCHIES, environ)
    assert ingested.read == 32_561
    assert ingested.dropped_by_filter + ingested.dropped_for_nulls == 32_561 - 1_427
    assert ingested.microdata.rows == 1_427
    assert len(ingested.microdata["capital-loss"].values) == 89


@needs_adult
def test_all_of_it_against_plain_python():
    environ = {"SFUMATO_DATA": str(DATA)}
    ingested = ingest(source(), columns(), "category", HIERARCHIES, environ)
    lines = (DATA / "adult" / "adult.data").read_text(encoding="utf-8").split("\n")
    records = [line.split(", ") for line in lines if line]
    for position, name in enumerate(HEADER):
        texts = [None if record[position] == "?" else record[position] for record in records]
        expected = [int(t) for t in texts] if name in NUMBERS else texts
        assert ingested.microdata[name].array().to_pylist() == expected

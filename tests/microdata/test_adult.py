"""UCI Adult, as the papers use it and as the repository ships it."""

import hashlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from sfumato.tasks.microdata.hierarchies import read_hierarchy
from sfumato.tasks.microdata.source import ingest
from sfumato.tasks.private.people.identity import fingerprint
from tests.adult import (
    ADULT,
    DEPLOYMENTS,
    HEADER,
    HIERARCHIES,
    NUMBERS,
    original_text,
    parquet_source,
    text_source,
)
from tests.microdata.sources import column

ORIGINAL = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
LEAVES = {
    "workclass": 8,
    "education": 16,
    "marital-status": 7,
    "occupation": 14,
    "race": 5,
    "sex": 2,
    "native-country": 41,
}
WITH_LOSS = '"capital-loss" > 0'


def columns():
    plain = {n: column("integer" if n in NUMBERS else "string") for n in HEADER}
    return plain | {
        name: column(role="quasi-identifier", hierarchy=f"{name}.csv") for name in LEAVES
    }


def ingest_adult(source, nulls):
    return ingest(source, columns(), nulls, HIERARCHIES, {})


@pytest.fixture(params=["parquet", "text"])
def source(request, tmp_path):
    """The shipped table, and the original text."""
    return parquet_source if request.param == "parquet" else lambda w=None: text_source(tmp_path, w)


@pytest.mark.parametrize("name", LEAVES)
def test_hierarchies(name):
    hierarchy = read_hierarchy(HIERARCHIES / f"{name}.csv", name)
    assert len(hierarchy.leaves) == LEAVES[name]
    for level in range(hierarchy.height):
        assert len(set(hierarchy.level(level))) > len(set(hierarchy.level(level + 1)))


def test_the_shipped_table_is_the_original_text():
    assert hashlib.sha256(original_text().encode()).hexdigest() == ORIGINAL


def test_what_is_said_of_the_shipped_table_is_true():
    words = (DEPLOYMENTS / "data" / "README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(ADULT.read_bytes()).hexdigest() in words
    assert ORIGINAL in words
    assert f"{len(original_text()):,} bytes" in words
    table = pq.read_table(ADULT)
    assert f"{table.num_rows:,} rows and {table.num_columns} columns" in words


@pytest.mark.parametrize(
    "spec",
    [p for p in sorted(DEPLOYMENTS.glob("*/*.yaml")) if p.parent.name != "policies"],
    ids=lambda p: Path(p).stem,
)
def test_every_shipped_spec_pins_the_shipped_table(spec):
    declared = yaml.safe_load(spec.read_text(encoding="utf-8"))["source"]
    assert (spec.parent / declared["uri"]).resolve() == ADULT.resolve()
    assert declared["sha256"] == hashlib.sha256(ADULT.read_bytes()).hexdigest()


@pytest.mark.parametrize("nulls", ["drop-row", "category"])
@pytest.mark.parametrize("where", [None, WITH_LOSS])
def test_a_line_knows_the_rows_again_that_it_read_from_the_text(where, nulls, tmp_path):
    """The keyed fingerprint by which a line finds the version that stands."""
    before = ingest_adult(text_source(tmp_path, where), nulls).microdata
    now = ingest_adult(parquet_source(where), nulls).microdata
    assert fingerprint(now, b"a key") == fingerprint(before, b"a key")


def test_people_with_a_capital_loss(source):
    result = ingest_adult(source(WITH_LOSS), "drop-row")
    assert result.read == 32_561
    assert result.dropped_by_filter + result.dropped_for_nulls == 32_561 - 1_427
    assert result.microdata.rows == 1_427
    assert len(result.microdata["capital-loss"].values) == 89


def test_all_of_it_against_plain_python(source):
    result = ingest_adult(source(), "category")
    records = [line.split(", ") for line in original_text().split("\n") if line]
    for position, name in enumerate(HEADER):
        texts = [None if record[position] == "?" else record[position] for record in records]
        expected = [int(t) for t in texts] if name in NUMBERS else texts
        assert result.microdata[name].array().to_pylist() == expected

"""The yardstick of whole releases: its specs, its floor, and how figures are told."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml

from sfumato.flows.inputs.resolved import resolve_run
from tests.benchmarks.processes import Taken, describe_machine, with_spread
from tests.benchmarks.recipes import RECIPES, document_of, write_people, write_sorted
from tests.benchmarks.whole import Bench, Measured, _exponent


@pytest.mark.parametrize("name", RECIPES)
def test_each_recipe_is_a_spec_that_is_asked_400_queries_or_none_if_bare(name, tmp_path):
    numbers = {}
    for bare in (False, True):
        document = document_of(RECIPES[name], tmp_path / "9.csv", 9000, tmp_path, bare=bare)
        spec = tmp_path / "whole.yaml"
        spec.write_text(yaml.safe_dump(document), encoding="utf-8")
        workloads = resolve_run(spec, None).spec.evaluate.workloads
        numbers[bare] = sum(
            workload.queries * len(getattr(workload, "spans", None) or workload.selected)
            for workload in workloads
        )
    assert numbers == {False: 400, True: 0}


def test_the_floor_writes_every_row_in_order(tmp_path):
    source = tmp_path / "300.csv"
    write_people(source, 300)
    write_sorted(source)
    table = pq.read_table(tmp_path / "300.parquet")
    assert pyarrow.csv.read_csv(tmp_path / "300.sorted.csv").equals(table)
    order = [("age", "ascending"), ("zip", "ascending"), ("loss", "ascending")]
    assert table.select(["age", "zip", "loss"]).equals(
        pyarrow.csv.read_csv(source).select(["age", "zip", "loss"]).sort_by(order)
    )
    assert sorted(table["person"].to_pylist()) == list(range(300))
    assert isinstance(table, pa.Table)


def test_what_500_rows_take_is_taken_off_before_the_floor_divides():
    measured = Measured(
        whole=[Taken(10.0, 8.0, 1.0), Taken(14.0, 10.0, 1.0)],
        small=[4.0, 5.0],
        floors=[2.0, 3.0],
        stages=[{"attack": 2.0}, {"attack": 1.0, "publish": 3.0}],
    )
    assert measured.differences == [6.0, 9.0]
    assert measured.multiples == [3.0, 3.0]
    assert measured.attacks == [25.0, 10.0]
    assert with_spread([3.0, 1.0, 2.0]) == "2.0 (1.0–3.0)"
    assert _exponent({10: 1.0, 100: 10.0, 1000: 1000.0}) == "2.00"
    assert _exponent({10: 1.0}) == ""


def test_a_release_runs_as_a_command_with_its_stages_and_without_attacks_if_bare(tmp_path):
    stages = {}
    for bare in (False, True):
        bench, measured = Bench(tmp_path, 1, bare), Measured()
        bench.write_people(300)
        taken = bench.release("anatomy", 300, measured)
        assert taken.cpu > 0
        assert measured.groups > 1
        stages[bare] = set(measured.stages[0])
    assert "attack" in stages[False] - stages[True]
    assert {"ingest", "anonymize", "validate", "publish"} <= stages[True]


def test_the_machine_and_the_commit_are_named():
    assert "commit " in describe_machine()

"""The model of what more people take."""

import pyarrow.dataset as ds
import pytest

from tests.benchmarks.costs import Cost, line_through, table_of, write_source


def test_a_line_goes_through_both_sizes_and_predicts_others():
    costs = [Cost(10, {"CPU s": 30.0, "parts": 1}), Cost(20, {"CPU s": 50.0, "parts": 3})]
    slope, start = line_through(costs[0], costs[1], "CPU s")
    assert (slope, start) == (2.0, 10.0)
    head, _, cpu, parts = table_of(costs, [100])
    assert head.endswith("| 100 (predicted) |")
    assert cpu.endswith("| 30 s | 50 s | 2000000.00 µs | 210 s |")
    assert parts == "| parts | 1 | 3 |  | 19 |"


def test_a_size_alone_is_a_line_from_nothing():
    cost = Cost(10, {"published: parquet": 2**20})
    assert line_through(cost, cost, "published: parquet") == (2**20 / 10, 0.0)


@pytest.mark.parametrize("people", [1000, 1_200_000])
def test_each_person_has_a_row(people, tmp_path):
    write_source(tmp_path / "source", people)
    table = ds.dataset(tmp_path / "source").to_table()
    assert sorted(table["person"].to_pylist()) == list(range(people))
    assert len(set(table["region"].to_pylist())) == -(-people // 250_000)

"""The workbench over a large and over a wide table: how long its pages wait for counts.

Seconds until a page is shown, until it has the counts, and until a moved slider or another level is
answered; for 1,000,000 rows, or `--rows` of them, and for 60 columns. Nothing is asserted.
"""

import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import yaml

from sfumato.flows.workbench.serve import open_workbench
from tests.benchmarks.processes import environment
from tests.workbench.conftest import Visitor

ROWS = 1_000_000
COLUMNS, WIDE_ROWS = 60, 20_000
PROMISES = (
    {"model": "k-anonymity", "k": 5},
    {"model": "l-diversity", "variant": "distinct", "l": 3, "sensitive": "illness"},
    {"model": "t-closeness", "t": 0.2, "distance": "equal", "sensitive": "illness"},
    {"model": "beta-likeness", "beta": 2, "sensitive": "illness"},
    {"model": "ke-anonymity", "k": 5, "e": 2000, "sensitive": "income"},
)
MOVED = ("0.k=6", "1.l=4", "2.t=0.3", "3.beta=3", "4.e=3000")
POLLED = 0.1  # seconds


def main(rows: int = ROWS) -> None:
    """Print the seconds of a large and of a wide table."""
    for name, table, columns in (
        (f"{rows:,} rows", large_table(rows), LARGE),
        (f"{COLUMNS} columns", wide_table(), WIDE),
    ):
        with tempfile.TemporaryDirectory() as folder:
            print(f"workbench, {name}: {', '.join(seconds_of(Path(folder), table, columns))}")


def seconds_of(place: Path, table: pa.Table, columns: Mapping[str, Any]) -> list[str]:
    """Return what takes how many seconds, in words."""
    data = place / "data"
    data.mkdir()
    pyarrow.csv.write_csv(table, data / "people.csv")
    (data / "people.yaml").write_text(yaml.safe_dump(document_of(columns)), encoding="utf-8")
    started = time.process_time()
    with open_workbench(data, environment(place)) as workbench:
        visitor = Visitor(workbench).enter()
        begun = time.monotonic()
        page = visitor.get("/columns/people.yaml").text
        taken = {"the page": time.monotonic() - begun}
        while "being counted" in page:
            time.sleep(POLLED)
            page = visitor.get("/columns/people.yaml").text
        assert "are unique" in page
        taken["its counts"] = time.monotonic() - begun
        for query in MOVED:
            visitor.get("/promise/people.yaml")
            taken[query] = _seconds(visitor, f"/promise/people.yaml?{query}")
        taken["a level"] = _seconds(visitor, "/hierarchies/people.yaml?level:age=2")
    cpu = time.process_time() - started
    return [*(f"{name} {seconds:.2f} s" for name, seconds in taken.items()), f"{cpu:.1f} s CPU"]


def _seconds(visitor: Visitor, path: str) -> float:
    begun = time.monotonic()
    assert visitor.get(path).status_code == 200
    return time.monotonic() - begun


LARGE: dict[str, Any] = {
    "person": {"role": "identifier", "type": "integer", "unit": True},
    "age": {"role": "quasi-identifier", "type": "integer", "hierarchy": {"intervals": [5, 10]}},
    "sex": {"role": "quasi-identifier"},
    "town": {"role": "quasi-identifier"},
    "income": {"role": "sensitive", "type": "integer"},
    "illness": {"role": "sensitive"},
}
OTHERS = tuple(f"answer {number}" for number in range(COLUMNS - len(LARGE)))
WIDE = LARGE | {name: {"role": "insensitive", "type": "integer"} for name in OTHERS}


def large_table(rows: int) -> pa.Table:
    """Make people of 100 ages and 400 towns, with incomes and 40 illnesses."""
    rng = np.random.default_rng(3)
    towns = pa.array([f"town {number}" for number in range(400)])
    illnesses = pa.array([f"illness {number}" for number in range(40)])
    return pa.table(
        {
            "person": np.arange(rows),
            "age": rng.integers(0, 100, rows),
            "sex": pa.array(["f", "m"]).take(pa.array(rng.integers(0, 2, rows))),
            "town": towns.take(pa.array(np.minimum(rng.zipf(1.3, rows), 400) - 1)),
            "income": rng.lognormal(10, 0.6, rows).astype(np.int64),
            "illness": illnesses.take(pa.array(np.minimum(rng.zipf(1.4, rows), 40) - 1)),
        }
    )


def wide_table(rows: int = WIDE_ROWS) -> pa.Table:
    """Make fewer people with many more answers each."""
    rng, table = np.random.default_rng(4), large_table(rows)
    for number, name in enumerate(OTHERS):
        table = table.append_column(name, pa.array(rng.integers(0, number + 2, rows)))
    return table


def document_of(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of such a table."""
    return {
        "version": 2,
        "name": "large",
        "title": "Large",
        "source": {"uri": "people.csv"},
        "columns": dict(columns),
        "promises": [dict(promise) for promise in PROMISES],
        "partition": {"method": "mondrian"},
        "form": {"method": "generalized"},
        "publish": {"uri": "releases"},
    }


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(int(arguments[1]) if arguments[:1] == ["--rows"] else ROWS)

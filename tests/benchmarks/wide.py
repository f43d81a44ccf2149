"""A narrow table of people with many columns that are merely published, at every command.

CPU seconds of each command as users type it: 240 rows, with 100, 400 and 1,500 such columns.
Nothing is asserted.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import yaml

from tests.benchmarks.processes import COMMAND, environment, run

ROWS = 240
COLUMNS = (100, 400, 1500)
LIMIT = "columns=2000"  # readers are asked before they open so many


def main() -> None:
    """Print a line for each number of columns."""
    for number in COLUMNS:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            environ = environment(place)
            spec = write_wide(place, number)
            version = str(place / "out" / "wide" / "0001")
            data = str(place / "wide.csv")
            seconds = {
                name: run([sys.executable, "-c", COMMAND, *arguments], environ).cpu
                for name, arguments in {
                    "init": ["init", data, "--out", str(place / "draft.yaml")],
                    "plan": ["plan", str(spec)],
                    "release": ["release", str(spec)],
                    "check": ["check", version, "--limit", LIMIT],
                }.items()
            }
            figures = ", ".join(f"{name} {taken:.1f} s" for name, taken in seconds.items())
            page = (Path(version) / "index.html").stat().st_size / 1e6
            print(f"wide, {number} published columns: {figures} CPU; a page of {page:.2f} MB")


def write_wide(place: Path, number: int) -> Path:
    """Write a table and a spec that releases it; return the spec's place."""
    rng = np.random.default_rng(1)
    jobs = pa.array(["a", "b", "c", "d", "e"])
    people = {
        "age": pa.array(rng.integers(20, 60, ROWS)),
        "sex": pa.array(["f", "m"]).take(pa.array(rng.integers(0, 2, ROWS))),
        "job": jobs.take(pa.array(rng.integers(0, len(jobs), ROWS))),
    }
    more = {f"m{n}": pa.array(rng.integers(0, 9, ROWS)) for n in range(number)}
    pyarrow.csv.write_csv(pa.table(people | more), place / "wide.csv")
    spec = place / "wide.yaml"
    spec.write_text(yaml.safe_dump(document_of(place, list(more))), encoding="utf-8")
    return spec


def document_of(place: Path, more: list[str]) -> dict[str, object]:
    """The spec of a table with some columns that are merely published."""
    return {
        "version": 1,
        "name": "wide",
        "title": "People about nobody",
        "source": {"uri": str(place / "wide.csv"), "format": "csv"},
        "unit": "row",
        "columns": {
            "age": {
                "role": "quasi-identifier",
                "type": "integer",
                "hierarchy": {"intervals": [5, 10, 20]},
            },
            "sex": {"role": "quasi-identifier"},
            "job": {"role": "sensitive"},
            **{name: {"role": "insensitive", "type": "integer"} for name in more},
        },
        "promises": [
            {"model": "k-anonymity", "k": 3},
            {"model": "l-diversity", "variant": "distinct", "l": 2},
        ],
        "partition": {"method": "mondrian"},
        "form": {"method": "generalized"},
        "publish": {"uri": str(place / "out"), "formats": ["parquet", "csv"]},
        "people": "nobody",
        "versions": "disjoint",
        "approval": "none",
    }


if __name__ == "__main__":
    main()

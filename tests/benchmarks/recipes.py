"""Made-up people of any number, and the specs by which whole releases of them are measured.

python -m tests.benchmarks.recipes write <place>.csv <rows>
python -m tests.benchmarks.recipes floor <place>.csv
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Recipe:
    """A partition with a form it goes with, and the promises that are kept."""

    sensitive: str
    promises: Sequence[Mapping[str, Any]]
    partition: Mapping[str, Any]
    form: Mapping[str, Any]
    strata: Sequence[Any] = ()
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    most: int = 10**7  # rows
    stratum: int = 0  # rows in bands of the postcode; one stratum, where nothing is said


HIERARCHIES = {
    "age": {"hierarchy": {"intervals": [5, 10, 20]}},
    "zip": {"hierarchy": {"intervals": [10, 100, 1000]}},
}
DISTINCT = [{"model": "l-diversity", "variant": "distinct", "l": 4}]
RECIPES = {
    "ke, 8 groups": Recipe(
        "loss",
        [{"model": "ke-anonymity", "k": 5, "e": 20_000}],
        {"method": "ke", "objective": "sum"},
        {"method": "permuted"},
    ),
    "ke, fine": Recipe(
        "loss",
        [{"model": "ke-anonymity", "k": 5, "e": 2}],
        {"method": "ke", "objective": "sum"},
        {"method": "permuted"},
    ),
    "ke, finest": Recipe(
        "loss",
        [{"model": "ke-anonymity", "k": 5, "e": 2}],
        {"method": "ke", "objective": "sum"},
        {"method": "permuted"},
        stratum=1000,
    ),
    "anatomy": Recipe("job", DISTINCT, {"method": "anatomy"}, {"method": "split"}),
    "mondrian": Recipe(
        "job",
        [{"model": "k-anonymity", "k": 5}, *DISTINCT],
        {"method": "mondrian", "mode": "strict"},
        {"method": "generalized"},
    ),
    "full-domain": Recipe(
        "job",
        [{"model": "k-anonymity", "k": 5}, *DISTINCT],
        {"method": "full-domain", "metric": "ncp", "suppression": 0.01},
        {"method": "generalized"},
        columns=HIERARCHIES,
    ),
    "forest": Recipe(
        "job",
        [{"model": "k-anonymity", "k": 5}],
        {"method": "forest"},
        {"method": "suppressed"},
        columns={"job": {"unprotected": "a benchmark of k-anonymity alone"}},
    ),
    "factors": Recipe(
        "job",
        [{"model": "k-anonymity", "k": 3}],
        {"method": "factors"},
        {"method": "suppressed"},
        columns={"job": {"unprotected": "a benchmark of k-anonymity alone"}},
        most=10**4,
    ),
    "ambiguity": Recipe(
        "job",
        [{"model": "alpha-beta", "alpha": 0.2, "beta": 0.4, "presence": "per-group"}],
        {"method": "ambiguity"},
        {"method": "ambiguous"},
        most=10**6,
    ),
    "cover": Recipe(
        "job",
        [{"model": "alpha-beta", "alpha": 0.2, "beta": 0.4, "presence": "combined"}],
        {"method": "disjoint-cover"},
        {"method": "ambiguous"},
    ),
    "stratum": Recipe(
        "loss",
        [
            {"model": "p-privacy", "target": "source", "per": "stratum"},
            {"model": "t-closeness", "t": 0.3, "distance": "ordered"},
        ],
        {"method": "stratum"},
        {"method": "redistributed", "tree": "balanced", "denominator": 16},
        strata=[{"column": "age", "bands": [30, 40, 50]}],
    ),
    "exact-qi": Recipe(
        "loss",
        [{"model": "p-privacy", "target": "uniform"}],
        {"method": "exact-qi"},
        {"method": "redistributed", "tree": "balanced", "fakes": 0.05},
        strata=[{"column": "age", "bands": [30, 40, 50]}],
        most=10**6,
    ),
}


def document_of(
    recipe: Recipe, source: Path, rows: int, place: Path, *, bare: bool
) -> dict[str, Any]:
    """The spec of a recipe on a source of so many rows; asked no queries if bare."""
    columns = {name: dict(what) for name, what in COLUMNS.items()}
    for name, more in recipe.columns.items():
        columns[name] |= more
    columns["loss"]["role"] = "drop"
    columns[recipe.sensitive]["role"] = "sensitive"
    return {
        "version": 1,
        "name": "whole",
        "title": "People about nobody",
        "source": {"uri": str(source), "format": "csv"},
        "nulls": "drop-row",
        "columns": columns,
        "promises": [dict(promise) for promise in recipe.promises],
        "partition": dict(recipe.partition),
        "form": dict(recipe.form),
        "publish": {"uri": str(place / "releases"), "formats": ["parquet", "csv"]},
        "people": "nobody",
        "strata": _strata(recipe, rows),
        "versions": "disjoint",
        "approval": "none",
        "evaluate": {"workloads": [] if bare else _workloads(recipe)},
    }


def _strata(recipe: Recipe, rows: int) -> list[Any]:
    """The recipe's strata, or bands of the postcode in which it has about as many rows as asked."""
    if not recipe.stratum:
        return list(recipe.strata)
    bands = list(range(1000, 10_000, max(9000 * recipe.stratum // rows, 1)))[1:]
    return [{"column": "zip", "bands": bands}] if bands else []


def _workloads(recipe: Recipe) -> list[dict[str, Any]]:
    """400 queries; where quasi-identifiers are recoded, rows cannot be selected one by one."""
    selected = {"kind": "arbitrary", "aggregate": "count", "selected": [50, 100, 200, 400]}
    ranges = {"kind": "range", "aggregate": "count", "spans": [5, 10, 20, 40], "queries": 50}
    recoded = recipe.form["method"] in ("generalized", "suppressed", "ambiguous")
    another = {**ranges, "over": "zip"} if recoded else {**selected, "queries": 50}
    return [{**ranges, "over": "age"}, another]


COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "person": {"role": "identifier", "type": "integer", "unit": True},
    "age": {"role": "quasi-identifier", "type": "integer"},
    "sex": {"role": "quasi-identifier"},
    "town": {"role": "quasi-identifier"},
    "zip": {"role": "quasi-identifier", "type": "integer"},
    "school": {"role": "quasi-identifier"},
    "married": {"role": "quasi-identifier"},
    "job": {"role": "quasi-identifier"},
    "loss": {"role": "quasi-identifier", "type": "integer"},
}


def write_people(path: Path, rows: int) -> None:
    """People about nobody: eight columns, of 2 to 100,000 different values."""
    rng = np.random.default_rng(rows)
    texts = {"sex": ("f", 2), "town": ("town", 200), "school": ("level", 14), "married": ("m", 5)}
    columns = {
        name: pa.array([f"{prefix} {n}" for n in range(count)]).take(
            pa.array(np.minimum(rng.geometric(2 / count, rows), count) - 1)
        )
        for name, (prefix, count) in texts.items()
    }
    jobs = pa.array([f"job {n}" for n in range(50)])
    table = pa.table(
        {
            "person": rng.permutation(rows),
            "age": rng.integers(17, 90, rows),
            "sex": columns["sex"],
            "town": columns["town"],
            "zip": rng.integers(1000, 10_000, rows),
            "school": columns["school"],
            "married": columns["married"],
            "job": jobs.take(pa.array(np.minimum(rng.geometric(0.1, rows), 50) - 1)),
            "loss": np.minimum(rng.exponential(15_000, rows).astype(np.int64), 100_000),
        }
    )
    pyarrow.csv.write_csv(table, path)


def measure_floor(source: Path) -> float:
    """Return the CPU seconds of reading, sorting and writing a table, on one core by one thread.

    No release can do without these. The table is taken twice, and the second time counts: the first
    loads what each library needs.
    """
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    write_sorted(source)
    start = time.process_time()
    write_sorted(source)
    return time.process_time() - start


def write_sorted(source: Path) -> None:
    """Write the rows of a table by age, postcode and loss, as Parquet and CSV beside it."""
    table = pyarrow.csv.read_csv(source)
    keys = np.zeros(table.num_rows, dtype=np.int64)
    for name in ("age", "zip", "loss"):
        keys = keys * 100_000 + table[name].to_numpy()
    ordered = table.take(pa.array(np.argsort(keys, kind="stable")))
    pq.write_table(ordered, source.with_suffix(".parquet"))
    pyarrow.csv.write_csv(ordered, source.with_suffix(".sorted.csv"))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write_people(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        print(measure_floor(Path(sys.argv[2])))

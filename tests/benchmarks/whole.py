"""Whole releases, from a CSV file to published files that passed their check, by partition.

Each release is made by the stages of the flow in a process of its own, without Prefect, and is
attacked, and evaluated by 400 queries, both of which count apart. What the same spec costs on 500
rows is taken off, and the rest told as a multiple of the floor: reading, sorting and writing the
same columns in the same formats, in the same run. Nothing is asserted.
"""

import argparse
import csv
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from math import log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import yaml

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.inputs.environment import imports_apart
from sfumato.flows.inputs.resolved import ResolvedRun, resolve_run
from tests.benchmarks import stages
from tests.benchmarks.stages import peak_megabytes

SMALL = 500
_QUICK = (3_000, 30_000)
_FLOORS = 3  # of which the median is told: one alone is off by a fifth
_LONG = ("factors", "cover", "exact-qi")
Stage = Callable[[Any, Path], None]
STAGES: Sequence[Stage] = (
    stages.ingest,
    stages.deidentify,
    stages.verify,
    stages.anonymize,
    stages.validate,
    stages.attack,
    stages.publish,
    stages.evaluate,
)


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


def main(arguments: Sequence[str] = ()) -> None:
    """Print a table in Markdown, a row for each recipe and size, and write it as CSV."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[10**4, 10**5, 10**6])
    parser.add_argument("--recipes", nargs="*", default=list(RECIPES), choices=list(RECIPES))
    parser.add_argument("--quick", action="store_true", help="small tables, without long searches")
    parser.add_argument("--bare", action="store_true", help="neither attacked nor evaluated")
    parser.add_argument("--csv", type=Path, default=None)
    chosen = parser.parse_args(arguments)
    sizes = _QUICK if chosen.quick else sorted(chosen.rows)
    recipes = [name for name in chosen.recipes if not (chosen.quick and name in _LONG)]
    rows = list(_rows(recipes, sizes, STAGES[:5] + STAGES[6:7] if chosen.bare else STAGES))
    if chosen.csv is not None:
        chosen.csv.parent.mkdir(parents=True, exist_ok=True)
        with chosen.csv.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, rows[0])
            writer.writeheader()
            writer.writerows(rows)


def _rows(
    recipes: Sequence[str], sizes: Sequence[int], run: Sequence[Stage]
) -> Iterator[dict[str, Any]]:
    """The figures of every recipe and size, each printed as soon as it is known."""
    names = ["recipe", "rows", "groups", *(stage.__name__ for stage in run)]
    names += ["cpu", "floor", "ratio", "exponent", "wall", "megabytes"]
    print("| " + " | ".join(names) + " |")
    print("|" + "---|" * len(names))
    with tempfile.TemporaryDirectory() as folder:
        records: dict[tuple[str, int], dict[str, Any]] = {}
        for size in (SMALL, *sizes):
            source = Path(folder) / f"{size}.csv"
            write_people(source, size)
            floors = [_apart(partial(_cpu, partial(_floor, source)))[0] for _ in range(_FLOORS)]
            floor = median(floors)
            for recipe in (name for name in recipes if size <= RECIPES[name].most):
                place = Path(folder) / f"{recipe}-{size}"
                place.mkdir()
                if size == SMALL:  # all that is imported or compiled is, from here on
                    _release(RECIPES[recipe], source, place, run, apart=False)
                    place = place / "again"
                    place.mkdir()
                taken = _release(RECIPES[recipe], source, place, run, apart=True)
                base = records[recipe, SMALL]["by"] if size != SMALL else {}
                records[recipe, size] = taken
                if size == SMALL:
                    continue
                seconds_by_stage = {name: max(0.0, taken["by"][name] - base[name]) for name in base}
                cpu = (
                    sum(seconds_by_stage.values())
                    - seconds_by_stage.get("attack", 0.0)
                    - seconds_by_stage.get("evaluate", 0.0)
                )
                before = [n for n in sizes if n < size]
                figures = {
                    "recipe": recipe,
                    "rows": size,
                    "groups": taken["groups"],
                    **{name: round(seconds, 2) for name, seconds in seconds_by_stage.items()},
                    "cpu": round(cpu, 2),
                    "floor": round(floor, 2),
                    "ratio": round(cpu / floor, 1),
                    "exponent": _exponent(records, recipe, before, size, cpu),
                    "wall": round(taken["wall"], 1),
                    "megabytes": round(taken["peak"]),
                }
                taken["cpu"] = cpu
                print(
                    "| " + " | ".join(str(figure) for figure in figures.values()) + " |", flush=True
                )
                yield figures


def _exponent(
    records: Mapping[tuple[str, int], Mapping[str, Any]],
    recipe: str,
    before: Sequence[int],
    size: int,
    cpu: float,
) -> float | str:
    """The power of the rows that the seconds grew by since the size before."""
    if not before or (recipe, before[-1]) not in records or not records[recipe, before[-1]]["cpu"]:
        return ""
    return round(log(cpu / records[recipe, before[-1]]["cpu"]) / log(size / before[-1]), 2)


def _release(
    recipe: Recipe, source: Path, place: Path, stages_: Sequence[Stage], *, apart: bool
) -> dict[str, Any]:
    """CPU seconds of each stage of one release, the process's peak of memory, and the groups."""
    spec = place / "spec.yaml"
    document = document_of(recipe, source, place)
    if recipe.stratum:
        step = max(9000 * recipe.stratum // int(source.stem), 1)
        bands = list(range(1000, 10_000, step))[1:]
        document["strata"] = [{"column": "zip", "bands": bands}] if bands else []
    spec.write_text(yaml.safe_dump(document), encoding="utf-8")
    os.environ["SFUMATO_WORK"] = str(place / "work")
    run = place / "run"
    run.mkdir(mode=0o700)
    start = time.perf_counter()
    made = partial(_make_release, spec, run, stages_)
    seconds, peak = _apart(made) if apart else (made(), 0.0)
    wall = time.perf_counter() - start
    manifest = place / "releases" / "whole" / "0001" / "datapackage.json"
    observed = json.loads(manifest.read_text(encoding="utf-8"))["sfumato"]["observed"]
    groups = max(figure["groups"] for figure in observed)
    return {"by": seconds, "wall": wall, "peak": peak, "groups": groups, "cpu": 0.0}


def _make_release(spec: Path, run: Path, stages_: Sequence[Stage]) -> dict[str, float]:
    """CPU seconds of each stage of a release."""
    with imports_apart():
        return {stage.__name__: _cpu(lambda s=stage: s(_plan(spec), run)) for stage in stages_}


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    with redirect_stdout(StringIO()):
        work()
    return time.process_time() - start


def _plan(spec: Path) -> ResolvedRun:
    return resolve_run(spec, None)


def document_of(recipe: Recipe, source: Path, place: Path) -> dict[str, Any]:
    """The spec of a recipe on a source."""
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
        "strata": list(recipe.strata),
        "versions": "disjoint",
        "approval": "none",
        "evaluate": {"workloads": _workloads(recipe)},
    }


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


def _floor(source: Path) -> None:
    """Read, sort by all columns as one packed key, write: what no release can do without."""
    table = pyarrow.csv.read_csv(source)
    keys = np.zeros(table.num_rows, dtype=np.int64)
    for name in ("age", "zip", "loss"):
        keys = keys * 100_000 + table[name].to_numpy()
    ordered = table.take(pa.array(np.argsort(keys, kind="stable")))
    pq.write_table(ordered, source.with_suffix(".parquet"))
    pyarrow.csv.write_csv(ordered, source.with_suffix(".sorted.csv"))


def _apart(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what some work returns in a forked process, and its peak of memory in megabytes."""
    receive, send = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        code = 1
        with suppress(SfumatoError):
            send.send((work(), peak_megabytes()))
            code = 0
        os._exit(code)
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise SystemExit("a release of the benchmark failed")
    result, peak = receive.recv()
    return result, float(peak)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])

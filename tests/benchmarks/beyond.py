"""The growth of a release in parts to 10^10 rows: a plan on paper, from costs measured here.

Two small releases give what each stage takes for a row and for a part, in CPU seconds and bytes.
Then, for many more rows and workers: the source is divided by one process, parts are made and
judged by workers (each as soon as one is free, after what Dask takes to tell it), and one process
seals, copies and checks what is published. Disks are as fast as said.

    python -m tests.benchmarks.beyond [ROWS OF THE LARGER ONE]
"""

import heapq
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from sfumato.flows.inputs.resolved import resolve_run
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.parts.anonymize import write_candidates
from sfumato.tasks.parts.divide import DeclaredRows, write_divided
from sfumato.tasks.parts.validate import seal_candidates
from sfumato.tasks.publication.publish import publish
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import sealed_candidate
from sfumato.tasks.workers.workers import InTurn
from tests.benchmarks.parts import SPEC, STRATA, write_source
from tests.lines import TIME
from tests.parts.divided import examine_in, judge

STAGES = ("divide", "make and judge", "publish")
LATENCY = 0.0027  # seconds until a worker has begun a part
DISK = 500e6  # bytes a second that all processes together read or write
PART = 5_000_000  # rows at most
ROWS = (10**8, 10**9, 10**10)
WORKERS = (2, 16, 128)


@dataclass
class Costs:
    """The costs of a release: CPU seconds by stage, and bytes by what they are."""

    cpu: dict[str, float] = field(default_factory=dict)
    size: dict[str, float] = field(default_factory=dict)


def measure(folder: Path, rows: int) -> Costs:
    """Release so many rows in as many parts as there are strata."""
    costs = Costs()
    costs.size["source"] = write_source(folder / "source", rows)
    spec = {**SPEC, "parts": {"rows": rows // STRATA * 5 // 4}}
    (folder / "visits.yaml").write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    resolved, run = resolve_run(folder / "visits.yaml"), folder / "run"
    run.mkdir(mode=0o700)
    release_spec = resolved.spec
    declared = DeclaredRows(
        release_spec.source, release_spec.columns, release_spec.nulls, resolved.base, resolved.unit
    )
    with _time_stage(costs, "divide"):
        divided = write_divided(declared, resolved.terms, resolved.line, run, judge)
    costs.size["shuffled"] = _bytes(divided / "strata")
    costs.size["row hashes"] = _bytes(divided) - costs.size["shuffled"]
    with _time_stage(costs, "make and judge"):
        made = write_candidates(divided, resolved.terms, run, seeded_keys(1), InTurn())
        stated = resolved.terms, resolved.withheld, resolved.line
        seal_candidates(made, divided, *stated, InTurn(), examine_in)
    with _time_stage(costs, "publish"):
        release = publish(resolved.line, sealed_candidate(made), identity(divided), TIME).directory
    costs.size["published"] = _bytes(release)
    costs.size["manifest"] = (release / "datapackage.json").stat().st_size
    return costs


@dataclass(frozen=True)
class Rates:
    """The costs of a row and of a part."""

    of_row: Costs
    of_part: Costs

    def cpu(self, stage: str, rows: float, parts: float) -> float:
        return self.of_row.cpu[stage] * rows + self.of_part.cpu[stage] * parts

    def size(self, name: str, rows: float, parts: float) -> float:
        return self.of_row.size[name] * rows + self.of_part.size[name] * parts


def fit(small: Costs, few: int, large: Costs, many: int) -> Rates:
    """The line through two releases of the same number of parts."""

    def slope(first: dict[str, float], other: dict[str, float]) -> dict[str, float]:
        return {name: (other[name] - first[name]) / (many - few) for name in first}

    def rest(first: dict[str, float], of_row: dict[str, float]) -> dict[str, float]:
        return {name: max(first[name] - few * of_row[name], 0.0) / STRATA for name in first}

    of_row = Costs(slope(small.cpu, large.cpu), slope(small.size, large.size))
    return Rates(of_row, Costs(rest(small.cpu, of_row.cpu), rest(small.size, of_row.size)))


def makespan(costs: list[float], workers: int) -> float:
    """When the last of some jobs ends, each begun as soon as a worker is free.

    >>> round(makespan([2.0, 1.0, 1.0], 2))
    2
    """
    free = [0.0] * workers
    for number, cost in enumerate(sorted(costs, reverse=True)):
        begun = max(heapq.heappop(free), number * LATENCY)  # the scheduler tells one after another
        heapq.heappush(free, begun + cost)
    return max(free)


def table(rates: Rates) -> Iterator[str]:
    """The plan, a line for each number of rows and workers."""
    yield "| rows | parts | workers | divide h | parts h | publish h | shuffled TB | manifest MB |"
    yield "|---|---|---|---|---|---|---|---|"
    for rows in ROWS:
        parts = -(-rows // PART)
        for workers in WORKERS:
            alone = rates.cpu("make and judge", PART, 1)
            bytes_moved = rates.size("published", rows, parts) + rates.size("shuffled", rows, parts)
            hours = (
                rates.cpu("divide", rows, parts),
                max(makespan([alone] * parts, workers), bytes_moved / DISK),
                rates.cpu("publish", rows, parts),
            )
            cells = " | ".join(f"{seconds / 3600:.2f}" for seconds in hours)
            shuffled = rates.size("shuffled", rows, parts) / 1e12
            manifest = rates.size("manifest", 0, parts) / 1e6
            yield (
                f"| {rows:.0e} | {parts} | {workers} | {cells} | {shuffled:.3f} | {manifest:.1f} |"
            )


def main(rows: int) -> None:
    """Measure, and print the plan."""
    measurements = []
    for number in (rows // 4, rows):
        with tempfile.TemporaryDirectory() as place:
            os.environ["SFUMATO_WORK"] = f"{place}/work"
            measurements.append(measure(Path(place), number))
    rates = fit(measurements[0], rows // 4, measurements[1], rows)
    for name, costs_of_unit in (("row", rates.of_row), ("part", rates.of_part)):
        print(
            f"of a {name}, CPU us:",
            {stage: round(1e6 * s, 2) for stage, s in costs_of_unit.cpu.items()},
        )
        print(
            f"of a {name}, bytes:",
            {what: round(size, 1) for what, size in costs_of_unit.size.items()},
        )
    print("\n".join(table(rates)))


@contextmanager
def _time_stage(costs: Costs, stage: str) -> Iterator[None]:
    before = time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    yield
    after = time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    costs.cpu[stage] = after - before


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)

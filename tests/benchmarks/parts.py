"""A release in parts of many rows: CPU beside the floor, memory of all processes, scratch on disk.

The floor is reading, sorting and writing the same columns, by DuckDB in a process of its own. The
release is `sfumato release`, watched from outside, and then `check` and three queries.

    python -m tests.benchmarks.parts 10000000 [FOLDER [CPU OF THE FLOOR [ENGINE]]]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sfumato.tasks.stages.deidentify import ROWS_NORMAL

CHUNK = 1_000_000
STRATA = 40
QUERIES = (
    "SELECT COUNT(*), SUM(cost), AVG(cost) FROM microdata WHERE age BETWEEN 30 AND 40",
    "SELECT sex, AVG(cost), MIN(cost), MAX(cost) FROM microdata WHERE town < 200 GROUP BY sex",
    "SELECT region, COUNT(*) FROM microdata WHERE cost > 5000 GROUP BY region",
)
SPEC: dict[str, Any] = {
    "version": 1,
    "name": "visits",
    "title": "Visits of many people",
    "source": {"uri": "source", "format": "parquet"},
    "unit": "row",
    "columns": {
        "region": {"role": "quasi-identifier", "type": "integer"},
        "age": {"role": "quasi-identifier", "type": "integer"},
        "sex": {"role": "quasi-identifier"},
        "town": {"role": "quasi-identifier", "type": "integer"},
        "job": {"role": "quasi-identifier"},
        "day": {"role": "insensitive", "type": "date"},
        "stay": {"role": "insensitive", "type": "integer"},
        "cost": {"role": "sensitive", "type": "integer"},
    },
    "strata": ["region"],
    "parts": {},
    "promises": [{"model": "ke-anonymity", "k": 5, "e": 500}],
    "partition": {"method": "ke"},
    "form": {"method": "permuted"},
    "publish": {"uri": "public"},
}


@dataclass
class Watched:
    """The time and memory that processes took.

    Attributes:
        seconds: on the wall.
        cpu: seconds of all of them.
        peak: bytes in memory of all of them at once.
        largest: bytes in memory of the largest at its peak (VmHWM).
        own: the same without files that are mapped into memory (RssAnon), looked at now and then.
        scratch: bytes in the work directory at their peak, but for what stays there.
        kept: bytes that stay: what the line knows of its rows, and is compared with.
        said: standard output.
    """

    seconds: float = 0.0
    peak: int = 0
    largest: int = 0
    own: int = 0
    scratch: int = 0
    kept: int = 0
    said: str = ""
    of_each: dict[int, float] = field(default_factory=dict)

    @property
    def cpu(self) -> float:
        """Seconds of all processes."""
        return sum(self.of_each.values())

    def __str__(self) -> str:
        return (
            f"{self.seconds:.1f} s, {self.cpu:.1f} s CPU, {self.peak / 2**30:.2f} GB at once, "
            f"{self.largest / 2**30:.2f} GB the largest, {self.scratch / 2**30:.2f} GB of scratch, "
            f"{self.kept / 2**30:.2f} GB kept"
        )


def main(rows: int, folder: Path, floor_given: float | None = None, engine: str = "local") -> None:
    """Generate, sort, release, check and ask, and print a line for each.

    `floor_given` is the CPU of the floor in seconds, where it was measured before.
    """
    spec = {**SPEC, "engine": engine, "parts": {"rows": min(5_000_000, max(rows // 8, 1000))}}
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{rows:,} rows, {len(SPEC['columns'])} columns, {STRATA} strata", flush=True)
    size = write_source(folder / "source", rows)
    print(f"source: {size / 2**30:.2f} GB", flush=True)
    floor = floor_given or _floor(folder)
    (folder / "visits.yaml").write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    made = watch_command(command("release", folder / "visits.yaml"), folder)
    print(f"release: {made}", flush=True)
    print(f"  {made.cpu / floor:.1f} x the floor, {made.scratch / size:.2f} x the source")
    release = Path(made.said.splitlines()[-1])
    declared = json.loads((release / "datapackage.json").read_text(encoding="utf-8"))["sfumato"]
    print(f"  {declared['rows']['published']:,} rows in {len(declared['made_of'])} parts")
    print(f"  promises observed: {json.dumps(declared['observed'])}", flush=True)
    checked = watch_command(command("check", release), folder)
    print(f"check: {checked}")
    print(f"  {checked.said.splitlines()[0]}", flush=True)
    for query in QUERIES:
        watched = watch_command(command("query", release, query, "--format", "json"), folder)
        print(f"query: {watched}\n  {query}\n  {watched.said[:400]}", flush=True)


def _floor(folder: Path) -> float:
    floor = watch_command(sorting(folder), folder)
    print(f"floor: {floor}", flush=True)
    shutil.rmtree(folder / "sorted")
    return floor.cpu


def write_source(folder: Path, rows: int) -> int:
    """Write rows in files of a million, and count their bytes."""
    folder.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, rows, CHUNK)):
        path = folder / f"{number:04d}.parquet"
        if not path.exists():
            pq.write_table(chunk(number, min(CHUNK, rows - start)), path, compression="zstd")
    return sum(path.stat().st_size for path in folder.iterdir())


def chunk(number: int, rows: int) -> pa.Table:
    """So many rows of the generated source."""
    rng = np.random.default_rng(number)
    jobs = np.array([f"job {n}" for n in range(50)])
    cost = np.minimum(rng.lognormal(8, 1.2, rows), 10**6).astype(np.int64)
    return pa.table(
        {
            "region": rng.integers(0, STRATA, rows),
            "age": rng.integers(0, 100, rows),
            "sex": pa.array(np.array(["f", "m"])[rng.integers(0, 2, rows)]),
            "town": rng.integers(0, 1000, rows),
            "job": pa.array(jobs[np.minimum(rng.geometric(0.1, rows), 49)]),
            "day": pa.array(rng.integers(18_000, 19_000, rows).astype(np.int32)).cast(pa.date32()),
            "stay": np.minimum(rng.geometric(0.3, rows), 60),
            "cost": cost,
        }
    )


def sorting(folder: Path) -> list[str]:
    """The command that reads, sorts and writes all columns."""
    names = ", ".join(SPEC["columns"])
    statement = (
        f"COPY (SELECT * FROM read_parquet('{folder}/source/*.parquet') ORDER BY {names}) "
        f"TO '{folder}/sorted/all.parquet' (COMPRESSION zstd)"
    )
    lines = [
        "import duckdb, pathlib",
        f"pathlib.Path('{folder}/sorted').mkdir(exist_ok=True)",
        "c = duckdb.connect(config={'memory_limit': '3GB', 'threads': 2,",
        f"  'temp_directory': '{folder}/sorted/spilled'}})",
        f"c.execute({statement!r})",
    ]
    return [sys.executable, "-c", "\n".join(lines)]


def command(*arguments: object) -> list[str]:
    """A command line of ours."""
    start = "from sfumato.flows.cli.main import main; main()"
    return [sys.executable, "-c", start, *map(str, arguments)]


def watch_command(line: Sequence[str], folder: Path) -> Watched:
    """Run a command, and look at it and its children until it ends."""
    watched, begin, out = Watched(), time.perf_counter(), folder / "said"
    environ = {
        **os.environ,
        "SFUMATO_WORK": str(folder / "work"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PREFECT_HOME": str(folder / "prefect"),
    }
    with out.open("w") as output:
        process = subprocess.Popen(line, stdout=output, env=environ)
        looking = psutil.Process(process.pid)
        while process.poll() is None:
            _look(looking, watched)
            watched.scratch = max(watched.scratch, _bytes_below(folder / "work"))
            watched.kept = max(watched.kept, _bytes_below(folder / "work", counts_rows=True))
            time.sleep(0.2)
    watched.seconds, watched.said = time.perf_counter() - begin, out.read_text(encoding="utf-8")
    if process.returncode:
        raise SystemExit(f"{line[2:5]}: exit {process.returncode}")
    return watched


def _look(process: psutil.Process, watched: Watched) -> None:
    at_once = 0
    for member in _family(process):
        try:
            with member.oneshot():
                times, status = member.cpu_times(), Path(f"/proc/{member.pid}/status").read_text()
        except (psutil.Error, OSError):
            continue
        watched.of_each[member.pid] = times.user + times.system
        at_once += _kilobytes(status, "VmRSS:")
        watched.largest = max(watched.largest, _kilobytes(status, "VmHWM:"))
        watched.own = max(watched.own, _kilobytes(status, "RssAnon:"))
    watched.peak = max(watched.peak, at_once)


def _family(process: psutil.Process) -> Iterator[psutil.Process]:
    try:
        yield process
        yield from process.children(recursive=True)
    except psutil.Error:
        return


def _kilobytes(status: str, name: str) -> int:
    _, value, rest = status.partition(name)
    return int(rest.split()[0]) * 1024 if value else 0


def _bytes_below(folder: Path, *, counts_rows: bool = False) -> int:
    """The bytes of all files, each once; of those that stay, or of the others."""
    seen: dict[int, int] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            if counts_rows != (Path(place).name == "rows" or name == ROWS_NORMAL):
                continue
            with suppress(OSError):
                status = os.lstat(Path(place) / name)
                seen[status.st_ino] = status.st_size
    return sum(seen.values())


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(
            int(sys.argv[1]),
            Path(sys.argv[2]).absolute(),
            *map(float, sys.argv[3:4]),
            *sys.argv[4:5],
        )
    else:
        with tempfile.TemporaryDirectory() as place:
            main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, Path(place))

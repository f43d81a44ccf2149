"""The same task by others: k-anonymity of UCI Adult, made by ANJANA and AnonyPyX.

pyCANON measures what is there. Each has an environment of its own, which the Makefile makes;
`ANJANA`, `ANONYPYX` and `PYCANON` name their interpreters. What is timed is the work alone, on a
table in memory: no start, no file. Loss is told by what all have in common, the sizes of groups:
how many there are, and discernibility, the sum of their squares and of all rows for each suppressed
one.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sfumato.expectations.groups.counting import count, pack
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.forms.form_parameters import GeneralizedParameters
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.table import Microdata, seeded_keys
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from sfumato.tasks.partitions.registry import PARTITIONS
from tests.benchmarks.lattice import FIVE, adult

K, PERCENT, TIMES, PATIENCE = 5, 1, 3, 600
SENSITIVE = "occupation"
LARGE = 100_000
TOLD = """
import json, sys, time, warnings
from importlib.metadata import version
warnings.simplefilter("ignore")
task = json.loads(open(sys.argv[1], encoding="utf-8").read())
qi, k, sensitive = task["qi"], task["k"], task["sensitive"]

def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}

def tell(taken, sizes):
    status = open("/proc/self/status", encoding="ascii").read()  # of this program alone
    peak = float(status.partition("VmHWM:")[2].split()[0]) / 1024
    more = {"peak": peak, "version": version(task["package"])} if "package" in task else {}
    print("\\n" + json.dumps(taken | more | {"sizes": [int(size) for size in sizes]}))
"""
TIMED = f"""{TOLD}
import numpy as np, pandas as pd
frame = pd.read_csv(task["file"], dtype={{name: str for name in (*qi, sensitive)}})
"""
ANJANA = """
from anjana.anonymity import k_anonymity, l_diversity
levels = {name: dict(enumerate(map(np.array, of))) for name, of in task["hierarchies"].items()}
l, percent = task.get("l", 0), task["percent"]
diverse = lambda: l_diversity(frame, [], qi, sensitive, k, l, percent, levels)
anonymous = lambda: k_anonymity(frame, [], qi, k, percent, levels)
shown, taken = timed(diverse if l else anonymous)
tell(taken, shown.groupby(qi).size())
"""
ANONYPYX = """
from anonypyx import Anonymiser
frame["age"] = frame["age"].astype(int)
for name in (*qi, sensitive):
    if name != "age":
        frame[name] = frame[name].astype("category")
options = {"feature_columns": qi, "sensitive_column": sensitive, "algorithm": "Mondrian"}
maker = Anonymiser(frame, k=k, generalisation_strategy="human-readable", **options)
shown, taken = timed(maker.anonymise)
tell(taken, shown.groupby(qi)["count"].sum())
"""
PYCANON = """
from pycanon import anonymity
measure = lambda: (anonymity.k_anonymity(frame, qi), anonymity.l_diversity(frame, qi, [sensitive]))
(least, values), taken = timed(measure)
tell(taken, [least, values])
"""


@dataclass(frozen=True)
class Peer:
    """Somebody else's software in an environment of its own.

    Attributes:
        name: of the software.
        variable: of the environment; it names the interpreter.
        script: what is run there.
        head: the lines before the script, which read the task.
        package: the distribution that the version is of.
        most: the largest number of rows for which the software is run, None for any.
    """

    name: str
    variable: str
    script: str
    head: str = TIMED
    package: str = ""
    most: int | None = None

    def run(self, task: Path, patience: int = PATIENCE) -> dict[str, Any] | str:
        """Return what the script tells in its last line, as JSON, or why there is nothing."""
        python = os.environ.get(self.variable)
        if python is None or not Path(python).exists():
            return f"has no environment here ({self.variable})"
        command = [python, "-c", self.head + self.script, str(task)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=patience)
        except subprocess.TimeoutExpired:
            return f"was not done after {patience} s"
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
            return f"did not run here ({last})"
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return result


FULL_DOMAIN = FullDomainParameters(
    method="full-domain", metric="discernibility", suppression=Decimal(PERCENT) / 100
)
MONDRIAN = MondrianParameters(method="mondrian")


def main() -> None:
    """Print a line for each of us and each task, on UCI Adult and on more rows drawn from it."""
    table = adult(FIVE, SENSITIVE)
    positions = np.random.default_rng(5).integers(0, table.rows, LARGE)
    larger = Microdata(tuple(replace(c, codes=c.codes[positions]) for c in table.columns), LARGE)
    for title, rows in (("UCI Adult", table), ("drawn from UCI Adult", larger)):
        with tempfile.TemporaryDirectory() as folder:
            task = write_task(rows, Path(folder))
            compare(f"{rows.rows:,} rows {title}", rows, task)


def write_task(table: Microdata, folder: Path) -> Path:
    """A table as CSV, and what is to be done with it as JSON."""
    columns = {column.name: column.array() for column in table.columns}
    pa.csv.write_csv(pa.table(columns), folder / "table.csv")
    names = quasi_identifiers(table)
    task = {
        "file": str(folder / "table.csv"),
        "qi": list(names),
        "k": K,
        "percent": PERCENT,
        "sensitive": sensitive_of(table),
        "hierarchies": {name: levels(table, name) for name in names},
    }
    place = folder / "task.json"
    place.write_text(json.dumps(task), encoding="utf-8")
    return place


def quasi_identifiers(table: Microdata) -> tuple[str, ...]:
    """The names of a table's quasi-identifiers."""
    return tuple(column.name for column in table.columns if column.role == "quasi-identifier")


def sensitive_of(table: Microdata) -> str:
    """The name of a table's only sensitive column."""
    (name,) = (column.name for column in table.columns if column.role == "sensitive")
    return name


def levels(table: Microdata, name: str) -> list[list[str]]:
    """For each level of a column's hierarchy the labels above its values."""
    column = table[name]
    assert column.labels is not None and column.ancestors is not None
    nodes = zip(column.labels, column.ancestors, strict=True)
    return [list(map(str, column.take(pa.array(above)).to_pylist())) for column, above in nodes]


def compare(title: str, table: Microdata, task: Path) -> None:
    """Each task by us, and by the peer that does it."""
    numeric = with_numbers(table)
    works: Mapping[str, tuple[Callable[[], list[int]], Peer]] = {
        f"full domain, k = {K}, {PERCENT} % suppressed": (
            partial(sizes_of, table, FULL_DOMAIN),
            Peer("ANJANA", "ANJANA", ANJANA),
        ),
        f"Mondrian, k = {K}": (
            partial(sizes_of, numeric, MONDRIAN),
            Peer("AnonyPyX", "ANONYPYX", ANONYPYX),
        ),
        "k and distinct l measured": (
            partial(measure_table, table),
            Peer("pyCANON", "PYCANON", PYCANON),
        ),
    }
    for work, (ours, peer) in works.items():
        own = time_work(ours)
        judged = "measured" in work
        print(f"peers, {title}, {work}, ours: {words(own, table.rows, judged)}")
        result = peer.run(task)
        if isinstance(result, str):
            print(f"peers, {title}, {work}, {peer.name}: {result}")
        else:
            ratio = f"{result['cpu'] / own['cpu']:,.0f} x our CPU"
            summary = words(result, table.rows, judged)
            print(f"peers, {title}, {work}, {peer.name}: {summary}, {ratio}")


def with_numbers(table: Microdata) -> Microdata:
    """A table whose ages are numbers, without a hierarchy."""
    return table.keep(
        replace(c, ancestors=None, labels=None) if c.name == "age" else c for c in table.columns
    )


def promises_of(table: Microdata, l: int = 0) -> list[PrivacyModel]:
    """The promise of k-anonymity, and of distinct l-diversity if there is an l."""
    names = quasi_identifiers(table)
    promises: list[PrivacyModel] = [KAnonymity(k=K, quasi_identifiers=names)]
    if l:
        diverse = DistinctLDiversity(l=l, sensitive=sensitive_of(table), quasi_identifiers=names)
        promises.append(diverse)
    return promises


def sizes_of(table: Microdata, parameters: PartitionParameters, l: int = 0) -> list[int]:
    """The sizes of the groups of a generalized table that keeps k-anonymity and l-diversity."""
    promises = promises_of(table, l)
    cut = PARTITIONS[parameters.method](table, [], promises, parameters, seeded_keys(0))
    form = GeneralizedParameters(method="generalized")
    FORMS["generalized"].publish(table, cut, form, seeded_keys(0))
    return [int(size) for size in np.bincount(cut.group[cut.group >= 0])]


def measure_table(table: Microdata) -> list[int]:
    """The k and the l of a table as it is."""
    sensitive = sensitive_of(table)
    pairs = [table[name].category() for name in quasi_identifiers(table)]
    keys, bound = pack([codes for codes, _ in pairs], tuple(size for _, size in pairs))
    groups = count(keys, bound, {sensitive: table[sensitive].counted_codes()})
    k = KAnonymity(k=1).check(groups).observed["k"]
    l = DistinctLDiversity(l=1, sensitive=sensitive).check(groups).observed["l"]
    return [int(k or 0), int(l or 0)]


def time_work(work: Callable[[], list[int]]) -> dict[str, Any]:
    """The median CPU and wall seconds of some work, warm, and what it found."""
    result = work()
    taken = []
    for _ in range(TIMES):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        taken.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu, wall = (median(times) for times in zip(*taken, strict=True))
    return {"cpu": cpu, "wall": wall, "sizes": result}


def words(result: Mapping[str, Any], rows: int, judged: bool) -> str:
    """Milliseconds, and what was found: of groups how many there are, and their discernibility."""
    summary = f"{result['cpu'] * 1e3:,.1f} ms CPU, {result['wall'] * 1e3:,.1f} ms wall"
    sizes = result["sizes"]
    if judged:
        return f"{summary}, k = {sizes[0]}, l = {sizes[1]}"
    gone = rows - sum(sizes)
    lost = sum(size * size for size in sizes) + gone * rows
    return f"{summary}, {len(sizes):,} groups, discernibility {lost:,}, {gone:,} rows suppressed"


if __name__ == "__main__":
    main()

"""The same tasks by us and by other software: `make bench-public`.

    python -m tests.benchmarks.public --sizes 1000 10000 --page <page>.md

Each other software has an environment of its own, and ARX is run if `ARX` names its library. Three
tables of several sizes each: UCI Adult with five and with seven quasi-identifiers (rows drawn from
it), and made-up people. What is timed is the work alone, on a table in memory. Loss is told by what
all have in common: how many groups there are, and their discernibility, the sum of their squares
and of all rows for each suppressed one. Software that is not on the machine gets a line that says
so.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv

from sfumato.tasks.microdata.hierarchies import with_ancestors
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.schema.hierarchy import Hierarchy, from_intervals
from tests.benchmarks.arx_peer import ArxPeer, Stages
from tests.benchmarks.lattice import EIGHT, FIVE, adult
from tests.benchmarks.peers import (
    ANJANA,
    ANONYPYX,
    FULL_DOMAIN,
    MONDRIAN,
    PYCANON,
    TOLD,
    K,
    Peer,
    measure_table,
    sensitive_of,
    sizes_of,
    time_work,
    with_numbers,
    write_task,
)
from tests.benchmarks.processes import describe_machine, peak_megabytes
from tests.benchmarks.recipes import write_people

MADE_UP = ("age", "sex", "town", "school", "married")
HEADS = (
    *("table", "rows", "task", "software"),
    *("CPU ms", "wall ms", "peak MB", "groups", "discernibility"),
)
SIZES = (1_000, 10_000, 100_000, 1_000_000)
PATIENCE = 300  # seconds for each task of each peer
L = 4
MOST_ANJANA, MOST_ANONYPYX = 100_000, 10_000  # rows; one more size takes a minute or more
OPENDP = """
import csv
import opendp.prelude as dp
dp.enable_features("contrib")
with open(task["file"], encoding="utf-8", newline="") as file:
    values = [row[sensitive] for row in csv.DictReader(file)]
keys = sorted(set(values))
space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
counting = space >> dp.t.then_count_by_categories(categories=keys, null_category=False)
noisy = dp.binary_search_chain(lambda s: counting >> dp.m.then_laplace(scale=s), 1, 1.0)
counts, taken = timed(lambda: noisy(values))
tell(taken, [len(counts)])
"""
"""A histogram of the sensitive column with ε = 1, whose categories are taken to be public."""
NOT_RUN = {
    "ARX": (
        "java",
        "its library is a jar that no package index has; "
        "type `ARX=libarx-3.9.2.jar make bench-public` with the path of yours, and of the jars "
        "that it needs, with `:` between them",
    ),
    "sdcMicro": ("Rscript", "this command does not run R"),
}
"""Software that this command does not run: the program that it needs, and why it is left out."""
PREFACE = """# The same work by other software

Each row is one task on one table, by us and by other software in an environment of its own. What is
timed is the work alone, on a table in memory: Sfumato and ARX have numbers in place of values,
which both make when they read a source, and the others have a data frame. Loss is told by the
groups: how many there are, and their *discernibility* (the sum of their squares, and of all rows
for each suppressed row; less is better).

```console
$ make bench-public                           # without ARX
$ ARX=libarx-3.9.2.jar make bench-public      # with ARX: the path of its library
```

This command writes this page, for tables of 1,000 to 1,000,000 rows; `--sizes` chooses others.
Times are those of warm software, unless the row says *first run*. Other programs run on the
machine, so compare CPU time rather than wall time. The figures are of one run: {machine}.

"""


@dataclass(frozen=True)
class Task:
    """A task that we and others do.

    Attributes:
        words: the task, and the model that is checked.
        ours: our work, which returns the sizes of groups or what is measured.
        peers: the other software.
        l: of distinct l-diversity, 0 without it.
        has_groups: whether groups are made, so that loss can be told.
    """

    words: str
    ours: Callable[[], list[int]]
    peers: Sequence[Peer | ArxPeer]
    l: int = 0
    has_groups: bool = True


def main(arguments: Sequence[str] = ()) -> None:
    """Print a table in Markdown, and write it as a page if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--patience", type=int, default=PATIENCE)
    parser.add_argument("--page", type=Path, default=None)
    chosen = parser.parse_args(arguments)
    machine, lines, stages = describe_machine(), [], Stages()
    print(machine, flush=True)
    for line in table_lines(chosen.sizes, chosen.patience, stages):
        print(line, flush=True)
        lines.append(line)
    notes = [*left_out(), "", *stages.page_lines()]
    print("\n".join(notes))
    if chosen.page is not None:
        text = PREFACE.format(machine=machine) + "\n".join([*lines, "", *notes]).rstrip() + "\n"
        chosen.page.write_text(text, encoding="utf-8")


def table_lines(sizes: Sequence[int], patience: int, stages: Stages) -> Iterator[str]:
    """The lines of the table, as they are measured; lines about `stages` are added there."""
    yield f"| {' | '.join(HEADS)} |"
    yield "|---" * len(HEADS) + "|"
    for title, read in TABLES.items():
        for rows in sorted(sizes):
            table = read(rows)
            with tempfile.TemporaryDirectory() as folder:
                place = write_task(table, Path(folder))
                for task in tasks_on(table):
                    where = f"| {title} | {rows:,} | {task.words} |"
                    for cells in cells_of(task, table, place, patience, stages, where):
                        yield f"{where} {' | '.join(cells)} |"


def tasks_on(table: Microdata) -> list[Task]:
    """The tasks on a table."""
    numeric = with_numbers(table)
    sensitive = sensitive_of(table)
    anjana = Peer("ANJANA", "ANJANA", ANJANA, package="anjana", most=MOST_ANJANA)
    lattices = (anjana, ArxPeer()) if "ARX" in os.environ else (anjana,)
    anonypyx = Peer("AnonyPyX", "ANONYPYX", ANONYPYX, package="anonypyx", most=MOST_ANONYPYX)
    return [
        Task(
            f"full domain, k = {K}, 1 % suppressed",
            partial(sizes_of, table, FULL_DOMAIN),
            lattices,
        ),
        Task(
            f"full domain, k = {K}, distinct l = {L}, 1 % suppressed",
            partial(sizes_of, table, FULL_DOMAIN, L),
            lattices,
            l=L,
        ),
        Task(f"Mondrian, k = {K}", partial(sizes_of, numeric, MONDRIAN), (anonypyx,)),
        Task(
            "k and distinct l measured",
            partial(measure_table, table),
            (Peer("pyCANON", "PYCANON", PYCANON, package="pycanon"),),
            has_groups=False,
        ),
        Task(
            f"counts of {sensitive}: ours exact, theirs with noise, ε = 1",
            partial(count_values, table),
            (Peer("OpenDP", "OPENDP", OPENDP, TOLD, package="opendp"),),
            has_groups=False,
        ),
    ]


def count_values(table: Microdata) -> list[int]:
    """The number of values of the sensitive column that are counted."""
    column = table[sensitive_of(table)]
    return [len(np.bincount(column.codes, minlength=len(column.values)))]


def cells_of(
    task: Task, table: Microdata, place: Path, patience: int, stages: Stages, where: str
) -> Iterator[list[str]]:
    """The software, its time, memory and loss: ours first, and then the peers'.

    `where` are the cells before these; lines of ARX's stages are added to `stages`.
    """
    own = _apart(task.ours)
    yield [f"Sfumato {version('sfumato')}", *_figures(own, task, table.rows)]
    for peer in task.peers:
        if peer.most is not None and table.rows > peer.most:
            reason = f"is not run: more than {peer.most:,} rows take it minutes"
            yield [peer.name, reason, "", "", "", ""]
            continue
        content = json.loads(place.read_text(encoding="utf-8"))
        content |= {"package": peer.package, "l": task.l}
        place.write_text(json.dumps(content), encoding="utf-8")
        result = peer.run(place, patience)
        if isinstance(result, str):
            yield [peer.name, result, "", "", "", ""]
            continue
        named = f"{peer.name} {result['version']}"
        if "first" in result:
            yield [f"{named}, first run", *_figures(result | result["first"], task, table.rows)]
            stages.compare(where, place, result, patience)
        yield [named, *_figures(result, task, table.rows)]


def _apart(work: Callable[[], list[int]]) -> dict[str, Any]:
    """Run some work in a process of its own, and return its time and memory."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)

    def tell() -> None:
        there.send(time_work(work) | {"peak": peak_megabytes()})

    process = context.Process(target=tell)
    process.start()
    taken: dict[str, Any] = here.recv()
    process.join()
    return taken


def _figures(result: Mapping[str, Any], task: Task, rows: int) -> list[str]:
    taken = [f"{result[kind] * 1e3:,.1f}" for kind in ("cpu", "wall")] + [f"{result['peak']:,.0f}"]
    if not task.has_groups:
        return [*taken, "", ""]
    sizes = result["sizes"]
    lost = sum(size * size for size in sizes) + (rows - sum(sizes)) * rows
    return [*taken, f"{len(sizes):,}", f"{lost:,}"]


def left_out() -> list[str]:
    """A line for each software that this command does not run, and why."""
    lines = []
    for name, (program, why) in NOT_RUN.items():
        if name in os.environ:
            continue
        there = "is" if shutil.which(program) else "is not"
        lines.append(f"- {name} is not in the table: {why} (`{program}` {there} on this machine).")
    return lines


def _draw_rows(table: Microdata, rows: int) -> Microdata:
    """So many rows drawn from a table."""
    positions = np.random.default_rng(5).integers(0, table.rows, rows)
    if rows == table.rows:
        return table
    return Microdata(tuple(replace(c, codes=c.codes[positions]) for c in table.columns), rows)


def adult_of(names: tuple[str, ...], rows: int) -> Microdata:
    """Rows of UCI Adult with some quasi-identifiers; the occupation is sensitive."""
    return _draw_rows(adult(names, "occupation"), rows)


def made_up(rows: int) -> Microdata:
    """Made-up people with five quasi-identifiers; the job is sensitive."""
    with tempfile.TemporaryDirectory() as folder:
        write_people(Path(folder) / "people.csv", rows)
        table = pyarrow.csv.read_csv(Path(folder) / "people.csv")
    columns = [encode(name, "quasi-identifier", table[name]) for name in MADE_UP]
    above = [with_ancestors(column, _hierarchy(column)) for column in columns]
    return Microdata((*above, encode("job", "sensitive", table["job"])), rows)


def _hierarchy(column: Column) -> Hierarchy:
    """Bands of 5, 10 and 20 years for ages, and nothing between other values and all of them."""
    values = column.values.to_pylist()
    if column.name == "age":
        return from_intervals("age", (5, 10, 20), values)
    return Hierarchy(column.name, tuple((value, "*") for value in values))


TABLES: Mapping[str, Callable[[int], Microdata]] = {
    "UCI Adult, 5 quasi-identifiers": partial(adult_of, FIVE),
    "UCI Adult, 7 quasi-identifiers": partial(adult_of, EIGHT[:7]),
    "made-up people, 5 quasi-identifiers": made_up,
}


if __name__ == "__main__":
    main(sys.argv[1:])

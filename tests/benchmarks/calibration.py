"""The time that calibrating likely intervals takes, by the number of rows.

    python -m tests.benchmarks.calibration [rows …]

A permuted release of people whose wage rises with their age, in groups of five by chance, has
sixteen families of queries. CPU seconds of asking 1,000 queries of each in blocks stand beside
those of asking them one by one, as measured on a share of them.
"""

import sys
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.intervals.calibration.drawn_queries import DrawnConditions
from sfumato.tasks.query.intervals.calibration.factors import QUERIES, QueriesOnOriginal
from sfumato.tasks.query.intervals.calibration.registry import BLOCKS
from sfumato.tasks.query.intervals.registry import LIKELY
from sfumato.tasks.sql.session import session
from tests.intervals.releases import DECLARED, publish_permuted, wages

ROWS = (236, 4_000, 30_000, 1_000_000)
MOST_ONE_BY_ONE = 30_000
SHARE = 20


def main(rows: Sequence[int] = ROWS) -> None:
    """Print a line for each number of rows."""
    print("Calibrating likely intervals, CPU seconds; sixteen families of a permuted release")
    print("| rows | in blocks | one by one | ratio |")
    print("|---|---|---|---|")
    for number in rows:
        in_blocks, alone = measure(number)
        others = "– | –" if alone is None else f"{alone:.0f} | {alone / in_blocks:.0f} ×"
        print(f"| {number:,} | {in_blocks:.1f} | {others} |", flush=True)


def measure(rows: int) -> tuple[float, float | None]:
    """Return the CPU seconds of asking in blocks, and of asking one by one if rows are few."""
    tables, original = publish_permuted(wages(rows), boxes=False)
    with ENGINES["rows"](tables, DECLARED, "weighted") as engine, session({}) as values:
        likely = LIKELY["rows"](engine, DrawnConditions(values))
        BLOCKS["rows"]  # imported before the time is taken, as a release has done
        queries = QueriesOnOriginal(likely, DECLARED, original)
        in_blocks = seconds(lambda: queries.scores(QUERIES, seeded_keys(1)))
        if rows > MOST_ONE_BY_ONE:
            return in_blocks, None
        part = seconds(lambda: queries.measure(QUERIES // SHARE, seeded_keys(1)))
    return in_blocks, part * SHARE


def seconds(action: Callable[[], Any]) -> float:
    """Return the CPU seconds of an action."""
    begun = process_time()
    action()
    return process_time() - begun


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or ROWS)

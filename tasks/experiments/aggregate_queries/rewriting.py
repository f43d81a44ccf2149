"""Time that a database needs to answer with bounds: rewritten queries beside the original ones."""

import time
from collections.abc import Iterator
from typing import Any

from sqlglot import parse_one

from sfumato.tasks.experiments.aggregate_queries.setting import LOSS, AskedLevels, permuted_losses
from sfumato.tasks.experiments.shared.candidates import try_method
from sfumato.tasks.experiments.shared.claim_tests import Below, Slope
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.generated_tables import normal_losses
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.sql.session import fetch, session

_QUERY = 'SELECT AVG("capital-loss") AS mean FROM microdata WHERE age BETWEEN 30 AND 49'
_TIME = "milliseconds"
_ORIGINAL, _REWRITTEN = "original query", "rewritten query"


def measure(scale: AskedLevels, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the milliseconds that DuckDB takes for an average, and for its bounds."""
    for rows in scale.levels:
        people = normal_losses(rows, seed)
        trial = try_method(people, permuted_losses(people, 5, 100, "weighted"), inputs, seed)
        release = trial.require_kept().release
        published = files_of_tables(release, [LOSS])
        bounds = rewrite(_QUERY, release.declared).duckdb_tree
        original = parse_one(_QUERY, dialect="duckdb")
        for series, tables, query in (
            (_ORIGINAL, {"microdata": people.table()}, original),
            (_REWRITTEN, published, bounds),
        ):
            yield Point("uncorrelated", series, rows, _TIME, _fastest(tables, query, scale))


def _fastest(tables: Any, query: Any, scale: AskedLevels) -> float:
    """Return the shortest of several times of a query, in milliseconds, after a first run."""
    with session(tables) as connection:
        fetch(connection, query)
        taken = []
        for _ in range(scale.questions):
            started = time.perf_counter()
            fetch(connection, query)
            taken.append(time.perf_counter() - started)
    return 1000 * min(taken)


EXPERIMENT = Experiment(
    name="rewriting",
    paper="aggregate-queries",
    shows="Figure: time of the rewritten query and of the original one",
    title="What bounds cost a database",
    setting=(
        "An average over ages 30 to 49 in DuckDB. It is computed from the original table in "
        "memory, and rewritten over the published table and its help table, which are Parquet "
        "files."
    ),
    ours="the query, the sizes of the tables, k = 5 and e = 100",
    data=("uncorrelated",),
    full=AskedLevels((3_000, 30_000, 300_000), 7),
    quick=AskedLevels((1_000, 10_000), 3),
    measure=measure,
    figures=(Figure(_TIME, "rows", "milliseconds", log=True),),
    claims=(
        Claim(
            "The rewritten query takes at most fifty times as long as the original one",
            "uncorrelated",
            Below(_TIME, _REWRITTEN, _ORIGINAL, factor=1 / 50),
            by="project",
        ),
        Claim(
            "The time of the rewritten query grows no faster than the table",
            "uncorrelated",
            Slope(_TIME, _REWRITTEN, least=0.0, most=1.1),
            by="project",
        ),
    ),
    apart=True,
)

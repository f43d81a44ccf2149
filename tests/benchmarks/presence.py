"""Greedy, calibrated and disjoint covers side by side: time, presence, and errors of counts.

On UCI Adult and on synthetic rows like the census of Wang, Ambiguity, which are about nobody.
"""

import sys
import time
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from statistics import fmean, median
from types import SimpleNamespace
from typing import Any

import numpy as np

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.experiments.shared.census import census
from sfumato.tasks.forms import ambiguous
from sfumato.tasks.forms.form_parameters import AmbiguousParameters
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.ambiguity.parameters import AmbiguityParameters
from sfumato.tasks.partitions.disjoint_cover.parameters import DisjointCoverParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.publication.exposure import exposure
from sfumato.tasks.query.accuracy.conditions import counts_queries
from sfumato.tasks.query.accuracy.parameters import CountsWorkload
from sfumato.tasks.query.ask import engine
from sfumato.tasks.query.engines.truth import Queries, original_in_parts
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.question.question import ROWS as COUNTED
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Declared, RowCounts
from tests.benchmarks.lattice import adult
from tests.query.worlds import partial_declaration

ADULT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
CENSUS = ("age", "gender", "education", "marital", "race", "work-class", "country")
SENSITIVE = "occupation"
SETTINGS = ((".2", ".34"), (".1", ".2"), (".05", ".2"), (".01", ".1"))
METHODS = {
    "greedy": AmbiguityParameters(method="ambiguity"),
    "calibrated": AmbiguityParameters(method="ambiguity", calibrate=True),
    "disjoint cover": DisjointCoverParameters(method="disjoint-cover", residue="suppress"),
}
QUERIES = 100
ROWS = 500_000


def main(sizes: Sequence[int] = (ROWS,)) -> None:
    """Print a line for each table, setting and method."""
    compare("UCI Adult", adult(ADULT, SENSITIVE), ADULT)
    for rows in sizes:
        compare(f"synthetic, {rows:,}", draw_census(rows), CENSUS)


def draw_census(rows: int) -> Microdata:
    """Synthetic rows with an occupation."""
    table = census(rows, seed=1)
    roles = {**dict.fromkeys(CENSUS, "quasi-identifier"), SENSITIVE: "sensitive"}
    columns: list[Any] = [encode(name, role, table[name]) for name, role in roles.items()]
    return Microdata(tuple(columns), rows)


def compare(title: str, microdata: Microdata, names: Sequence[str]) -> None:
    """Print what each method comes to at each setting."""
    for alpha, beta in SETTINGS:
        for method in METHODS:
            started = time.process_time()
            try:
                partition = _partition(microdata, names, alpha, beta, method)
            except PromiseError as error:
                print(f"{title}, ({alpha},{beta}), {method}: refused: {error}")
                continue
            taken = time.process_time() - started
            summary = _summarize_answers(microdata, names, partition, Fraction(alpha))
            print(f"{title}, ({alpha},{beta}), {method}: {taken:.1f} s, {summary}", flush=True)


def _partition(
    microdata: Microdata, names: Sequence[str], alpha: str, beta: str, method: str
) -> Partition:
    promise = AlphaBeta(
        alpha=Decimal(alpha),
        beta=Decimal(beta),
        presence="per-group" if method == "greedy" else "combined",
        quasi_identifiers=tuple(names),
        sensitive=SENSITIVE,
    )
    parameters = METHODS[method]
    make = PARTITIONS[parameters.method]
    return make(microdata, [], [promise], parameters, seeded_keys(7))


def _summarize_answers(
    microdata: Microdata, names: Sequence[str], partition: Partition, alpha: Fraction
) -> str:
    form = AmbiguousParameters(method="ambiguous")
    tables = ambiguous.publish(microdata, partition, form, seeded_keys(8))
    represented = microdata.take(np.flatnonzero(partition.group >= 0))
    columns = {
        column.name: DeclaredColumn(
            role=column.role,
            type="string" if column.values.type == "string" else "integer",
        )
        for column in microdata.columns
    }
    counts = RowCounts(
        read=microdata.rows, dropped_by_filter=0, dropped_for_nulls=0, dropped_as_repeats=0,
        suppressed=partition.suppressed, published=represented.rows, fakes=0,
    )  # fmt: skip
    declared = partial_declaration(columns=columns, form=form, rows=counts, versions="disjoint")
    groups = ambiguous.groups(tables, columns, names, [SENSITIVE])
    codes = np.stack([represented[name].category()[0] for name in names], axis=1)
    seen = exposure(groups, codes, alpha, names)
    shares = (
        ""
        if seen is None
        else (
            f"above α by all tables {float(seen.combined_sum):.1%} of people, by an attacker who "
            f"fits frequencies {float(seen.weighted.above):.1%}"
        )
    )
    return (
        f"{len(groups):,} groups, {partition.suppressed:,} suppressed, {shares}; errors "
        f"{_errors(dict(tables), declared, represented)}"
    )


def _errors(tables: dict[str, Any], declared: Declared, represented: Microdata) -> str:
    """Median and mean relative error of the batches, by both estimators."""
    tables |= build_help_tables(tables, declared)
    workload = CountsWorkload(kind="counts", queries=QUERIES)
    parts = []
    for estimator in ("weighted", "uniform"):
        with engine(tables, declared, estimator) as asking:
            batch = counts_queries(
                workload,
                COUNTED,
                asking,
                SimpleNamespace(declared=declared),
                original_in_parts(represented),
            )
            scores = [_scores(batch, level) for level in workload.levels]
        figures = ", ".join(f"{median(s):.3f}/{fmean(s):.3f}" for s in scores)
        parts.append(f"{estimator} {figures}")
    return "; ".join(parts) + f" at {workload.levels} %"


def _scores(batch: Queries, level: int) -> list[float]:
    randomness = seeded_keys(level)
    outcomes = batch.outcomes([level] * QUERIES, randomness)
    return [
        float(abs(outcome.estimate - outcome.truth) / outcome.truth)
        for outcome in outcomes
        if outcome and outcome.truth and outcome.estimate is not None
    ]


if __name__ == "__main__":
    main([int(rows) for rows in sys.argv[1:]] or (ROWS,))

"""Queries of workloads, asked of a release and of the original rows.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007),
whose experiments ask range queries and arbitrary ones. Bounds and truths are exact fractions.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction

from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.exact import is_number
from sfumato.tasks.microdata.table import Randomness
from sfumato.tasks.query.accuracy.joined import AskedTables, first_sensitive
from sfumato.tasks.query.accuracy.parameters import Workload
from sfumato.tasks.query.accuracy.registry import TABLES, WORKLOADS
from sfumato.tasks.query.accuracy.scores import Measured, Summary, summaries
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.ask import engine, files_of_tables
from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.query.engines.truth import (
    Original,
    OriginalInParts,
    Outcome,
    original_in_parts,
)
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.question.ways import facts_of
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Declared

__all__ = ["Measured", "Summary", "evaluate", "summaries"]


def evaluate(
    release: Release,
    original: Original,
    workloads: Sequence[Workload],
    randomness: Randomness,
    progress: Callable[[int, int], None],
) -> list[Measured]:
    """Ask the queries of all workloads, drawn at random.

    `progress` is called with the number of queries done and the total.

    `original` are the rows of the release before anonymization, with columns of the same names; for
    a release in parts, the rows of its parts.

    Raises:
        InputError: where a file of the release is missing, or a column cannot be aggregated.
    """
    total = sum(workload.queries * len(workload.levels) for workload in workloads)
    done, parts = 0, original_in_parts(original)
    measured: list[Measured] = []
    files = files_of_tables(release, release.declared.names_with_roles("sensitive"))
    shows = release.declared.form.shows
    with ExitStack() as stack:
        asking = stack.enter_context(engine(files, release.declared))
        tables = TABLES.get(shows, AskedTables)(asking, release.declared, parts)
        facts = facts_of(release.declared)
        alone = stack.enter_context(_alone(files, release.declared, parts)) if facts else tables
        for workload in workloads:
            of_facts = workload.of in facts
            subject = replace(release, declared=alone.declared) if of_facts else release
            queries = _ask_workload(workload, alone if of_facts else tables, subject, randomness)
            for query in queries:
                measured += [] if query is None else [query]
                done += 1
                progress(done, total)
    return measured


@contextmanager
def _alone(files: Files, declared: Declared, parts: OriginalInParts) -> Iterator[AskedTables]:
    """Open the table of people by itself, of which workloads about facts ask."""
    from sfumato.tasks.query.question.facts import people_alone, tables_alone

    people = people_alone(declared)
    with engine(tables_alone(files, declared.form), people) as asking:
        yield AskedTables(asking, people, parts)


def _ask_workload(
    workload: Workload,
    tables: AskedTables,
    release: Release,
    randomness: Randomness,
) -> Iterator[Measured | None]:
    """Ask the queries of a workload, level by level; yield None for one that cannot be asked."""
    sensitive = _sensitive(workload, release.declared)
    aggregate = Aggregate(workload.aggregate, sensitive, "asked")
    _require_answer(aggregate, release)
    levels = [level for level in workload.levels for _ in range(workload.queries)]
    make = WORKLOADS[workload.kind]
    queries = make(workload, aggregate, tables.engine, release, tables.original)
    outcomes = queries.outcomes(levels, randomness)
    known_width = _known_width(workload, sensitive, tables)
    columns = release.declared.columns
    ratios = sensitive is None or is_number(columns[sensitive].arrow_type)
    for level, outcome in zip(levels, outcomes, strict=True):
        yield outcome and _measurement(workload, sensitive, level, outcome, ratios, known_width)


def _sensitive(workload: Workload, declared: Declared) -> str | None:
    """Return the column that the workload aggregates; None for COUNT(*)."""
    if workload.of is None and workload.aggregate == "count":
        return None
    return workload.of or first_sensitive(declared)


def _require_answer(aggregate: Aggregate, release: Release) -> None:
    name = aggregate.sensitive
    if name is None or aggregate.kind.counts_rows:
        return
    type_ = release.declared.columns[name].type
    if type_ in ("string", "boolean"):
        raise InputError(
            f"column {name!r}: {aggregate.function} cannot be measured for type {type_}. "
            "Choose another aggregate in evaluate.workloads"
        )
    if type_ not in aggregate.kind.takes:
        raise InputError(
            f"column {name!r}: there is no {aggregate.function} for type {type_}. Choose "
            "another aggregate in evaluate.workloads"
        )


def _known_width(workload: Workload, sensitive: str | None, tables: AskedTables) -> Fraction | None:
    """Return the width of an answer if only the number and range of the values are known.

    The range is that of the published values. Returns None if nothing is published.
    """
    kind, rows = AGGREGATES[workload.aggregate], tables.rows(workload.kind)
    if sensitive is None or kind.counts_rows:
        return kind.known_width(rows, Fraction(0))
    low, high = tables.ends(sensitive)
    return None if low is None or high is None else kind.known_width(rows, high - low)


def _measurement(
    workload: Workload,
    sensitive: str | None,
    level: int,
    outcome: Outcome,
    ratios: bool,
    known_width: Fraction | None,
) -> Measured:
    over = getattr(workload, "over", None)
    return Measured(
        kind=workload.kind,
        aggregate=workload.aggregate,
        sensitive=sensitive,
        level=level,
        lower=outcome.lower,
        upper=outcome.upper,
        truth=outcome.truth,
        estimate=outcome.estimate,
        may_be_empty=outcome.may_be_empty,
        over=over,
        ratios=ratios or workload.aggregate == "count",
        known_width=known_width,
    )

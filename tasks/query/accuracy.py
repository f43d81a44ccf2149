"""Asking a release the queries of its workloads, and the original the same ones.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007),
whose experiments ask range queries and arbitrary ones. Bounds and truths are exact fractions.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from expectations.errors import InputError
from expectations.exact import is_number
from tasks.microdata.randomness import Randomness
from tasks.microdata.table import Microdata, encode, key
from tasks.query.aggregate import Aggregate
from tasks.query.answer import Engine, ask, engine, published
from tasks.query.help_table import help_name
from tasks.query.question import Question
from tasks.query.relations import relations
from tasks.query.scores import Measured, Summary, summaries
from tasks.query.truth import as_fraction, helped, truth_of
from tasks.query.workloads import RangeWorkload, Workload
from tasks.release.declared import Declared
from tasks.release.opened import Release
from tasks.sql.parse import literal

__all__ = ["Measured", "Summary", "evaluate", "summaries"]


class Outcome(NamedTuple):
    """Bounds, the truth, and whether the bounds allow for there being none."""

    lower: Fraction | None
    upper: Fraction | None
    truth: Fraction | None
    may_be_empty: bool = False


_Asked = tuple[Engine, Release, pa.Table]


class _Queries(Protocol):
    """Random queries of a workload."""

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """Lower bound, upper bound and truth of one more query; None where nothing can be asked."""
        ...


def evaluate(
    release: Release,
    original: Microdata,
    workloads: Sequence[Workload],
    randomness: Randomness,
    progress: Callable[[int, int], None],
) -> list[Measured]:
    """Ask the queries of all workloads, drawn at random; `progress` hears how many are done.

    `original` are the represented rows before anonymization, with columns of the same names.

    Raises:
        InputError: where a file of the release is missing, or a column cannot be aggregated.
    """
    total = sum(workload.queries * len(workload.levels) for workload in workloads)
    done = 0
    measured: list[Measured] = []
    files = published(release, release.declared.named("sensitive"))
    with engine(files, release.declared) as asking:
        asked = asking, release, release.table(relations(release.declared).rows)
        for workload in workloads:
            for query in _asked(workload, asked, original, randomness):
                measured += [] if query is None else [query]
                done += 1
                progress(done, total)
    return measured


def _asked(
    workload: Workload, asked: _Asked, original: Microdata, randomness: Randomness
) -> Iterator[Measured | None]:
    """The queries of a workload, level by level; None for one that cannot be asked."""
    declared = asked[1].declared
    sensitive = _sensitive(workload, declared)
    queries = _queries(workload, sensitive, asked, original)
    ratios = sensitive is None or is_number(declared.columns[sensitive].arrow_type)
    for level in workload.levels:
        for _ in range(workload.queries):
            outcome = queries.ask(level, randomness)
            yield outcome and _measured(workload, sensitive, level, outcome, ratios)


def _sensitive(workload: Workload, declared: Declared) -> str | None:
    """The column that is aggregated; COUNT(*) needs none."""
    if workload.of is None and workload.aggregate == "count":
        return None
    return workload.of or declared.named("sensitive")[0]


def _queries(
    workload: Workload,
    sensitive: str | None,
    asked: _Asked,
    original: Microdata,
) -> _Queries:
    asking, release, rows = asked
    aggregate = Aggregate(workload.aggregate, sensitive, "asked")
    _require_answer(aggregate, release)
    if isinstance(workload, RangeWorkload):
        return _Ranges(asking, release, aggregate, workload.over, original)
    return _Selections(release, rows, aggregate, original)


def _require_answer(aggregate: Aggregate, release: Release) -> None:
    name = aggregate.sensitive
    if name is None or aggregate.function == "count":
        return
    type_ = release.declared.columns[name].type
    if type_ in ("string", "boolean"):
        raise InputError(f"column {name!r}: {aggregate.function} of type {type_} is not measured")
    if type_ in ("date", "timestamp") and aggregate.function in ("sum", "avg"):
        raise InputError(f"column {name!r}: no {aggregate.function} of type {type_}")


def _measured(
    workload: Workload, sensitive: str | None, level: int, outcome: Outcome, ratios: bool
) -> Measured:
    over = workload.over if isinstance(workload, RangeWorkload) else None
    return Measured(
        kind=workload.kind,
        aggregate=workload.aggregate,
        sensitive=sensitive,
        level=level,
        lower=outcome.lower,
        upper=outcome.upper,
        truth=outcome.truth,
        may_be_empty=outcome.may_be_empty,
        over=over,
        ratios=ratios or workload.aggregate == "count",
    )


class _Ranges:
    """Windows [x, x + span] of a quasi-identifier, x drawn among what is published of it."""

    def __init__(
        self,
        asking: Engine,
        release: Release,
        aggregate: Aggregate,
        over: str,
        original: Microdata,
    ) -> None:
        self._asking, self._release, self._aggregate = asking, release, aggregate
        self._over = exp.column(over, quoted=True)
        self._starts = asking.starts(over)
        self._known = _ordered(original[over].values)
        self._codes = original[over].codes
        sensitive = aggregate.sensitive or release.declared.named("sensitive")[0]
        self._truth = truth_of(original[sensitive], aggregate.function)

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """The next window; None where the column has no values."""
        if not self._starts:
            return None
        low = self._starts[int(randomness(1)[0]) % len(self._starts)]
        high = _moved(low, level)
        within = exp.Between(this=self._over.copy(), low=literal(low), high=literal(high))
        question = Question((self._aggregate,), within, ())
        answer = ask(self._asking, self._release.declared, question, estimates=False)
        bounds = answer.rows[0][self._aggregate.label]
        first, end = bisect_left(self._known, low), bisect_right(self._known, high)
        chosen = (self._codes >= first) & (self._codes < end)
        truth = self._truth.answer(self._aggregate.function, chosen)
        limits = as_fraction(bounds.lower), as_fraction(bounds.upper)
        return Outcome(*limits, truth, bounds.may_be_empty)


class _Selections:
    """Random sets of vectors of quasi-identifiers, drawn until enough rows are selected."""

    def __init__(
        self,
        release: Release,
        rows: pa.Table,
        aggregate: Aggregate,
        original: Microdata,
    ) -> None:
        declared = release.declared
        columns = declared.named("quasi-identifier")
        self._function = aggregate.function
        self._group = rows["group_id"].to_numpy()
        self._vector, self._original = _vectors(rows, columns, original)
        self._size = np.bincount(self._vector)
        sensitive = aggregate.sensitive or declared.named("sensitive")[0]
        helping = published(release, [sensitive])[help_name(sensitive)]
        self._helped = helped(pq.read_table(helping), self._function)
        self._truth = truth_of(original[sensitive], self._function)

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """The next set; None where nothing is published."""
        if not len(self._size):
            return None
        order = np.argsort(randomness(len(self._size)), kind="stable")
        enough = int(np.searchsorted(np.cumsum(self._size[order]), level)) + 1
        chosen = np.zeros(len(self._size) + 1, dtype=bool)  # the last one: not published
        chosen[order[:enough]] = True
        hits = np.bincount(self._group[chosen[self._vector]], minlength=len(self._helped.start))
        lower, upper = self._helped.bounds(hits)
        return Outcome(lower, upper, self._truth.answer(self._function, chosen[self._original]))


def _vectors(
    shown: pa.Table, columns: Sequence[str], original: Microdata
) -> tuple[np.ndarray, np.ndarray]:
    """Each row's vector, published and original, as the same numbers 0, 1, …; -1: not published."""
    rows = shown.num_rows
    both = []
    for name in columns:
        known = original[name].array().cast(shown[name].type)
        values = pa.chunked_array([*shown[name].chunks, known])
        both.append(encode(name, "quasi-identifier", values))
    keys, _ = key(both, rows + original.rows)
    distinct, vector = np.unique(keys[:rows], return_inverse=True)
    place = np.searchsorted(distinct, keys[rows:])
    found = np.append(distinct, -1)[place] == keys[rows:]
    return vector, np.where(found, place, -1)


def _ordered(values: pa.Array) -> list[Any]:
    """Ascending values without NaN, which is in no window; their positions are their codes."""
    return [value for value in values.to_pylist() if value == value]


def _moved(value: Any, span: int) -> Any:
    """The other end of a window."""
    if isinstance(value, date):
        return value + min(timedelta(days=span), date.max - value)
    return value + span

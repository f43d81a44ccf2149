"""Answers to aggregate queries on a release, with bounds that surely contain the truth.

The truth is that over the represented rows. How bounds come about depends on the form: one engine
per kind of form takes a question and returns the rows of its answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from sfumato.tasks.declaration.cuts import PARTS
from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.declaration.tables import schemas
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.query.bounds.bounds import Bounds, Json, nearest
from sfumato.tasks.query.engines.engine import Engine, Files, Source
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.help_tables.build import help_names
from sfumato.tasks.query.question.question import Key, Question, row_of
from sfumato.tasks.query.question.read import read_question
from sfumato.tasks.query.sql.conditions.marginal_counts import Estimator
from sfumato.tasks.sql.parted import TableInParts


@dataclass(frozen=True)
class Answer:
    """The answer to a query: rows by the names of their columns.

    Attributes:
        form: of publication, which says how the bounds come about.
        guaranteed: whether the truth over the represented rows surely lies within the bounds; of
            files that nothing vouches for, it does not.
        not_represented: how many rows of the source were left out, and why.
        columns: names in the order of the query.
        rows: a value for each column of the GROUP BY that is shown, bounds for each aggregate;
            in ascending order of those values, nulls last.
        certain: for each row whether a HAVING clause surely keeps it: it holds, and a group surely
            has rows; a row is here if the clause may hold.
        verified: whether anything vouches for the files, where the answer comes from files.
        coded: the columns whose values were coded before, and how: the answer is about coded ones.
    """

    form: str
    guaranteed: bool
    not_represented: Mapping[str, int]
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    certain: tuple[bool, ...] = ()
    verified: bool = True
    coded: Mapping[str, Sequence[str]] = field(default_factory=dict)


def answer(release: Release, sql: str, estimator: Estimator = "weighted") -> Answer:
    """Answer a query from the files of a release.

    The estimator is that of counts where every quasi-identifier stands by itself.

    Raises:
        QueryError: where the query is not allowed, or cannot be evaluated.
        InputError: where a file of the release is missing.
    """
    (found,) = answers(release, [sql], estimator)
    return found


def answers(
    release: Release, queries: Sequence[str], estimator: Estimator = "weighted"
) -> Iterator[Answer]:
    """Answer several queries one after the other, from files that are opened once.

    Raises:
        QueryError: where a query is not allowed, before any is answered, or cannot be evaluated.
        InputError: where a file of the release is missing.
    """
    questions = [read_question(sql, release.declared) for sql in queries]
    helped = dict.fromkeys(name for question in questions for name in question.helped_by)
    with engine(files_of_tables(release, list(helped)), release.declared, estimator) as asked:
        for question in questions:
            yield _of_files(release, ask(asked, release.declared, question))


def answer_with(asked: Engine, release: Release, sql: str) -> Answer:
    """Answer a query with an engine that has the files of a release open.

    Raises:
        QueryError: where the query is not allowed, or cannot be evaluated.
    """
    question = read_question(sql, release.declared)
    return _of_files(release, ask(asked, release.declared, question))


def _of_files(release: Release, found: Answer) -> Answer:
    """An answer from files: forged tables guarantee nothing."""
    guaranteed = found.guaranteed and release.verified
    return replace(found, guaranteed=guaranteed, verified=release.verified)


def answer_on(
    tables: Files, declared: Declared, sql: str, estimator: Estimator = "weighted"
) -> Answer:
    """Answer a query from tables by their names, in memory or in files.

    Raises:
        QueryError: where the query is not allowed, or cannot be evaluated.
    """
    question = read_question(sql, declared)
    with engine(tables, declared, estimator) as asked:
        return ask(asked, declared, question)


def files_of_tables(release: Release, sensitive: Sequence[str]) -> dict[str, Source]:
    """The files that queries on these sensitive columns read, by the names of their tables."""
    places = dict.fromkeys(schemas(release.declared), "data")
    places |= dict.fromkeys(help_names(release.declared, sensitive), "sql")
    paths = {name: Path(place, f"{name}.parquet") for name, place in places.items()}
    parts = release.declared.made_of
    if not parts:
        return {name: release.directory / path for name, path in paths.items()}
    first = tuple(part.first_group for part in parts)
    folders = [release.directory / PARTS / part.name for part in parts]
    return {
        name: TableInParts(tuple(folder / path for folder in folders), first)
        for name, path in paths.items()
    }


@contextmanager
def engine(
    tables: Files, declared: Declared, estimator: Estimator = "weighted"
) -> Iterator[Engine]:
    """An engine that takes questions on the published tables, closed at the end."""
    with ENGINES[declared.form.shows](tables, declared, estimator) as opened:
        yield opened if declared.intervals is None else _with_intervals(opened, declared)


def _with_intervals(opened: Engine, declared: Declared) -> Engine:
    from sfumato.tasks.query.intervals.answering import EngineWithIntervals

    return EngineWithIntervals(opened, declared)


def ask(asked: Engine, declared: Declared, question: Question, estimates: bool = True) -> Answer:
    """Answer a question with an engine that knows the published tables."""
    found = asked.ask(question.counting_rows, estimates)
    wanted = question.having
    rows = {
        key: bounds
        for key, bounds in found.items()
        if wanted is None or wanted.holds(bounds, "possible")
    }
    keys = sorted(rows, key=_order)
    return Answer(
        form=declared.form.method,
        guaranteed=True,
        not_represented=_not_represented(declared),
        columns=tuple(item.label for item in question.shown),
        rows=tuple(row_of(question, key, rows[key]) for key in keys),
        certain=tuple(question.surely_wants(rows[key]) for key in keys),
        coded=declared.coded,
    )


def _not_represented(declared: Declared) -> dict[str, int]:
    rows = declared.rows
    left_out = {"nulls": rows.dropped_for_nulls, "suppressed": rows.suppressed}
    return left_out | ({"versions": rows.not_represented_versions} if declared.composed else {})


def document(answer: Answer) -> dict[str, Any]:
    """The answer as JSON; bounds that are no integers are floats rounded outward."""
    coded = sorted(answer.coded.items())
    return {
        "form": answer.form,
        "guaranteed": answer.guaranteed,
        "verified": answer.verified,
        "not_represented": dict(answer.not_represented),
        "columns": list(answer.columns),
        "rows": [{name: _json(value) for name, value in row.items()} for row in answer.rows],
        **({} if all(answer.certain) else {"certain": list(answer.certain)}),
        **({"coded": {name: list(keys) for name, keys in coded}} if coded else {}),
    }


def _json(value: Any) -> Json | dict[str, Json]:
    if isinstance(value, Bounds):
        return value.document()
    return str(value) if isinstance(value, Decimal) else nearest(value)


def _order(key: Key) -> list[tuple[int, Any]]:
    """Ascending, then what is no number, then nulls."""
    return [(2, 0) if v is None else (1, 0) if v != v else (0, v) for v in key]

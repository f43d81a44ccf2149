"""Answers to aggregate queries on a release, with bounds that contain the truth.

The truth is the answer over the original rows that are in the release. The bounds depend on the
form: there is one engine per way of showing, which takes a question and returns the rows of its
answer.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sfumato.expectations.shared.errors import Fault, QueryError
from sfumato.expectations.shared.exact import TooManyDigits
from sfumato.tasks.query.engines.engine import Engine, Files, Source
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.help_tables.registry import help_names
from sfumato.tasks.query.inquiries.answer import Answer
from sfumato.tasks.query.inquiries.answering import OpenTables, answer_inquiry
from sfumato.tasks.query.inquiries.ordering import AnsweredRow, join_answers
from sfumato.tasks.query.intervals.shapes import with_reason
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.query.published.notes import notes_on
from sfumato.tasks.query.question.calculations import OwnTables
from sfumato.tasks.query.question.inquiry import ConstantColumn, Inquiry, SeveralInquiries
from sfumato.tasks.query.question.question import GroupColumn, Question
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.query.sql.single import inquiry_of
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.parts import PARTS
from sfumato.tasks.terms.tables import schemas
from sfumato.tasks.terms.terms import Declared

_QUESTIONS = 1_000  # an engine caches parts of conditions: after so many questions it is reopened


def answer(
    release: Release,
    sql: str,
    estimator: Estimator = "weighted",
    own: OwnTables | None = None,
) -> Answer:
    """Answer a query from the files of a release.

    `estimator` estimates counts on releases that show every quasi-identifier by itself; `own` are
    tables that the query may join.

    Raises:
        QueryError: where the query is not allowed, or cannot be evaluated.
        Fault: where what was found cannot be right.
        InputError: where a file of the release is missing.
    """
    (result,) = answers(release, [sql], estimator, own)
    if isinstance(result, QueryError | Fault):
        raise result
    return result


def answers(
    release: Release,
    queries: Sequence[str],
    estimator: Estimator = "weighted",
    own: OwnTables | None = None,
) -> Iterator[Answer | QueryError | Fault]:
    """Answer several queries one after the other, from files that are opened once.

    If a query is not allowed, cannot be evaluated, or has impossible bounds, its answer is the
    error; the others are answered.

    Raises:
        InputError: where a file of the release is missing.
    """
    inquiries = [_read(sql, release, own) for sql in queries]
    allowed = [inquiry for inquiry in inquiries if isinstance(inquiry, SeveralInquiries)]
    helped = dict.fromkeys(name for inquiry in allowed for name in inquiry.helped_by)
    with open_release(release, list(helped), estimator) as opened:
        for inquiry in inquiries:
            yield _answer_or_reason(opened, release, inquiry)


def _read(sql: str, release: Release, own: OwnTables | None) -> SeveralInquiries | QueryError:
    try:
        return read_inquiries(sql, release.declared, own)
    except QueryError as error:
        return error


def _answer_or_reason(
    opened: OpenTables, release: Release, inquiries: SeveralInquiries | QueryError
) -> Answer | QueryError | Fault:
    if isinstance(inquiries, QueryError):
        return inquiries
    try:
        return _of_files(release, _with_notes(opened, inquiries))
    except (QueryError, Fault) as error:
        return error


@contextmanager
def open_release(
    release: Release, sensitive: Sequence[str], estimator: Estimator = "weighted"
) -> Iterator[OpenTables]:
    """Open a release's files for questions on these sensitive columns.

    Raises:
        InputError: where a file of the release is missing.
    """
    tables = files_of_tables(release, sensitive)
    with engine(tables, release.declared, estimator) as opened:
        yield open_tables(tables, release.declared, opened, estimator)


def open_tables(
    tables: Files, declared: Declared, opened: Engine, estimator: Estimator = "weighted"
) -> OpenTables:
    """Return tables that an engine has open, with a way to open them with calculated columns."""
    return OpenTables(tables, declared, opened, partial(engine, estimator=estimator))


def answer_with(
    opened: OpenTables, release: Release, sql: str, own: OwnTables | None = None
) -> Answer:
    """Answer a query with an engine that has the files of a release open.

    Raises:
        QueryError: where the query is not allowed, or cannot be evaluated.
        Fault: where what was found cannot be right.
    """
    return _of_files(release, _with_notes(opened, read_inquiries(sql, release.declared, own)))


def _with_notes(opened: OpenTables, several: SeveralInquiries) -> Answer:
    """Return an answer, with notes on conditions that no published row can satisfy."""
    result = ask_several(opened, several)
    notes = notes_on(several.inquiries, opened.values, opened.declared)
    return replace(result, notes=notes, headers=several.headers)


def ask_several(opened: OpenTables, several: SeveralInquiries) -> Answer:
    """Answer one inquiry after another from published tables, as one answer.

    Raises:
        QueryError: where one cannot be evaluated.
    """
    results = [ask_inquiry(opened, inquiry) for inquiry in several.inquiries]
    result = results[0] if len(results) == 1 else join_answers(results, several.order)
    if not several.summaries:
        return result
    from sfumato.tasks.query.inquiries.summaries import summarize_rows

    return summarize_rows(result, several.summaries, opened.declared.intervals is not None)


def _of_files(release: Release, result: Answer) -> Answer:
    """Return an answer from files: files that are not verified guarantee nothing."""
    guaranteed = result.guaranteed and release.verified
    return replace(result, guaranteed=guaranteed, verified=release.verified)


def answer_on(
    tables: Files,
    declared: Declared,
    sql: str,
    estimator: Estimator = "weighted",
    own: OwnTables | None = None,
) -> Answer:
    """Answer a query from tables by their names, in memory or in files.

    Raises:
        QueryError: where the query is not allowed, or cannot be evaluated.
    """
    several = read_inquiries(sql, declared, own)
    with engine(tables, declared, estimator) as opened:
        return _with_notes(open_tables(tables, declared, opened, estimator), several)


def files_of_tables(release: Release, sensitive: Sequence[str]) -> dict[str, Source]:
    """Return the files that queries on sensitive columns read, by the names of their tables."""
    return files_below(release.directory, release.declared, sensitive)


def files_below(directory: Path, declared: Declared, sensitive: Sequence[str]) -> dict[str, Source]:
    """Return the files in a release's directory that queries on sensitive columns read."""
    places = dict.fromkeys(schemas(declared), "data")
    places |= dict.fromkeys(help_names(declared, sensitive), "sql")
    paths = {name: Path(place, f"{name}.parquet") for name, place in places.items()}
    parts = declared.made_of
    if not parts:
        return {name: directory / path for name, path in paths.items()}
    folders = [directory / PARTS / part.name for part in parts]
    return {
        name: TableInParts(
            tuple(folder / path for folder in folders),
            tuple(part.added_to(declared.numbered_columns(name)) for part in parts),
        )
        for name, path in paths.items()
    }


@contextmanager
def engine(
    tables: Files, declared: Declared, estimator: Estimator = "weighted"
) -> Iterator[Engine]:
    """Open an engine that takes questions on the published tables."""
    with ENGINES[declared.form.shows](tables, declared, estimator) as opened:
        yield opened if declared.intervals is None else _with_intervals(opened, declared)


def _with_intervals(opened: Engine, declared: Declared) -> Engine:
    from sfumato.tasks.query.intervals.answering import EngineWithIntervals

    return EngineWithIntervals(opened, declared)


def ask(opened: Engine, declared: Declared, question: Question, estimates: bool = True) -> Answer:
    """Answer a question with an engine that has the published tables.

    Bounds are not checked against the published values: evaluations find wrong bounds themselves.
    """
    tables = open_tables({}, declared, opened)
    return ask_inquiry(tables, inquiry_of(question), estimates=estimates, judged=False)


def ask_inquiry(
    opened: OpenTables, inquiry: Inquiry, *, estimates: bool = True, judged: bool = True
) -> Answer:
    """Answer an inquiry from published tables.

    Raises:
        QueryError: where it cannot be evaluated.
        Fault: where it is `judged`, and what was found cannot be right.
    """
    try:
        ordered = answer_inquiry(opened, inquiry, estimates=estimates, judged=judged)
    except TooManyDigits:
        raise QueryError(
            "a calculated number has more than 38 digits in some row. Multiply by a "
            "smaller number, or use ROUND"
        ) from None
    declared = opened.declared
    beside = estimates and declared.intervals is not None
    return Answer(
        form=declared.form.method,
        guaranteed=True,
        not_represented=_not_represented(declared),
        columns=tuple(item.label for item in inquiry.shown),
        rows=tuple(_row(inquiry, row, beside=beside) for row in ordered.rows),
        certain=tuple(row.certain for row in ordered.rows),
        rest=tuple(row.rest for row in ordered.rows),
        coded=declared.codings_by_column,
        by_estimate=ordered.by_estimate,
    )


def _row(inquiry: Inquiry, row: AnsweredRow, *, beside: bool) -> dict[str, Any]:
    """Return the group columns that are shown, and the bounds of formulas.

    If `beside`, each of these has a likely interval, or the reason why there is none.
    """
    places = {key.name: place for place, key in enumerate(inquiry.keys)}
    with_interval = with_reason if beside else (lambda bounds: bounds)
    cells: dict[str, Any] = {}
    for item in inquiry.shown:
        if isinstance(item, ConstantColumn):
            cells[item.label] = item.value
        elif isinstance(item, GroupColumn):
            cells[item.label] = row.key[places[item.name]]
        else:
            cells[item.label] = with_interval(row.bounds[item.formula])
    return cells


def _not_represented(declared: Declared) -> dict[str, int]:
    rows = declared.rows
    left_out = {"nulls": rows.dropped_for_nulls, "suppressed": rows.suppressed}
    if (related := declared.related_rows) is not None:
        left_out["related nulls"] = related.dropped_for_nulls
        left_out["related orphans"] = related.dropped_as_orphans
    return left_out | ({"versions": rows.not_represented_versions} if declared.is_composed else {})


class Conversation:
    """Queries on one release, one after the other, until the `with` block ends."""

    def __init__(self, release: Release) -> None:
        """Open nothing yet."""
        self._release, self._asked = release, 0
        self._open: dict[Estimator, OpenTables] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def answer(
        self, sql: str, estimator: Estimator = "weighted", own: OwnTables | None = None
    ) -> Answer:
        """Answer a query, as `answer` does.

        Raises:
            QueryError: where the query is not allowed, or cannot be evaluated.
            Fault: where what was found cannot be right.
            InputError: where a file of the release is missing.
        """
        if self._asked == _QUESTIONS:
            self._stack.close()
            self._open, self._asked = {}, 0
        self._asked += 1
        if estimator not in self._open:
            sensitive = self._release.declared.names_with_roles("sensitive")
            opened = open_release(self._release, sensitive, estimator)
            self._open[estimator] = self._stack.enter_context(opened)
        return answer_with(self._open[estimator], self._release, sql, own)

"""The step of questions: what accuracy is measured on, and the steward's own in SQL."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sqlglot import exp

from sfumato.expectations.shared.errors import SfumatoError, SpecError
from sfumato.flows.rules.two_tables import without_tables
from sfumato.flows.workbench.jobs import Job
from sfumato.flows.workbench.results import PREVIEW, place_of_job
from sfumato.flows.workbench.two_tables import tables_of
from sfumato.flows.workbench.visit import Visit
from sfumato.flows.workbench.yaml_edits import flow_text
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.query.ask import answer
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.answer import Answer, with_headers
from sfumato.tasks.report.numbers import bounds_in_words, half_width
from sfumato.tasks.report.utility import accuracy_charts, accuracy_lines
from sfumato.tasks.terms.opened import open_release

KINDS: Mapping[str, str] = {
    "range": "over a range of a quasi-identifier",
    "arbitrary": "over people who are picked at random",
    "counts": "of people with ranges of several quasi-identifiers and a sensitive value",
}
"""The kinds of questions that accuracy is measured on, in words."""
AGGREGATES = ("count", "avg", "sum", "min", "max")
_MOST_ASKED, _MOST_ROWS = 12, 30
_SCALE = 1000
_TABLES = 2


@dataclass(frozen=True)
class DrawnBounds:
    """Bounds as a cell shows them.

    Attributes:
        text: the bounds in words.
        accuracy: half their width relative to their middle, in words; empty if there is none.
        low: the place of the lower bound on the scale of the column, from 0 to 1000.
        high: the place of the upper bound.
    """

    text: str
    accuracy: str = ""
    low: int = 0
    high: int = 0


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question in SQL with its answer, or why it has none."""

    sql: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str | DrawnBounds]] = ()
    more: int = 0
    notes: Sequence[str] = ()
    fault: str = ""


def show(visit: Visit) -> dict[str, Any]:
    """Return what the page shows: the measured questions, their accuracy, and own ones."""
    job = visit.latest("plan")
    workloads = (visit.spec.document.get("evaluate") or {}).get("workloads") or ()
    columns = without_tables(visit.spec.document).get("columns") or {}
    of_two = bool(visit.spec.table_names)
    is_done = job is not None and job.state == "done" and "accuracy" in job.document
    measured = job.document["accuracy"] if job is not None and is_done else ()
    own = visit.bench.desk.questions(visit.spec.name)
    return {
        "workloads": [(words_of(w), flow_text(w)) for w in workloads if isinstance(w, Mapping)],
        "kinds": {k: w for k, w in KINDS.items() if k != "arbitrary" or not of_two},
        "of_two": of_two,
        "example": _join(visit),
        "aggregates": AGGREGATES,
        "known": [n for n, keys in columns.items() if keys.get("role") == "quasi-identifier"],
        "sensitive": [n for n, keys in columns.items() if keys.get("role") == "sensitive"],
        "job": job,
        "is_present": job is not None and visit.is_present(job),
        "words": accuracy_lines(measured),
        "charts": accuracy_charts(measured),
        "has_draft": is_done,
        "answers": [answer_from(job, sql) for sql in own] if job is not None and is_done else [],
        "asked": own,
    }


def _join(visit: Visit) -> str:
    """Return a question over both tables of a spec, as an example; empty for one table."""
    tables = tables_of(visit.spec)
    if len(tables) < _TABLES:
        return ""
    people, rows = tables
    joined = exp.select("COUNT(*)").from_(people["name"]).join(rows["name"], using=[rows["key"]])
    return joined.sql("duckdb")


def words_of(workload: Mapping[str, Any]) -> str:
    """Return the questions of a workload in words.

    >>> words_of({"kind": "range", "aggregate": "avg", "of": "cost", "over": "age", "spans": [5]})
    'avg of cost over a range of age, 5 wide'
    """
    kind, column = workload.get("kind"), workload.get("of", "the sensitive column")
    if kind == "counts":
        number = workload.get("attributes", 1)
        columns = "1 quasi-identifier" if number == 1 else f"{number} quasi-identifiers"
        return f"counts of people with ranges of {columns} and a value of {column}"
    if kind == "people":
        window = f"a range of {workload.get('over')}, {workload.get('span')} wide"
        return f"counts of people in {window}, who have rows with a value of {column}"
    question = f"{workload.get('aggregate', '')} of {column}"
    if kind == "range":
        return (
            f"{question} over a range of {workload.get('over')}, {_list_of(workload, 'spans')} wide"
        )
    if kind == "arbitrary":
        numbers = _list_of(workload, "selected")
        return f"{question} over people picked at random, at least {numbers}"
    return str(kind)


def _list_of(workload: Mapping[str, Any], key: str) -> str:
    numbers = workload.get(key)
    several = numbers if isinstance(numbers, list | tuple) else [numbers]
    texts = [f"{n:,}" if isinstance(n, int) else str(n) for n in several]
    return " or ".join(filter(None, (", ".join(texts[:-1]), texts[-1]))) if texts else ""


def answer_from(job: Job, sql: str) -> AnsweredQuestion:
    """Return a question with its answer from a draft."""
    place = place_of_job(job)
    try:
        with sanitise_errors("query"):
            result = with_headers(answer(open_release(Path(str(place)) / PREVIEW), sql))
    except SfumatoError as error:
        return AnsweredQuestion(sql, fault=str(error))
    return drawn_answer(sql, result)


def drawn_answer(sql: str, result: Answer) -> AnsweredQuestion:
    """Return an answer with its bounds as texts, and as places on the scale of their column."""
    scales = {name: _scale(result, name) for name in result.columns}
    rows = [
        [_cell(row[name], scales[name]) for name in result.columns]
        for row in result.rows[:_MOST_ROWS]
    ]
    more = max(len(result.rows) - _MOST_ROWS, 0)
    return AnsweredQuestion(sql, result.columns, rows, more, result.notes)


def _ends(bounds: Any) -> tuple[Fraction, Fraction] | None:
    """Return bounds as numbers, or None for what has none, such as dates or no rows."""
    if not isinstance(bounds, Bounds) or bounds.unbounded:
        return None
    try:
        return Fraction(bounds.lower), Fraction(bounds.upper)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _scale(result: Answer, name: str) -> tuple[Fraction, Fraction]:
    """Return the ends of the scale of a column; it begins at 0, or below it."""
    ends = [pair for row in result.rows if (pair := _ends(row[name])) is not None]
    lowest = min((low for low, _ in ends), default=Fraction(0))
    highest = max((high for _, high in ends), default=Fraction(1))
    return min(lowest, Fraction(0)), max(highest, Fraction(0))


def _cell(value: Any, scale: tuple[Fraction, Fraction]) -> str | DrawnBounds:
    if not isinstance(value, Bounds):
        return "null" if value is None else str(value)
    ends = _ends(value)
    if ends is None:
        return "anything" if value.unbounded else f"{value.lower} … {value.upper}"
    low, high = ends
    whole = low.denominator == high.denominator == 1
    text = bounds_in_words(low, high, 0 if whole else 2)
    width, middle = scale[1] - scale[0] or Fraction(1), (low + high) / 2
    relative = float((high - low) / abs(middle)) if middle else None
    accuracy = "exact" if low == high else half_width(relative)
    places = [int((end - scale[0]) / width * _SCALE) for end in ends]
    return DrawnBounds(text, accuracy, places[0], places[1])


def ask(visit: Visit) -> None:
    """Keep a question in SQL, to be answered from the draft.

    Raises:
        SpecError: where it is empty.
    """
    sql = visit.sent.get("sql").strip()
    if not sql:
        raise SpecError("there is no question. Write one, such as SELECT COUNT(*) FROM microdata")
    others = [each for each in visit.bench.desk.questions(visit.spec.name) if each != sql]
    visit.bench.desk.keep_questions(visit.spec.name, [*others, sql][-_MOST_ASKED:])


def forget(visit: Visit) -> None:
    """Forget a question in SQL."""
    questions = visit.bench.desk.questions(visit.spec.name)
    others = [sql for sql in questions if sql != visit.sent.get("sql")]
    visit.bench.desk.keep_questions(visit.spec.name, others)


def add(visit: Visit) -> None:
    """Add questions that accuracy is measured on.

    Raises:
        SpecError: where there is no such kind or aggregate, or a number is none.
    """
    kind, aggregate = visit.sent.get("kind"), visit.sent.get("aggregate")
    if kind not in KINDS or aggregate not in AGGREGATES:
        raise SpecError("there is no such kind of questions. Reload the page, and choose again")
    keys: dict[str, Any] = {"kind": kind}
    if kind == "counts":
        keys["attributes"] = visit.sent.number("attributes")
    else:
        name = "spans" if kind == "range" else "selected"
        keys |= {"aggregate": aggregate}
        keys |= {"over": visit.sent.get("over")} if kind == "range" else {}
        keys[name] = list(_numbers(visit.sent.get("levels")))
    if visit.sent.get("of"):
        keys["of"] = visit.sent.get("of")
    evaluate = visit.spec.document.get("evaluate") or {}
    place = len(evaluate.get("workloads") or ())
    where: tuple[str | int, ...] = ("evaluate", "workloads")
    visit.set({(*where, place): keys} if place else {where: [keys]}, "questions")


def _numbers(text: str) -> Iterator[int]:
    for part in text.split(","):
        try:
            yield int(part)
        except ValueError:
            raise SpecError(f"{part!r} is not a number. Write numbers such as 5, 10, 20") from None


def remove(visit: Visit) -> None:
    """Remove questions that accuracy is measured on."""
    where = ("evaluate", "workloads", visit.sent.number("place"))
    visit.set({where: None}, "questions removed")


ACTIONS = {"ask": ask, "forget": forget, "add": add, "remove": remove}
"""What the forms of the page do."""

"""The SQL of releases that show each quasi-identifier separately, with counts of values."""

from sqlglot import exp

from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.question.ways import columns as way
from sfumato.tasks.query.question.ways import tables_of_counts
from sfumato.tasks.query.sql.bounds_query import AnswerColumns
from sfumato.tasks.query.sql.marginal_counts import Estimator, MarginalCounts
from sfumato.tasks.query.sql.way import SqlWay
from sfumato.tasks.terms.terms import Declared, Terms

_APART = """\
The tables at_… hold the values of a quasi-identifier that each group admits, once each; the
sensitive values of each group, and how often each occurs in it, stand in"""

_HELP = """\
A help table holds the same values, with how often each is expected to occur in its group. The
queries below return bounds that surely contain the count over the represented rows, and an estimate
without a guarantee; `sfumato query . "SELECT COUNT(*) … FROM microdata …" --rewrite duckdb` writes
others."""

_COUNTED = """
The tables marginal_… have the rows of all groups together with each value of a quasi-identifier.
Queries about such a column are narrowed to them."""

_STILL_COUNTED = """\
A group goes on to show and to count the values of people who have left, and admits what its people
had when they came; a help table counts them, too. Bounds and estimates are of people who are here:
any of a group may be those who have left."""


def _rewrite(
    question: Question, declared: Terms, reading: Reading, estimator: Estimator
) -> exp.Select:
    counts = MarginalCounts(question, declared, estimator)
    least = None if counts.surely_some else "l0"
    names = ("l{}", "u{}", "e{}")
    return AnswerColumns(question, counts.bounds(), names, way.sides, least).read(reading)


def _words(declared: Declared) -> str:
    counted = _COUNTED if declared.form.counted_columns else ""
    return f"{_APART} {' and '.join(tables_of_counts(declared).values())}.{counted}\n\n{_HELP}"


columns = SqlWay(
    rewritten=_rewrite,
    words=_words,
    examples=lambda _: [],
    views=lambda _: [],
    of_vacant=lambda _: _STILL_COUNTED,
)

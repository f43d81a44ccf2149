"""The SQL of releases that show exact rows, beside the sensitive values of their group."""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.tasks.query.help_tables.rows import helped_columns
from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.query.question.ways import rows as way
from sfumato.tasks.query.sql.bounds_query import AnswerColumns, of_help_tables
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.query.sql.sensitive_conditions import SensitiveConditions
from sfumato.tasks.query.sql.way import SqlWay
from sfumato.tasks.terms.terms import Declared, Terms

HELP = """\
A help table holds, for so many hits among the rows of a group, the least and the greatest sum,
minimum and maximum that the values of so many of its rows can have. The queries below return bounds
that surely contain the answer over the represented rows;
`sfumato query . "SELECT … FROM microdata …" --rewrite duckdb` writes others."""

_TOGETHER = """\
The table {} holds the published rows: all columns as they are, except that the values of
sensitive columns are shuffled among the rows with the same group_id."""

_BESIDE = """\
The table {} holds the published rows with all columns but the sensitive ones. The sensitive values
of the rows with the same group_id, and how often each occurs among them, stand in"""

_LEFT_OVER = """\
A group keeps the values of people who have left. The table vacant holds those that fell to nobody,
drawn at random among all of the group's: any of both tables' values may be those of its rows."""

_STILL_COUNTED = """\
A group keeps the values of people who have left: counts add up to more than its rows, and any of
the values may be those of its rows."""


def _rewrite(question: Question, declared: Terms, reading: Reading, _: Estimator) -> exp.Select:
    source = relations(declared)
    if not question.matching:
        return of_help_tables(question, source.rows, way.sides, reading)
    bounds = SensitiveConditions(question, source).bounds()
    return AnswerColumns(question, bounds, ("l{}", "u{}"), way.sides, "least").read(reading)


def _words(declared: Declared) -> str:
    source = relations(declared)
    if not declared.form.values_apart:
        return f"{_TOGETHER.format(source.rows)}\n\n{HELP}"
    return f"{_BESIDE.format(source.rows)} {' and '.join(source.tables.values())}.\n\n{HELP}"


def examples_of(declared: Declared) -> Sequence[exp.Expr]:
    """Return the mean of the first sensitive column, or its extremes if it is no number."""
    name = declared.names_with_roles("sensitive")[0]
    column = exp.column(name, quoted=True)
    if declared.columns[name].type in ("integer", "decimal", "float"):
        return [exp.Avg(this=column)]
    return [exp.Min(this=column), exp.Max(this=column.copy())]


rows = SqlWay(
    rewritten=_rewrite,
    words=_words,
    examples=examples_of,
    views=helped_columns,
    of_vacant=lambda declared: (
        _LEFT_OVER if relations(declared).has_pooled_values else _STILL_COUNTED
    ),
)

"""The SQL of releases that show labels, whose admitted values are in label tables."""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.tasks.query.help_tables.labels import label_tables, names_of_label_tables
from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.question import TABLE, Question
from sfumato.tasks.query.question.ways import labels as way
from sfumato.tasks.query.sql.bounds_query import AnswerColumns
from sfumato.tasks.query.sql.decided_labels import types_of_labels
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.query.sql.way import SqlWay
from sfumato.tasks.terms.terms import Declared, Terms

_WORDS = """\
The table microdata holds the published rows: labels in the place of quasi-identifiers, all other
columns as they are. A label stands for several values, so that a query on labels is not the query
on what they stand for: `sfumato query . "SELECT …"` answers that one, with bounds that surely
contain the answer over the represented rows."""

_TOLD = """\
The tables label_… tell what each label admits: a row for each value, or the least and the greatest
one, low and high; without either it can be anything. A code in the place of a label may have some
of its characters hidden: kept of its length are told. admits_null tells whether a null may be
behind the label. The tables value_… have every value that labels of a column admit, if there are
not too many. `sfumato query . "SELECT … FROM microdata …" --rewrite duckdb` writes queries for
bounds over them."""

_STILL_THERE = """\
The rows of people who have left are still there, and nothing tells them from the others of the same
group_id."""


def _rewrite(question: Question, declared: Terms, reading: Reading, _: Estimator) -> exp.Select:
    # DuckDB decides conditions on labels; what rewrites no query on these does without it.
    from sfumato.tasks.query.sql.decided_labels import Decider
    from sfumato.tasks.query.sql.label_bounds import LabelBounds
    from sfumato.tasks.sql.session import session

    with session({}) as connection:
        decided = Decider(connection, declared.columns)
        bounds = LabelBounds(question, declared, decided).bounds()
    return AnswerColumns(question, bounds, ("l{}", "u{}"), way.sides, "least").read(reading)


def _queries(declared: Declared) -> Sequence[tuple[str, exp.Select]]:
    label = exp.column(declared.names_with_roles("quasi-identifier")[0], quoted=True)
    query = exp.select(label, exp.Count(this=exp.Star())).from_(TABLE)
    ordered = query.group_by(label.copy()).order_by(label.copy())
    queries = [("How many rows have each label:", ordered)]
    if declared.form.tells_labels:
        table = names_of_label_tables(declared)[0]
        queries.append(("What each of them admits:", exp.select("*").from_(table)))
    return queries


labels = SqlWay(
    rewritten=_rewrite,
    words=lambda declared: f"{_WORDS}\n\n{_TOLD}" if declared.form.tells_labels else _WORDS,
    examples=None,
    views=lambda _: [],
    types=types_of_labels,
    of_vacant=lambda _: _STILL_THERE,
    queries=_queries,
    beside=label_tables,
)

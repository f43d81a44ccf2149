"""Databases that are given labels: they do not know what these admit, and no query is rewritten."""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Declared, Terms
from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.question import TABLE, Question
from sfumato.tasks.query.sql.conditions.marginal_counts import Estimator
from sfumato.tasks.query.sql.way import SqlWay

_WORDS = """\
The table microdata holds the published rows: labels in the place of quasi-identifiers, all other
columns as they are. A label stands for several values, so that a query on labels is not the query
on what they stand for: `sfumato query . "SELECT …"` answers that one, with bounds that surely
contain the answer over the represented rows."""

_STILL_THERE = """\
The rows of people who have left are still there, and nothing tells them from the others of the same
group_id."""


def _refusal(declared: Terms) -> str:
    return (
        f"a release in form {declared.form.method} is asked with `sfumato query` alone: "
        f"what its labels admit is not known to a database"
    )


def _refused(_: Question, declared: Terms, _reading: Reading, _estimator: Estimator) -> exp.Select:
    raise QueryError(_refusal(declared))


def _queries(declared: Declared) -> Sequence[tuple[str, exp.Select]]:
    label = exp.column(declared.named("quasi-identifier")[0], quoted=True)
    query = exp.select(label, exp.Count(this=exp.Star())).from_(TABLE)
    ordered = query.group_by(label.copy()).order_by(label.copy())
    return [("How many rows have each label:", ordered)]


labels = SqlWay(
    rewritten=_refused,
    words=lambda _: _WORDS,
    examples=lambda _: [],
    views=lambda _: [],
    refusal=_refusal,
    of_vacant=lambda _: _STILL_THERE,
    queries=_queries,
)

"""The shape of a query: by how many columns it selects rows, and whether by a sensitive value.

Intervals are calibrated on random queries of simple shapes, and hold for queries that could have
been drawn like them: conjunctions, of which every part is about one column alone, and selects a
range of values that have an order, or some of others.
"""

from dataclasses import dataclass
from itertools import chain

from sqlglot import exp

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.conditions import conjuncts
from sfumato.tasks.query.question.question import Question
from sfumato.tasks.schema.columns import ORDERED

MOST_COLUMNS = 3

_RANGES = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_SETS = (exp.EQ, exp.NEQ, exp.In)


@dataclass(frozen=True)
class QueryShape:
    """How a query selects.

    Attributes:
        columns: by how many columns that are not sensitive.
        of: the sensitive column whose values it selects by, None for none.
        there: the sensitive column that it says to have a value, and says no more of; None for
            none.
    """

    columns: int
    of: str | None
    there: str | None = None

    def selected_by(self, aggregate: Aggregate) -> str | None:
        """The sensitive column by which rows of an aggregate are selected, None for none.

        Aggregates of a column pass over its nulls: that it has a value selects nothing more, but
        where values are counted.
        """
        implied = None if aggregate.kind.counts_rows else aggregate.sensitive
        return self.of or (self.there if self.there != implied else None)


def shape_of(question: Question, declared: Terms) -> QueryShape | None:
    """The shape of a question, None where it has none of those that are calibrated."""
    conditions = [question.condition, *(matching.condition for matching in question.matching)]
    parts = list(chain.from_iterable(conjuncts(one) for one in conditions if one is not None))
    there = {name for part in parts if (name := _sensitive_there(part, declared)) is not None}
    names = set(question.group_by)
    for part in (one for one in parts if _sensitive_there(one, declared) is None):
        name = _column_of(part, declared)
        if name is None:
            return None
        names.add(name)
    sensitive = sorted(name for name in names if declared.columns[name].role == "sensitive")
    others = len(names) - len(sensitive)
    if len({*sensitive, *there}) > 1 or not 1 <= others <= MOST_COLUMNS:
        return None
    if sensitive:  # who has some value has one
        return QueryShape(others, sensitive[0])
    return QueryShape(others, None, next(iter(there), None))


def column_there(condition: exp.Expr) -> str | None:
    """The column of which a condition says that it is not null, and nothing more; else None."""
    test = condition.unnest()
    if not isinstance(test, exp.Not):
        return None
    inner = test.this.unnest()
    is_null = isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null)
    return inner.this.name if is_null and isinstance(inner.this, exp.Column) else None


def _sensitive_there(part: exp.Expr, declared: Terms) -> str | None:
    """The sensitive column of which a part says no more than that it is not null."""
    name = column_there(part)
    return name if name is not None and declared.columns[name].role == "sensitive" else None


def _column_of(part: exp.Expr, declared: Terms) -> str | None:
    """The one column of which a part selects a range, or some values; None of others."""
    test = part.unnest() if isinstance(part, exp.Paren) else part
    denied = isinstance(test, exp.Not)
    if denied:
        test = test.this.unnest()
    names = {column.name for column in test.find_all(exp.Column)}
    if len(names) != 1 or not _compares_with_constants(test):
        return None
    name = names.pop()
    ordered = declared.columns[name].type in ORDERED
    fits = isinstance(test, _RANGES) and not denied if ordered else isinstance(test, _SETS)
    return name if fits else None


def _compares_with_constants(test: exp.Expr) -> bool:
    """True where the column itself stands on one side, and nothing is computed of it."""
    sides = [side for side in (test.this, test.args.get("expression")) if side is not None]
    return any(isinstance(side, exp.Column) for side in sides)

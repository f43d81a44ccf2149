"""The shape of a query: by how many columns it selects rows, and whether by a sensitive value.

Intervals are calibrated on random queries of simple shapes, and hold for queries that could have
been drawn like them: conjunctions, of which every part is about one column alone, and selects a
range of values that have an order, or some of others.
"""

from dataclasses import dataclass
from itertools import chain

from sqlglot import exp

from sfumato.tasks.declaration.terms import Terms
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
    """

    columns: int
    of: str | None


def shape_of(question: Question, declared: Terms) -> QueryShape | None:
    """The shape of a question, None where it has none of those that are calibrated."""
    conditions = [question.condition, *(matching.condition for matching in question.matching)]
    parts = list(chain.from_iterable(conjuncts(one) for one in conditions if one is not None))
    names = set(question.group_by)
    for part in parts:
        name = _column_of(part, declared)
        if name is None:
            return None
        names.add(name)
    sensitive = sorted(name for name in names if declared.columns[name].role == "sensitive")
    others = len(names) - len(sensitive)
    if len(sensitive) > 1 or not 1 <= others <= MOST_COLUMNS:
        return None
    return QueryShape(others, sensitive[0] if sensitive else None)


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

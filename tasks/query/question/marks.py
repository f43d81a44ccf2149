"""Conditions on the related rows of people, which an inquiry names by columns of truth values.

Such a column, a *mark*, stands for a condition that a person has at least so many related rows of
some kind. A condition on one mark is that a person meets it, or does not, or it always or never
holds.
"""

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.question.conditions import all_of
from sfumato.tasks.query.question.question import PersonHas, Question, RelatedScope


def condition_on_rows(question: Question) -> exp.Expr | None:
    """Return the condition on the related rows that a question counts; None if all count."""
    return all_of([matching.condition for matching in question.matching])


def conditions_of_marks(
    question: Question, scope: RelatedScope
) -> list[tuple[PersonHas, bool]] | None:
    """Return the conditions on related rows that people must meet, or must not if true.

    Conditions that others imply are left out. Returns None if nobody can meet all of them.

    Raises:
        QueryError: where a condition on related rows is none of these.
    """
    hits = []
    for matching in question.matching:
        (name,) = matching.columns if len(matching.columns) == 1 else ("",)
        if name not in scope.marks:
            raise QueryError("a condition on related rows needs EXISTS, or a join with their table")
        # a condition on one mark is true where the mark is, or where it is not, or both
        met, unmet = (_is_true(matching.condition, mark=mark) for mark in (True, False))
        if met != unmet:
            hits.append((scope.marks[name], unmet))
        elif not met:
            return None
    return _without_implied(hits)


def _without_implied(hits: list[tuple[PersonHas, bool]]) -> list[tuple[PersonHas, bool]]:
    """Return conditions without those that others imply: three rows are also two."""
    return [
        (has, negated)
        for place, (has, negated) in enumerate(hits)
        if not any(
            _implies(other, has, negated)
            for there, (other, also) in enumerate(hits)
            if also == negated and (other != has or there < place)
        )
    ]


def _implies(other: PersonHas, has: PersonHas, negated: bool) -> bool:
    """Decide whether a condition, or that it is not met, implies the same of another one."""
    if other.condition != has.condition:
        return False
    return other.times <= has.times if negated else other.times >= has.times


def _is_true(node: exp.Expr, *, mark: bool) -> bool:
    """Decide whether a condition on one mark, which is never null, holds.

    Raises:
        QueryError: if the condition is more than a combination of that mark.
    """
    match node.unnest():
        case exp.Column():
            return mark
        case exp.Boolean(this=value):
            return bool(value)
        case exp.Not(this=inner) | exp.Coalesce(this=inner) as whole:
            return _is_true(inner, mark=mark) != isinstance(whole, exp.Not)
        case exp.And(this=first, expression=second):
            return _is_true(first, mark=mark) and _is_true(second, mark=mark)
        case exp.Or(this=first, expression=second):
            return _is_true(first, mark=mark) or _is_true(second, mark=mark)
    raise QueryError("a condition on people's related rows may only be joined by AND, OR and NOT")

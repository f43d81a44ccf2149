"""Conditions of a query: what rows decide, and what values apart from them do."""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Matching, Question
from sfumato.tasks.query.question.ways.registry import WAYS
from sfumato.tasks.query.question.ways.way import Bundles
from sfumato.tasks.sql.parse import quote_name


def split_where(
    checked: exp.Expr | None, declared: Terms
) -> tuple[exp.Expr | None, tuple[Matching, ...]]:
    """The condition on columns published as they are, and those on values apart from rows.

    Raises:
        QueryError: where the condition joins what the release does not.
    """
    return (None, ()) if checked is None else split_condition(checked, declared)


def question_of(aggregate: Aggregate, where: exp.Expr, declared: Terms) -> Question:
    """The question of an aggregate over the rows on which a condition of ours holds.

    Raises:
        QueryError: where the condition joins what the release does not.
    """
    condition, matching = split_condition(where, declared)
    return Question((aggregate,), condition, (), matching)


def split_condition(
    checked: exp.Expr, declared: Terms
) -> tuple[exp.Expr | None, tuple[Matching, ...]]:
    """The part of a condition that rows decide, and the parts that values apart from them do.

    Raises:
        QueryError: where the condition joins what the release does not.
    """
    exact: list[exp.Expr] = []
    matching: dict[tuple[str, ...], list[exp.Expr]] = {}
    for part in conjuncts(checked):
        bundle = _bundle(part, declared)
        (exact if bundle is None else matching.setdefault(bundle, [])).append(part)
    if not matching:
        return checked, ()
    found = (Matching(columns, exp.and_(*parts)) for columns, parts in matching.items())
    return all_of(exact), tuple(found)


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr | None:
    """The condition that all of some hold, None without any."""
    return exp.and_(*conditions) if conditions else None


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The parts that AND joins, outside of which nothing is said."""
    found: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        inner = part.unnest() if isinstance(part, exp.Paren) else part
        if isinstance(inner, exp.And):
            waiting += [inner.args["expression"], inner.this]
        else:
            found.append(part)
    return found


def _bundle(part: exp.Expr, declared: Terms) -> tuple[str, ...] | None:
    """The columns that are published together with those of a condition, if apart from rows."""
    names = {column.name for column in part.find_all(exp.Column)}
    found = bundles(declared)
    hidden = names & set(found)
    if not hidden:
        return _of_no_column(declared) if not names else None
    if names - hidden:
        raise QueryError(
            "a sensitive column is compared with others, and who has which value is not published: "
            f"{', '.join(map(quote_name, sorted(names)))}"
        )
    if len({found[name] for name in hidden}) > 1:
        raise QueryError(
            "columns are compared whose association is not published: "
            f"{', '.join(map(quote_name, sorted(hidden)))}"
        )
    return found[hidden.pop()]


def _of_no_column(declared: Terms) -> tuple[str, ...] | None:
    """The columns that a condition on no column counts as one on, where rows stand nowhere."""
    way = WAYS[declared.form.shows]
    return way.bundles(declared)[declared.named("sensitive")[0]] if way.without_rows else None


def bundles(declared: Terms) -> Bundles:
    """For each column apart from rows those that keep their association with it, itself included.

    These are the sensitive ones, and the quasi-identifiers where each stands by itself.
    """
    return WAYS[declared.form.shows].bundles(declared)

"""Conditions of a query, split into those on rows and those on values apart from rows."""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.question.question import Aggregate, Matching, Question
from sfumato.tasks.query.question.ways import WAYS, Bundles
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.terms.terms import Terms


def split_where(
    checked: exp.Expr | None, declared: Terms
) -> tuple[exp.Expr | None, tuple[Matching, ...]]:
    """Return the condition on columns published as they are, and those on values apart from rows.

    Raises:
        QueryError: if the condition joins columns that the release publishes apart.
    """
    return (None, ()) if checked is None else split_condition(checked, declared)


def question_of(aggregate: Aggregate, where: exp.Expr | None, declared: Terms) -> Question:
    """Return the question of an aggregate over the rows on which a condition holds, or all rows.

    Raises:
        QueryError: if the condition joins columns that the release publishes apart.
    """
    name = aggregate.sensitive
    there = None if name is None else where_there(name, declared)
    both = all_of([part for part in (where, there) if part is not None])
    condition, matching = split_where(both, declared)
    return Question((aggregate,), condition, (), matching)


def where_there(name: str, declared: Terms) -> exp.Expr | None:
    """Return the condition that a column is not null, which its aggregates imply.

    Returns None if the column is never null, or if rows beside labels contain its values and nulls:
    engines count these.
    """
    column = declared.columns[name]
    if not column.nulls or stands_beside_labels(name, declared):
        return None
    null = exp.Is(this=exp.column(name, quoted=True), expression=exp.Null())
    return exp.Not(this=null)


def stands_beside_labels(name: str, declared: Terms) -> bool:
    """Decide whether rows beside labels contain the values and nulls of a column."""
    in_rows = declared.columns[name].role in ("insensitive", "sensitive")
    return WAYS[declared.form.shows].groups_by_sensitive and in_rows


def split_condition(
    checked: exp.Expr, declared: Terms
) -> tuple[exp.Expr | None, tuple[Matching, ...]]:
    """Return the part of a condition on rows, and its parts on values apart from rows.

    Raises:
        QueryError: if the condition joins columns that the release publishes apart.
    """
    exact: list[exp.Expr] = []
    matching: dict[tuple[str, ...], list[exp.Expr]] = {}
    for part in conjuncts(checked):
        bundle = _bundle(part, declared)
        (exact if bundle is None else matching.setdefault(bundle, [])).append(part)
    if not matching:
        return checked, ()
    conjunctions = ((columns, all_of(parts)) for columns, parts in matching.items())
    return all_of(exact), tuple(
        Matching(columns, conjunction)
        for columns, conjunction in conjunctions
        if conjunction is not None
    )


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr | None:
    """Return the conjunction of some conditions: None of none, and a single one uncopied."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return exp.and_(*conditions)


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts that AND joins."""
    parts: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        inner = part.unnest() if isinstance(part, exp.Paren) else part
        if isinstance(inner, exp.And):
            waiting += [inner.args["expression"], inner.this]
        else:
            parts.append(part)
    return parts


def _bundle(part: exp.Expr, declared: Terms) -> tuple[str, ...] | None:
    """Return the bundle of a condition's columns, if these are published apart from rows."""
    names = {column.name for column in part.find_all(exp.Column)}
    bundle_of = bundles(declared)
    hidden = names & set(bundle_of)
    if not hidden:
        return _of_no_column(declared) if not names else None
    if names - hidden:
        raise QueryError(
            "a sensitive column cannot be compared with other columns, because the "
            "release does not show who has which value: "
            f"{', '.join(map(quote_name, sorted(names)))}"
        )
    if len({bundle_of[name] for name in hidden}) > 1:
        raise QueryError(
            "these columns cannot be compared, because the release does not show which "
            "of their values belong together: "
            f"{', '.join(map(quote_name, sorted(hidden)))}"
        )
    return bundle_of[hidden.pop()]


def _of_no_column(declared: Terms) -> tuple[str, ...] | None:
    """Return the columns to which a condition on no column belongs, if rows are not published."""
    way = WAYS[declared.form.shows]
    return (
        way.bundles(declared)[declared.names_with_roles("sensitive")[0]]
        if way.without_rows
        else None
    )


def bundles(declared: Terms) -> Bundles:
    """Return the columns associated with each column apart from rows, itself included.

    These are the sensitive columns, and the quasi-identifiers if each is published separately.
    """
    return WAYS[declared.form.shows].bundles(declared)

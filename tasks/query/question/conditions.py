"""Conditions of a query: what rows decide, and what values apart from them do."""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.question.question import Aggregate, Matching, Question
from sfumato.tasks.query.question.ways import WAYS, Bundles
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.terms.terms import Terms


def split_where(
    checked: exp.Expr | None, declared: Terms
) -> tuple[exp.Expr | None, tuple[Matching, ...]]:
    """The condition on columns published as they are, and those on values apart from rows.

    Raises:
        QueryError: where the condition joins what the release does not.
    """
    return (None, ()) if checked is None else split_condition(checked, declared)


def question_of(aggregate: Aggregate, where: exp.Expr | None, declared: Terms) -> Question:
    """The question of an aggregate over the rows on which a condition of ours holds, or over all.

    Raises:
        QueryError: where the condition joins what the release does not.
    """
    name = aggregate.sensitive
    there = None if name is None else where_there(name, declared)
    both = all_of([one for one in (where, there) if one is not None])
    condition, matching = split_where(both, declared)
    return Question((aggregate,), condition, (), matching)


def where_there(name: str, declared: Terms) -> exp.Expr | None:
    """The condition that a column is not null, which its aggregates imply.

    None where it never is, and where values, and nulls, stand in rows beside labels: there engines
    count them.
    """
    column = declared.columns[name]
    if not column.nulls or stands_beside_labels(name, declared):
        return None
    null = exp.Is(this=exp.column(name, quoted=True), expression=exp.Null())
    return exp.Not(this=null)


def stands_beside_labels(name: str, declared: Terms) -> bool:
    """Whether values, and nulls, of a column stand in rows beside labels."""
    shown = declared.columns[name].role in ("insensitive", "sensitive")
    return WAYS[declared.form.shows].groups_by_sensitive and shown


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
    found = ((columns, all_of(parts)) for columns, parts in matching.items())
    return all_of(exact), tuple(Matching(columns, of) for columns, of in found if of is not None)


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr | None:
    """The condition that all of some hold, None without any; one alone is that one, not a copy."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return exp.and_(*conditions)


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

"""What an analyst asks of the published microdata: one SELECT, held to an allow-list.

    SELECT [columns,] COUNT(*) | COUNT(s) | SUM(s) | AVG(s) | MIN(s) | MAX(s) [AS name], …
    FROM microdata [WHERE predicate] [GROUP BY columns] [HAVING comparisons of aggregates]

where s is a sensitive column. In a permuted, split or redistributed release groups are of the other
columns, which are published as they are; a predicate is about these, or about sensitive columns, or
joins such parts by AND. In a recoded release both are of any column, and s may be insensitive. In
an ambiguous release counts alone are asked for, and a predicate joins parts about one column each
by AND.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from functools import partial, reduce
from typing import Any

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.question.aggregate import ROWS, Aggregate, Function
from sfumato.tasks.query.question.having import Having, read_having
from sfumato.tasks.sql.parse import construct, parse, shown
from sfumato.tasks.sql.predicate import check_predicate, column_named

Key = tuple[Any, ...]
"""The values of the group columns of a row of an answer."""

TABLE = "microdata"
BOUNDS = ("lower", "upper")

_FUNCTIONS: Mapping[type[exp.Expr], Function] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
_CLAUSES = frozenset({"expressions", "from_", "where", "group", "having"})
_CALLED = {"joins": "a join", "with_": "WITH", "order": "ORDER BY", "locks": "FOR UPDATE"}


@dataclass(frozen=True)
class GroupColumn:
    """A column of the GROUP BY that is shown."""

    name: str
    label: str


@dataclass(frozen=True)
class Matching:
    """Which values are meant: a condition on columns that keep their association.

    These are sensitive ones, or a quasi-identifier that stands by itself.
    """

    columns: tuple[str, ...]
    condition: exp.Expr


@dataclass(frozen=True)
class Question:
    """A query that bounds answer.

    Attributes:
        shown: what is selected, in order.
        condition: which rows are meant, decided on columns published as they are.
        group_by: the columns whose values make a row of the answer each.
        matching: which values are meant, where they stand apart from their rows.
        having: which rows of the answer are wanted.
    """

    shown: tuple[GroupColumn | Aggregate, ...]
    condition: exp.Expr | None
    group_by: tuple[str, ...]
    matching: tuple[Matching, ...] = ()
    having: Having | None = None

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates alone, those that are only compared last."""
        selected = [item for item in self.shown if isinstance(item, Aggregate)]
        compared = self.having.aggregates if self.having else []
        return tuple(dict.fromkeys([*selected, *compared]))

    @property
    def helped_by(self) -> tuple[str, ...]:
        """The sensitive columns whose help tables are needed; counts need none."""
        names = (a.sensitive for a in self.aggregates if a.function != "count")
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def asking(self, aggregates: Iterable[Aggregate]) -> "Question":
        """The same rows and groups, all group columns shown first, with these aggregates."""
        keys = (GroupColumn(name, name) for name in self.group_by)
        return replace(self, shown=(*keys, *aggregates), having=None)

    @property
    def counting_rows(self) -> "Question":
        """The same, with the number of rows besides where a group may be wanted without any."""
        return replace(self, shown=(*self.shown, ROWS)) if self.having and self.group_by else self

    def surely_wants(self, bounds: Mapping[Aggregate, Bounds]) -> bool:
        """Whether a row is surely in the answer: HAVING keeps it, and a group has rows."""
        if self.having is None:
            return True
        exists = not self.group_by or bool(bounds[ROWS].lower)
        return exists and self.having.holds(bounds, "certain")


def read_question(sql: str, declared: Terms) -> Question:
    """The question that a SELECT asks.

    Raises:
        QueryError: naming what is not allowed, or the form that has no bounds.
    """
    select = parse(sql, exp.Select)
    if not isinstance(select, exp.Select):
        raise QueryError(f"not allowed: {construct(select)}")
    try:
        _require_known(select, _CLAUSES)
        _require_table(select)
        group_by = _group_by(select, declared)
        items = tuple(_shown(item, declared, group_by) for item in select.expressions)
        condition, matching = _condition(select, declared)
        having = read_having(select.args.get("having"), partial(_aggregated, declared))
        _require_comparable(having, declared)
        question = Question(items, condition, group_by, matching, having)
    except RecursionError:
        raise QueryError("nested too deep") from None
    if not question.aggregates:
        raise QueryError("no aggregate is selected: COUNT, SUM, AVG, MIN or MAX")
    _require_distinct(question, columns_of(declared))
    return question


def _require_known(node: exp.Expr, allowed: frozenset[str], within: str = "") -> None:
    for key, value in node.args.items():
        if value and key not in allowed:
            called = _CALLED.get(key, key.strip("_").upper())
            raise QueryError(f"not allowed: {within}{called}")


def _require_table(select: exp.Select) -> None:
    source = select.args.get("from_")
    table = source.this if source else None
    if not isinstance(table, exp.Table):
        named = construct(table) if table else "no table"
        raise QueryError(f"the table is {TABLE}, not {named}")
    if not isinstance(table.this, exp.Identifier) or table.name.casefold() != TABLE:
        raise QueryError(f"the table is {TABLE}, and no other")
    _require_known(table, frozenset({"this"}), f"{TABLE} with ")


def _usable_column(node: exp.Expr, declared: Terms, clause: str) -> str:
    """The name of a column whose values tell rows apart."""
    if not isinstance(node, exp.Column):
        raise QueryError(f"{clause} takes columns, not {construct(node)}")
    name = column_named(node, declared.columns)
    if declared.columns[name].role == "sensitive" and not declared.recoded:
        raise QueryError(
            f"column {shown(name)} is sensitive: {clause} cannot use it, aggregates can"
        )
    return name


def _group_by(select: exp.Select, declared: Terms) -> tuple[str, ...]:
    group = select.args.get("group")
    if group is None:
        return ()
    _require_known(group, frozenset({"expressions"}), "GROUP BY ")
    names = [_usable_column(node, declared, "GROUP BY") for node in group.expressions]
    return tuple(dict.fromkeys(names))


def _condition(select: exp.Select, declared: Terms) -> tuple[exp.Expr | None, tuple[Matching, ...]]:
    """What is asked of columns published as they are, and of sensitive values apart from rows."""
    where = select.args.get("where")
    if where is None:
        return None, ()
    types = {name: column.type for name, column in declared.columns.items()}
    return _split(check_predicate(where.this, types), declared)


def question_of(aggregate: Aggregate, where: exp.Expr, declared: Terms) -> Question:
    """What is asked of the rows on which a condition of ours holds.

    Raises:
        QueryError: where the condition joins what the release does not.
    """
    condition, matching = _split(where, declared)
    return Question((aggregate,), condition, (), matching)


def _split(checked: exp.Expr, declared: Terms) -> tuple[exp.Expr | None, tuple[Matching, ...]]:
    """The part of a condition that rows decide, and the parts that values apart from them do."""
    if declared.recoded:
        return checked, ()
    exact: list[exp.Expr] = []
    matching: dict[tuple[str, ...], list[exp.Expr]] = {}
    for part in _conjuncts(checked):
        bundle = _bundle(part, declared)
        (exact if bundle is None else matching.setdefault(bundle, [])).append(part)
    if not matching:
        return checked, ()
    found = (Matching(columns, _joined(parts)) for columns, parts in matching.items())
    return (_joined(exact) if exact else None), tuple(found)


def _joined(parts: Sequence[exp.Expr]) -> exp.Expr:
    return reduce(lambda left, right: exp.And(this=left, expression=right), parts)


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
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
            "a condition on a sensitive column and on others can only be joined by AND: "
            f"{', '.join(map(shown, sorted(names)))}"
        )
    if len({found[name] for name in hidden}) > 1:
        raise QueryError(
            "a condition on several columns whose association is not published can only be joined "
            f"by AND: {', '.join(map(shown, sorted(hidden)))}"
        )
    return found[hidden.pop()]


def _of_no_column(declared: Terms) -> tuple[str, ...] | None:
    """Where rows stand nowhere, what is true or false of all is asked of some values of them."""
    found = bundles(declared)
    return found[declared.named("sensitive")[0]] if declared.form.shows == "columns" else None


def bundles(declared: Terms) -> dict[str, tuple[str, ...]]:
    """For each column apart from rows those that keep their association with it, itself included.

    These are the sensitive ones, and the quasi-identifiers where each stands by itself.
    """
    names = tuple(declared.named("sensitive"))
    found = {name: names if declared.form.together else (name,) for name in names}
    alone = declared.named("quasi-identifier") if declared.form.shows == "columns" else []
    return {name: (name,) for name in alone} | found


_COMPARED: Mapping[str, type] = {"date": date, "timestamp": datetime, "string": str}


def _require_comparable(having: Having | None, declared: Terms) -> None:
    """Every comparison is of an aggregate with a constant of its own kind."""
    for comparison in [] if having is None else having.comparisons:
        of = comparison.aggregate
        kind = "integer"
        if of.function in ("min", "max"):
            kind = declared.columns[str(of.sensitive)].type
        if type(comparison.value) is not _COMPARED.get(kind, Fraction):
            raise QueryError(
                f"HAVING: {of.function.upper()} of type {kind} is not comparable with this constant"
            )


def _shown(node: exp.Expr, declared: Terms, group_by: tuple[str, ...]) -> GroupColumn | Aggregate:
    alias = node.alias if isinstance(node, exp.Alias) else None
    inner = node.this if isinstance(node, exp.Alias) else node
    if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and inner.is_star):
        raise QueryError("not allowed: SELECT *")
    if isinstance(inner, exp.Column):
        name = _usable_column(inner, declared, "SELECT")
        if name not in group_by:
            raise QueryError(f"column {shown(name)} is selected but not grouped by")
        return GroupColumn(name, alias or name)
    return _aggregated(declared, inner, alias)


def _aggregated(declared: Terms, node: exp.Expr, alias: str | None = None) -> Aggregate:
    function = _FUNCTIONS.get(type(node))
    if function is None:
        raise QueryError(f"not allowed: {construct(node)}")
    _require_known(node, frozenset({"this", "big_int"}), f"{function.upper()} with ")
    if isinstance(node.this, exp.Distinct):
        raise QueryError(
            f"not allowed: {function.upper()}(DISTINCT …): how many different values the selected "
            f"rows have is not bounded"
        )
    return _aggregate(function, node.this, alias, declared)


def _aggregate(
    function: Function, of: exp.Expr | None, alias: str | None, declared: Terms
) -> Aggregate:
    called = function.upper()
    if function == "count" and isinstance(of, exp.Star):
        _require_known(of, frozenset(), "* ")
        return Aggregate("count", None, alias or "count(*)")
    if not isinstance(of, exp.Column):
        raise QueryError(f"{called} takes a column, not {construct(of) if of else 'nothing'}")
    name = column_named(of, declared.columns)
    label = alias or f"{function}({name})"
    column = declared.columns[name]
    if declared.form.shows == "columns":
        _require_count(function, name, declared)
        return Aggregate("count", None, label)
    beside = declared.recoded and column.role == "insensitive"
    if column.role != "sensitive" and not beside:
        _require_countable(function, name, declared)
        return Aggregate("count", None, label)
    if function in ("sum", "avg") and column.type not in ("integer", "decimal", "float"):
        raise QueryError(f"{called} takes numbers, and {shown(name)} is of type {column.type}")
    return Aggregate(function, name, label)


def _require_count(function: Function, name: str, declared: Terms) -> None:
    """Of values that stand by themselves, the count of rows is bounded and nothing else."""
    if function != "count":
        raise QueryError(
            f"a release in form {declared.form.method} answers COUNT, not {function.upper()}: who "
            f"has which value is not published"
        )
    _require_never_null(name, declared)


def _require_countable(function: Function, name: str, declared: Terms) -> None:
    """Of a quasi-identifier, only the count of rows is a matter of bounds."""
    if function != "count" and declared.recoded:
        raise QueryError(
            f"column {shown(name)} is recoded: {function.upper()} is of columns that are not"
        )
    if function != "count":
        raise QueryError(
            f"column {shown(name)} is published as it is: {function.upper()} of it is exact "
            f"in plain SQL on the published table"
        )
    _require_never_null(name, declared)


def _require_never_null(name: str, declared: Terms) -> None:
    if declared.columns[name].nulls:
        raise QueryError(
            f"column {shown(name)} can be null: count with COUNT(*) and WHERE … IS NOT NULL"
        )


def _require_distinct(question: Question, columns: Sequence[str]) -> None:
    """Names of what is shown, in the answer and in the rewritten query."""
    labels = [item.label for item in question.shown]
    written: list[str] = []
    for item in question.shown:
        is_key = isinstance(item, GroupColumn)
        written += [item.label] if is_key else [f"{item.label}_{side}" for side in columns]
    for names in (labels, written):
        counted = Counter(name.casefold() for name in names)
        for name in names:
            if counted[name.casefold()] > 1:
                raise QueryError(f"two columns of the answer are called {shown(name)}: use AS")


def columns_of(declared: Terms) -> tuple[str, ...]:
    """What a rewritten query returns of each aggregate, as the ends of its columns' names."""
    return ("lower", "upper", "estimate") if declared.form.shows == "columns" else BOUNDS


def sides(label: str) -> tuple[str, str]:
    """What the bounds of an aggregate are called in a rewritten query."""
    return f"{label}_{BOUNDS[0]}", f"{label}_{BOUNDS[1]}"


def named(question: Question, key: Key, values: Mapping[Aggregate, Any]) -> dict[str, Any]:
    """A row of the answer: the group columns that are shown, and a value for each aggregate."""
    of_group = dict(zip(question.group_by, key, strict=True))
    return {
        item.label: of_group[item.name] if isinstance(item, GroupColumn) else values[item]
        for item in question.shown
    }

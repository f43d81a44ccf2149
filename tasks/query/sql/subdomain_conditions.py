"""Bounds under a condition on sensitive values that are published as subdomains, in plain SQL.

A group shows each subdomain (table `st`: `lower`, `upper`) in some copies (`count`), and each row
of the group has one of the copies. A cell is a row of the answer: one vector of the group columns.

A subdomain is narrowed to the values that match the condition: from the least to the greatest of
them. A row with a copy of it counts surely if all values of the subdomain match (`sure` copies),
and possibly if some do. In a cell, `hits` rows of a group meet the other conditions. At most `hi`
of them count: as many as there are copies with a matching value. At least `lo` count: the group has
too few copies that are not sure for all of its `hits` rows.

The least sum adds negative values of the `hits` least copies, and other values of the `lo` least
sure copies, but at least one value. The other bounds follow in the same way, the upper ones from
the greatest values. `tasks.query.bounds.subdomains` computes the same in Python.

The queries use only window functions, for any database. A mean needs more, and is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.bounds.subdomains import require_bounds
from sfumato.tasks.query.question.question import Aggregate, Question
from sfumato.tasks.query.question.ways import GROUP_ID, Relations
from sfumato.tasks.query.sql.trees import (
    BOUNDS_OF,
    CELLED,
    VALUED,
    Part,
    alias,
    cell_parts,
    join,
    key_names,
    keys_of,
    own,
    published_column,
    same,
    select,
    tree,
    trees,
    with_parts,
)

# by the end of values: the letter of the bounds, and their place in `AggregateKind.over_ranges`
_SIDES = {"low": ("l", 0), "high": ("u", 1)}
_SUMMED = ("COALESCE(SUM(lo), 0) AS count_l", "COALESCE(SUM(hi), 0) AS count_u")
# each subdomain from a to b, narrowed to its matching values; `inside` is 1 if all values match
_NODES = (
    'SELECT shown.a, shown.b, MIN(wanted.v) AS "lower", MAX(wanted.v) AS "upper", '
    "CASE WHEN COUNT(wanted.v) = COUNT(*) THEN 1 ELSE 0 END AS inside FROM shown "
    "JOIN valued_nodes AS leaves ON leaves.v >= shown.a AND leaves.v <= shown.b "
    "LEFT JOIN wanted ON wanted.v = leaves.v GROUP BY shown.a, shown.b HAVING COUNT(wanted.v) > 0"
)
# held: the narrowed subdomains of each group; sizes: all copies of a group; able: its copies that
# can count, and those that must; ranged: the groups in cells, with `lo` and `hi`
_PARTS = {
    "held": 'SELECT st.group_id, n."lower", n."upper", n.inside, st."count" AS times FROM st '
    'JOIN bounds_nodes AS n ON n.a = st."lower" AND n.b = st."upper"',
    "sizes": 'SELECT group_id, SUM("count") AS size FROM st GROUP BY group_id',
    "able": "SELECT group_id, SUM(times) AS can, SUM(times * inside) AS must FROM held "
    "GROUP BY group_id",
    "ranged": "SELECT celled.*, "
    "CASE WHEN hits + COALESCE(must, 0) > size THEN hits + COALESCE(must, 0) - size ELSE 0 END "
    "AS lo, CASE WHEN hits < COALESCE(can, 0) THEN hits ELSE COALESCE(can, 0) END AS hi "
    "FROM celled JOIN sizes ON sizes.group_id = celled.group_id "
    "LEFT JOIN able ON able.group_id = celled.group_id",
}
_VALUED = {
    "low": "SELECT group_id, v, times, sure, SUM(times) OVER (PARTITION BY group_id ORDER BY v "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - times AS before_it, "
    "SUM(sure) OVER (PARTITION BY group_id ORDER BY v "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - sure AS ahead FROM "
    '(SELECT group_id, "lower" AS v, SUM(times) AS times, SUM(times * inside) AS sure '
    'FROM held GROUP BY group_id, "lower") AS grouped',
    "high": "SELECT group_id, v, times, sure, SUM(times) OVER (PARTITION BY group_id "
    "ORDER BY v DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - times AS before_it, "
    "SUM(sure) OVER (PARTITION BY group_id ORDER BY v DESC "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - sure AS ahead FROM "
    '(SELECT group_id, "upper" AS v, SUM(times) AS times, SUM(times * inside) AS sure '
    'FROM held GROUP BY group_id, "upper") AS grouped',
}
"""By the end of values: the best values v of each group's subdomains (the least for `low`, the
greatest for `high`), the `times` copies and `sure` copies of each, and how many copies of the group
(`before_it`) and sure copies (`ahead`) have a better one."""


@dataclass(frozen=True)
class RangeConditions:
    """A question with a condition on sensitive values, as common table expressions.

    Attributes:
        question: the question; exactly one condition is on sensitive values.
        relations: the tables of the release.
    """

    question: Question
    relations: Relations

    def bounds(self) -> exp.Select:
        """Return the query for the bounds, with a row for each cell that may have a matching row.

        Without group columns there is always one row.

        The columns are the group columns k0, k1, …, the lower and the upper bound of each aggregate
        l0, u0, l1, u1, …, and `least`, the least number of matching rows.

        Raises:
            QueryError: if an aggregate is not written in SQL, or the order of the values is that of
                a hierarchy.
        """
        kinds = self._kinds()
        self._require_order()
        keys = zip(keys_of(self.question, "counted"), key_names(self.question), strict=True)
        columns: list[exp.Expr] = [alias(column, key) for column, key in keys]
        for number, aggregate in enumerate(self.question.aggregates):
            sides = zip(_sides(aggregate), ("l", "u"), strict=True)
            columns += [alias(end, f"{side}{number}") for end, side in sides]
        some = tree("counted.count_u > 0") if self.question.group_by else None
        query = select([*columns, tree("counted.count_l AS least")], "counted", where=[some])
        parts = self._count_parts()
        for end in _SIDES if kinds else ():
            table = f"{BOUNDS_OF}{end}"
            join(query, table, same("cell", table, "counted"), "LEFT")
            parts += [(f"{VALUED}{end}", tree(_VALUED[end])), (table, _bounds(end, kinds))]
        return with_parts(parts, query)

    def _kinds(self) -> list[AggregateKind]:
        """Return the kinds of aggregates other than counts, in the order of their names.

        Raises:
            QueryError: if one is not written in SQL.
        """
        kinds = {a.kind for a in self.question.aggregates if not a.kind.counts_rows}
        for aggregate in self.question.aggregates:
            if aggregate.kind in kinds and aggregate.kind.over_ranges is None:
                require_bounds(aggregate.kind)
                raise QueryError(
                    f"{aggregate.kind.sql_name} with a condition on a sensitive column "
                    "cannot be written in SQL. Ask with `sfumato query`"
                )
        return sorted(kinds, key=lambda kind: kind.name)

    def _require_order(self) -> None:
        """Refuse texts and truth values in the order of a hierarchy, which SQL does not know."""
        (name,) = self.relations.declared.names_with_roles("sensitive")
        column = self.relations.declared.columns[name]
        if column.hierarchy is not None and column.type in ("string", "boolean"):
            raise QueryError(
                "a condition on a sensitive column in the order of its hierarchy "
                "cannot be written in SQL. Ask with `sfumato query`"
            )

    def _count_parts(self) -> list[Part]:
        """Return the parts up to `counted`: the least and the greatest number of rows by cell."""
        keys = keys_of(self.question)
        first = own("cell") if keys else tree("1 AS cell")
        group_keys = [own("cell"), *keys_of(self.question)] if keys else []
        counted = select([first, *keys, *trees(*_SUMMED)], "ranged", group_by=group_keys)
        return [
            *cell_parts(self.question, self.relations.rows),
            *self._narrow_subdomains(),
            *((name, tree(text)) for name, text in _PARTS.items()),
            ("counted", counted),
        ]

    def _narrow_subdomains(self) -> list[Part]:
        """Return the parts with the subdomains that have matching values, narrowed to these."""
        (matching,) = self.question.matching
        lower = exp.column("lower", quoted=True)
        condition = matching.condition.transform(
            lambda node: lower.copy() if isinstance(node, exp.Column) else node
        )
        leaves = 'SELECT DISTINCT "lower" AS v FROM targets WHERE "lower" = "upper"'
        return [
            ("valued_nodes", tree(leaves)),
            ("wanted", tree(leaves).where(exp.paren(condition, copy=False), copy=False)),
            ("shown", tree('SELECT DISTINCT "lower" AS a, "upper" AS b FROM st')),
            ("bounds_nodes", tree(_NODES)),
        ]


def _bounds(end: str, kinds: Sequence[AggregateKind]) -> exp.Select:
    """Return the lower (`low`) or upper (`high`) bounds of aggregates other than counts by cell."""
    side, place = _SIDES[end]
    columns: list[exp.Expr] = [own("cell", "r")]
    bounds = ((kind.name, kind.over_ranges) for kind in kinds)
    columns += [alias(ends[place].copy(), f"{name}_{side}") for name, ends in bounds if ends]
    query = select(columns, exp.table_("ranged", alias="r"), group_by=[own("cell", "r")])
    join(query, exp.table_(f"{VALUED}{end}", alias="w"), same(GROUP_ID, "w", "r"))
    return query


def _sides(aggregate: Aggregate) -> tuple[exp.Expr, exp.Expr]:
    """Return the columns with the lower and the upper bound of an aggregate."""
    if aggregate.kind.counts_rows:
        return own("count_l", "counted"), own("count_u", "counted")
    name = aggregate.kind.name
    return own(f"{name}_l", f"{BOUNDS_OF}low"), own(f"{name}_u", f"{BOUNDS_OF}high")


@dataclass(frozen=True)
class SubdomainQueries:
    """The queries that read what bounds in Python need for one question, from table `rows`."""

    question: Question
    rows: str

    def keys(self) -> exp.Select:
        """Return the query of the cells: their numbers 1, 2, …, and values of group columns."""
        columns = [own("cell"), *keys_of(self.question)]
        return self._query(select(columns, CELLED).distinct(copy=False))

    def hits(self) -> exp.Select:
        """Return the query that counts the rows which each cell selects of each group."""
        return self._query(select(trees("cell", "group_id", "hits"), CELLED))

    def subdomains(self) -> exp.Select:
        """Return the query of the selected groups' subdomains, counts, and targets."""
        query: exp.Select = tree(
            'SELECT group_id, "count", target, "lower", "upper" FROM st JOIN aims USING (group_id) '
            "WHERE group_id IN (SELECT group_id FROM selected)"
        )
        return self._query(query)

    def matching_values(self, name: str) -> exp.Select:
        """Return the query of the values of the domain that meet the sensitive condition."""
        (matching,) = self.question.matching
        lower = alias(exp.column("lower", quoted=True), name, quoted=True)
        values = select([lower], "targets", where=[tree('"lower" = "upper"')])
        query = select([published_column(name)], "domain", where=[matching.condition])
        return with_parts([("domain", values.distinct(copy=False))], query)

    def _query(self, query: exp.Select) -> exp.Select:
        return with_parts(cell_parts(self.question, self.rows), query)

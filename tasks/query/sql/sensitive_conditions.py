"""Bounds under conditions on sensitive values: the number of a group's values that may count.

Of the `hits` rows of a group that meet the other conditions, at least a = hits + m - size and at
most b = hits (or m, if that is less) have one of its m matching values. The lower bound of a sum
can count on no better values than the a least of them, and so on. One relation contains for every
value how many of its copies surely and possibly count, from below and from above, and every bound
follows from it. Groups add up, since each is shuffled independently.

Queries are made of named parts. `celled` has the `hits` of each group in each cell (a row of the
answer), `sizes` has the number of values of each group, and `matching_n` the number `m` of values
on which condition n holds. `ranged` has the least, greatest and expected number of hits that
satisfy the conditions, `lo`, `hi` and `expected`, and `counted` their sums by cell. For aggregated
column n, `ranged_n` leaves out the condition on this column, `valued_n` has its matching values
`v`, `items_n` both together, `of_value_n` the copies by cell and value, `runs_n` sums for means,
and `bounds_n` the bounds by cell.

If people have left, a group has more values than rows: `size` counts values. If several sensitive
columns are shuffled independently, conditions on the others reduce the number of rows first. The
queries use plain SQL with window functions, for any database.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007),
whose help tables cover only conditions on quasi-identifiers; the extension is our own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms.lineage import LINEAGE, ROWS, VACANT_ROWS
from sfumato.tasks.forms.vacancies import VACANT
from sfumato.tasks.query.question.conditions import bundles
from sfumato.tasks.query.question.question import Aggregate, Question
from sfumato.tasks.query.question.ways import GROUP_ID, GROUP_VALUES, Relations
from sfumato.tasks.query.sql.trees import (
    BOUNDS_OF,
    VALUED,
    Part,
    alias,
    cell_parts,
    join,
    key_names,
    keys_of,
    own,
    published_column,
    quotient_bound,
    same,
    select,
    tree,
    trees,
    with_parts,
)

ENDS = (
    "CASE WHEN r.lo + w.m > r.size THEN r.lo + w.m - r.size ELSE 0 END AS a",
    "CASE WHEN r.hi < w.m THEN r.hi ELSE w.m END AS b",
)
"""The least (a) and the greatest number (b) of a group's values that count."""
# of items: the copies of a value among the first a, and among the first b, of the group's matching
# values, from below (`low`) and from above (`high`); `below` and `above` count those before it
_COUNTS = (
    "cell",
    "v",
    "SUM(CASE WHEN (a - below) <= 0 THEN 0 WHEN (a - below) < times THEN (a - below) "
    "ELSE times END) AS low_sure",
    "SUM(CASE WHEN (b - below) <= 0 THEN 0 WHEN (b - below) < times THEN (b - below) "
    "ELSE times END - CASE WHEN (a - below) <= 0 THEN 0 WHEN (a - below) < times "
    "THEN (a - below) ELSE times END) AS low_maybe",
    "SUM(CASE WHEN (a - above) <= 0 THEN 0 WHEN (a - above) < times THEN (a - above) "
    "ELSE times END) AS high_sure",
    "SUM(CASE WHEN (b - above) <= 0 THEN 0 WHEN (b - above) < times THEN (b - above) "
    "ELSE times END - CASE WHEN (a - above) <= 0 THEN 0 WHEN (a - above) < times "
    "THEN (a - above) ELSE times END) AS high_maybe",
    "SUM(expected) AS expected",
)
_CELL = "OVER (PARTITION BY cell)"
_SO_FAR = "OVER (PARTITION BY cell ORDER BY v{order} "
_SO_FAR += "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
# for means: the sum and number of the sure copies, and those with the possible copies of all values
# up to this one added, from below and from above
_RUNS = tuple(
    part.format(side=side, cell=_CELL, so_far=_SO_FAR.format(order=order))
    for side, order in (("low", ""), ("high", " DESC"))
    for part in (
        "SUM(v * {side}_sure) {cell} AS {side}_base_sum",
        "NULLIF(SUM({side}_sure) {cell}, 0) AS {side}_base_rows",
        "SUM(v * {side}_sure) {cell} + SUM(v * {side}_maybe) {so_far} AS {side}_mean_sum",
        "NULLIF(SUM({side}_sure) {cell} + SUM({side}_maybe) {so_far}, 0) AS {side}_mean_rows",
    )
)
_SUMMED = (
    "COALESCE(SUM(lo), 0) AS count_l",
    "COALESCE(SUM(hi), 0) AS count_u",
    "COALESCE(SUM(expected), 0) AS expected",
)


def count_of(relations: Relations) -> exp.Expr:
    """Return the expression for the number of values in some rows of a table of values.

    Each row is one value, or says in `count` how often its value occurs.
    """
    count: exp.Expr = tree('SUM("count")' if relations.has_counts else "COUNT(*)")
    return count


def group_parts(relations: Relations) -> list[Part]:
    """Return the parts with each group's number of values, and its values if no table has them.

    If people have left, a group has more values than rows; `live` counts the rows, `vacancies` the
    other values.
    """
    if not relations.declared.is_composed:
        counted = [own(GROUP_ID), tree("COUNT(*) AS size")]
        return [("sizes", select(counted, relations.rows, group_by=[own(GROUP_ID)]))]
    pooled = [(GROUP_VALUES, _pool_values(relations))] if relations.has_pooled_values else []
    return [*pooled, ("sizes", sizes_with_vacant())]


def sizes_with_vacant() -> exp.Select:
    """Return the query of each group's people, vacant values, and all values as its size."""
    people, vacant = published_column(ROWS), published_column(VACANT_ROWS)
    size = exp.Add(this=people.copy(), expression=vacant.copy())
    columns = {"size": size, "live": people, "vacancies": vacant}
    return select(
        [own(GROUP_ID), *(alias(value, name) for name, value in columns.items())], LINEAGE
    )


def group_sums(name: str, columns: tuple[str, ...], relations: Relations) -> exp.Select:
    """Return the query of each group's size, and of the sum of its values of a column (float).

    Args:
        name: the column.
        columns: the sensitive columns that are published together with it.
        relations: the tables of the release.
    """
    value = exp.cast(published_column(name), "double")
    times = [published_column("count")] if relations.has_counts else []
    total = exp.Sum(this=exp.Mul(this=value, expression=times[0]) if times else value)
    size = alias(count_of(relations), "size")
    selected = [own(GROUP_ID), size, alias(total, "total")]
    return select(selected, relations.tables[columns], group_by=[own(GROUP_ID)])


def _pool_values(relations: Relations) -> exp.Query:
    """Return the query of all values of groups, those of people and vacant ones."""
    names = relations.declared.names_with_roles("sensitive")
    beside_people, beside_nobody = (
        select([own(GROUP_ID), *map(published_column, names)], table)
        for table in (relations.rows, VACANT)
    )
    return exp.union(beside_people, beside_nobody, distinct=False, copy=False)


def matching_row_counts(matched: Sequence[str]) -> exp.Select:
    """Return the query of the least, greatest and expected number of each group's matching rows.

    Args:
        matched: the names of the parts that count the matching values of groups, one for each
            condition.
    """
    low: exp.Expr = own("hits")
    high: exp.Expr = own("hits")
    expected: exp.Expr = tree("CAST(hits AS DOUBLE)")
    for name in matched:
        m = exp.Coalesce(this=own("m", name), expressions=[exp.Literal.number(0)])
        low = _put("x + y - size", {"x": low, "y": m})
        high = _put("CASE WHEN x < y THEN x ELSE y END", {"x": high, "y": m})
        expected = _put("x * y / size", {"x": expected, "y": m})
    least = _put("CASE WHEN x > 0 THEN x ELSE 0 END", {"x": low})
    columns = [alias(least, "lo"), alias(high, "hi"), alias(expected, "expected")]
    query = select([*trees("celled.*", "size"), *columns], "celled")
    join(query, "sizes", same(GROUP_ID, "sizes", "celled"))
    for name in matched:
        join(query, name, same(GROUP_ID, name, "celled"), "LEFT")
    return query


def _put(text: str, values: dict[str, exp.Expr]) -> exp.Expr:
    """Return the tree of an expression, with names replaced by values."""

    def put(node: exp.Expr) -> exp.Expr:
        is_name = isinstance(node, exp.Column) and not node.table and node.name in values
        return values[node.name].copy() if is_name else node

    whole: exp.Expr = tree(text).transform(put, copy=False)
    return whole


def matching_values(
    name: str, columns: tuple[str, ...], conditions: Sequence[exp.Expr], relations: Relations
) -> exp.Select:
    """Return the query of each group's matching values.

    Its columns are `v`, the number of copies (`times`), the number of all matching values (`m`),
    and of those before this one (`below`).

    Args:
        name: the column.
        columns: the sensitive columns that are published together with it.
        conditions: the conditions on these columns.
        relations: the tables of the release.
    """
    table = relations.tables[columns]
    times = alias(count_of(relations), "times")
    grouped = select(
        [own(GROUP_ID), alias(published_column(name), "v"), times],
        table,
        where=conditions,
        group_by=[own(GROUP_ID), published_column(name)],
    )
    with_sums = trees(
        "group_id",
        "v",
        "times",
        "SUM(times) OVER (PARTITION BY group_id) AS m",
        "SUM(times) OVER (PARTITION BY group_id ORDER BY v "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - times AS below",
    )
    return select(with_sums, grouped.subquery("grouped", copy=False))


def items(number: int) -> exp.Select:
    """Return the query of the matching values of each group with each cell in which it has rows."""
    columns = trees(
        "r.cell",
        "w.v",
        "w.times",
        "w.below",
        "w.m - w.below - w.times AS above",
        *ENDS,
        "r.expected * w.times / r.size AS expected",
    )
    query = select(columns, exp.table_(f"ranged_{number}", alias="r"))
    join(query, exp.table_(f"{VALUED}{number}", alias="w"), same(GROUP_ID, "w", "r"))
    return query


def of_value(number: int) -> exp.Select:
    """Return the query that counts the copies of each value in each cell."""
    return select(trees(*_COUNTS), f"items_{number}", group_by=trees("cell", "v"))


def runs(number: int) -> exp.Select:
    """Return the query of means over the sure values and more and more of the best other values."""
    summed = select(trees("f.*", *_RUNS), exp.table_(f"of_value_{number}", alias="f"))
    means = [
        alias(
            quotient_bound(own(f"{mean}_sum"), own(f"{mean}_rows"), upper=mean.startswith("high")),
            mean,
        )
        for mean in ("low_base", "low_mean", "high_base", "high_mean")
    ]
    return select([exp.Star(), *means], summed.subquery("summed", copy=False))


@dataclass(frozen=True)
class SensitiveConditions:
    """A question with conditions on sensitive values, as common table expressions.

    Attributes:
        question: the question.
        relations: the tables of the release.
    """

    question: Question
    relations: Relations

    @cached_property
    def aggregated_columns(self) -> list[str]:
        """The sensitive columns with an aggregate other than a count, in order."""
        names = (a.sensitive for a in self.question.aggregates if not a.kind.counts_rows)
        return list(dict.fromkeys(name for name in names if name is not None))

    def bounds(self) -> exp.Select:
        """Return the query for the bounds: group columns, then pairs of bounds, as asked for.

        Aggregates that are only compared follow, and last the least number of matching rows as
        `least`.

        Raises:
            QueryError: if an aggregate is not written in SQL.
        """
        columns: list[exp.Expr] = list(self._named_keys())
        for number, aggregate in enumerate(self.question.aggregates):
            sides = zip(self._sides(aggregate), ("l", "u"), strict=True)
            columns += [alias(end, f"{side}{number}") for end, side in sides]
        some = tree("counted.count_u > 0") if self.question.group_by else None
        query = select([*columns, tree("counted.count_l AS least")], "counted", where=[some])
        parts = [*self._count_parts(), *self._of_values(), *self._bounds_of_columns()]
        for number in range(len(self.aggregated_columns)):
            table = f"{BOUNDS_OF}{number}"
            join(query, table, same("cell", table, "counted"), "LEFT")
        return with_parts(parts, query)

    def counts(self) -> exp.Select:
        """Return the query of cells' rows: group columns, least, greatest and expected number."""
        columns = [*self._keys, *trees("count_l", "count_u", "expected")]
        return with_parts(self._count_parts(), select(columns, "counted"))

    def of_values(self, name: str) -> exp.Select:
        """Return the query of group columns, values, and the numbers of their copies that count.

        These are the sure and the possible number for the lower bound, the same for the upper
        bound, and the expected number.
        """
        number = self.aggregated_columns.index(name)
        counts = trees("v", "low_sure", "low_maybe", "high_sure", "high_maybe", "of.expected")
        query = select([*self._keys, *counts], exp.table_(f"of_value_{number}", alias="of"))
        join(query, "counted", tree("counted.cell = of.cell"))
        return with_parts([*self._count_parts(), *self._of_values()], query)

    def choices(self, name: str) -> exp.Select:
        """Return the query of group columns, groups, values, and their copies in the group.

        The last columns are the least and the greatest number of the group's values that count.
        """
        number, columns = (
            self.aggregated_columns.index(name),
            bundles(self.relations.declared)[name],
        )
        counts = trees("r.group_id", "w.v", "w.times", *ENDS)
        source = exp.table_(f"ranged_{number}", alias="r")
        query = select([*keys_of(self.question, "r"), *counts], source)
        join(query, exp.table_(f"{VALUED}{number}", alias="w"), same(GROUP_ID, "w", "r"))
        parts = [*self._count_parts(), *self._values_of(number, name, columns)]
        return with_parts(parts, query)

    def ranges(self) -> exp.Select:
        """Return the query of group columns, groups, and their counted rows: `lo` to `hi`."""
        parts = [
            *cell_parts(self.question, self.relations.rows),
            *group_parts(self.relations),
            *self._matching(),
            ("ranged", matching_row_counts(self._matching_names())),
        ]
        columns = [*keys_of(self.question), *trees("group_id", "lo", "hi")]
        return with_parts(parts, select(columns, "ranged"))

    @property
    def _keys(self) -> list[exp.Column]:
        return keys_of(self.question, "counted")

    def _named_keys(self) -> list[exp.Alias]:
        return [
            alias(column, key)
            for column, key in zip(self._keys, key_names(self.question), strict=True)
        ]

    def _count_parts(self) -> list[Part]:
        """Return the parts with the least, greatest and expected number of each cell's rows."""
        question, rows = self.question, self.relations.rows
        keys = keys_of(question)
        cell = own("cell") if keys else tree("1 AS cell")
        group_keys = [own("cell"), *keys_of(question)] if keys else []
        counted = select([cell, *keys, *trees(*_SUMMED)], "ranged", group_by=group_keys)
        whole = matching_row_counts(self._matching_names())
        return [
            *cell_parts(question, rows),
            *group_parts(self.relations),
            *self._matching(),
            ("ranged", whole),
            ("counted", counted),
        ]

    def _matching_names(self, without: tuple[str, ...] | None = None) -> list[str]:
        """Return the names of the parts of matching values, except on the columns `without`."""
        numbered = enumerate(self.question.matching)
        return [f"matching_{n}" for n, matching in numbered if matching.columns != without]

    def _matching(self) -> list[Part]:
        """Return the parts that count each group's matching values, one for each condition."""
        parts: list[Part] = []
        for number, matching in enumerate(self.question.matching):
            table = self.relations.tables[matching.columns]
            columns = [own(GROUP_ID), alias(count_of(self.relations), "m")]
            counted = select(columns, table, where=[matching.condition], group_by=[own(GROUP_ID)])
            parts.append((f"matching_{number}", counted))
        return parts

    def _of_values(self) -> list[Part]:
        """Return the parts with the counted copies of each aggregated value in each cell."""
        parts = []
        for number, name in enumerate(self.aggregated_columns):
            parts += [
                *self._values_of(number, name, bundles(self.relations.declared)[name]),
                (f"items_{number}", items(number)),
                (f"of_value_{number}", of_value(number)),
            ]
        return parts

    def _values_of(self, number: int, name: str, columns: tuple[str, ...]) -> list[Part]:
        """Return the parts of rows that meet other conditions, and of the matching values."""
        conditions = [m.condition for m in self.question.matching if m.columns == columns]
        return [
            (f"ranged_{number}", matching_row_counts(self._matching_names(without=columns))),
            (f"{VALUED}{number}", matching_values(name, columns, conditions, self.relations)),
        ]

    def _bounds_of_columns(self) -> list[Part]:
        """Return the parts with the bounds of each aggregated column by cell."""
        parts: list[Part] = []
        for number, name in enumerate(self.aggregated_columns):
            kinds = {a.kind for a in self.question.aggregates if a.sensitive == name}
            source = f"of_value_{number}"
            if any(kind.runs for kind in kinds):
                source = f"runs_{number}"
                parts.append((source, runs(number)))
            columns: list[exp.Expr] = [own("cell")]
            for kind in sorted(kinds, key=lambda kind: kind.name):
                for bound, end in zip(kind.over_counts or (), ("l", "u"), strict=False):
                    columns.append(alias(bound.copy(), f"{kind.name}_{end}"))
            parts.append((f"{BOUNDS_OF}{number}", select(columns, source, group_by=[own("cell")])))
        return parts

    def _sides(self, aggregate: Aggregate) -> tuple[exp.Expr, exp.Expr]:
        """Return the columns with the bounds of an aggregate.

        Raises:
            QueryError: if the aggregate is not written in SQL.
        """
        if aggregate.kind.counts_rows:
            return own("count_l", "counted"), own("count_u", "counted")
        if aggregate.kind.over_counts is None:
            raise QueryError(
                f"{aggregate.kind.sql_name} cannot be written in SQL. Ask with `sfumato query`"
            )
        table = f"{BOUNDS_OF}{self.aggregated_columns.index(str(aggregate.sensitive))}"
        name = aggregate.kind.name
        return own(f"{name}_l", table), own(f"{name}_u", table)

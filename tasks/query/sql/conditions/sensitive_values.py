"""Matching values of groups, and how many of their copies count in each cell, as queries."""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.tasks.forms.composed.lineage import LINEAGE, ROWS, VACANT_ROWS
from sfumato.tasks.forms.composed.vacancies import VACANT
from sfumato.tasks.query.question.relations import GROUP_ID, GROUP_VALUES, Relations
from sfumato.tasks.query.sql.conditions.quotients import quotient_bound
from sfumato.tasks.query.sql.conditions.trees import (
    VALUED,
    Part,
    alias,
    join,
    own,
    published_column,
    same,
    select,
    tree,
    trees,
)

ENDS = (
    "CASE WHEN r.lo + w.m > r.size THEN r.lo + w.m - r.size ELSE 0 END AS a",
    "CASE WHEN r.hi < w.m THEN r.hi ELSE w.m END AS b",
)
"""The least and the greatest number of a group's values that count."""


def count_of(relations: Relations) -> exp.Expr:
    """The number of values in some rows, each of which is one or has a count."""
    count: exp.Expr = tree('SUM("count")' if relations.counted else "COUNT(*)")
    return count


def group_parts(relations: Relations) -> list[Part]:
    """The parts that say how many values each group has, and which, where no table has them all.

    Where people have left, a group has more values than rows.
    """
    if not relations.declared.composed:
        counted = [own(GROUP_ID), tree("COUNT(*) AS size")]
        return [("sizes", select(counted, relations.rows, by=[own(GROUP_ID)]))]
    pooled = [(GROUP_VALUES, _pooled(relations))] if relations.pooled else []
    return [*pooled, ("sizes", sizes_with_vacant())]


def sizes_with_vacant() -> exp.Select:
    """The query of each group's people, of its vacant values, and of all its values: its size."""
    people, vacant = published_column(ROWS), published_column(VACANT_ROWS)
    size = exp.Add(this=people.copy(), expression=vacant.copy())
    shown = {"size": size, "live": people, "vacancies": vacant}
    return select([own(GROUP_ID), *(alias(of, name) for name, of in shown.items())], LINEAGE)


def group_sums(name: str, columns: tuple[str, ...], relations: Relations) -> exp.Select:
    """The query of each group's size, and of the sum of all its values of a column, as a float."""
    value = exp.cast(published_column(name), "double")
    times = [published_column("count")] if relations.counted else []
    total = exp.Sum(this=exp.Mul(this=value, expression=times[0]) if times else value)
    size = alias(count_of(relations), "size")
    shown = [own(GROUP_ID), size, alias(total, "total")]
    return select(shown, relations.tables[columns], by=[own(GROUP_ID)])


def _pooled(relations: Relations) -> exp.Query:
    """The query of the values beside people, and of those beside nobody."""
    names = relations.declared.named("sensitive")
    beside_people, beside_nobody = (
        select([own(GROUP_ID), *map(published_column, names)], table)
        for table in (relations.rows, VACANT)
    )
    return exp.union(beside_people, beside_nobody, distinct=False, copy=False)


def rows_meant(matched: Sequence[str]) -> exp.Select:
    """The query of the least, the greatest and the expected number of each group's meant rows.

    Args:
        matched: the parts that count the values of groups which match a condition each.
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
    """The tree of an expression, with values in the place of names."""

    def meant(node: exp.Expr) -> exp.Expr:
        known = isinstance(node, exp.Column) and not node.table and node.name in values
        return values[node.name].copy() if known else node

    whole: exp.Expr = tree(text).transform(meant, copy=False)
    return whole


def matching_values(
    name: str, columns: tuple[str, ...], conditions: Sequence[exp.Expr], relations: Relations
) -> exp.Select:
    """The matching values of each group, how often they occur, and how many are below them."""
    table = relations.tables[columns]
    times = alias(count_of(relations), "times")
    grouped = select(
        [own(GROUP_ID), alias(published_column(name), "v"), times],
        table,
        where=conditions,
        by=[own(GROUP_ID), published_column(name)],
    )
    shown = trees(
        "group_id",
        "v",
        "times",
        "SUM(times) OVER (PARTITION BY group_id) AS m",
        "SUM(times) OVER (PARTITION BY group_id ORDER BY v "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - times AS below",
    )
    return select(shown, grouped.subquery("grouped", copy=False))


def items(number: int) -> exp.Select:
    """The values that the rows of each group may have, from below and from above."""
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
    """The query that counts the copies of each value in each cell."""
    return select(trees(*_COUNTS), f"items_{number}", by=trees("cell", "v"))


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


def runs(number: int) -> exp.Select:
    """The mean of what surely counts and of the best other values, one by one."""
    summed = select(trees("f.*", *_RUNS), exp.table_(f"of_value_{number}", alias="f"))
    means = [
        alias(
            quotient_bound(own(f"{mean}_sum"), own(f"{mean}_rows"), upper=mean.startswith("high")),
            mean,
        )
        for mean in ("low_base", "low_mean", "high_base", "high_mean")
    ]
    return select([exp.Star(), *means], summed.subquery("summed", copy=False))


_CELL = "OVER (PARTITION BY cell)"
_SO_FAR = "OVER (PARTITION BY cell ORDER BY v{order} "
_SO_FAR += "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
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

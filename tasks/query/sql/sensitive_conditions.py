"""Bounds where a condition is on sensitive values: how many of a group's values may count.

Of the `hits` rows of a group that the other conditions mean, at least a = hits + m - size and at
most b = hits (or m, if that is less) have one of its m matching values. The a least of them are the
best that the lower bound of a sum can count on, and so on: a relation holds for every value how
many of its copies surely and how many possibly count, from below and from above, and every bound
follows from it. Groups add up, since each is shuffled on its own.

Where people have left, a group has more values than rows: `size` counts values. Where several
sensitive columns are shuffled independently, conditions on the others narrow the number of rows
first. Written in plain SQL, with window functions and no more, for any database.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007),
whose help tables know conditions on quasi-identifiers alone; the extension is our own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sfumato.expectations.errors import QueryError
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
"""The least and the greatest number of a group's values that count."""
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


@dataclass(frozen=True)
class SensitiveConditions:
    """A question with conditions on sensitive values, as common table expressions."""

    question: Question
    relations: Relations

    @cached_property
    def aggregated(self) -> list[str]:
        """The sensitive columns of which more than a count is asked, in order."""
        asked = (a.sensitive for a in self.question.aggregates if not a.kind.counts_rows)
        return list(dict.fromkeys(name for name in asked if name is not None))

    def bounds(self) -> exp.Select:
        """The query that returns the bounds: group columns and pairs as `Question.shown` has them.

        Aggregates that are only compared follow, and last how many rows are meant at `least`.

        Raises:
            QueryError: where an aggregate is not written in SQL.
        """
        columns: list[exp.Expr] = list(self._named_keys())
        for number, aggregate in enumerate(self.question.aggregates):
            sides = zip(self._sides(aggregate), ("l", "u"), strict=True)
            columns += [alias(of, f"{side}{number}") for of, side in sides]
        some = tree("counted.count_u > 0") if self.question.group_by else None
        query = select([*columns, tree("counted.count_l AS least")], "counted", where=[some])
        parts = [*self._counted(), *self._of_values(), *self._bounds_of_columns()]
        for number in range(len(self.aggregated)):
            table = f"{BOUNDS_OF}{number}"
            join(query, table, same("cell", table, "counted"), "LEFT")
        return with_parts(parts, query)

    def counts(self) -> exp.Select:
        """The query of how many rows a cell has: group columns, at least, at most, as expected."""
        columns = [*self._keys, *trees("count_l", "count_u", "expected")]
        return with_parts(self._counted(), select(columns, "counted"))

    def of_values(self, name: str) -> exp.Select:
        """The query that returns group columns, a value, and how many of its copies count.

        Surely and possibly for the lower bound, the same for the upper one, and the expectation.
        """
        number = self.aggregated.index(name)
        counts = trees("v", "low_sure", "low_maybe", "high_sure", "high_maybe", "of.expected")
        query = select([*self._keys, *counts], exp.table_(f"of_value_{number}", alias="of"))
        join(query, "counted", tree("counted.cell = of.cell"))
        return with_parts([*self._counted(), *self._of_values()], query)

    def choices(self, name: str) -> exp.Select:
        """The query that returns group columns, group, value, and how many copies it has there.

        Last come how many values of the group count at least, and at most.
        """
        number, columns = self.aggregated.index(name), bundles(self.relations.declared)[name]
        counts = trees("r.group_id", "w.v", "w.times", *ENDS)
        source = exp.table_(f"ranged_{number}", alias="r")
        query = select([*keys_of(self.question, "r"), *counts], source)
        join(query, exp.table_(f"{VALUED}{number}", alias="w"), same(GROUP_ID, "w", "r"))
        parts = [*self._counted(), *self._values_of(number, name, columns)]
        return with_parts(parts, query)

    def ranges(self) -> exp.Select:
        """The query of group columns, group, and how many of its rows count: `lo` to `hi`."""
        parts = [
            *cell_parts(self.question, self.relations.rows),
            *group_parts(self.relations),
            *self._matching(),
            ("ranged", rows_meant(self._matched())),
        ]
        columns = [*keys_of(self.question), *trees("group_id", "lo", "hi")]
        return with_parts(parts, select(columns, "ranged"))

    @property
    def _keys(self) -> list[exp.Column]:
        return keys_of(self.question, "counted")

    def _named_keys(self) -> list[exp.Alias]:
        return [
            alias(of, key) for of, key in zip(self._keys, key_names(self.question), strict=True)
        ]

    def _counted(self) -> list[Part]:
        """The least, the greatest and the expected number of each cell's rows."""
        question, rows = self.question, self.relations.rows
        keys = keys_of(question)
        cell = own("cell") if keys else tree("1 AS cell")
        by = [own("cell"), *keys_of(question)] if keys else []
        counted = select([cell, *keys, *trees(*_SUMMED)], "ranged", by=by)
        whole = rows_meant(self._matched())
        return [
            *cell_parts(question, rows),
            *group_parts(self.relations),
            *self._matching(),
            ("ranged", whole),
            ("counted", counted),
        ]

    def _matched(self, without: tuple[str, ...] | None = None) -> list[str]:
        """The parts that count matching values, but for those on the columns `without`."""
        numbered = enumerate(self.question.matching)
        return [f"matching_{n}" for n, matching in numbered if matching.columns != without]

    def _matching(self) -> list[Part]:
        """The parts that count each group's matching values, one for each condition."""
        parts: list[Part] = []
        for number, matching in enumerate(self.question.matching):
            table = self.relations.tables[matching.columns]
            columns = [own(GROUP_ID), alias(count_of(self.relations), "m")]
            counted = select(columns, table, where=[matching.condition], by=[own(GROUP_ID)])
            parts.append((f"matching_{number}", counted))
        return parts

    def _of_values(self) -> list[Part]:
        """For every cell and value of each aggregated column how many copies count."""
        parts = []
        for number, name in enumerate(self.aggregated):
            parts += [
                *self._values_of(number, name, bundles(self.relations.declared)[name]),
                (f"items_{number}", items(number)),
                (f"of_value_{number}", of_value(number)),
            ]
        return parts

    def _values_of(self, number: int, name: str, columns: tuple[str, ...]) -> list[Part]:
        """The rows of each group that other conditions mean, and the values that match."""
        conditions = [m.condition for m in self.question.matching if m.columns == columns]
        return [
            (f"ranged_{number}", rows_meant(self._matched(without=columns))),
            (f"{VALUED}{number}", matching_values(name, columns, conditions, self.relations)),
        ]

    def _bounds_of_columns(self) -> list[Part]:
        parts: list[Part] = []
        for number, name in enumerate(self.aggregated):
            kinds = {a.kind for a in self.question.aggregates if a.sensitive == name}
            source = f"of_value_{number}"
            if any(kind.runs for kind in kinds):
                source = f"runs_{number}"
                parts.append((source, runs(number)))
            columns: list[exp.Expr] = [own("cell")]
            for kind in sorted(kinds, key=lambda kind: kind.name):
                for of, end in zip(kind.over_counts or (), ("l", "u"), strict=False):
                    columns.append(alias(of.copy(), f"{kind.name}_{end}"))
            parts.append((f"{BOUNDS_OF}{number}", select(columns, source, by=[own("cell")])))
        return parts

    def _sides(self, aggregate: Aggregate) -> tuple[exp.Expr, exp.Expr]:
        if aggregate.kind.counts_rows:
            return own("count_l", "counted"), own("count_u", "counted")
        if aggregate.kind.over_counts is None:
            raise QueryError(
                f"{aggregate.kind.called} is not written in SQL: ask with `sfumato query`"
            )
        table = f"{BOUNDS_OF}{self.aggregated.index(str(aggregate.sensitive))}"
        name = aggregate.kind.name
        return own(f"{name}_l", table), own(f"{name}_u", table)

"""The SQL of numbers of related rows, where they are published beside people or shuffled.

In a group and cell, `a` and `b` are the least and the greatest number of rows that hit people have
together, as `tasks.query.bounds.related_numbers` computes them. `hit_numbers` has the people with
each number of rows `n`: published, those who are hit; shuffled, everyone. For condition i, `met_i`
has the fewest people who can take the hit rows that others cannot (`needed`), and all who have
enough rows (`enough`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from sfumato.tasks.forms.related.facts import published_number, shuffled_number
from sfumato.tasks.forms.related.parameters import GROUPS, PEOPLE, ROWS
from sfumato.tasks.query.sql.facts import HIT_PEOPLE
from sfumato.tasks.query.sql.trees import (
    CELLED,
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
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.terms import Terms

HIT_NUMBERS, HIT_TOTALS, MET = "hit_numbers", "hit_totals", "met_"
"""Names of parts, the last one without its number."""
_TAKEN = (
    "CASE WHEN {some} - ahead <= 0 THEN 0 WHEN {some} - ahead < times THEN {some} - ahead "
    "ELSE times END"
)
_UNTIL = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_OF_GROUP = "PARTITION BY cell, group_id"
_NEEDED = (
    "CASE WHEN gain = 0 OR missing <= 0 THEN 0 WHEN (missing - 1) // gain + 1 < times "
    "THEN (missing - 1) // gain + 1 ELSE times END"
)


@dataclass(frozen=True)
class NumbersInSql:
    """The column with numbers of rows, and whether it is beside people or shuffled."""

    kind: Literal["published", "shuffled"]
    column: str
    people: str

    @classmethod
    def from_terms(cls, terms: Terms) -> "NumbersInSql | None":
        """Return the numbers that a release shows; None if it shows none."""
        people = terms.form.table_of_rows
        if (name := published_number(terms.columns)) is not None:
            return cls("published", name, people)
        name = shuffled_number(terms.columns)
        return None if name is None else cls("shuffled", name, people)

    def totals(self) -> list[exp.Expr]:
        """Return the columns with the people and rows of a group, and the rows of hit people.

        Every number of rows between the ends counts as possible, so that `most` makes no gap.
        """
        counts = trees(f"{PEOPLE} AS m", f"{ROWS} AS s", "0 AS most")
        return [*counts, own("a", "p"), own("b", "p")]

    def parts_of_hit(
        self, hit: exp.Select, columns: Sequence[exp.Expr], keys: Sequence[exp.Expr]
    ) -> list[Part]:
        """Return the parts up to `hit_people` of published numbers: hit people and their rows.

        Args:
            hit: the query that counts the hit people of each group, by keys of people.
            columns: these keys as they are computed.
            keys: the same under their names.
        """
        number = published_column(self.column)
        counted = [alias(number, "n"), tree("COUNT(*) AS times")]
        grouped = [*columns, own(GROUP_ID), number.copy()]
        by_number = select([*keys, own(GROUP_ID), *counted], self.people, group_by=grouped)
        by_number.set("where", hit.args.get("where"))
        names = [own(key.alias) for key in keys]
        sums = trees("SUM(times) AS hits", "SUM(n * times) AS a", "SUM(n * times) AS b")
        group = [*names, own(GROUP_ID)]
        summed = select(
            [*group, *map(_whole, sums)], HIT_NUMBERS, group_by=[each.copy() for each in group]
        )
        return [(HIT_NUMBERS, by_number), (HIT_PEOPLE, summed)]

    def parts_of_some(self, source: str, fewest: str, keys: Sequence[str]) -> list[Part]:
        """Return the parts up to `hit_totals` of shuffled numbers: hit people and their rows.

        Args:
            source: the part with the number of hit people of each group, by keys of people.
            fewest: its column with the least such number; `hits` has the greatest.
            keys: the names of these keys.
        """
        number = published_column(self.column)
        counted = [alias(number, "n"), tree("COUNT(*) AS times")]
        by_number = select(
            [own(GROUP_ID), *counted], self.people, group_by=[own(GROUP_ID), number.copy()]
        )
        so_far = tree(f"SUM(times) OVER (PARTITION BY group_id ORDER BY n DESC {_UNTIL})")
        ahead = alias(exp.Sub(this=_cast(so_far), expression=own("times")), "ahead")
        numbered = by_number.subquery("numbered", copy=False)
        everyone = select([*trees("group_id", "n", "times"), ahead], numbered)
        totals = self._rows_of_some(source, fewest, keys)
        return [(HIT_NUMBERS, everyone), (HIT_TOTALS, totals)]

    def _rows_of_some(self, source: str, fewest: str, keys: Sequence[str]) -> exp.Select:
        """Return the query of the rows that so many people of each group have, least and most."""
        others = f"g.{PEOPLE} - {fewest}"
        sums = trees(
            f"g.{ROWS} - SUM(n * ({_TAKEN.format(some=f'({others})')})) AS a",
            f"SUM(n * ({_TAKEN.format(some='hits')})) AS b",
        )
        people = dict.fromkeys(("hits", fewest))
        group = [own(name, "h") for name in (*keys, GROUP_ID, *people)]
        query = exp.select(*group, *map(_whole, sums), copy=False)
        query = query.from_(exp.table_(source, alias="h"), copy=False)
        join(query, exp.table_(HIT_NUMBERS, alias="w"), same(GROUP_ID, "w", "h"))
        join(query, exp.table_(GROUPS, alias="g"), same(GROUP_ID, "g", "h"))
        counts = trees(f"g.{PEOPLE}", f"g.{ROWS}")
        return query.group_by(*(each.copy() for each in group), *counts, copy=False)

    def part_of_condition(self, number: int, times: int, rows: str, keys: Sequence[str]) -> Part:
        """Return the part about a condition: to have at least so many of the hit rows.

        Args:
            number: the number of the condition.
            times: the number of rows, at least 1.
            rows: the column with the hit rows of a group.
            keys: the names of the keys of people.
        """
        fewer = times - 1
        gain = f"CASE WHEN w.n > {fewer} THEN w.n - {fewer} ELSE 0 END"
        few = f"CASE WHEN w.n < {fewer} THEN w.n ELSE {fewer} END"
        numbers = trees("t.cell", "t.group_id", f"t.{rows} AS c", "t.s", "t.a", "w.n", "w.times")
        columns = [*numbers, tree(f"{gain} AS gain"), tree(f"({few}) * w.times AS few")]
        query = exp.select(*columns, copy=False)
        query = query.from_(exp.table_(CELLED, alias="t"), copy=False)
        on: list[exp.Expr] = [same(GROUP_ID, "w", "t")]
        if self.kind == "published":
            on += [exp.NullSafeEQ(this=own(k, "w"), expression=own(k, "t")) for k in keys]
        join(query, exp.table_(HIT_NUMBERS, alias="w"), exp.and_(*on))
        others = " - (s - a)" if self.kind == "published" else ""
        capped = _cast(tree(f"SUM(few) OVER ({_OF_GROUP})"))
        so_far = _cast(tree(f"SUM(gain * times) OVER ({_OF_GROUP} ORDER BY n DESC {_UNTIL})"))
        rest = exp.Sub(this=exp.Sub(this=tree(f"c{others}"), expression=capped), expression=so_far)
        missing = exp.Add(this=rest, expression=tree("gain * times"))
        spread = select(
            [*trees("cell", "group_id", "n", "times", "gain"), alias(missing, "missing")],
            query.subquery("gains", copy=False),
        )
        sums = trees(
            f"SUM({_NEEDED}) AS needed",
            f"SUM(CASE WHEN n >= {times} THEN times ELSE 0 END) AS enough",
        )
        group: list[exp.Expr] = [own("cell"), own(GROUP_ID)]
        summed = select(
            [*group, *map(_whole, sums)],
            spread.subquery("spread", copy=False),
            group_by=[each.copy() for each in group],
        )
        return f"{MET}{number}", summed

    def ends(
        self, number: int, times: int, rows: str, fewest: str, most: str
    ) -> tuple[exp.Expr, exp.Expr]:
        """Return the least and the greatest number of hit people with so many of the hit rows.

        Args:
            number: the number of the condition.
            times: the number of rows, at least 1.
            rows: the column with the hit rows of a group.
            fewest: the column with the number of hit people of the least number.
            most: the same of the greatest number.
        """
        met = f"{MET}{number}"
        shares = f"{rows} // {times}" if times > 1 else rows
        enough = f"CASE WHEN {met}.enough < {shares} THEN {met}.enough ELSE {shares} END"
        if self.kind == "published":
            return tree(f"{met}.needed"), tree(enough)
        others = f"(m - {fewest})"
        least = f"CASE WHEN {met}.needed > {others} THEN {met}.needed - {others} ELSE 0 END"
        return tree(least), tree(f"CASE WHEN {most} < {enough} THEN {most} ELSE {enough} END")


def join_met(query: exp.Select, conditions: int) -> None:
    """Join what is known of so many conditions to a query of the groups in cells."""
    for number in range(conditions):
        name = f"{MET}{number}"
        join(query, name, exp.and_(same("cell", name, CELLED), same(GROUP_ID, name, CELLED)))


def _cast(number: exp.Expr) -> exp.Cast:
    """Return a sum as a whole number: databases add them up as decimals."""
    return exp.cast(number, "BIGINT")


def _whole(column: exp.Alias) -> exp.Alias:
    return alias(_cast(column.this), column.alias)

"""Bounds of sums and means over the related rows that a question hits, of the people it hits.

Of the c hit rows of a group, hit people can have between `lo` and `hi`, and every number between
them but those of a gap: whoever has the most rows of the group is a hit person, or is not. So at
least `lo` of the group's lowest values count, the next ones up to the gap can count one by one, the
values of the gap count together or not at all, and then one by one again up to `hi`. A lower bound
takes what lowers it, and an upper bound does the same from the highest value down.

A sum is least if all takes that are below 0 count; if nothing counts then, one group has as few
values as it can. The least mean is the least of those over the sure values and more and more takes
in their order, a gap at its mean. Means of gaps are ordered as floats. Two means of at most k
values with d decimals differ by at least 10**-d / k**2, so their order is exact if values are
small. In other cells with a gap, a bound is moved outwards by as much as the order can change it.

Of aggregated column n, `valued_n` has the hit rows of each value of a group, `ranked_n` their
places, `copies_n` how many of them are among the first of each end, `pieces_n` the takes,
`sums_n` sums by cell, `fewest_n` and `extreme_n` those of the fewest values, `hull_n` the takes in
rows of their own, `runs_n` means over more and more of them, and `bounds_n` the bounds by cell.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from sqlglot import exp

from sfumato.tasks.query.sql.trees import (
    BOUNDS_OF,
    FEWEST,
    PIECES,
    RANKED,
    RUNS,
    SUMS_OF,
    VALUED,
    Part,
    alias,
    join,
    own,
    published_column,
    quotient_bound,
    same,
    select,
    tree,
    trees,
)
from sfumato.tasks.schema.names import GROUP_ID

_ENDS = ("low", "high")
_BEFORE = {"low": "below", "high": "above"}
# the least number of hit rows with whoever has the most (`w`), the greatest without (`z`)
_WITH = (
    "CASE WHEN (CASE WHEN a > most THEN a ELSE most END) > s - c "
    "THEN (CASE WHEN a > most THEN a ELSE most END) - (s - c) ELSE 0 END AS w"
)
_WITHOUT = "CASE WHEN c < b AND c < s - most THEN c WHEN b < s - most THEN b ELSE s - most END AS z"
# if not all who may be hit are, every number is taken as possible
_IS_GAP = "{certain}hits < m AND lo <= z AND w > z + 1 AND w <= hi"
# the numbers of rows before (`g`) and after the gap (`e`), and the fewest rows but none
_GAPS = (
    "group_id",
    "cell",
    "c",
    "lo",
    "hi",
    f"CASE WHEN {_IS_GAP} THEN z ELSE hi END AS g",
    f"CASE WHEN {_IS_GAP} THEN w ELSE hi END AS e",
    f"CASE WHEN lo > 0 THEN lo WHEN {_IS_GAP} AND z = 0 THEN w ELSE 1 END AS few",
)
_AMONG = (
    "CASE WHEN {end} - {before} <= 0 THEN 0 WHEN {end} - {before} < times THEN {end} - {before} "
    "ELSE times END AS {side}_{end}"
)
_OF_GROUP = "OVER (PARTITION BY cell, group_id)"
_PIECES = (
    "cell",
    "group_id",
    "v",
    "{side}_lo AS {side}_sure",
    "{side}_g - {side}_lo + {side}_hi - {side}_e AS {side}_free",
    "{side}_e - {side}_g AS {side}_gap",
    f"SUM(v * ({{side}}_e - {{side}}_g)) {_OF_GROUP} AS {{side}}_gap_sum",
    f"SUM({{side}}_e - {{side}}_g) {_OF_GROUP} AS {{side}}_gap_rows",
    "CASE WHEN {before} + times >= e THEN 1 ELSE 0 END AS {side}_last",
)
_TAKEN = (
    "{side}_sure + CASE WHEN v {beyond} 0 THEN {side}_free ELSE 0 END "
    "+ CASE WHEN {side}_gap_sum {beyond} 0 THEN {side}_gap ELSE 0 END AS {side}_taken"
)
_TAKE = ("cell", "group_id", "v")
_FREE = (
    "{side}_sure",
    "{side}_free AS {side}_maybe",
    "CAST(v AS DOUBLE) AS {side}_mean",
    "v AS {side}_tie",
    "1 AS {side}_ends",
)
_OF_GAP = (
    "0 AS {side}_sure",
    "{side}_gap AS {side}_maybe",
    "CAST({side}_gap_sum AS DOUBLE) / {side}_gap_rows AS {side}_mean",
    "0 AS {side}_tie",
    "{side}_last AS {side}_ends",
)
_NOTHING = tuple(f"0 AS {{side}}_{name}" for name in ("sure", "maybe", "mean", "tie", "ends"))
_CELL = "OVER (PARTITION BY cell)"
_SO_FAR = (
    "OVER (PARTITION BY cell ORDER BY {side}_mean{order}, {side}_tie{order}, group_id, gap, "
    "v{order} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
)
# for means: the sum and number of the sure rows, and those with more and more takes
_RUNS = (
    f"SUM(v * {{side}}_sure) {_CELL} AS {{side}}_base_sum",
    f"NULLIF(SUM({{side}}_sure) {_CELL}, 0) AS {{side}}_base_rows",
    f"SUM(v * {{side}}_maybe) {_SO_FAR} + SUM(v * {{side}}_sure) {_CELL} AS {{side}}_hull_sum",
    f"NULLIF(SUM({{side}}_maybe) {_SO_FAR} + SUM({{side}}_sure) {_CELL}, 0) AS {{side}}_hull_rows",
)
_EXACT = 2**50
_SPARE = "8.9e-16"  # eight roundings of a float: the order of means may be off by three
# of the means of a cell: the best of takes, of sure rows, and if the order of takes is in doubt
_BEST = (
    "cell",
    "MIN(low_base) AS low_base",
    "MIN(CASE WHEN low_ends = 1 THEN low_hull END) AS low_hull",
    "MAX(high_base) AS high_base",
    "MAX(CASE WHEN high_ends = 1 THEN high_hull END) AS high_hull",
    "CASE WHEN MAX(ABS(CAST(v AS DOUBLE))) * MAX(gap) * MAX(gap) <= {least} THEN 0 ELSE 1 END "
    "AS doubt",
)
_MOVED = (
    "cell",
    "low_base",
    f"low_hull - doubt * ABS(low_hull) * {_SPARE} AS low_hull",
    "high_base",
    f"high_hull + doubt * ABS(high_hull) * {_SPARE} AS high_hull",
)
_MEANS = (
    "cell",
    "CASE WHEN low_base < low_hull THEN low_base ELSE low_hull END AS avg_l",
    "CASE WHEN high_base > high_hull THEN high_base ELSE high_hull END AS avg_u",
)


@dataclass(frozen=True)
class RelatedValues:
    """The parts of a query that bound sums and means of one column of related rows.

    Attributes:
        number: the number of the column among the aggregated ones.
        name: the column.
        decimals: the number of its decimals.
        table: the table of related rows.
        keys: its group columns, under the names of keys.
        condition: the condition on rows that count, if there is one.
        kinds: the names of the aggregates, "sum" or "avg".
        fewest: the column with the least number of hit people of a group.
        may_lack_rows: whether it may be known that hit people of a group have none of its rows.
    """

    number: int
    name: str
    decimals: int
    table: str
    keys: Sequence[exp.Expr]
    condition: exp.Expr | None
    kinds: Set[str]
    fewest: str = "hits"
    may_lack_rows: bool = False

    def parts(self) -> Iterator[Part]:
        """Yield the parts up to the bounds by cell."""
        yield self._part(VALUED), self._values()
        yield self._part(RANKED), self._places()
        yield self._part("copies_"), self._copies()
        yield self._part(PIECES), self._pieces()
        bounds: dict[str, exp.Select] = {}
        if "sum" in self.kinds:
            yield from self._sums()
            bounds["sum"] = self._bounds_of_sum()
        if "avg" in self.kinds:
            yield self._part("hull_"), self._hull()
            yield self._part(RUNS), self._runs()
            bounds["avg"] = self._bounds_of_mean()
        yield self._part(BOUNDS_OF), _side_by_side(bounds)

    def _part(self, start: str) -> str:
        return f"{start}{self.number}"

    @property
    def _key_names(self) -> list[str]:
        return [key.alias for key in self.keys]

    def _values(self) -> exp.Select:
        """Return the query of the hit rows of each value of a group."""
        value = published_column(self.name)
        columns = [*(key.copy() for key in self.keys), own(GROUP_ID), alias(value, "v")]
        grouped = [*(key.this.copy() for key in self.keys), own(GROUP_ID), value.copy()]
        counted = [*columns, tree("COUNT(*) AS times")]
        return select(counted, self.table, where=[self.condition], group_by=grouped)

    def _places(self) -> exp.Select:
        """Return the query of the rows before each value of a group, from below."""
        group = [own(GROUP_ID), *map(own, self._key_names)]
        so_far = tree(
            "SUM(times) OVER (ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        )
        so_far.set("partition_by", group)
        before = exp.Sub(this=so_far, expression=own("times"))
        columns = [*(own(name) for name in self._key_names), *trees("group_id", "v", "times")]
        return select([*columns, alias(before, "below")], self._part(VALUED))

    def _copies(self) -> exp.Select:
        """Return the query of each value's rows among the first of each end of its group."""
        keys: list[exp.Expr] = [own(name) for name in self._key_names]
        where = [tree("hi > 0")] if self.may_lack_rows else []
        extremes = select([tree("ranged.*"), *trees(_WITH, _WITHOUT)], "ranged", where=where)
        gaps = select([*keys, *self._gaps()], extremes.subquery("extremes", copy=False))
        joined = select(
            trees("r.*", "w.v", "w.times", "w.below", "r.c - w.below - w.times AS above"),
            gaps.subquery("r", copy=False),
        )
        on: list[exp.Expr] = [same(GROUP_ID, "w", "r")]
        on += [
            exp.NullSafeEQ(this=own(name, "w"), expression=own(name, "r"))
            for name in self._key_names
        ]
        join(joined, exp.table_(self._part(RANKED), alias="w"), exp.and_(*on))
        among = [
            tree(_AMONG.format(end=end, before=_BEFORE[side], side=side))
            for side in _ENDS
            for end in ("lo", "g", "e", "hi", "few")
        ]
        columns = trees("cell", "group_id", "v", "times", "below", "above", "e")
        return select([*columns, *among], joined.subquery("joined", copy=False))

    def _gaps(self) -> list[exp.Expr]:
        """Return the numbers of rows about the gap of each group."""
        certain = "" if self.fewest == "hits" else f"{self.fewest} = hits AND "
        return trees(*(text.format(certain=certain) for text in _GAPS))

    def _pieces(self) -> exp.Select:
        """Return the query of the takes: sure copies, free ones, and those of the gap."""
        texts = [text.format(side=side, before=_BEFORE[side]) for side in _ENDS for text in _PIECES]
        return select(trees(*dict.fromkeys(texts)), self._part("copies_"))

    def _sums(self) -> Iterator[Part]:
        """Yield the parts with sums by cell, and with those of the fewest values of a group."""
        taken = [
            tree(_TAKEN.format(side=side, beyond=beyond))
            for side, beyond in zip(_ENDS, "<>", strict=True)
        ]
        each = select([*trees("cell", "v"), *taken], self._part(PIECES))
        sums = trees(
            "cell",
            "SUM(v * low_taken) AS low_sum",
            "SUM(low_taken) AS low_rows",
            "SUM(v * high_taken) AS high_sum",
            "SUM(high_taken) AS high_rows",
        )
        source = self._part("taken_")
        yield source, each
        yield self._part(SUMS_OF), select(sums, source, group_by=[own("cell")])
        few = trees(
            "cell",
            "SUM(v * low_few) AS low_few_sum",
            "SUM(v * high_few) AS high_few_sum",
        )
        group = [own("cell"), own(GROUP_ID)]
        fewest = select(few, self._part("copies_"), group_by=group)
        yield self._part(FEWEST), fewest
        extremes = trees("cell", "MIN(low_few_sum) AS fewest", "MAX(high_few_sum) AS highest")
        yield (
            self._part("extreme_"),
            select(extremes, self._part(FEWEST), group_by=[own("cell")]),
        )

    def _bounds_of_sum(self) -> exp.Select:
        columns = trees(
            "x.cell",
            "CASE WHEN low_rows > 0 THEN low_sum ELSE fewest END AS sum_l",
            "CASE WHEN high_rows > 0 THEN high_sum ELSE highest END AS sum_u",
        )
        query = select(columns, exp.table_(self._part(SUMS_OF), alias="y"))
        join(query, exp.table_(self._part("extreme_"), alias="x"), same("cell", "x", "y"))
        return query

    def _hull(self) -> exp.Query:
        """Return the query of takes in rows of their own: free copies, and gaps of each end."""
        source = self._part(PIECES)
        free = [text.format(side=side) for side in _ENDS for text in _FREE]
        takes: exp.Query = select(trees(*_TAKE, "0 AS gap", *free), source)
        for side in _ENDS:
            texts = [
                text.format(side=end)
                for end in _ENDS
                for text in (_OF_GAP if end == side else _NOTHING)
            ]
            where = [tree(f"{side}_gap > 0")]
            gap = select(trees(*_TAKE, f"{side}_gap_rows AS gap", *texts), source, where=where)
            takes = exp.union(takes, gap, distinct=False, copy=False)
        return takes

    def _runs(self) -> exp.Select:
        """Return the query of means over the sure rows and more and more takes."""
        texts = [
            text.format(side=side, order=order)
            for side, order in zip(_ENDS, ("", " DESC"), strict=True)
            for text in _RUNS
        ]
        columns = trees("f.*", *texts)
        summed = select(columns, exp.table_(self._part("hull_"), alias="f"))
        means = [
            alias(
                quotient_bound(own(f"{mean}_sum"), own(f"{mean}_rows"), upper=side == "high"), mean
            )
            for side in _ENDS
            for mean in (f"{side}_base", f"{side}_hull")
        ]
        return select([exp.Star(), *means], summed.subquery("summed", copy=False))

    def _bounds_of_mean(self) -> exp.Select:
        """Return the query of the bounds of means: no window has an extreme, slow in MariaDB."""
        least = _EXACT // 10**self.decimals
        texts = [text.format(least=least) for text in _BEST]
        best = select(trees(*texts), self._part(RUNS), group_by=[own("cell")])
        moved = select(trees(*_MOVED), best.subquery("best", copy=False))
        return select(trees(*_MEANS), moved.subquery("moved", copy=False))


def _side_by_side(bounds: Mapping[str, exp.Select]) -> exp.Select:
    """Return the query of the bounds of all aggregates by cell."""
    names = list(bounds)
    ends = [own(f"{name}_{end}", name) for name in names for end in "lu"]
    query = select([own("cell", names[0]), *ends], bounds[names[0]].subquery(names[0]))
    for name in names[1:]:
        join(query, bounds[name].subquery(name, copy=False), same("cell", name, names[0]))
    return query

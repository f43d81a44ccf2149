"""Bounds where a condition is on sensitive values: which of a group's values the rows have is open.

Of the `hits` rows of a group that the other conditions mean, at least a = hits + m - size and at
most b = hits (or m, if that is less) have one of its m matching values. The a least of them are the
best that the lower bound of a sum can count on, and so on: a relation holds for every value how
many of its copies surely and how many possibly count, from below and from above, and every bound
follows from it. Groups add up, since each is shuffled on its own.

Where several sensitive columns are shuffled independently, conditions on the others narrow the
number of rows first. Written in plain SQL, with window functions and no more, for any database.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007),
whose help tables know conditions on quasi-identifiers alone; the extension is our own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import sqlglot
from sqlglot import exp

from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Question, bundles
from sfumato.tasks.query.question.relations import GROUP_ID, Relations
from sfumato.tasks.query.sql.dialect_fixes import BOUNDS_OF, CELLED, VALUED

_TAKEN = "CASE WHEN {0} <= 0 THEN 0 WHEN {0} < times THEN {0} ELSE times END"


@dataclass(frozen=True)
class Matched:
    """A question with conditions on sensitive values, as common table expressions."""

    question: Question
    relations: Relations

    @cached_property
    def aggregated(self) -> list[str]:
        """The sensitive columns of which more than a count is asked, in order."""
        asked = (a.sensitive for a in self.question.aggregates if a.function != "count")
        return list(dict.fromkeys(name for name in asked if name is not None))

    def bounds(self) -> exp.Select:
        """The query that returns the bounds: group columns and pairs as `Question.shown` has them.

        Aggregates that are only compared follow, and last how many rows are meant at `least`.
        """
        columns = [f"{key} AS {name}" for key, name in self._named_keys()]
        for number, aggregate in enumerate(self.question.aggregates):
            lower, upper = self._sides(aggregate)
            columns += [f"{lower} AS l{number}", f"{upper} AS u{number}"]
        columns.append("counted.count_l AS least")
        tables = "counted"
        for number in range(len(self.aggregated)):
            tables += f" LEFT JOIN bounds_{number} ON bounds_{number}.cell = counted.cell"
        possible = " WHERE counted.count_u > 0" if self.question.group_by else ""
        parts = [*self._counted(), *self._of_values(), *self._bounds_of_columns()]
        return with_parts(parts, f"SELECT {', '.join(columns)} FROM {tables}{possible}")

    def counts(self) -> exp.Select:
        """The query of how many rows a cell has: group columns, at least, at most, as expected."""
        keys = [key for key, _ in self._named_keys()]
        columns = [*keys, "count_l", "count_u", "expected"]
        return with_parts(self._counted(), f"SELECT {', '.join(columns)} FROM counted")

    def of_values(self, name: str) -> exp.Select:
        """The query that returns group columns, a value, and how many of its copies count.

        Surely and possibly for the lower bound, the same for the upper one, and the expectation.
        """
        number = self.aggregated.index(name)
        keys = [key for key, _ in self._named_keys()]
        columns = [*keys, "v", "low_sure", "low_maybe", "high_sure", "high_maybe", "of.expected"]
        tables = f"of_value_{number} AS of JOIN counted ON counted.cell = of.cell"
        parts = [*self._counted(), *self._of_values()]
        return with_parts(parts, f"SELECT {', '.join(columns)} FROM {tables}")

    def _named_keys(self) -> list[tuple[str, str]]:
        return [(f"counted.k{n}", f"k{n}") for n in range(len(self.question.group_by))]

    def _counted(self) -> list[tuple[str, str]]:
        """How many rows each cell has at least, at most, and as expected."""
        question, rows = self.question, self.relations.rows
        keys = [f"k{n}" for n in range(len(question.group_by))]
        parts = [
            *celled(question, rows),
            ("sizes", f"SELECT {GROUP_ID}, COUNT(*) AS size FROM {rows} GROUP BY {GROUP_ID}"),
            *self._matching(),
            ("ranged", self._ranged(None)),
        ]
        sums = [f"COALESCE(SUM({x}), 0) AS {y}" for x, y in _SUMMED]
        grouped = f" GROUP BY {', '.join(['cell', *keys])}" if keys else ""
        one = "cell" if keys else "1 AS cell"
        return [
            *parts,
            ("counted", f"SELECT {', '.join([one, *keys, *sums])} FROM ranged{grouped}"),
        ]

    def _matching(self) -> list[tuple[str, str]]:
        """How many matching values each group has, for each condition."""
        parts = []
        for number, matching in enumerate(self.question.matching):
            table = self.relations.tables[matching.columns]
            times = "COUNT(*)" if table == self.relations.rows else 'SUM("count")'
            where = matching.condition.sql("duckdb")
            select = f"SELECT {GROUP_ID}, {times} AS m FROM {table} WHERE {where}"
            parts.append((f"matching_{number}", f"{select} GROUP BY {GROUP_ID}"))
        return parts

    def _ranged(self, without: tuple[str, ...] | None) -> str:
        """How many rows of each group are meant at least and at most, and as expected.

        Conditions on the columns `without` are left out.
        """
        lo, hi, expected, joins = "hits", "hits", "CAST(hits AS DOUBLE)", ""
        for number, matching in enumerate(self.question.matching):
            if matching.columns == without:
                continue
            name = f"matching_{number}"
            m = f"COALESCE({name}.m, 0)"
            lo, expected = f"{lo} + {m} - size", f"{expected} * {m} / size"
            hi = f"CASE WHEN {hi} < {m} THEN {hi} ELSE {m} END"
            joins += f" LEFT JOIN {name} ON {name}.{GROUP_ID} = celled.{GROUP_ID}"
        return (
            f"SELECT celled.*, size, CASE WHEN {lo} > 0 THEN {lo} ELSE 0 END AS lo, {hi} AS hi, "
            f"{expected} AS expected FROM celled JOIN sizes ON sizes.{GROUP_ID} = "
            f"celled.{GROUP_ID}{joins}"
        )

    def _of_values(self) -> list[tuple[str, str]]:
        """For every cell and value of each aggregated column how many copies count."""
        parts = []
        for number, name in enumerate(self.aggregated):
            columns = bundles(self.relations.declared)[name]
            parts += [
                (f"ranged_{number}", self._ranged(columns)),
                (f"{VALUED}{number}", self._valued(name, columns)),
                (f"items_{number}", _items(number)),
                (f"of_value_{number}", _of_value(number)),
            ]
        return parts

    def _valued(self, name: str, columns: tuple[str, ...]) -> str:
        """The matching values of each group, how often they occur, and how many are below them."""
        table = self.relations.tables[columns]
        times = "COUNT(*)" if table == self.relations.rows else 'SUM("count")'
        conditions = [m.condition for m in self.question.matching if m.columns == columns]
        where = "".join(f" WHERE {condition.sql('duckdb')}" for condition in conditions)
        column = quoted(name)
        grouped = (
            f"SELECT {GROUP_ID}, {column} AS v, {times} AS times FROM {table}{where} "
            f"GROUP BY {GROUP_ID}, {column}"
        )
        over = f"OVER (PARTITION BY {GROUP_ID}"
        return (
            f"SELECT {GROUP_ID}, v, times, SUM(times) {over}) AS m, SUM(times) {over} "
            f"ORDER BY v {_ROWS}) - times AS below FROM ({grouped}) AS grouped"
        )

    def _bounds_of_columns(self) -> list[tuple[str, str]]:
        parts = []
        for number, name in enumerate(self.aggregated):
            functions = {a.function for a in self.question.aggregates if a.sensitive == name}
            if "avg" in functions:
                parts.append((f"runs_{number}", _runs(number)))
            columns = ["cell"]
            for function in sorted(functions - {"count"}):
                low, high = _COMBINED[function]
                columns += [f"{low} AS {function}_l", f"{high} AS {function}_u"]
            source = f"runs_{number}" if "avg" in functions else f"of_value_{number}"
            parts.append(
                (f"{BOUNDS_OF}{number}", f"SELECT {', '.join(columns)} FROM {source} GROUP BY cell")
            )
        return parts

    def _sides(self, aggregate: Aggregate) -> tuple[str, str]:
        if aggregate.function == "count":
            return "counted.count_l", "counted.count_u"
        table = f"bounds_{self.aggregated.index(str(aggregate.sensitive))}"
        return f"{table}.{aggregate.function}_l", f"{table}.{aggregate.function}_u"


_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_SUMMED = (("lo", "count_l"), ("hi", "count_u"), ("expected", "expected"))
_LOW_MAYBE = "CASE WHEN low_maybe > 0 THEN v END"
_HIGH_MAYBE = "CASE WHEN high_maybe > 0 THEN v END"
_COMBINED = {
    "sum": (
        f"CASE WHEN SUM(low_sure) = 0 AND MIN({_LOW_MAYBE}) > 0 THEN MIN({_LOW_MAYBE}) "
        "WHEN SUM(low_sure + low_maybe) > 0 THEN "
        "SUM(v * low_sure) + SUM(CASE WHEN v < 0 THEN v * low_maybe ELSE 0 END) END",
        f"CASE WHEN SUM(high_sure) = 0 AND MAX({_HIGH_MAYBE}) < 0 THEN MAX({_HIGH_MAYBE}) "
        "WHEN SUM(high_sure + high_maybe) > 0 THEN "
        "SUM(v * high_sure) + SUM(CASE WHEN v > 0 THEN v * high_maybe ELSE 0 END) END",
    ),
    "avg": (
        "CASE WHEN MIN(low_base) < MIN(low_mean) THEN MIN(low_base) ELSE MIN(low_mean) END",
        "CASE WHEN MAX(high_base) > MAX(high_mean) THEN MAX(high_base) ELSE MAX(high_mean) END",
    ),
    "min": (
        "MIN(CASE WHEN low_sure + low_maybe > 0 THEN v END)",
        "CASE WHEN SUM(high_sure) > 0 THEN MIN(CASE WHEN high_sure > 0 THEN v END) "
        f"ELSE MAX({_HIGH_MAYBE}) END",
    ),
    "max": (
        "CASE WHEN SUM(low_sure) > 0 THEN MAX(CASE WHEN low_sure > 0 THEN v END) "
        f"ELSE MIN({_LOW_MAYBE}) END",
        "MAX(CASE WHEN high_sure + high_maybe > 0 THEN v END)",
    ),
}


def _items(number: int) -> str:
    """The values that the rows of each group may have, from below and from above."""
    return (
        f"SELECT r.cell, w.v, w.times, w.below, w.m - w.below - w.times AS above, "
        "CASE WHEN r.lo + w.m > r.size THEN r.lo + w.m - r.size ELSE 0 END AS a, "
        "CASE WHEN r.hi < w.m THEN r.hi ELSE w.m END AS b, "
        "r.expected * w.times / r.size AS expected "
        f"FROM ranged_{number} AS r JOIN valued_{number} AS w ON w.{GROUP_ID} = r.{GROUP_ID}"
    )


def _of_value(number: int) -> str:
    columns = ["cell", "v"]
    for side, before in (("low", "below"), ("high", "above")):
        sure, possible = _TAKEN.format(f"(a - {before})"), _TAKEN.format(f"(b - {before})")
        columns += [f"SUM({sure}) AS {side}_sure", f"SUM({possible} - {sure}) AS {side}_maybe"]
    columns.append("SUM(expected) AS expected")
    return f"SELECT {', '.join(columns)} FROM items_{number} GROUP BY cell, v"


def _runs(number: int) -> str:
    """The mean of what surely counts and of the best other values, one by one."""
    columns = ["f.*"]
    for side, order in (("low", "v"), ("high", "v DESC")):
        whole, running = "PARTITION BY cell", f"PARTITION BY cell ORDER BY {order} {_ROWS}"
        total, rows = f"SUM(v * {side}_sure) OVER ({whole})", f"SUM({side}_sure) OVER ({whole})"
        more, others = f"SUM(v * {side}_maybe)", f"SUM({side}_maybe)"
        columns += [
            f"CAST({total} AS DOUBLE) / NULLIF({rows}, 0) AS {side}_base",
            f"CAST({total} + {more} OVER ({running}) AS DOUBLE) / "
            f"NULLIF({rows} + {others} OVER ({running}), 0) AS {side}_mean",
        ]
    return f"SELECT {', '.join(columns)} FROM of_value_{number} AS f"


def celled(question: Question, rows: str) -> list[tuple[str, str]]:
    """How many rows of each group are selected, for each cell: k0, k1, …, group_id, hits, cell."""
    keys = [f"{quoted(name)} AS k{n}" for n, name in enumerate(question.group_by)]
    by = ", ".join([*map(quoted, question.group_by), GROUP_ID])
    where = f" WHERE {question.condition.sql('duckdb')}" if question.condition else ""
    selected = ", ".join([*keys, GROUP_ID, "COUNT(*) AS hits"])
    ranks = ", ".join(f"k{n}" for n in range(len(keys)))
    cell = f"DENSE_RANK() OVER (ORDER BY {ranks})" if keys else "1"
    return [
        ("selected", f"SELECT {selected} FROM {rows}{where} GROUP BY {by}"),
        (CELLED, f"SELECT selected.*, {cell} AS cell FROM selected"),
    ]


def with_parts(parts: Sequence[tuple[str, str]], select: str) -> exp.Select:
    """A query with named ones before it, all of them in DuckDB's SQL."""
    named = ", ".join(f"{name} AS ({query})" for name, query in parts)
    tree = sqlglot.parse_one(f"WITH {named} {select}", read="duckdb")
    if not isinstance(tree, exp.Select):
        raise TypeError(type(tree).__name__)
    return tree


def quoted(name: str) -> str:
    """A column's name in DuckDB's SQL."""
    return exp.to_identifier(name, quoted=True).sql("duckdb")

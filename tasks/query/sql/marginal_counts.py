"""Counts where every quasi-identifier stands by itself: what groups admit, and how much of it.

A group of g rows admits m values of a quasi-identifier, of which l are meant. Every value occurs:
l rows at least, and g - (m - l) at most, have a meant one; all of them if l = m. Of the sensitive
values it is known how many are meant. What several such terms leave to a conjunction of T of them
is bounded by max(0, Σ lower - (T - 1) g) and by the least upper bound. Groups add up.

The estimate multiplies shares: of a quasi-identifier l/m (Wang's estimator), or what is expected of
the meant values under one distribution for all groups (`weighted`, see
`expectations.measures.occurrences`).

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss; the bounds and the weights are this project's own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sqlglot import exp

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.help_tables.columns import expected_name
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.question import Matching, Question
from sfumato.tasks.query.question.relations import GROUP_ID, tables_of_counts
from sfumato.tasks.query.sql.sensitive_conditions import quoted, with_parts

Estimator = Literal["weighted", "uniform"]
"""How often the values that a group admits are taken to occur: as expected, or all alike."""


@dataclass(frozen=True)
class Apart:
    """A question about counts, as common table expressions over the published tables."""

    question: Question
    declared: Terms
    estimator: Estimator = "weighted"

    def bounds(self) -> exp.Select:
        """The query for bounds: k0, …, and l0, u0, e0, … for each aggregate."""
        columns = list(self._keys)
        for number in range(len(self.question.aggregates)):
            shown = zip(("least", "most", "expected"), "lue", strict=True)
            columns += [f"{of} AS {side}{number}" for of, side in shown]
        select = f"SELECT {', '.join(columns)} FROM counted"
        return with_parts(self._parts(), select)

    def counts(self) -> exp.Select:
        """The query of how many rows a cell has: group columns, at least, at most, as expected."""
        columns = [*self._keys, "least", "most", "expected"]
        return with_parts(self._parts(), f"SELECT {', '.join(columns)} FROM counted")

    @property
    def surely_some(self) -> bool:
        """Whether each cell has rows: values that a group admits occur, but maybe not together."""
        return len(self._terms()) < 2

    @cached_property
    def _keys(self) -> list[str]:
        return [f"k{n}" for n in range(len(self.question.group_by))]

    def _parts(self) -> list[tuple[str, str]]:
        terms = self._terms()
        parts = [("sizes", _sizes(next(iter(tables_of_counts(self.declared).values()))))]
        for term in terms:
            parts += term.parts()
        return [*parts, ("ranged", self._ranged(terms)), ("counted", self._counted())]

    def _terms(self) -> list["_Term"]:
        """What is asked of each quasi-identifier, and of the sensitive values."""
        asked = {matching.columns: matching for matching in self.question.matching}
        tables = tables_of_counts(self.declared)
        terms = []
        for number, name in enumerate(self.question.group_by):
            terms.append(_Term(f"k{number}", asked.pop((name,), None), name, ""))
        for number, (columns, matching) in enumerate(asked.items()):
            if columns in tables:
                terms.append(_Term(f"s{number}", matching, None, tables[columns]))
            else:
                terms.append(_Term(f"q{number}", matching, columns[0], ""))
        return terms

    def _ranged(self, terms: list["_Term"]) -> str:
        """The bounds of each group in each cell, and what is expected of it."""
        joins = "".join(f" {join}" for term in terms for join in term.joins)
        lows = [term.low for term in terms]
        spare = f" - {len(terms) - 1} * size" if len(terms) > 1 else ""
        low = f"{' + '.join(lows)}{spare}" if lows else "size"
        highs = [term.high for term in terms]
        high = f"LEAST({', '.join(highs)})" if len(highs) > 1 else (highs or ["size"])[0]
        expected = "CAST(size AS DOUBLE)"
        for term in terms:
            expected += term.share(self.estimator)
        keys = [f"meant_{key}.{key}" for key in self._keys]
        columns = [*keys, f"{low} AS low", f"{high} AS high", f"{expected} AS expected"]
        return f"SELECT {', '.join(columns)} FROM sizes{joins}"

    def _counted(self) -> str:
        """The bounds of each cell that may have rows; the estimate is within them."""
        keys = [*self._keys]
        sums = ["CASE WHEN low > 0 THEN low ELSE 0 END", "high", "expected"]
        named = zip(sums, ("least", "most", "expected"), strict=True)
        columns = [*keys, *(f"COALESCE(SUM({of}), 0) AS {name}" for of, name in named)]
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        summed = f"SELECT {', '.join(columns)} FROM ranged{grouped}"
        clipped = (
            "CASE WHEN expected < least THEN least WHEN expected > most THEN most "
            "ELSE expected END AS expected"
        )
        shown = ", ".join([*keys, "least", "most", clipped])
        return f"SELECT {shown} FROM ({summed}) AS summed"


@dataclass(frozen=True)
class _Term:
    """What is asked of one quasi-identifier, each value of which is a cell where it is a key.

    Or of the sensitive values in one table.
    """

    key: str
    matching: Matching | None
    name: str | None
    table: str

    def parts(self) -> Iterator[tuple[str, str]]:
        """How many of the values that each group admits are meant, and of how many."""
        where = f" WHERE {self.matching.condition.sql('duckdb')}" if self.matching else ""
        if self.name is None:
            counted = f'SELECT {GROUP_ID}, SUM("count") AS l FROM {self.table}{where}'
            yield f"meant_{self.key}", f"{counted} GROUP BY {GROUP_ID}"
            return
        table, expected = help_name(self.name), expected_name(self.name)
        admitted = f"SELECT {GROUP_ID}, COUNT(*) AS m FROM {table} GROUP BY {GROUP_ID}"
        yield f"admitted_{self.key}", admitted
        if self.key.startswith("k"):
            columns = f"{quoted(self.name)} AS {self.key}, 1 AS l, {expected} AS n"
            yield f"meant_{self.key}", f"SELECT {GROUP_ID}, {columns} FROM {table}{where}"
        else:
            columns = f"COUNT(*) AS l, SUM({expected}) AS n"
            select = f"SELECT {GROUP_ID}, {columns} FROM {table}{where}"
            yield f"meant_{self.key}", f"{select} GROUP BY {GROUP_ID}"

    @property
    def joins(self) -> list[str]:
        """Groups without a meant value do not count."""
        names = ["meant"] if self.name is None else ["meant", "admitted"]
        tables = [f"{name}_{self.key}" for name in names]
        return [f"JOIN {table} ON {table}.{GROUP_ID} = sizes.{GROUP_ID}" for table in tables]

    @property
    def low(self) -> str:
        """How many rows of a group have a meant value at least."""
        meant, admitted = f"meant_{self.key}.l", f"admitted_{self.key}.m"
        if self.name is None:
            return meant
        return f"CASE WHEN {meant} = {admitted} THEN size ELSE {meant} END"

    @property
    def high(self) -> str:
        """How many rows of a group have a meant value at most."""
        meant, admitted = f"meant_{self.key}.l", f"admitted_{self.key}.m"
        return meant if self.name is None else f"size - {admitted} + {meant}"

    def share(self, estimator: Estimator) -> str:
        """A factor: the share of a group's rows that is taken to have a meant value."""
        if self.name is None:
            return f" * meant_{self.key}.l / size"
        if estimator == "weighted":
            return f" * meant_{self.key}.n / size"
        return f" * meant_{self.key}.l / admitted_{self.key}.m"


def _sizes(table: str) -> str:
    return f'SELECT {GROUP_ID}, SUM("count") AS size FROM {table} GROUP BY {GROUP_ID}'

"""A query, and its SQL."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.pairs.semantics.rows import Node, Row

Key = tuple[Any, ...]


@dataclass(frozen=True)
class OwnTable:
    """A table of the analyst's with one row for each key."""

    name: str
    key: str
    rows: Mapping[Any, Row]
    columns: tuple[str, ...]

    def join_row(self, row: Row, outer: bool) -> Row | None:
        """Return a row with its columns; None if it has no partner and the join is inner."""
        partner = self.rows.get(row[self.key])
        if partner is None:
            return {**row, **dict.fromkeys(self.columns)} if outer else None
        return {**row, **partner}


@dataclass(frozen=True)
class Query:
    """A SELECT with GROUP BY `keys`; each row shows these as k0, k1, …, formulas as a0, a1, ….

    Attributes:
        through: how the microdata are read: "plain", "filter" (a CTE has the first condition),
            "calculated" (a CTE has further columns), or "grouped" (a CTE groups, and what is
            outside picks rows: `having` is its WHERE).
        derived: columns that a CTE calculates.
        inner: the condition within the CTE.
        order: what rows are ordered by, as places among keys (0, 1, …) or formulas, with DESC.
    """

    keys: tuple[Node, ...] = ()
    formulas: tuple[Node, ...] = ()
    where: Node | None = None
    having: Node | None = None
    order: tuple[tuple[str, int, bool], ...] = ()
    limit: int | None = None
    through: str = "plain"
    derived: tuple[tuple[str, Node], ...] = ()
    inner: Node | None = None
    own: OwnTable | None = None
    outer: bool = False
    distinct: bool = False
    tags: frozenset[str] = field(default=frozenset(), compare=False)

    def names(self) -> set[str]:
        """Return the columns that it names."""
        nodes = [*self.keys, *self.formulas, *(node for _, node in self.derived)]
        nodes += [node for node in (self.where, self.having, self.inner) if node is not None]
        names = set[str]().union(*(node.names() for node in nodes))
        return names if self.own is None else names | {self.own.key}

    def sql(self) -> str:
        """Return the query as SQL."""
        source = "microdata"
        before = ""
        if self.through in ("filter", "calculated"):
            selection = ", ".join(
                ["*", *(f"{node.sql()} AS {name}" for name, node in self.derived)]
            )
            before = f"WITH c AS (SELECT {selection} FROM microdata{_where(self.inner)}) "
            source = "c"
        if self.own is not None:
            kind = "LEFT JOIN" if self.outer else "JOIN"
            source += f" {kind} {self.own.name} USING ({self.own.key})"
        if self.through == "grouped":
            return self._grouped_sql(source)
        having = "" if self.having is None else f" HAVING {self.having.sql()}"
        group_by = "" if self.distinct else self._group_by()
        selection = f"{'DISTINCT ' if self.distinct else ''}{self._selection()}"
        rows = f"{source}{_where(self.where)}"
        return f"{before}SELECT {selection} FROM {rows}{group_by}{having}{self._order()}"

    def _grouped_sql(self, source: str) -> str:
        """Return a query that picks rows of one that groups, the formulas by their names."""
        inner = f"SELECT {self._selection()} FROM {source}{_where(self.where)}{self._group_by()}"
        having = "" if self.having is None else self.having.sql()
        for place, formula in enumerate(self.formulas):
            having = having.replace(formula.sql(), f"a{place}")
        picked = f" WHERE {having}" if having else ""
        return f"WITH g AS ({inner}) SELECT * FROM g{picked}{self._order()}"

    def _selection(self) -> str:
        keys = [f"{node.sql()} AS k{place}" for place, node in enumerate(self.keys)]
        formulas = [f"{node.sql()} AS a{place}" for place, node in enumerate(self.formulas)]
        return ", ".join(keys + formulas)

    def _group_by(self) -> str:
        return f" GROUP BY {', '.join(node.sql() for node in self.keys)}" if self.keys else ""

    def _order(self) -> str:
        order = [f"{kind}{place}{' DESC' if down else ''}" for kind, place, down in self.order]
        text = f" ORDER BY {', '.join(order)}" if order else ""
        return text if self.limit is None else f"{text} LIMIT {self.limit}"


def _where(condition: Node | None) -> str:
    return "" if condition is None else f" WHERE {condition.sql()}"

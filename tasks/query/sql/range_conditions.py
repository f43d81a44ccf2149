"""Bounds where a condition is on sensitive values and subdomains stand for them, in plain SQL.

A subdomain is narrowed down to its values that the condition wants: from the least to the greatest
of them. Of the `hits` rows of a group that the other conditions mean, at least `lo` have one of the
`sure` subdomains, all of whose values are wanted, for so many copies are not among the others. The
least sum takes as many negative values as there are rows, and else those of the `lo` least sure
copies; the other bounds follow as well. `tasks.query.bounds.subdomain_extremes` has the same in
Python.

Written with window functions and no more, for any database. A mean needs more: it is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.question.relations import GROUP_ID, Relations
from sfumato.tasks.query.sql.dialect_fixes import BOUNDS_OF, VALUED
from sfumato.tasks.query.sql.sensitive_conditions import celled, with_parts
from sfumato.tasks.sql.dialects import Types

_TAKEN = "CASE WHEN {0} <= 0 THEN 0 WHEN {0} < {1} THEN {0} ELSE {1} END"
_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_INNER = "CASE WHEN ahead < lo THEN v END"
_COPIES = (
    f"CASE WHEN v {{worse}} 0 THEN {_TAKEN.format('(lo - ahead)', 'sure')} "
    f"ELSE {_TAKEN.format('(hits - before_it)', 'times')} END"
)
_SUM = "CASE WHEN MAX(lo) = 0 AND {best}(v) {worse} 0 THEN {best}(v) ELSE SUM(v * {copies}) END"
_OUTER = "{best}(v)"
_LAST = f"CASE WHEN MAX(lo) > 0 THEN {{worst}}({_INNER}) ELSE {{best}}(v) END"


@dataclass(frozen=True)
class Narrowed:
    """A question with a condition on sensitive values, as common table expressions."""

    question: Question
    relations: Relations

    def bounds(self) -> exp.Select:
        """The query that returns the bounds: k0, k1, …, l0, u0, l1, u1, …, least.

        Raises:
            QueryError: where it asks for a mean, or values are not in the order of the domain.
        """
        self._require_plain()
        columns = [f"counted.{key} AS {key}" for key in self._keys]
        for number, aggregate in enumerate(self.question.aggregates):
            low, high = _sides(aggregate)
            columns += [f"{low} AS l{number}", f"{high} AS u{number}"]
        columns.append("counted.count_l AS least")
        tables = "counted"
        parts = self._counted()
        functions = sorted({a.function for a in self.question.aggregates} - {"count"})
        for end in ("low", "high") if functions else ():
            tables += f" LEFT JOIN bounds_{end} ON bounds_{end}.cell = counted.cell"
            parts += [
                (f"{VALUED}{end}", _valued(end)),
                (f"{BOUNDS_OF}{end}", _bounds(end, functions)),
            ]
        possible = " WHERE counted.count_u > 0" if self._keys else ""
        return with_parts(parts, f"SELECT {', '.join(columns)} FROM {tables}{possible}")

    def _require_plain(self) -> None:
        if any(aggregate.function == "avg" for aggregate in self.question.aggregates):
            raise QueryError(
                "AVG with a condition on a sensitive column is not written in SQL: ask with "
                "`sfumato query`"
            )
        (name,) = self.relations.declared.named("sensitive")
        column = self.relations.declared.columns[name]
        if column.hierarchy is not None and column.type in ("string", "boolean"):
            raise QueryError(
                "a condition on a sensitive column in the order of its hierarchy is not written in "
                "SQL: ask with `sfumato query`"
            )

    @property
    def _keys(self) -> list[str]:
        return [f"k{n}" for n in range(len(self.question.group_by))]

    def _counted(self) -> list[tuple[str, str]]:
        """How many rows each cell has at least and at most."""
        held = (
            'SELECT st.group_id, n."lower", n."upper", n.inside, st."count" AS times FROM st '
            'JOIN bounds_nodes AS n ON n.a = st."lower" AND n.b = st."upper"'
        )
        able = "SUM(times) AS can, SUM(times * inside) AS must"
        sums = "COALESCE(SUM(lo), 0) AS count_l, COALESCE(SUM(hi), 0) AS count_u"
        by = ", ".join(["cell", *self._keys])
        cells = f"SELECT {by}, {sums} FROM ranged GROUP BY {by}"
        return [
            *celled(self.question, self.relations.rows),
            *self._narrowed(),
            ("held", held),
            ("sizes", f'SELECT {GROUP_ID}, SUM("count") AS size FROM st GROUP BY {GROUP_ID}'),
            ("able", f"SELECT {GROUP_ID}, {able} FROM held GROUP BY {GROUP_ID}"),
            ("ranged", _RANGED),
            ("counted", cells if self._keys else f"SELECT 1 AS cell, {sums} FROM ranged"),
        ]

    def _narrowed(self) -> list[tuple[str, str]]:
        """The subdomains with wanted values, from a to b, and whether all of theirs are."""
        (matching,) = self.question.matching
        lower = exp.column("lower", quoted=True)
        condition = matching.condition.transform(
            lambda node: lower.copy() if isinstance(node, exp.Column) else node
        ).sql("duckdb")
        leaves = 'SELECT DISTINCT "lower" AS v FROM targets WHERE "lower" = "upper"'
        return [
            ("valued_nodes", leaves),
            ("wanted", f"{leaves} AND ({condition})"),
            ("shown", 'SELECT DISTINCT "lower" AS a, "upper" AS b FROM st'),
            ("bounds_nodes", _NODES),
        ]


_NODES = (
    'SELECT shown.a, shown.b, MIN(wanted.v) AS "lower", MAX(wanted.v) AS "upper", '
    "CASE WHEN COUNT(wanted.v) = COUNT(*) THEN 1 ELSE 0 END AS inside FROM shown "
    "JOIN valued_nodes AS leaves ON leaves.v >= shown.a AND leaves.v <= shown.b "
    "LEFT JOIN wanted ON wanted.v = leaves.v GROUP BY shown.a, shown.b HAVING COUNT(wanted.v) > 0"
)
_RANGED = (
    "SELECT celled.*, "
    "CASE WHEN hits + COALESCE(must, 0) > size THEN hits + COALESCE(must, 0) - size ELSE 0 END "
    "AS lo, CASE WHEN hits < COALESCE(can, 0) THEN hits ELSE COALESCE(can, 0) END AS hi "
    f"FROM celled JOIN sizes ON sizes.{GROUP_ID} = celled.{GROUP_ID} "
    f"LEFT JOIN able ON able.{GROUP_ID} = celled.{GROUP_ID}"
)


def _valued(end: str) -> str:
    """The best values of each group's subdomains, and how many copies are before them."""
    column, order = ('"lower"', "v") if end == "low" else ('"upper"', "v DESC")
    grouped = (
        f"SELECT {GROUP_ID}, {column} AS v, SUM(times) AS times, SUM(times * inside) AS sure "
        f"FROM held GROUP BY {GROUP_ID}, {column}"
    )
    over = f"OVER (PARTITION BY {GROUP_ID} ORDER BY {order} {_ROWS})"
    return (
        f"SELECT {GROUP_ID}, v, times, sure, SUM(times) {over} - times AS before_it, "
        f"SUM(sure) {over} - sure AS ahead FROM ({grouped}) AS grouped"
    )


def _bounds(end: str, functions: Sequence[str]) -> str:
    """The bounds of each cell from one end of the values."""
    best, worst, worse = ("MIN", "MAX", ">") if end == "low" else ("MAX", "MIN", "<")
    near, side = ("min", "l") if end == "low" else ("max", "u")
    columns = []
    for function in functions:
        of = _SUM if function == "sum" else _OUTER if function == near else _LAST
        copies = _COPIES.format(worse=worse)
        bound = of.format(best=best, worst=worst, worse=worse, copies=copies)
        columns.append(f"{bound} AS {function}_{side}")
    return (
        f"SELECT r.cell, {', '.join(columns)} FROM ranged AS r JOIN valued_{end} AS w "
        f"ON w.{GROUP_ID} = r.{GROUP_ID} GROUP BY r.cell"
    )


def _sides(aggregate: Aggregate) -> tuple[str, str]:
    if aggregate.function == "count":
        return "counted.count_l", "counted.count_u"
    return f"bounds_low.{aggregate.function}_l", f"bounds_high.{aggregate.function}_u"


def types_of(declared: Terms) -> Types:
    """The types of published columns, those of the ends of subdomains included."""
    types = {name: column.type for name, column in declared.columns.items()}
    if declared.form.method != "redistributed":
        return types
    (name,) = declared.named("sensitive")
    return types | dict.fromkeys(("lower", "upper"), types[name])

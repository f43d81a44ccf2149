"""Bounds over rows of labels, which match a question surely, maybe, or not at all.

Rows that surely match count, and any row that may match can count. If people have left, up to v
rows of a group with v vacant rows do not count, and no more rows count than the group has people.
Which of them do is decided by what is best for each bound (see `tasks.query.engines.attendance`).

Sensitive and insensitive values are in the row of their labels. The values of rows that surely
match count, and any value of the other rows can: as `tasks.query.engines.labels` counts them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.behind_labels.decide import columns_of, parts_by_column
from sfumato.tasks.query.question.question import TABLE, Aggregate, Question
from sfumato.tasks.query.question.ways import GROUP_ID
from sfumato.tasks.query.sql.decided_labels import ColumnTest, Decider
from sfumato.tasks.query.sql.label_conditions import JoinedRows, MayMust, connect, of_row
from sfumato.tasks.query.sql.sensitive_conditions import runs, sizes_with_vacant
from sfumato.tasks.query.sql.trees import (
    BOUNDS_OF,
    CHOSEN,
    VALUED,
    Part,
    alias,
    join,
    key_names,
    keys_of,
    own,
    same,
    select,
    tree,
    trees,
    with_parts,
)
from sfumato.tasks.terms.terms import Terms

_SIZES = "sizes"
# the least and the greatest number of a group's rows that count, of `n` that may match and `m` that
# surely do; `vacancies` and `live` are the group's vacant rows and its people
_LIMITS = (
    "CASE WHEN m{end} > vacancies THEN m{end} - vacancies ELSE 0 END",
    "CASE WHEN n{end} < live THEN n{end} ELSE live END",
)
# the copies of each value that count if nobody has left
_COPIES = (
    "cell",
    "v",
    "SUM(must) AS low_sure",
    "SUM(1 - must) AS low_maybe",
    "SUM(must) AS high_sure",
    "SUM(1 - must) AS high_maybe",
)
_SO_FAR = "OVER (PARTITION BY cell, group_id ORDER BY v "
_SO_FAR += "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
# the same numbers for a value of a group (`m`, `n`), for all of its values (`must`, `every`), and
# for those below the value
_RANKED = (
    "cell",
    "group_id",
    "v",
    "m",
    "n",
    "SUM(m) OVER (PARTITION BY cell, group_id) AS must",
    "SUM(n) OVER (PARTITION BY cell, group_id) AS every",
    f"SUM(m) {_SO_FAR} - m AS m_below",
    f"SUM(n) {_SO_FAR} - n AS n_below",
)
_LIMITED = (
    "r.cell",
    "r.v",
    "r.m",
    "r.n",
    "r.m_below",
    "r.n_below",
    "r.must - r.m_below - r.m AS m_above",
    "r.every - r.n_below - r.n AS n_above",
    "CASE WHEN r.must > vacancies THEN r.must - vacancies ELSE 0 END AS a",
    "CASE WHEN r.every < live THEN r.every ELSE live END AS b",
)
"""Values, with the least (a) and the greatest number (b) of their group's rows that count."""
_SURE = (
    "cell",
    "v",
    "n",
    *(
        part.format(at=place, side=side)
        for side, place in (("low", "below"), ("high", "above"))
        for part in (
            "CASE WHEN a <= m_{at} THEN 0 WHEN a - m_{at} < m THEN a - m_{at} ELSE m END "
            "AS {side}_sure",
            "b - a - n_{at} + CASE WHEN a < m_{at} THEN a ELSE m_{at} END AS {side}_left",
        )
    ),
)
"""The first a of the surely matching rows count; `left` is the number of others that still can."""
_COUNTED = (
    "cell",
    "v",
    *(
        part.format(side=side)
        for side in ("low", "high")
        for part in (
            "SUM({side}_sure) AS {side}_sure",
            "SUM(CASE WHEN {side}_left <= 0 THEN 0 WHEN {side}_left < n - {side}_sure "
            "THEN {side}_left ELSE n - {side}_sure END) AS {side}_maybe",
        )
    ),
)


def rows_of_cells(keys: Sequence[exp.Column], valued: int, *, composed: bool) -> list[Part]:
    """Return the parts up to `counted`: the numbers of rows of each cell, and of rows with a value.

    The columns are `count_l` and `count_u`, the least and the greatest number of rows, and the same
    with `_n` added for rows with a value of column n.

    Args:
        keys: the group columns.
        valued: the number of aggregated columns.
        composed: whether versions are composed, so that people may have left.
    """
    ends = ["", *(f"_{number}" for number in range(valued))]
    sums = [_value_or_zero(number, end) for end in ends for number in ("must", "1")]
    names = [f"{side}{end}" for end in ends for side in ("m", "n")]
    rows = [alias(exp.Sum(this=total), name) for total, name in zip(sums, names, strict=True)]
    if not composed:
        counts = [exp.Sum(this=total.copy()) for total in sums]
        return [("counted", _by_cell(keys, counts, ends, CHOSEN))]
    cells = _cell(keys)
    ranged = select([*cells, own(GROUP_ID), *rows], CHOSEN, group_by=[*_keys(keys), own(GROUP_ID)])
    limits = [tree(text.format(end=end)) for end in ends for text in _LIMITS]
    counted = _by_cell(keys, [exp.Sum(this=limit) for limit in limits], ends, "ranged")
    join(counted, _SIZES, same(GROUP_ID, _SIZES, "ranged"))
    return [(_SIZES, sizes_with_vacant()), ("ranged", ranged), ("counted", counted)]


def copies_of_values(number: int, *, composed: bool) -> Iterator[Part]:
    """Yield the parts up to `of_value_…`: how many copies of each value count in each cell.

    Args:
        number: the number of the aggregated column.
        composed: whether versions are composed, so that people may have left.
    """
    source, result = f"{VALUED}{number}", f"of_value_{number}"
    columns = [own("cell"), alias(own(f"v{number}"), "v"), own("must")]
    is_value = tree(f"NOT v{number} IS NULL")
    if not composed:
        yield source, select(columns, CHOSEN, where=[is_value])
        yield result, select(trees(*_COPIES), source, group_by=trees("cell", "v"))
        return
    yield source, select([*columns, own(GROUP_ID)], CHOSEN, where=[is_value])
    keys = trees("cell", "group_id", "v")
    counts = trees("SUM(must) AS m", "COUNT(*) AS n")
    yield (
        f"copies_{number}",
        select([*keys, *counts], source, group_by=trees("cell", "group_id", "v")),
    )
    yield f"ranked_{number}", select(trees(*_RANKED), f"copies_{number}")
    limited = select(trees(*_LIMITED), exp.table_(f"ranked_{number}", alias="r"))
    join(limited, _SIZES, same(GROUP_ID, _SIZES, "r"))
    yield f"limited_{number}", limited
    yield f"sure_{number}", select(trees(*_SURE), f"limited_{number}")
    yield result, select(trees(*_COUNTED), f"sure_{number}", group_by=trees("cell", "v"))


def _by_cell(
    keys: Sequence[exp.Column], sums: Sequence[exp.Expr], ends: Sequence[str], source: str
) -> exp.Select:
    """Return the query of sums by cell, 0 over no rows; `ends` end their names, two for each."""
    names = [f"count_{side}{end}" for end in ends for side in "lu"]
    columns = [
        alias(exp.Coalesce(this=total, expressions=[exp.Literal.number(0)]), name)
        for total, name in zip(sums, names, strict=True)
    ]
    return select([*_cell(keys), *columns], source, group_by=_keys(keys))


def _cell(keys: Sequence[exp.Column]) -> list[exp.Expr]:
    return _keys(keys) or [tree("1 AS cell")]


def _keys(keys: Sequence[exp.Column]) -> list[exp.Expr]:
    return [own("cell"), *(key.copy() for key in keys)] if keys else []


def _value_or_zero(number: str, end: str) -> exp.Expr:
    """Return a number for rows with a value of the column of an end, 0 for others.

    Without an end the number is for all rows.
    """
    value: exp.Expr = tree(
        f"CASE WHEN v{end[1:]} IS NULL THEN 0 ELSE {number} END" if end else number
    )
    return value


@dataclass(frozen=True)
class LabelBounds:
    """A question about rows of labels, as common table expressions.

    Attributes:
        question: the question.
        declared: the terms of the release.
        decided: decides the outcomes that depend only on constants.
    """

    question: Question
    declared: Terms
    decided: Decider

    def bounds(self) -> exp.Select:
        """Return the query for bounds: k0, …, and l0, u0, … for each aggregate, and `least`.

        Raises:
            QueryError: if an aggregate is not written in SQL, or label tables do not determine it.
        """
        ends = [self._ends(aggregate) for aggregate in self.question.aggregates]
        columns: list[exp.Expr] = [
            alias(column, key)
            for column, key in zip(
                keys_of(self.question, "counted"), key_names(self.question), strict=True
            )
        ]
        for number, pair in enumerate(ends):
            columns += [alias(end, f"{side}{number}") for end, side in zip(pair, "lu", strict=True)]
        query = select([*columns, tree("counted.count_l AS least")], "counted")
        counted = rows_of_cells(
            keys_of(self.question), len(self._asked_columns), composed=self.declared.is_composed
        )
        parts = [*self._choice_parts(), *counted, *self._of_columns()]
        for number in self._bounded_columns:
            table = f"{BOUNDS_OF}{number}"
            join(query, table, same("cell", table, "counted"), "LEFT")
        return with_parts(parts, query)

    @cached_property
    def _asked_columns(self) -> list[str]:
        """The aggregated columns, in order."""
        names = (a.sensitive for a in self.question.aggregates)
        return list(dict.fromkeys(name for name in names if name is not None))

    @cached_property
    def _bounded_columns(self) -> list[int]:
        """The numbers of the columns with an aggregate other than a count."""
        names = {a.sensitive for a in self.question.aggregates if not a.kind.counts_rows}
        return [number for number, name in enumerate(self._asked_columns) if name in names]

    def _choice_parts(self) -> list[Part]:
        """Return the parts up to `chosen`: the rows that may match, each with its cell.

        `must` is 1 for a row that surely matches, otherwise 0.
        """
        rows = JoinedRows(self.declared, self.decided)
        keys, matches = self._keys_and_matches(rows)
        must = matches.must if matches else exp.true()
        surely = exp.Case().when(must, exp.Literal.number(1)).else_(exp.Literal.number(0))
        cell: exp.Expr = exp.Literal.number(1)
        if keys:
            ranked = exp.Order(expressions=[exp.Ordered(this=key.copy()) for key in keys])
            cell = exp.Window(this=exp.DenseRank(), order=ranked, over="OVER")
        columns = [
            alias(cell, "cell"),
            *(
                alias(key, key_name)
                for key, key_name in zip(keys, key_names(self.question), strict=True)
            ),
            *(alias(of_row(name), f"v{number}") for number, name in enumerate(self._asked_columns)),
            alias(surely, "must"),
            *([own(GROUP_ID, TABLE)] if self.declared.is_composed else []),
        ]
        query = select(columns, TABLE, where=[matches.may if matches else None])
        for name, on, kind in rows.joins:
            join(query, name, on, kind)
        return [*rows.parts, (CHOSEN, query)]

    def _keys_and_matches(self, rows: JoinedRows) -> tuple[list[exp.Expr], MayMust | None]:
        """Return the group columns of each row, and the conditions that it matches in their cell.

        The second is None if every row matches.
        """
        parts = list(_conjuncts(self.question.condition))
        keys: list[exp.Expr] = []
        matches: list[MayMust] = []
        for number, name in enumerate(self.question.group_by):
            keys.append(of_row(name))
            if self.declared.columns[name].role == "quasi-identifier":
                of_cell = [part for part in parts if columns_of(part) == [name]]
                parts = [part for part in parts if part not in of_cell]
                tested = ColumnTest(name, of_cell[0], negated=False) if of_cell else None
                matches.append(rows.cell(number, name, tested))
                keys[-1] = own("value", f"cells_{number}")
        matches += [rows.matches(part) for part in parts]
        return keys, connect(matches, every=True) if matches else None

    def _of_columns(self) -> Iterator[Part]:
        """Yield the bounds of each column, from the number of its values that count per cell."""
        for number in self._bounded_columns:
            yield from copies_of_values(number, composed=self.declared.is_composed)
            source = f"of_value_{number}"
            kinds = {
                a.kind
                for a in self.question.aggregates
                if a.sensitive == self._asked_columns[number]
            }
            if any(kind.runs for kind in kinds):
                yield f"runs_{number}", runs(number)
                source = f"runs_{number}"
            columns: list[exp.Expr] = [own("cell")]
            for kind in sorted(kinds, key=lambda kind: kind.name):
                for bound, end in zip(kind.over_counts or (), ("l", "u"), strict=False):
                    columns.append(alias(bound.copy(), f"{kind.name}_{end}"))
            yield f"{BOUNDS_OF}{number}", select(columns, source, group_by=[own("cell")])

    def _ends(self, aggregate: Aggregate) -> tuple[exp.Expr, exp.Expr]:
        """Return the columns with the bounds of an aggregate.

        Raises:
            QueryError: if the aggregate is not written in SQL.
        """
        name, column = aggregate.kind.name, aggregate.sensitive
        if aggregate.kind.counts_rows:
            end = "" if column is None else f"_{self._asked_columns.index(column)}"
            return own(f"count_l{end}", "counted"), own(f"count_u{end}", "counted")
        if aggregate.kind.over_counts is None:
            raise QueryError(
                f"{aggregate.kind.sql_name} cannot be written in SQL. Ask with `sfumato query`"
            )
        table = f"{BOUNDS_OF}{self._asked_columns.index(str(column))}"
        return own(f"{name}_l", table), own(f"{name}_u", table)


def _conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """Return the parts that AND joins, with those on the same column as one."""
    if condition is None:
        return []
    inner = condition.unnest()
    return parts_by_column(inner) if isinstance(inner, exp.And) else [inner]

"""Bounds over rows of labels, each of which a question means surely, maybe, or not.

Sensitive and insensitive values stand beside the labels of their row. The values of the rows that
are surely meant count, and any of the others may: as `tasks.query.engines.labels` counts them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.behind_labels.decide import by_column, columns_of
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import TABLE, Question
from sfumato.tasks.query.question.relations import GROUP_ID
from sfumato.tasks.query.sql.conditions.sensitive_values import runs
from sfumato.tasks.query.sql.conditions.trees import (
    BOUNDS_OF,
    CHOSEN,
    Part,
    alias,
    join,
    key_names,
    keys_of,
    own,
    same,
    select,
    tree,
    with_parts,
)
from sfumato.tasks.query.sql.label_conditions.counted import copies_of_values, rows_of_cells
from sfumato.tasks.query.sql.label_conditions.decided import Decided, Tested
from sfumato.tasks.query.sql.label_conditions.meant import JoinedRows, MayMust, connect, of_row


@dataclass(frozen=True)
class LabelBounds:
    """A question about rows of labels, as common table expressions."""

    question: Question
    declared: Terms
    decided: Decided

    def bounds(self) -> exp.Select:
        """The query for bounds: k0, …, and l0, u0, … for each aggregate, and `least`.

        Raises:
            QueryError: where an aggregate is not written in SQL, or label tables cannot tell.
        """
        ends = [self._ends(aggregate) for aggregate in self.question.aggregates]
        columns: list[exp.Expr] = [
            alias(of, key)
            for of, key in zip(
                keys_of(self.question, "counted"), key_names(self.question), strict=True
            )
        ]
        for number, of in enumerate(ends):
            columns += [alias(end, f"{side}{number}") for end, side in zip(of, "lu", strict=True)]
        query = select([*columns, tree("counted.count_l AS least")], "counted")
        counted = rows_of_cells(
            keys_of(self.question), len(self._valued), composed=self.declared.composed
        )
        parts = [*self._chosen(), *counted, *self._of_columns()]
        for number in self._bounded:
            table = f"{BOUNDS_OF}{number}"
            join(query, table, same("cell", table, "counted"), "LEFT")
        return with_parts(parts, query)

    @cached_property
    def _valued(self) -> list[str]:
        """The columns of which something is asked, in order."""
        asked = (a.sensitive for a in self.question.aggregates)
        return list(dict.fromkeys(name for name in asked if name is not None))

    @cached_property
    def _bounded(self) -> list[int]:
        """The numbers of those of which more than a count is asked."""
        asked = {a.sensitive for a in self.question.aggregates if not a.kind.counts_rows}
        return [number for number, name in enumerate(self._valued) if name in asked]

    def _chosen(self) -> list[Part]:
        """The parts that choose the rows that may be meant, and say which surely are."""
        rows = JoinedRows(self.declared, self.decided)
        keys, meant = self._meant(rows)
        must = meant.must if meant else exp.true()
        surely = exp.Case().when(must, exp.Literal.number(1)).else_(exp.Literal.number(0))
        cell: exp.Expr = exp.Literal.number(1)
        if keys:
            ranked = exp.Order(expressions=[exp.Ordered(this=key.copy()) for key in keys])
            cell = exp.Window(this=exp.DenseRank(), order=ranked, over="OVER")
        columns = [
            alias(cell, "cell"),
            *(alias(key, of) for key, of in zip(keys, key_names(self.question), strict=True)),
            *(alias(of_row(name), f"v{number}") for number, name in enumerate(self._valued)),
            alias(surely, "must"),
            *([own(GROUP_ID, TABLE)] if self.declared.composed else []),
        ]
        query = select(columns, TABLE, where=[meant.may if meant else None])
        for name, on, kind in rows.joins:
            join(query, name, on, kind)
        return [*rows.parts, (CHOSEN, query)]

    def _meant(self, rows: JoinedRows) -> tuple[list[exp.Expr], MayMust | None]:
        """The group columns of each row, and whether it is meant in their cell."""
        parts = list(_conjuncts(self.question.condition))
        keys: list[exp.Expr] = []
        meant: list[MayMust] = []
        for number, name in enumerate(self.question.group_by):
            keys.append(of_row(name))
            if self.declared.columns[name].role == "quasi-identifier":
                of_cell = [part for part in parts if columns_of(part) == [name]]
                parts = [part for part in parts if part not in of_cell]
                tested = Tested(name, of_cell[0], negated=False) if of_cell else None
                meant.append(rows.cell(number, name, tested))
                keys[-1] = own("value", f"cells_{number}")
        meant += [rows.meant(part) for part in parts]
        return keys, connect(meant, every=True) if meant else None

    def _of_columns(self) -> Iterator[Part]:
        """The bounds of each column, from how many of its values count in each cell."""
        for number in self._bounded:
            yield from copies_of_values(number, composed=self.declared.composed)
            source = f"of_value_{number}"
            kinds = {
                a.kind for a in self.question.aggregates if a.sensitive == self._valued[number]
            }
            if any(kind.runs for kind in kinds):
                yield f"runs_{number}", runs(number)
                source = f"runs_{number}"
            columns: list[exp.Expr] = [own("cell")]
            for kind in sorted(kinds, key=lambda kind: kind.name):
                for of, end in zip(kind.over_counts or (), ("l", "u"), strict=False):
                    columns.append(alias(of.copy(), f"{kind.name}_{end}"))
            yield f"{BOUNDS_OF}{number}", select(columns, source, by=[own("cell")])

    def _ends(self, aggregate: Aggregate) -> tuple[exp.Expr, exp.Expr]:
        name, of = aggregate.kind.name, aggregate.sensitive
        if aggregate.kind.counts_rows:
            end = "" if of is None else f"_{self._valued.index(of)}"
            return own(f"count_l{end}", "counted"), own(f"count_u{end}", "counted")
        if aggregate.kind.over_counts is None:
            raise QueryError(
                f"{aggregate.kind.called} is not written in SQL: ask with `sfumato query`"
            )
        table = f"{BOUNDS_OF}{self._valued.index(str(of))}"
        return own(f"{name}_l", table), own(f"{name}_u", table)


def _conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The parts that AND joins, those on the same column as one."""
    if condition is None:
        return []
    inner = condition.unnest()
    return by_column(inner) if isinstance(inner, exp.And) else [inner]

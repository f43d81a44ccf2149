"""Proportions, and what OR joins, as one query over the questions that they are calculated of.

Each set of rows is a question of its own. The innermost query has the bounds of all of them in a
row for each row of the answer; the next one makes ends of formulas, or whole dividends and
divisors, and the outermost one divides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from sfumato.tasks.query.in_databases.ends import Ends, counts_beside, ends_of, quotients_of
from sfumato.tasks.query.in_databases.side_by_side import Written, number_columns, same_keys
from sfumato.tasks.query.question.aggregate import ROWS, Aggregate
from sfumato.tasks.query.question.formulas import AskedOfPart, Formula, Pooled
from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.inquiry import Inquiry, Measure
from sfumato.tasks.query.question.question import BOUNDS, GroupColumn, Question
from sfumato.tasks.query.sql.conditions.quotients import quotient_bound
from sfumato.tasks.query.sql.conditions.trees import alias, join, own

_ANSWER, _PART, _BESIDE, _MADE = "asked", "part_{}", "beside", "made"


@dataclass(frozen=True)
class FormulaQuery:
    """The query for the bounds of an inquiry's formulas.

    Attributes:
        inquiry: without HAVING, whose formulas all can be written.
        written: makes the query of one question.
    """

    inquiry: Inquiry
    written: Written

    def tree(self, reading: Reading) -> exp.Select:
        """Return the query; rows that may not be there are in it if they are read as possible."""
        keys = range(len(self.inquiry.keys))
        made: list[exp.Expr] = [alias(own(f"k{n}", _BESIDE), f"k{n}") for n in keys]
        shown: list[exp.Expr] = []
        for number, item in enumerate(self.inquiry.shown):
            if isinstance(item, GroupColumn):
                place = [key.name for key in self.inquiry.keys].index(item.name)
                shown.append(alias(own(f"k{place}", _MADE), item.label, quoted=True))
            elif isinstance(item, Measure):
                columns, ends = self._formula_columns(item.formula, number)
                made += columns
                names = (f"{item.label}_{end}" for end in BOUNDS)
                shown += [
                    alias(of, name, quoted=True) for of, name in zip(ends, names, strict=True)
                ]
        inner = exp.select(*made, copy=False).from_(self._joined_bounds(), copy=False)
        kept = self._group_condition(reading)
        inner = inner if kept is None else inner.where(kept, copy=False)
        return exp.select(*shown, copy=False).from_(inner.subquery(_MADE), copy=False)

    def _formula_columns(self, formula: Formula, number: int) -> tuple[list[exp.Expr], Ends]:
        """Return columns that are made for a formula, and its ends over these."""
        overs, unders = ([f"{of}{number}_{end}" for end in BOUNDS] for of in ("over", "under"))
        quotients = quotients_of(formula, self._columns)
        if quotients is None:
            ends = ends_of(formula, self._columns)
            columns: list[exp.Expr] = list(map(alias, ends, overs))
            return columns, (own(overs[0], _MADE), own(overs[1], _MADE))
        both = zip((*quotients.over, *quotients.under), (*overs, *unders), strict=True)
        low, high = (
            quotient_bound(own(above, _MADE), own(below, _MADE), upper=upper)
            for above, below, upper in zip(overs, unders, (False, True), strict=True)
        )
        return [alias(of, name) for of, name in both], (low, high)

    def _columns(self, asked: AskedOfPart) -> Ends:
        place = self._asked[asked.part].index(asked.aggregate)
        low, high = (own(f"p{asked.part}_{place}_{end}", _BESIDE) for end in BOUNDS)
        return low, high

    @cached_property
    def _asked(self) -> Mapping[int, Sequence[Aggregate]]:
        """By its number, all that is asked of each part, the number of rows first."""
        asked: dict[int, list[Aggregate]] = {}
        for formula in (*self.inquiry.formulas, self.inquiry.present):
            for of in (*counts_beside(formula), *formula.asked):
                aggregates = asked.setdefault(of.part, [ROWS])
                if of.aggregate not in aggregates:
                    aggregates.append(of.aggregate)
        return asked

    def _joined_bounds(self) -> exp.Subquery:
        """Return the bounds of all questions, in a row for each row of the answer."""
        names = tuple(key.name for key in self.inquiry.keys)
        base = self.inquiry.parts[self._base].question(names).with_aggregates([ROWS])
        columns: list[exp.Expr] = [alias(own(f"k{n}", _ANSWER), f"k{n}") for n in range(len(names))]
        query = exp.select().from_(self._rows(base, _ANSWER), copy=False)
        for number, aggregates in self._asked.items():
            part, table = self.inquiry.parts[number], _PART.format(number)
            question = part.question(names if part.grouped else ())
            question = question.with_aggregates(aggregates)
            same = same_keys(question, _ANSWER, table)
            join(query, self._rows(question, table), same, "LEFT")
            columns += _bounds_of(number, aggregates, table)
        return query.select(*columns, append=False, copy=False).subquery(_BESIDE, copy=False)

    @property
    def _base(self) -> int:
        """The part that has every row of the answer."""
        present = self.inquiry.present
        return present.whole.part if isinstance(present, Pooled) and present.whole else 0

    def _rows(self, question: Question, name: str) -> exp.Subquery:
        calculated = {column.name: column.expression for column in self.inquiry.calculated}
        asked = replace(number_columns(question, question.aggregates), calculated=calculated)
        return self.written(asked, "possible").subquery(name, copy=False)

    def _group_condition(self, reading: Reading) -> exp.Expr | None:
        """Return the condition that a group has rows, possibly or certainly."""
        if not self.inquiry.keys:
            return None
        low, high = ends_of(self.inquiry.present, self._columns)
        end = low if reading == "certain" else high
        return exp.GT(this=exp.paren(end), expression=exp.Literal.number(0))


def _bounds_of(number: int, aggregates: Sequence[Aggregate], table: str) -> list[exp.Expr]:
    """Return the columns of a question's bounds; it counts 0 where it has no row."""
    found: list[exp.Expr] = []
    for place, aggregate in enumerate(aggregates):
        for end in BOUNDS:
            bound: exp.Expr = own(f"a{place}_{end}", table)
            if aggregate.kind.counts_rows:
                bound = exp.Coalesce(this=bound, expressions=[exp.Literal.number(0)])
            found.append(alias(bound, f"p{number}_{place}_{end}"))
    return found

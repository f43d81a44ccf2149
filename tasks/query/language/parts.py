"""The rows that an inquiry means, as conditions that engines answer, and what is asked of each."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.language.conditions import (
    checked_condition,
    disjoint_conditions,
    is_never_null,
    surroundings,
    untrue,
)
from sfumato.tasks.query.question.aggregate import ROWS, Aggregate
from sfumato.tasks.query.question.calculations import Calculations
from sfumato.tasks.query.question.conditions import all_of, split_where
from sfumato.tasks.query.question.formulas import AskedOfPart
from sfumato.tasks.query.question.inquiry import InquiredPart

_MOST = 200


@dataclass
class _Part:
    """Rows that are meant, and what was asked of them so far."""

    condition: exp.Expr | None
    grouped: bool
    extra: exp.Expr | None = None
    aggregates: list[Aggregate] = field(default_factory=list)
    exact: list[Aggregate] = field(default_factory=list)


@dataclass(frozen=True)
class Around:
    """The rows that a disjunction is among, and those of them on which it is not true.

    The numbers of parts; `rest` is None where those are no one part.
    """

    whole: int
    rest: int | None


class PartList:
    """The parts of an inquiry; each condition is taken apart once."""

    def __init__(
        self,
        where: Sequence[exp.Expr],
        calculations: Calculations,
        among: "PartList | None" = None,
    ) -> None:
        """Begin with the rows on which all conditions of `where` hold.

        Args:
            where: conditions.
            calculations: the columns that are calculated.
            among: those of the rows of an answer, beside which all rows are asked about together.
        """
        self._where, self._calculations = list(where), calculations
        self._parts: list[_Part] = [] if among is None else among._parts
        self._grouped = among is None
        self._known: dict[tuple[str, ...], tuple[int, ...]] = {}
        self._around: dict[tuple[int, ...], Around] = {}
        if self._grouped:
            self.over(None)

    def together(self, where: Sequence[exp.Expr] | None = None) -> "PartList":
        """Parts of all rows, whichever row of the answer they are in, on the same conditions."""
        return PartList(self._where if where is None else where, self._calculations, self)

    def over(self, extra: exp.Expr | None, without: exp.Expr | None = None) -> tuple[int, ...]:
        """Return the parts that make up the rows on which a further condition holds, no row by two.

        Args:
            extra: the further condition.
            without: a condition that is false, or null, on these rows.

        Raises:
            QueryError: naming what is not allowed.
        """
        known = tuple("" if of is None else of.sql("duckdb") for of in (extra, without))
        if known not in self._known:
            self._known[known] = tuple(self._added(extra, without))
        return self._known[known]

    def around(self, parts: tuple[int, ...]) -> "Around | None":
        """What the rows of parts are within; None where that tells nothing of them."""
        return self._around.get(parts)

    def _added(self, extra: exp.Expr | None, without: exp.Expr | None) -> list[int]:
        further = self._checked([] if extra is None else [extra])
        if without is not None:
            untrue = self._untrue(without)
            further = untrue if further is None else exp.and_(further, untrue)
        where = self._checked(self._where)
        checked = all_of([of for of in (where, further) if of is not None])
        if checked is None:
            return [self._add(None)]
        found = list(map(self._add, disjoint_conditions(checked, self._calculations.terms)))
        if further is not None and len(found) == 1:
            self._parts[found[0]].extra = further
        outer = surroundings(checked, self._calculations.terms)
        if outer is not None and len(self._parts) + 2 <= _MOST:
            whole, rest = outer
            inside = self._add(whole), None if rest is None else self._add(rest)
            self._around[tuple(found)] = Around(*inside)
        return found

    def _checked(self, conditions: Sequence[exp.Expr]) -> exp.Expr | None:
        whole = all_of(conditions)
        return None if whole is None else checked_condition(whole, self._calculations)

    def _untrue(self, condition: exp.Expr) -> exp.Expr:
        checked = checked_condition(condition, self._calculations)
        if is_never_null(checked, self._calculations.terms):
            return exp.Not(this=exp.paren(checked))
        return untrue(checked)

    def _add(self, condition: exp.Expr | None) -> int:
        if len(self._parts) == _MOST:
            raise QueryError(f"a query asks about at most {_MOST} sets of rows")
        self._parts.append(_Part(condition, self._grouped))
        return len(self._parts) - 1

    def ask(self, number: int, aggregate: Aggregate, *, exact: bool = False) -> AskedOfPart:
        """An aggregate over the rows of a part."""
        part = self._parts[number]
        asked = part.exact if exact else part.aggregates
        if aggregate not in asked:
            asked.append(aggregate)
        return AskedOfPart(number, aggregate)

    def finished(self) -> tuple[InquiredPart, ...]:
        """All parts, with all that is asked of them."""
        return tuple(map(self._finished, self._parts))

    def _finished(self, part: _Part) -> InquiredPart:
        condition, matching = split_where(part.condition, self._calculations.terms)
        aggregates = tuple(part.aggregates or [ROWS])
        return InquiredPart(
            condition, matching, aggregates, tuple(part.exact), part.grouped, part.extra
        )

"""Conditions for PostgreSQL, SQLite and MariaDB that mean what they mean in DuckDB.

What differs there: texts are compared by code points; LIKE has no escape character, and ILIKE knows
the cases of every script; a quotient is a float, and infinite (or no number, which is the greatest
of all) where the divisor is 0; numbers with an exponent are floats, all others exact; a DATE
compared with a TIMESTAMP is its midnight. What a database cannot say is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.patterns import globbed, regular

Other = Literal["postgres", "sqlite", "mariadb"]
Kind = ColumnType | Literal["null", "unknown"]

_CALLED: Mapping[Other, str] = {
    "postgres": "PostgreSQL",
    "sqlite": "SQLite",
    "mariadb": "MariaDB",
}
_CODE_POINTS: Mapping[str, exp.Expr] = {
    "postgres": exp.to_identifier("C", quoted=True),
    "mariadb": exp.Var(this="utf8mb4_nopad_bin"),
}
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
_TESTS = (*_COMPARED, exp.Is, exp.Like, exp.ILike)
_CALCULATED = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_MIDNIGHT = " 00:00:00.000000"
_GREATEST = "1.7976931348623157e308"  # stands for what is infinite or no number
_DIGITS = 38  # of a number that DuckDB holds exactly
_REAL_DIGITS = 15  # of a number that SQLite holds


@dataclass(frozen=True)
class Conditions:
    """Conditions on columns of these types, for one database."""

    dialect: Other
    types: Mapping[str, ColumnType]

    def rewrite(self, clause: exp.Where) -> None:
        """Write all tests of a clause as the database reads them.

        Raises:
            QueryError: naming what the database cannot say.
        """
        for test in list(clause.find_all(*_TESTS)):
            test.replace(self._test(test))

    def _test(self, test: exp.Expr) -> exp.Expr:
        if isinstance(test, exp.Like | exp.ILike):
            return self._like(test)
        changed = test.copy()
        if isinstance(test, exp.Is):
            changed.set("this", self._value(test.this))
            return changed
        parts = list(test.iter_expressions())
        kinds = {self._kind(part) for part in parts}
        if sum(self._is_unbounded(part) for part in parts) > 1:
            raise self._refusal("a comparison of quotients whose divisors can be 0")
        for part in list(changed.iter_expressions()):
            part.replace(self._side(part, kinds))
        return changed

    def _side(self, part: exp.Expr, kinds: set[Kind]) -> exp.Expr:
        """One of several values that are compared, in the type they have in common."""
        value, kind = self._value(part), self._kind(part)
        if kind == "string" and isinstance(value, exp.Literal) and self.dialect in _CODE_POINTS:
            collated = self._collated(value)
            return exp.paren(collated) if isinstance(part.parent, exp.Between) else collated
        if self.dialect != "postgres" and kind == "integer" and "float" in kinds:
            return _double(value)
        if self.dialect == "sqlite" and kind == "date" and "timestamp" in kinds:
            return exp.DPipe(this=value, expression=exp.Literal.string(_MIDNIGHT), safe=False)
        return value

    def _like(self, test: exp.Like | exp.ILike) -> exp.Expr:
        text, pattern = self._value(test.this), test.args["expression"].name
        any_case, negated = isinstance(test, exp.ILike), bool(test.args.get("negate"))
        self._require_whole(pattern)
        found: exp.Expr
        if self.dialect == "sqlite":
            glob = exp.Literal.string(globbed(pattern, any_case=any_case))
            found = exp.Glob(this=text, expression=glob)
        elif any_case:
            found = self._matches(text, pattern)
        else:
            escaped = exp.Literal.string(pattern.replace("\\", "\\\\"))
            found = exp.Like(this=text, expression=self._collated(escaped))
        return exp.paren(exp.Not(this=found)) if negated else found

    def _matches(self, text: exp.Expr, pattern: str) -> exp.Expr:
        if self.dialect == "postgres":
            whole = exp.Literal.string(regular(pattern, end="$"))
            return exp.RegexpLike(this=text, expression=self._collated(whole))
        whole = exp.Literal.string(f"(?s){regular(pattern, end=chr(92) + 'z')}")
        place = exp.Anonymous(this="REGEXP_INSTR", expressions=[text, self._collated(whole)])
        return exp.GT(this=place, expression=exp.Literal.number(0))

    def _collated(self, literal: exp.Expr) -> exp.Expr:
        return exp.Collate(this=literal, expression=_CODE_POINTS[self.dialect].copy())

    def _value(self, node: exp.Expr, inside: bool = False) -> exp.Expr:
        """A value, or one `inside` a calculation; calculations with NULL are NULL."""
        if isinstance(node, exp.Paren):
            inner = self._value(node.this, inside)
            return inner if isinstance(inner, exp.Null) else exp.Paren(this=inner)
        if isinstance(node, exp.Neg):
            inner = self._value(node.this, inside=True)
            return inner if isinstance(inner, exp.Null) else exp.Neg(this=inner)
        if isinstance(node, _CALCULATED):
            return self._calculated(node, inside)
        return self._literal(node) if isinstance(node, exp.Literal) else node.copy()

    def _calculated(self, node: exp.Expr, inside: bool) -> exp.Expr:
        sides = [self._value(side, inside=True) for side in (node.this, node.args["expression"])]
        if any(isinstance(side, exp.Null) for side in sides):
            return exp.Null()
        if isinstance(node, exp.Div):
            return self._quotient(node, sides, inside)
        if isinstance(node, exp.Mod):
            return self._modulo(node, sides)
        if self.dialect == "sqlite" and self._kind(node) == "decimal":
            raise self._refusal("exact calculation with decimals")
        return type(node)(this=sides[0], expression=sides[1])

    def _quotient(self, node: exp.Div, sides: Sequence[exp.Expr], inside: bool) -> exp.Expr:
        """A quotient that the greatest float, or its opposite, stands for where a divisor is 0."""
        over, under = sides
        quotient = exp.Div(this=_double(over), expression=under, typed=True, safe=False)
        if not self._is_unbounded(node):
            return quotient
        if inside:
            raise self._refusal("a calculation with a quotient whose divisor can be 0")
        zero = exp.Literal.number(0)
        is_zero = exp.EQ(this=under.copy(), expression=zero.copy())
        high = self._float(_GREATEST)
        below = exp.LT(this=over.copy(), expression=zero.copy())
        above = exp.GTE(this=over.copy(), expression=zero.copy())
        case = exp.Case().when(exp.NEQ(this=under.copy(), expression=zero), quotient)
        case = case.when(exp.and_(is_zero, below), exp.Neg(this=high.copy()))
        return case.when(exp.and_(is_zero.copy(), above), high)

    def _is_unbounded(self, node: exp.Expr) -> bool:
        """Whether it is a quotient whose divisor can be 0."""
        inner = node.unnest()
        return isinstance(inner, exp.Div) and not _is_nonzero(inner.args["expression"])

    def _modulo(self, node: exp.Mod, sides: Sequence[exp.Expr]) -> exp.Expr:
        self._require_modulo(node)
        rest = exp.Mod(this=sides[0], expression=sides[1])
        if self.dialect != "mariadb" or self._kind(node) == "integer":
            return rest
        # MariaDB has a decimal -0.0 that is not 0, until something is added.
        return exp.paren(exp.Add(this=rest, expression=exp.Literal.number(0)))

    def _require_modulo(self, node: exp.Mod) -> None:
        kind = self._kind(node)
        if self.dialect == "sqlite" and kind != "integer":
            raise self._refusal("% of other numbers than integers")
        if kind == "float" and self.dialect == "postgres":
            raise self._refusal("% of floats")
        if kind == "float" and not _is_nonzero(node.args["expression"]):
            raise self._refusal("% of floats by what can be 0")

    def _literal(self, node: exp.Literal) -> exp.Expr:
        if node.is_string:
            self._require_whole(node.name)
            return node.copy()
        kind = _number(node.name)
        if self.dialect == "sqlite" and kind == "decimal" and _digits(node.name) > _REAL_DIGITS:
            raise self._refusal(f"a decimal of more than {_REAL_DIGITS} digits")
        if kind != "float":
            return node.copy()
        return self._float(node.name if "e" in node.name.casefold() else f"{node.name}e0")

    def _float(self, text: str) -> exp.Expr:
        number = exp.Literal(this=text, is_string=False)
        return _double(number) if self.dialect == "postgres" else number

    def _kind(self, node: exp.Expr) -> Kind:
        """The type that DuckDB gives a value."""
        if isinstance(node, exp.Paren | exp.Neg):
            return self._kind(node.this)
        if isinstance(node, exp.Column):
            return self.types.get(node.name, "unknown")
        if isinstance(node, exp.Literal):
            return "string" if node.is_string else _number(node.name)
        if isinstance(node, exp.Div):
            return "float"
        if isinstance(node, _CALCULATED):
            kinds = {self._kind(node.this), self._kind(node.args["expression"])}
            found: tuple[Kind, ...] = ("float", "decimal")
            return next((kind for kind in found if kind in kinds), "integer")
        if isinstance(node, exp.Cast):
            return "date" if node.to.this == exp.DataType.Type.DATE else "timestamp"
        return "boolean" if isinstance(node, exp.Boolean) else "null"

    def _require_whole(self, text: str) -> None:
        if "\0" in text:
            raise self._refusal("a text with a zero character")

    def _refusal(self, what: str) -> QueryError:
        return QueryError(f"cannot be written for {_CALLED[self.dialect]}: {what}")


def moment(node: exp.Expr, dialect: Other) -> exp.Expr:
    """A DATE or TIMESTAMP as a database reads it, any other node as it is."""
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
        return node
    if node.to.this not in _MOMENTS or not node.this.is_string:
        return node
    is_date = node.to.this == exp.DataType.Type.DATE
    text = exp.Literal.string(_written(node.this.name, is_date))
    if dialect == "sqlite":
        return text
    if dialect == "mariadb" and not is_date:
        return exp.Cast(this=text, to=exp.DataType.build("DATETIME(6)", dialect="mysql"))
    return exp.Cast(this=text, to=node.to.copy())


_MOMENTS = (exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ)


def _written(text: str, is_date: bool) -> str:
    if is_date:
        return date.fromisoformat(text).isoformat()
    return datetime.fromisoformat(text).isoformat(" ", "microseconds")


def _number(text: str) -> Kind:
    """DuckDB's type of a number as it is written."""
    if "e" in text.casefold() or ("." in text and _digits(text) > _DIGITS):
        return "float"
    return "decimal" if "." in text else "integer"


def _digits(text: str) -> int:
    return len(text.replace(".", "").replace("_", "").lstrip("0"))


def _is_nonzero(node: exp.Expr) -> bool:
    inner = node.unnest()
    while isinstance(inner, exp.Neg):
        inner = inner.this.unnest()
    if not isinstance(inner, exp.Literal) or inner.is_string:
        return False
    return Decimal(inner.name) != 0


def _double(node: exp.Expr) -> exp.Expr:
    return exp.Cast(this=node, to=exp.DataType.build("double"))

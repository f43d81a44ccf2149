"""Conditions for other databases that mean what they mean in DuckDB.

What differs there: texts are compared by code points; LIKE has no escape character, and ILIKE knows
the cases of every script; a quotient is a float, and infinite (or no number, which is the greatest
of all) if the divisor is 0; numbers with an exponent are floats, all others exact; a DATE
compared with a TIMESTAMP is its midnight. What a database cannot express is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from sfumato.tasks.sql.dialects.dialect import Dialect, Kind, Spelling, Types, double

_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
TESTS = (*_COMPARED, exp.Is, exp.Like, exp.ILike)
_CALCULATED = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_MIDNIGHT = " 00:00:00.000000"
_GREATEST = "1.7976931348623157e308"  # replaces what is infinite or no number
_DIGITS = 38  # of an exact number in DuckDB
_REAL_DIGITS = 15  # of an exact number in a float


@dataclass(frozen=True)
class Conditions:
    """Conditions on columns of these types, for one database."""

    dialect: Dialect
    spelling: Spelling
    types: Types

    def rewrite(self, clause: exp.Expr) -> None:
        """Write all tests within a clause as the database reads them.

        Raises:
            QueryError: naming what the database cannot express.
        """
        for test in list(clause.find_all(*TESTS)):
            test.replace(self._test(test))

    def _test(self, test: exp.Expr) -> exp.Expr:
        if isinstance(test, exp.Like | exp.ILike):
            return self._pattern_test(test)
        changed = test.copy()
        if isinstance(test, exp.Is):
            changed.set("this", self._value(test.this))
            return changed
        parts = list(test.iter_expressions())
        kinds = {self._kind(part) for part in parts}
        if sum(self._is_unbounded(part) for part in parts) > 1:
            raise self.dialect.refusal(
                "a comparison of several quotients with a divisor that can be 0"
            )
        for part in list(changed.iter_expressions()):
            part.replace(self._side(part, kinds))
        return changed

    def _side(self, part: exp.Expr, kinds: set[Kind]) -> exp.Expr:
        """Return one of several compared values, in the type they have in common."""
        value, kind = self._value(part), self._kind(part)
        if kind == "string" and isinstance(value, exp.Literal) and self.spelling.collation:
            collated = exp.Collate(this=value, expression=self.spelling.collation.copy())
            return exp.paren(collated) if isinstance(part.parent, exp.Between) else collated
        if self.spelling.casts_integers and kind == "integer" and "float" in kinds:
            return double(value)
        if self.spelling.moments_are_texts and kind == "date" and "timestamp" in kinds:
            return exp.DPipe(this=value, expression=exp.Literal.string(_MIDNIGHT), safe=False)
        return value

    def _pattern_test(self, test: exp.Like | exp.ILike) -> exp.Expr:
        text, pattern = self._value(test.this), test.args["expression"].name
        any_case, negated = isinstance(test, exp.ILike), bool(test.args.get("negate"))
        self._require_whole(pattern)
        match = self.spelling.matches(text, pattern, any_case)
        return exp.paren(exp.Not(this=match)) if negated else match

    def _value(self, node: exp.Expr, inside: bool = False) -> exp.Expr:
        """Return a value, or one `inside` a calculation; calculations with NULL are NULL."""
        if isinstance(node, exp.Paren):
            inner = self._value(node.this, inside)
            return inner if isinstance(inner, exp.Null) else exp.Paren(this=inner)
        if isinstance(node, exp.Neg):
            inner = self._value(node.this, inside=True)
            return inner if isinstance(inner, exp.Null) else exp.Neg(this=inner)
        if isinstance(node, _CALCULATED):
            return self._calculation(node, inside)
        return self._literal(node) if isinstance(node, exp.Literal) else node.copy()

    def _calculation(self, node: exp.Expr, inside: bool) -> exp.Expr:
        sides = [self._value(side, inside=True) for side in (node.this, node.args["expression"])]
        if any(isinstance(side, exp.Null) for side in sides):
            return exp.Null()
        if isinstance(node, exp.Div):
            return self._quotient(node, sides, inside)
        if isinstance(node, exp.Mod):
            return self._modulo(node, sides)
        if not self.spelling.decimals and self._kind(node) == "decimal":
            raise self.dialect.refusal("exact decimal calculations")
        return type(node)(this=sides[0], expression=sides[1])

    def _quotient(self, node: exp.Div, sides: Sequence[exp.Expr], inside: bool) -> exp.Expr:
        """Return a quotient; if its divisor is 0, plus or minus the greatest float replaces it."""
        over, under = sides
        quotient = exp.Div(this=double(over), expression=under, typed=True, safe=False)
        if not self._is_unbounded(node):
            return quotient
        if inside:
            raise self.dialect.refusal(
                "a calculation with a quotient that has a divisor that can be 0"
            )
        zero = exp.Literal.number(0)
        is_zero = exp.EQ(this=under.copy(), expression=zero.copy())
        high = self._float(_GREATEST)
        below = exp.LT(this=over.copy(), expression=zero.copy())
        above = exp.GTE(this=over.copy(), expression=zero.copy())
        case = exp.Case().when(exp.NEQ(this=under.copy(), expression=zero), quotient)
        case = case.when(exp.and_(is_zero, below), exp.Neg(this=high.copy()))
        return case.when(exp.and_(is_zero.copy(), above), high)

    def _is_unbounded(self, node: exp.Expr) -> bool:
        """Return whether a node is a quotient whose divisor can be 0."""
        inner = node.unnest()
        return isinstance(inner, exp.Div) and not _is_nonzero(inner.args["expression"])

    def _modulo(self, node: exp.Mod, sides: Sequence[exp.Expr]) -> exp.Expr:
        self._require_modulo(node)
        rest = exp.Mod(this=sides[0], expression=sides[1])
        return self.spelling.modulo(rest, self._kind(node))

    def _require_modulo(self, node: exp.Mod) -> None:
        nonzero = _is_nonzero(node.args["expression"])
        refused = self.spelling.modulo_refused(self._kind(node), nonzero)
        if refused is not None:
            raise self.dialect.refusal(refused)

    def _literal(self, node: exp.Literal) -> exp.Expr:
        if node.is_string:
            self._require_whole(node.name)
            return node.copy()
        kind = _number(node.name)
        if not self.spelling.decimals and kind == "decimal" and _digits(node.name) > _REAL_DIGITS:
            raise self.dialect.refusal(f"a decimal with more than {_REAL_DIGITS} digits")
        if kind != "float":
            return node.copy()
        return self._float(node.name if "e" in node.name.casefold() else f"{node.name}e0")

    def _float(self, text: str) -> exp.Expr:
        return self.spelling.number(exp.Literal(this=text, is_string=False))

    def _kind(self, node: exp.Expr) -> Kind:
        """Return the type that DuckDB gives a value."""
        if isinstance(node, exp.Paren | exp.Neg):
            return self._kind(node.this)
        if isinstance(node, exp.Column):
            names = (f"{node.table}.{node.name}", node.name)
            return next((self.types[name] for name in names if name in self.types), "unknown")
        if isinstance(node, exp.Literal):
            return "string" if node.is_string else _number(node.name)
        if isinstance(node, exp.Div):
            return "float"
        if isinstance(node, _CALCULATED):
            kinds = {self._kind(node.this), self._kind(node.args["expression"])}
            by_precision: tuple[Kind, ...] = ("float", "decimal")
            return next((kind for kind in by_precision if kind in kinds), "integer")
        if isinstance(node, exp.Cast):
            return "date" if node.to.this == exp.DataType.Type.DATE else "timestamp"
        return "boolean" if isinstance(node, exp.Boolean) else "null"

    def _require_whole(self, text: str) -> None:
        if "\0" in text:
            raise self.dialect.refusal("a text with a zero character")


def _number(text: str) -> Kind:
    """Return DuckDB's type of a number as it is written."""
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

"""Predicates on the columns of one table, checked against an allow-list.

Allowed: AND, OR, NOT, parentheses; = <> < <= > >=, BETWEEN, IN with literals, IS [NOT] NULL; LIKE
and ILIKE with a literal pattern; + - * / % over numbers; columns by name; literals (numbers,
strings, TRUE, FALSE, NULL, DATE '…', TIMESTAMP '…'). Everything else is refused, and so are
comparisons of kinds that do not compare.
"""

import datetime
from collections.abc import Iterable, Mapping
from typing import Literal

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.parse import parse, quote_name
from sfumato.tasks.sql.refusals import construct, refusal

MAX_LIST = 1_000
_MAX_DEPTH = 100

Kind = Literal["number", "string", "boolean", "date", "timestamp", "null"]

_KINDS: Mapping[ColumnType, Kind] = {
    "integer": "number",
    "decimal": "number",
    "float": "number",
    "date": "date",
    "timestamp": "timestamp",
    "string": "string",
    "boolean": "boolean",
}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_ARGUMENTS: Mapping[type[exp.Expr], frozenset[str]] = {
    **{kind: frozenset({"this", "expression"}) for kind in (exp.And, exp.Or, exp.Is)},
    **{kind: frozenset({"this", "expression"}) for kind in (*_COMPARISONS, *_ARITHMETIC)},
    **{kind: frozenset({"this", "expression", "negate"}) for kind in (exp.Like, exp.ILike)},
    **{kind: frozenset({"this"}) for kind in (exp.Not, exp.Paren, exp.Neg, exp.Column)},
    exp.Div: frozenset({"this", "expression", "typed", "safe"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: frozenset({"this"}),
    exp.Null: frozenset(),
    exp.Cast: frozenset({"this", "to"}),
}


def parse_predicate(text: str, columns: Mapping[str, ColumnType]) -> exp.Expr:
    """Return the predicate that a text contains, its columns by their exact names.

    Raises:
        QueryError: naming the construct or the column that is not allowed.
    """
    return check_predicate(parse(text, exp.Condition), columns)


def check_predicate(tree: exp.Expr, columns: Mapping[str, ColumnType]) -> exp.Expr:
    """Return a copy of a parsed predicate, with its columns by their exact names.

    Raises:
        QueryError: naming the construct or the column that is not allowed.
    """
    try:
        checked = tree.copy()
        _boolean(checked, columns, _MAX_DEPTH)
        for column in list(checked.find_all(exp.Column)):
            column.set("this", exp.to_identifier(column_named(column, columns), quoted=True))
    except RecursionError:
        raise QueryError("nested too deeply. Use fewer parentheses") from None
    return checked


def column_named(column: exp.Expr, columns: Iterable[str]) -> str:
    """Return the exact name of the column that a node means.

    The exact spelling counts first, then the only name that differs in the case of letters.

    Raises:
        QueryError: if there is no such column, or more than one.
    """
    _known_arguments(column)
    name = column.name
    names = set(columns)
    if name in names:
        return name
    alike = [other for other in names if other.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    raise QueryError(f"{'ambiguous' if alike else 'unknown'} column {quote_name(name)}")


def _boolean(node: exp.Expr, columns: Mapping[str, ColumnType], depth: int) -> None:
    if depth == 0:
        raise QueryError("nested too deeply. Use fewer parentheses")
    if isinstance(node, exp.And | exp.Or):
        for operand in _operands(node):
            _boolean(operand, columns, depth - 1)
        return
    _known_arguments(node)
    if isinstance(node, exp.Not | exp.Paren):
        _boolean(node.this, columns, depth - 1)
    elif isinstance(node, exp.Column | exp.Boolean | exp.Null):
        _require_alike({_value(node, columns, depth), "boolean"})
    else:
        _test(node, columns, depth)


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """Return the operands of a chain of the same connector, without recursion along the chain."""
    operands: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if type(part) is type(node):
            _known_arguments(part)
            waiting += [part.args["expression"], part.this]
        else:
            operands.append(part)
    return operands


def _test(node: exp.Expr, columns: Mapping[str, ColumnType], depth: int) -> None:
    """Check a test of values: a comparison, BETWEEN, IN, IS NULL, LIKE."""
    if isinstance(node, exp.Is):
        if type(node.expression) is not exp.Null:
            raise QueryError("IS is only allowed with NULL. Use = instead")
        _value(node.this, columns, depth - 1)
    elif isinstance(node, exp.Like | exp.ILike):
        _require_pattern(node)
        _require_alike({_value(node.this, columns, depth - 1), "string"})
    elif isinstance(node, exp.In):
        _require_literals(node)
        _require_alike({_value(part, columns, depth - 1) for part in _parts(node)})
    elif isinstance(node, (exp.Between, *_COMPARISONS)):
        _require_alike({_value(part, columns, depth - 1) for part in _parts(node)})
    else:
        raise QueryError(f"not a condition: {construct(node)}. Write one, such as age > 3")


def _parts(node: exp.Expr) -> list[exp.Expr]:
    return list(node.iter_expressions())


def _require_pattern(node: exp.Expr) -> None:
    pattern = node.args["expression"]
    if type(pattern) is not exp.Literal or not pattern.is_string:
        raise QueryError("LIKE needs a text as its pattern, such as 'A%'")


def _require_literals(node: exp.In) -> None:
    if not 0 < len(node.expressions) <= MAX_LIST:
        raise QueryError(f"IN needs 1 to {MAX_LIST:,} constants")
    for member in node.expressions:
        inner = member.this if isinstance(member, exp.Neg) else member
        if not isinstance(inner, exp.Literal | exp.Boolean | exp.Null | exp.Cast):
            raise QueryError(f"IN needs constants, not {construct(inner)}")


def _require_alike(kinds: set[Kind]) -> None:
    compared = kinds - {"null"}
    if len(compared) > 1 and not compared <= {"date", "timestamp"}:
        hint = ""
        if compared & {"date", "timestamp"} and "string" in compared:
            hint = " (write DATE '…' or TIMESTAMP '…')"
        raise QueryError(f"not comparable: {' with '.join(sorted(compared))}{hint}")


def _value(node: exp.Expr, columns: Mapping[str, ColumnType], depth: int) -> Kind:
    """Return the kind of values of an expression without tests."""
    if depth <= 0:
        raise QueryError("nested too deeply. Use fewer parentheses")
    _known_arguments(node)
    if isinstance(node, exp.Column):
        return _KINDS[columns[column_named(node, columns)]]
    if isinstance(node, exp.Paren):
        return _value(node.this, columns, depth - 1)
    if isinstance(node, (exp.Neg, *_ARITHMETIC)):
        for part in _parts(node):
            if _value(part, columns, depth - 1) not in ("number", "null"):
                raise QueryError("arithmetic needs numbers")
        return "number"
    return _literal(node)


def _literal(node: exp.Expr) -> Kind:
    if isinstance(node, exp.Literal):
        return "string" if node.is_string else "number"
    if isinstance(node, exp.Boolean):
        return "boolean"
    if isinstance(node, exp.Null):
        return "null"
    if isinstance(node, exp.Cast):
        return _moment(node)
    raise QueryError(f"not a value: {construct(node)}")


def _moment(node: exp.Cast) -> Kind:
    """Return the kind of DATE '…' or TIMESTAMP '…', which the parser makes casts of strings."""
    literal, target = node.this, node.to.this
    if type(literal) is exp.Literal and literal.is_string:
        if target == exp.DataType.Type.DATE and _reads(datetime.date, literal.name):
            return "date"
        naive = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ)
        if target in naive and _reads(datetime.datetime, literal.name):
            return "timestamp"
    raise QueryError(
        "not allowed: a CAST, or an invalid DATE or TIMESTAMP. Write a constant, such as "
        "DATE '2026-01-31'"
    )


def _reads(kind: type[datetime.date], text: str) -> bool:
    try:
        moment = kind.fromisoformat(text)
    except ValueError:
        return False
    return len(text) >= len("2000-01-01") and getattr(moment, "tzinfo", None) is None


def _known_arguments(node: exp.Expr) -> None:
    """Refuse a node of an unknown class, or with arguments that its class may not have here."""
    allowed = _ARGUMENTS.get(type(node))
    if allowed is None:
        raise refusal(node)
    for key, value in node.args.items():
        if value and key not in allowed:
            if isinstance(node, exp.Column):
                raise QueryError("name the column without its table")
            raise refusal(key, f" in {construct(node)}")

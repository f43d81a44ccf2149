"""Conditions that compare integers, dates or texts of one column with constants, by NumPy.

DuckDB would decide the same in a hundred times the time, and most questions have no other
conditions. Everything whose meaning depends on conversions (decimals, texts beside dates or
numbers, the order of texts, functions) is left to DuckDB.
"""

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.shared.arrow import as_numpy

_INTEGER = re.compile(r"[0-9]{1,18}")  # so it is an int64, as all values are
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FIRST_DAY = dt.date(1970, 1, 1)
_NARROW = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32())
_TEXTS = (pa.string(), pa.large_string())
_ORDERS: Mapping[type[exp.Expr], Callable[[Any, Any], np.ndarray]] = {
    exp.LT: np.less,
    exp.LTE: np.less_equal,
    exp.GT: np.greater,
    exp.GTE: np.greater_equal,
}
_MIRRORED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
}


class _NotPlainError(Exception):
    """A condition that DuckDB must decide."""


@dataclass(frozen=True, eq=False)
class PlainOutcome:
    """The outcome of a condition on some values.

    Attributes:
        holds: the values on which it is true (bool, one per value).
        fails: the values on which it is false; on those in neither set it is null.
    """

    holds: np.ndarray
    fails: np.ndarray


def decide_plainly(node: exp.Expr, values: pa.Array) -> PlainOutcome | None:
    """Return the values on which a condition, and its negation, hold; None if DuckDB must decide.

    Args:
        node: a condition in which no column occurs but that of the values.
        values: distinct values or any others; nulls may be among them.
    """
    type_ = values.type
    if type_ not in _NARROW and type_ not in _TEXTS and not pa.types.is_date32(type_):
        return None
    try:
        return _decide(node, values)
    except _NotPlainError:
        return None


def plain_constants(nodes: Sequence[exp.Expr]) -> tuple[int | str, ...] | None:
    """Return constants that are integers or texts; None if DuckDB must compute one."""
    try:
        return tuple(map(_constant, nodes))
    except _NotPlainError:
        return None


def _decide(node: exp.Expr, values: pa.Array) -> PlainOutcome:
    kind, arguments = type(node), _arguments(node)
    if kind is exp.Paren and arguments == {"this"}:
        return _decide(node.this, values)
    if kind is exp.Not and arguments == {"this"}:
        inner = _decide(node.this, values)
        return PlainOutcome(inner.fails, inner.holds)
    if kind in (exp.And, exp.Or) and arguments == {"this", "expression"}:
        return _combine(kind is exp.And, [_decide(part, values) for part in _chain(node)])
    return _decide_comparison(node, values)


def _decide_comparison(node: exp.Expr, values: pa.Array) -> PlainOutcome:
    kind, arguments = type(node), _arguments(node)
    is_first = type(_inner(node.this)) is exp.Column
    if kind is exp.In and arguments == {"this", "expressions"} and is_first:
        return _is_one_of(node.expressions, values)
    if kind is exp.Between and arguments == {"this", "low", "high"} and is_first:
        ends = ((exp.GTE, node.args["low"]), (exp.LTE, node.args["high"]))
        return _combine(True, [_compare(sign, constant, values) for sign, constant in ends])
    if kind in _MIRRORED and arguments == {"this", "expression"}:
        if is_first:
            return _compare(kind, node.expression, values)
        if type(_inner(node.expression)) is exp.Column:
            return _compare(_MIRRORED[kind], node.this, values)
    raise _NotPlainError


def _inner(node: Any) -> Any:
    """Return what stands within parentheses."""
    while type(node) is exp.Paren and _arguments(node) == {"this"}:
        node = node.this
    return node


def _arguments(node: exp.Expr) -> set[str]:
    """Return the names of the arguments that a node has: others could change what it means."""
    return {name for name, argument in node.args.items() if argument not in (None, [], False)}


def _chain(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts of a chain of ANDs, or of ORs, however long it is."""
    kind, parts, waiting = type(node), [], [node]
    while waiting:
        part = waiting.pop()
        if type(part) is kind:
            waiting += [part.args["expression"], part.this]
        else:
            parts.append(part)
    return parts


def _combine(every: bool, outcomes: Sequence[PlainOutcome]) -> PlainOutcome:
    """Return the outcome of a chain of ANDs (every part must hold), or of ORs."""
    both, either = (np.logical_and, np.logical_or) if every else (np.logical_or, np.logical_and)
    return PlainOutcome(
        reduce(both, (outcome.holds for outcome in outcomes)),
        reduce(either, (outcome.fails for outcome in outcomes)),
    )


def _compare(sign: type[exp.Expr], constant: exp.Expr, values: pa.Array) -> PlainOutcome:
    """Return the outcome of a comparison of the values with a constant."""
    if sign is exp.EQ:
        return _is_one_of([constant], values)
    if sign is exp.NEQ:
        equal = _is_one_of([constant], values)
        return PlainOutcome(equal.fails, equal.holds)
    if values.type in _TEXTS:
        raise _NotPlainError
    valid = _valid(values)
    met = _ORDERS[sign](_numbers(values), _number(constant, values.type)) & valid
    return PlainOutcome(met, ~met & valid)


def _is_one_of(constants: Sequence[exp.Expr], values: pa.Array) -> PlainOutcome:
    """Return the outcome of the test whether values are among some constants."""
    valid = _valid(values)
    if values.type in _TEXTS:
        texts = pa.array([_text(constant) for constant in constants], values.type)
        met = as_numpy(pc.is_in(values, value_set=texts).cast(pa.uint8())).view(bool)
    else:
        numbers = _numbers(values)
        units = [_number(each, values.type) for each in constants]
        is_single = len(units) == 1
        met = (numbers == units[0] if is_single else np.isin(numbers, units)) & valid
    return PlainOutcome(met, ~met & valid)


def _valid(values: pa.Array) -> np.ndarray:
    """Return the values that are not null (bool)."""
    if not values.null_count:
        return np.ones(len(values), dtype=bool)
    return as_numpy(values.is_valid().cast(pa.uint8())).view(bool)


def _numbers(values: pa.Array) -> np.ndarray:
    """Return integers, and days of dates since 1970, with 0 for null (int64)."""
    there = values.drop_null()  # fill_null would import pandas
    if pa.types.is_date32(values.type):
        there = there.cast(pa.int32())
    numbers = np.zeros(len(values), dtype=np.int64)
    numbers[_valid(values)] = as_numpy(there)
    return numbers


def _number(node: exp.Expr, type_: pa.DataType) -> int:
    """Return a constant that is compared with numbers of a type, as `_numbers` has these."""
    return _days(node) if pa.types.is_date32(type_) else _integer(node)


def _days(node: exp.Expr) -> int:
    """Return a date as days since 1970: `DATE '2026-01-31'`, or a cast of such a text."""
    node = _inner(node)
    if type(node) is not exp.Cast or _arguments(node) != {"this", "to"}:
        raise _NotPlainError
    to, text = node.args["to"], _text(node.this)
    is_date = type(to) is exp.DataType and _arguments(to) == {"this"} and to.is_type("date")
    if not is_date or not _DATE.fullmatch(text):
        raise _NotPlainError
    try:
        return (dt.date.fromisoformat(text) - _FIRST_DAY).days
    except ValueError:  # no such day, which DuckDB refuses
        raise _NotPlainError from None


def _integer(node: exp.Expr) -> int:
    """Return an integer of an int64, which may have a sign."""
    sign = 1
    while type(node) in (exp.Neg, exp.Paren):
        sign, node = -sign if type(node) is exp.Neg else sign, node.this
    if type(node) is exp.Literal and not node.is_string and _INTEGER.fullmatch(node.name):
        return sign * int(node.name)
    raise _NotPlainError


def _constant(node: exp.Expr) -> int | str:
    node = _inner(node)
    return _text(node) if type(node) is exp.Literal and node.is_string else _integer(node)


def _text(node: exp.Expr) -> str:
    node = _inner(node)
    if type(node) is exp.Literal and node.is_string:
        return str(node.this)
    raise _NotPlainError

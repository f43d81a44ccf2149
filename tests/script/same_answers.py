"""Compare the answers of a page's script with those of the engines."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from sfumato.expectations.shared.errors import Fault, QueryError
from sfumato.tasks.query.ask import ask_several, engine, open_tables
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.intervals.shapes import CALCULATED, EXACT, NOTHING
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.query.question.rest import REST
from sfumato.tasks.report.page_data import page_data
from sfumato.tasks.terms.terms import Declared
from tests.script.questions import answer_by_script

_NEAR = 1e-9


def differences(
    tables: Mapping[str, pa.Table],
    declared: Declared,
    queries: Sequence[str],
    *,
    may_be_wider: bool = False,
) -> tuple[list[str], int, int]:
    """Return what differs, how many queries were compared, and how many the script refused.

    With `may_be_wider` the script's bounds need only contain those of the engine.
    """
    compare = _escape if may_be_wider else _difference
    published = {n: t for n, t in tables.items() if not n.startswith("help_")}
    data = page_data(published, declared)
    assert data is not None
    different, compared, refused = [], 0, 0
    with engine(tables, declared) as opened:
        release = open_tables(tables, declared, opened)
        for query, by_script in zip(queries, answer_by_script(data, queries), strict=True):
            if isinstance(by_script, dict):
                refused += 1
                continue
            try:
                answer = ask_several(release, read_inquiries(query, declared))
            except (QueryError, Fault) as error:
                different.append(f"{query}\n  engine refuses: {error}\n  script: {by_script[:3]}")
                continue
            compared += 1
            reason = compare(answer.rows, by_script)
            if reason:
                different.append(f"{query}\n  {reason}")
    return different, compared, refused


def _difference(rows: Sequence[Mapping[str, Any]], by_script: Sequence[Mapping[str, Any]]) -> str:
    engine = {_key(row): _bounds(row) for row in rows}
    script = {tuple(map(_hashable, row["key"])): row for row in by_script}
    if set(engine) != set(script) or len(rows) != len(by_script):
        return f"lines {sorted(map(str, engine))[:6]} but script {sorted(map(str, script))[:6]}"
    for key, bounds in engine.items():
        row = script[key]
        if (_plain(bounds.lower), _plain(bounds.upper)) != (row["lower"], row["upper"]):
            return (
                f"{key}: {bounds.lower}..{bounds.upper} but script {row['lower']}..{row['upper']}"
            )
        if bounds.may_be_empty != row["empty"]:
            return f"{key}: empty {bounds.may_be_empty} but script {row['empty']}"
        if not _is_near(bounds.estimate, row["estimate"]):
            return f"{key}: estimate {_number(bounds.estimate)} but script {row['estimate']}"
        if not is_same_likely(bounds, row.get("likely")):
            return f"{key}: {bounds.likely} but script {row.get('likely')}"
    return ""


def _escape(rows: Sequence[Mapping[str, Any]], by_script: Sequence[Mapping[str, Any]]) -> str:
    """Return where bounds of the engine are not within those of the script."""
    script = {tuple(map(_hashable, row["key"])): row for row in by_script}
    for row in rows:
        key, bounds = _key(row), _bounds(row)
        if key not in script:
            return f"{key}: no line of the script"
        low, high = script[key]["lower"], script[key]["upper"]
        if bounds.lower is None or low is None:
            if low is not None:
                return f"{key}: nothing but script {low}..{high}"
        elif (
            not Fraction(low) <= Fraction(bounds.lower) <= Fraction(bounds.upper) <= Fraction(high)
        ):
            return f"{key}: {bounds.lower}..{bounds.upper} but script {low}..{high}"
    return ""


def is_same_likely(bounds: Bounds, by_script: Mapping[str, Any] | None) -> bool:
    """Compare a likely interval with that of the script, or the reasons why there is none.

    The script gives no reason where it joins the bounds of several parts.
    """
    if bounds.likely is None:
        return by_script is None
    if by_script is None:
        return bounds.likely.reason in (CALCULATED, EXACT, NOTHING)
    interval = bounds.likely.interval
    if interval is None or by_script["interval"] is None:
        return interval is by_script["interval"] and bounds.likely.reason == by_script["reason"]
    return all(map(_is_near, interval, by_script["interval"]))


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(_hashable(_value(v)) for v in row.values() if not isinstance(v, Bounds))


def _bounds(row: Mapping[str, Any]) -> Bounds:
    (bounds,) = (value for value in row.values() if isinstance(value, Bounds))
    return bounds


def _value(value: Any) -> Any:
    if value is REST:
        return {"rest": True}
    if isinstance(value, date | Decimal) or (isinstance(value, int) and abs(value) >= 2**53):
        return str(value)
    return value


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return "the rest of values"
    return (type(value).__name__, value) if isinstance(value, bool) else value


def _plain(value: Any) -> Any:
    if isinstance(value, int | Fraction | Decimal) and not isinstance(value, bool):
        number = Fraction(value)
        return f"{number.numerator}/{number.denominator}"
    return _value(value)


def _is_near(engine: Any, script: Any) -> bool:
    if engine is None or script is None:
        return engine is None and script is None
    if isinstance(engine, int | Fraction | Decimal) and not isinstance(engine, bool):
        return abs(float(engine) - script) <= _NEAR * max(1.0, abs(float(engine)))
    return bool(_value(engine) == script)


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction | Decimal) else value

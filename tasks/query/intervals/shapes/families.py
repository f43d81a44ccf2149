"""The families of queries whose intervals are calibrated, one factor each."""

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.intervals.shapes.alike import name_of
from sfumato.tasks.query.intervals.shapes.shape import QueryShape
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.schema.stated.intervals import CalibratedIntervals


@dataclass(frozen=True)
class Family:
    """Queries of alike aggregates and one shape.

    Attributes:
        aggregates: what they are called.
        several: whether rows are selected by two or three columns, not by one.
        matching: whether they are selected by a sensitive value, too.
        words: what it asks, as pages tell it.
    """

    aggregates: str
    several: bool
    matching: bool
    words: str


_ONE = "by one column"
_SEVERAL = "by two or three columns"
_QUANTILE = "another quantile, from 1 % to 99 %"

FAMILIES: Mapping[str, Family] = {
    "rows-by-one": Family("count", False, False, f"COUNT of rows, {_ONE}"),
    "rows-by-several": Family("count", True, False, f"COUNT of rows, {_SEVERAL}"),
    "count-by-one": Family("count", False, True, f"COUNT with a sensitive value, {_ONE}"),
    "count-by-several": Family("count", True, True, f"COUNT with a sensitive value, {_SEVERAL}"),
    "sum-by-one": Family("sum", False, False, f"SUM, {_ONE}"),
    "sum-by-several": Family("sum", True, False, f"SUM, {_SEVERAL}"),
    "avg-by-one": Family("avg", False, False, f"AVG, {_ONE}"),
    "avg-by-several": Family("avg", True, False, f"AVG, {_SEVERAL}"),
    "min-by-one": Family("min", False, False, f"MIN, {_ONE}"),
    "min-by-several": Family("min", True, False, f"MIN, {_SEVERAL}"),
    "max-by-one": Family("max", False, False, f"MAX, {_ONE}"),
    "max-by-several": Family("max", True, False, f"MAX, {_SEVERAL}"),
    "spread-by-one": Family("spread", False, False, f"STDDEV or VARIANCE, {_ONE}"),
    "spread-by-several": Family("spread", True, False, f"STDDEV or VARIANCE, {_SEVERAL}"),
    "median-by-one": Family("median", False, False, f"MEDIAN, {_ONE}"),
    "median-by-several": Family("median", True, False, f"MEDIAN, {_SEVERAL}"),
    "quantile-by-one": Family("quantile", False, False, f"{_QUANTILE}, {_ONE}"),
    "quantile-by-several": Family("quantile", True, False, f"{_QUANTILE}, {_SEVERAL}"),
}

_NAMES: Mapping[tuple[str | None, bool, bool], str] = {
    (one.aggregates, one.several, one.matching): name for name, one in FAMILIES.items()
}


def fault_of_stated(declared: Terms, stated: CalibratedIntervals | None) -> str | None:
    """Why factors are none that a release can state, None where they are."""
    told = () if stated is None else stated.families
    keys = [(one.family, one.of) for one in told]
    if keys != sorted(set(keys)):
        return "the families of intervals are not in order, each once"
    for one in told:
        of = declared.columns.get(one.of)
        sensitive = of is not None and of.role == "sensitive"
        if one.family not in FAMILIES or sensitive == one.family.startswith("rows-"):
            return "states factors of intervals of no family"
        if not sensitive and one.of:
            return "states factors of intervals of columns that are not sensitive"
    return None


def family_of(shape: QueryShape | None, aggregate: Aggregate) -> tuple[str, str] | None:
    """The name of the family of an aggregate in a query, and the column that it is about.

    The column is the sensitive one that is aggregated or selected by; "" where rows are counted.
    None where there is no such family.
    """
    if shape is None or aggregate.distinct:
        return None
    by = shape.selected_by(aggregate)
    name = _NAMES.get((name_of(aggregate), shape.columns > 1, by is not None))
    return None if name is None else (name, aggregate.sensitive or by or "")


def families_in_words(stated: CalibratedIntervals) -> str:
    """Which families have likely intervals, and which have none.

    Where too few of a family's queries had an answer that is not exact, it has none.
    """
    known = {one.family for one in stated.families}
    if not known:
        return "calibrated for none: the form tells no law, or too few answers are not exact"
    missing = [name for name in FAMILIES if name not in known]
    left = f"; too few queries for {', '.join(missing)}" if missing else ""
    return f"calibrated for {', '.join(n for n in FAMILIES if n in known)}{left}"

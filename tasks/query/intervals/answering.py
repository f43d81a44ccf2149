"""An engine that adds an estimate and an interval to its bounds where they are calibrated."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sfumato.tasks.query.bounds.bounds import Bounds, Likely, Value
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.engines.published_columns import NotDirectError
from sfumato.tasks.query.engines.truth import as_fraction
from sfumato.tasks.query.intervals.registry import LIKELY
from sfumato.tasks.query.intervals.shapes import (
    EXACT,
    LEAST_ROWS,
    NOTHING,
    OUTSIDE,
    SMALL,
    family_of,
    shape_of,
)
from sfumato.tasks.query.intervals.spread import AnswerLaw
from sfumato.tasks.query.intervals.way import LikelyAnswers, Spreads
from sfumato.tasks.query.question.question import ROWS, Aggregate, Key, Question
from sfumato.tasks.schema.stated import CalibratedIntervals
from sfumato.tasks.terms.terms import Declared


class EngineWithIntervals:
    """An engine whose answers contain likely values."""

    def __init__(self, engine: Engine, declared: Declared) -> None:
        """Compute nothing yet, since a caller may ask for bounds without estimates."""
        self._engine, self._declared = engine, declared
        self._stated = declared.intervals or CalibratedIntervals(families=())

    def ask(
        self, question: Question, estimates: bool = True
    ) -> Mapping[Key, Mapping[Aggregate, Bounds]]:
        """Return the bounds of each aggregate, with estimates and intervals if these are wanted."""
        if not estimates:
            return self._engine.ask(question, estimates)
        answers = self._engine.ask(_with_rows(question), estimates)
        laws = self._laws(question)
        factors = {a: self._factor(question, a) for a in question.aggregates}
        return {
            key: {
                a: with_likely(
                    row[a], laws.get(key, {}).get(a), factor, few=_are_few(row.get(ROWS))
                )
                for a, factor in factors.items()
            }
            for key, row in answers.items()
        }

    def starts(self, name: str) -> list[Any]:
        """Return the published values of an ordered column, or the least values of its labels."""
        return self._engine.starts(name)

    @cached_property
    def _likely(self) -> LikelyAnswers | None:
        opening = LIKELY.get(self._declared.form.shows)
        return None if opening is None else opening(self._engine)

    def _laws(self, question: Question) -> Spreads:
        """Return the laws of the answers; none if a condition cannot be evaluated on values."""
        try:
            return {} if self._likely is None else self._likely.spreads(question)
        except NotDirectError:
            return {}

    def _factor(self, question: Question, aggregate: Aggregate) -> float | None:
        """Return the factor of the aggregate's family; None if none is stated for it."""
        factor = self._stated.factor_of(family_of(shape_of(question, self._declared), aggregate))
        return None if factor is None else float(factor)


def _with_rows(question: Question) -> Question:
    """Return the question with the number of matching rows added."""
    if ROWS in question.aggregates:
        return question
    return replace(question, shown=(*question.shown, ROWS))


def _are_few(rows: Bounds | None) -> bool:
    """Decide whether surely fewer rows match than an interval needs.

    A condition on a sensitive value may match one person among many selected rows.
    """
    most = None if rows is None else as_fraction(rows.upper)
    return most is not None and most < LEAST_ROWS


def with_likely(
    bounds: Bounds, law: AnswerLaw | None, factor: float | None, *, few: bool = False
) -> Bounds:
    """Return the bounds with an estimate, and with an interval or the reason why there is none.

    Args:
        bounds: the bounds of an answer.
        law: the law of the same answer; None if none is known.
        factor: the factor of the answer's family; None if it belongs to no calibrated family.
        few: whether surely too few rows match.
    """
    if bounds.lower is None or bounds.upper is None:
        return replace(bounds, likely=Likely(None, NOTHING))
    if bounds.lower == bounds.upper:
        return replace(bounds, likely=Likely(None, EXACT))
    if law is None:
        return replace(bounds, likely=Likely(None, OUTSIDE))
    estimate = _clamp(_value(law.estimate), bounds)
    few = few or law.size.is_small
    if few or factor is None:
        plain_estimate = estimate if bounds.estimate is None else bounds.estimate
        reason = SMALL if few else OUTSIDE
        return replace(bounds, estimate=plain_estimate, likely=Likely(None, reason))
    return replace(bounds, estimate=estimate, likely=Likely(interval_of(bounds, law, factor)))


def interval_of(bounds: Bounds, law: AnswerLaw, factor: float) -> tuple[Value, Value]:
    """Return the interval within the bounds; its ends are possible values."""
    low, high = (_value(end) for end in law.interval(factor))
    if isinstance(bounds.lower, int) and isinstance(low, Fraction) and isinstance(high, Fraction):
        low, high = math.floor(low), math.ceil(high)
    return _clamp(low, bounds), _clamp(high, bounds)


def _value(value: Any) -> Value:
    return Fraction(value) if isinstance(value, float) else value


def _clamp(value: Value, bounds: Bounds) -> Value:
    """Return the value, or the nearest bound if the value lies outside of the bounds."""
    number, lower, upper = (as_fraction(end) for end in (value, bounds.lower, bounds.upper))
    if number is None or lower is None or upper is None:
        return value
    if number < lower:
        return bounds.lower
    return bounds.upper if number > upper else value

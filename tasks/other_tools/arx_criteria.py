"""Privacy models of ARX as promises: the words of `config.xml`, matched whole.

Source: `toString` of the classes in `org.deidentifier.arx.criteria` of ARX 3.9. Each criterion is
one line of words and numbers; what no pattern here matches is named as not taken over.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from sfumato.tasks.other_tools.hostile import exact_number, whole_number
from sfumato.tasks.other_tools.setup import Omission, harmless_text

Promise = Mapping[str, Any]
_NUMBER = r"([-+0-9.eE]{1,40})"
_ATTRIBUTE = r"for attribute '(.*)'"
_LN2 = Decimal("0.6931471805599453094172321214581765")  # rounded downwards
_POPULATION = (
    "is about a population that the project describes by numbers or a subset of rows. Write a "
    "promise with a table of the population (delta-presence or bayes-optimal with `reference:`), "
    "or `k-map` with a column of weights"
)
_AVERAGE = (
    "averages the risk over all rows, and promises here are about every group. `k-anonymity` with "
    "k = 1/risk bounds it for every row"
)
_PAYOUT = "weighs costs and benefits of an attack, which no promise does"
_NOISE = "adds randomness to get differential privacy, and no noise is added here"
_UNIQUE = "bounds the share of unique rows. With `k-anonymity` and k = 2 no row is unique"


@dataclass(frozen=True)
class _Rule:
    """A criterion of ARX.

    Attributes:
        pattern: the whole text of the criterion.
        promise: returns the promise for the groups of the pattern; None if a number is unfit.
    """

    pattern: re.Pattern[str]
    promise: Callable[..., Promise | None]


def _anonymity(k: str) -> Promise | None:
    number = whole_number(k)
    return None if number is None else {"model": "k-anonymity", "k": number}


def _distinct(least: str, attribute: str) -> Promise | None:
    number = whole_number(least)
    if number is None:
        return None
    return {"model": "l-diversity", "variant": "distinct", "l": number, "sensitive": attribute}


def _entropy(_estimator: str | None, least: str, attribute: str) -> Promise | None:
    number = _positive(least)
    if number is None:
        return None
    return {"model": "l-diversity", "variant": "entropy", "l": number, "sensitive": attribute}


def _recursive(c: str, least: str, attribute: str) -> Promise | None:
    factor, number = _positive(c), whole_number(least)
    if factor is None or number is None:
        return None
    promise = {"model": "l-diversity", "variant": "recursive", "l": number, "c": factor}
    return promise | {"sensitive": attribute}


def _closeness(t: str, ground: str, attribute: str) -> Promise | None:
    number = _positive(t)
    if number is None:
        return None
    return {"model": "t-closeness", "t": number, "distance": ground, "sensitive": attribute}


def _disclosure(delta: str, attribute: str) -> Promise | None:
    """Return δ in natural logarithms: ARX takes those of base 2. It is rounded downwards."""
    number = exact_number(delta)
    if number is None or number <= 0:
        return None
    with localcontext() as context:
        context.rounding = "ROUND_FLOOR"
        natural = (number * _LN2).quantize(Decimal("1e-9"))
    return {"model": "delta-disclosure", "delta": _plain(natural), "sensitive": attribute}


def _likeness(variant: str, beta: str, attribute: str) -> Promise | None:
    number = _positive(beta)
    if number is None:
        return None
    promise = {"model": "beta-likeness", "beta": number, "variant": variant}
    return promise | {"sensitive": attribute}


def _positive(text: str) -> int | float | str | None:
    """Return a positive number as a spec writes it exactly, None for any other text."""
    number = exact_number(text)
    return None if number is None or number <= 0 else _plain(number)


def _plain(number: Decimal) -> int | float | str:
    """Return a number as YAML has it: text where a floating-point number would be another one."""
    if number == number.to_integral_value():
        return int(number)
    text = format(number.normalize(), "f")
    return float(number) if Decimal(repr(float(number))) == number else text


_GROUND = "(equal|hierarchical|ordered)(?: ground-| )distance"
_RULES = tuple(
    _Rule(re.compile(pattern), promise)
    for pattern, promise in (
        (rf"{_NUMBER}-anonymity", _anonymity),
        (rf"distinct-{_NUMBER}-diversity {_ATTRIBUTE}", _distinct),
        (rf"(?:(shannon)-)?entropy-{_NUMBER}-diversity {_ATTRIBUTE}", _entropy),
        (rf"recursive-\({_NUMBER},{_NUMBER}\)-diversity {_ATTRIBUTE}", _recursive),
        (rf"{_NUMBER}-closeness with {_GROUND} {_ATTRIBUTE}", _closeness),
        (rf"{_NUMBER}-disclosure privacy {_ATTRIBUTE}", _disclosure),
        (rf"(basic|enhanced)-{_NUMBER}-likeness {_ATTRIBUTE}", _likeness),
    )
)
_REASONS = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (
            "Inclusion",
            "ARX groups a subset of the rows, or all of them; which ones is in the project's "
            "binary part, which is never read. If it is a subset, write it as `source.where`",
        ),
        (
            r".*grassberger-entropy.*",
            "estimates the entropy with Grassberger's correction; here entropy is of the group's "
            "own shares (`variant: entropy`)",
        ),
        (r".*-presence", _POPULATION),
        (r"\(.*\)-map.*", _POPULATION),
        (r".*population-uniqueness.*", _POPULATION),
        (r".*sample-uniqueness", _UNIQUE),
        (r".*avg-reidentification-risk", _AVERAGE),
        (r".*profitability.*", _PAYOUT),
        (r".*-DP", _NOISE),
    )
)
_MOST = 1_000  # characters of a criterion


def promise_of(criterion: str) -> Promise | Omission:
    """Return the promise that a criterion of ARX is, or why no promise is the same.

    >>> promise_of("5-anonymity")
    {'model': 'k-anonymity', 'k': 5}
    >>> print(promise_of("(1.0E-6,1.0E-5)-DP"))  # doctest: +ELLIPSIS
    (1.0E-6,1.0E-5)-DP: adds randomness ...
    """
    title = harmless_text(criterion)
    if len(criterion) > _MOST:
        return Omission(title, f"is longer than {_MOST:,} characters, and no criterion of ARX is")
    for rule in _RULES:
        if (match := rule.pattern.fullmatch(criterion)) is not None:
            promise = rule.promise(*match.groups())
            unfit = Omission(title, "its number is no number that a promise can have")
            return unfit if promise is None else promise
    why = next((why for pattern, why in _REASONS if pattern.fullmatch(criterion)), None)
    return Omission(title, why or "is not known here. Choose a promise in its place")

"""Rules about the smallest group: the highest risk of a person, or the number of people like them.

A person of a group of k is found with probability 1/k at most by someone who knows all
quasi-identifiers. The comparison with a threshold is one of fractions: 1/11 is above 0.09.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.numbers import ExactNumber, plain
from sfumato.tasks.policies.rule import MeasuredRelease, Observed, PolicyRule, Subject

_OF_SIZES = ("k-anonymity", "k-map")
"""The promises whose k is a number of people who look alike: in the table, or in the population."""


_NOT_OF_TWO = (
    "tables: two tables show quasi-identifiers of people as they are, so people do not look alike, "
    "and anyone who knows them of a person finds the person. The promise people is about rows, and "
    "does not replace it. Release one table with a row for each person, in form generalized or "
    "suppressed"
)


def _promises_of_size(subject: Subject) -> list[PrivacyModel]:
    """Return the promises of a size of groups over all quasi-identifiers, the largest k first."""
    sizes = [promise for promise in subject.whole_promises if promise.name in _OF_SIZES]
    return sorted(sizes, key=lambda promise: -_k(promise))


def _k(promise: PrivacyModel) -> int:
    return int(getattr(promise, "k", 0))


def _observed_k(release: MeasuredRelease) -> Fraction | None:
    """Return the measured k of the promise with the largest k; None if it was not measured."""
    best = _promises_of_size(release.subject)[0]
    measured = next((verdict for promise, verdict in release.verdicts if promise == best), None)
    k = None if measured is None else measured.observed.get("k")
    return Fraction(k) if isinstance(k, int | Fraction) and k > 0 else None


def _to_write(least: int) -> str:
    return f"Write `{{model: k-anonymity, k: {least}}}` under promises"


def _fault_of_size(subject: Subject, least: int, risk: str) -> str | None:
    """Return the fault if no promise demands so many people in every group, or None."""
    if subject.of_two_tables:
        return _NOT_OF_TWO
    promises = _promises_of_size(subject)
    if not promises:
        return (
            "promises: no promise sets how many people look alike in all quasi-identifiers. "
            f"{_to_write(least)}, without quasi-identifiers, and use form generalized or suppressed"
        )
    if (k := _k(promises[0])) < least:
        return f"promises: {promises[0].name} has k={k}{risk}. {_to_write(least)}"
    return None


class HighestRisk(PolicyRule):
    """The highest risk of a person, 1/k, is at most a threshold, compared as fractions."""

    example: ClassVar[Mapping[str, Any]] = {"rule": "highest-risk", "at-most": "0.09"}

    rule: Literal["highest-risk"]
    at_most: Annotated[
        ExactNumber, Field(gt=0, le=1, description="the highest risk of a person, 1/k")
    ]

    @property
    def least_k(self) -> int:
        """The smallest k whose risk 1/k is not above the threshold."""
        return ceil(1 / Fraction(self.at_most))

    def sentence(self) -> str:
        """Return the demand as a clause."""
        return (
            f"the highest risk of a person, 1/k, is at most {plain(self.at_most)}: "
            f"k is at least {self.least_k}"
        )

    def faults(self, subject: Subject) -> Iterator[str]:
        """Yield the fault of promises whose risk is higher."""
        promises = _promises_of_size(subject)
        risk = ""
        if promises and (k := _k(promises[0])):
            number = f"1/{k} = {_decimal(Fraction(1, k))}"
            risk = f", a highest risk of {number}, above {plain(self.at_most)}"
        if fault := _fault_of_size(subject, self.least_k, risk):
            yield fault

    def why_not_two_tables(self) -> str | None:
        """Return why two tables do not keep it: people are found by their quasi-identifiers."""
        return _NOT_OF_TWO

    def measure(self, release: MeasuredRelease) -> tuple[bool, Observed, str]:
        """Compare the risk in the smallest published group with the threshold."""
        k = _observed_k(release)
        if k is None:
            return False, None, "the smallest group could not be measured"
        risk, most = 1 / k, plain(self.at_most)
        words = f"highest risk {risk} = {_decimal(risk)} in the smallest group, at most {most}"
        return risk <= Fraction(self.at_most), {"k": plain(k), "risk": plain(risk)}, words


class GroupSize(PolicyRule):
    """Every group of people who look alike has so many people at least."""

    example: ClassVar[Mapping[str, Any]] = {"rule": "group-size", "at-least": 10}

    rule: Literal["group-size"]
    at_least: Annotated[
        int, Field(ge=2, le=1_000_000, description="the number of people who look alike, at least")
    ]

    @property
    def least_k(self) -> int:
        """The smallest k that keeps the rule."""
        return self.at_least

    def sentence(self) -> str:
        """Return the demand as a clause."""
        return f"at least {self.at_least} people look alike in all quasi-identifiers"

    def faults(self, subject: Subject) -> Iterator[str]:
        """Yield the fault of promises with a smaller k."""
        if fault := _fault_of_size(subject, self.at_least, f", below {self.at_least}"):
            yield fault

    def why_not_two_tables(self) -> str | None:
        """Return why two tables do not keep it: people are found by their quasi-identifiers."""
        return _NOT_OF_TWO

    def measure(self, release: MeasuredRelease) -> tuple[bool, Observed, str]:
        """Compare the smallest published group with the number."""
        k = _observed_k(release)
        if k is None:
            return False, None, "the smallest group could not be measured"
        words = f"smallest group {plain(k)}, at least {self.at_least}"
        return k >= self.at_least, {"k": plain(k)}, words


def _decimal(risk: Fraction) -> str:
    """Return a risk with four decimals for people; decisions are made on the fraction."""
    return f"{float(risk):.4f}"

"""δ-disclosure privacy: no value is much more or much less frequent in a group than in all rows.

Source: Brickell, Shmatikov, The cost of privacy: destruction of data-mining utility in anonymized
data publishing (KDD 2008). All rows are the published ones, logarithms are natural, and a value
that occurs at all occurs in every group: otherwise its logarithm there would be infinite. If
subdomains replace values, a group's shares are those that are declared for it, and those of all
rows their mixture.

A share in a group over the share in all rows is rational, and e to the power δ is transcendental
for every rational δ > 0 (Lindemann), so that the two are never equal: enough digits of the power
always show which one is larger.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import floor, inf
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.emd import declared_shares
from sfumato.expectations.models.model import PrivacyModel, Reading, Way, Worst
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import ExactNumber, Number, plain

_NEAR = 1e-12  # four logarithms of counts below 2**63 are off by far less
_STEPS = 10**9  # of a bound that is rounded downwards
_DIGITS = 34  # of a power, to begin with


@dataclass(frozen=True, kw_only=True)
class DeltaDisclosure(PrivacyModel):
    """|ln p(s) - ln q(s)| < δ for the share p of a group and q of all rows, for every value s.

    The share of merged groups is a mean of theirs, and so between them, while that of all rows
    stays: merging cannot break the promise.
    """

    name: ClassVar[str] = "delta-disclosure"
    title: ClassVar[str] = "δ-disclosure privacy"
    meanings: ClassVar[Mapping[str, str]] = {
        "delta": "logarithm of how much more or less frequent a value is than in all rows, below",
    }
    monotone: ClassVar[bool] = True
    readings: ClassVar[tuple[Reading, ...]] = ("weight-one",)
    ways: ClassVar[frozenset[Way]] = frozenset({"labels", "rows", "subdomains"})
    protects: ClassVar[bool] = True
    at_most: ClassVar[frozenset[str]] = frozenset({"delta"})
    compares_with_all: ClassVar[bool] = True
    since: ClassVar[int] = 1
    example: ClassVar[Mapping[str, Any]] = {"delta": 1}

    model: Literal["delta-disclosure"] = "delta-disclosure"
    delta: Annotated[
        ExactNumber,
        Field(gt=0, description="|ln(p/q)| stays below it, for shares p in a group and q in all"),
    ]

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`delta`: the largest |ln p(s) - ln q(s)| of each group (float64).

        It is infinite where the group lacks a value that others show.
        """
        counts, sizes = self._counts(groups)
        if not len(groups):
            return {"delta": np.zeros(0)}
        largest = np.maximum.reduceat(_logarithms(counts, sizes), counts.starts)
        return {"delta": np.where(_lacking(counts), np.inf, largest)}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups that lack a value, or show one too often or too rarely (bool)."""
        try:
            counts, sizes = self._counts(groups)
        except PromiseError:
            return np.ones(len(groups), dtype=bool)
        logarithms, limit = _logarithms(counts, sizes), float(self.delta)
        over = logarithms > limit
        unsure = np.flatnonzero(abs(logarithms - limit) <= _NEAR)
        ratios = _ratios(counts, sizes, unsure)
        exceeding = {ratio: _exceeds(ratio, self.delta) for ratio in set(ratios)}
        over[unsure] = [exceeding[ratio] for ratio in ratios]
        failing: np.ndarray = _lacking(counts)
        failing[counts.group[over]] = True
        return failing

    def worst(self, groups: Groups) -> Worst:
        """Return the largest logarithm of a group, to six decimals; failures are exact."""
        try:
            largest = self._largest(*self._counts(groups))
        except PromiseError:
            return {"delta": None}, len(groups)
        return {"delta": largest}, int(self.failing(groups).sum())

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"delta": Fraction(self.delta)}

    def allows(self, share: Fraction, common: Fraction) -> bool:
        """Decide whether a group may show a value with a share that all rows have so often.

        Both shares are above 0, except that a group may lack the value, which breaks the promise.
        """
        ratio = share / common
        return share > 0 and not _exceeds(max(ratio, 1 / ratio), self.delta)

    def for_part(self, part: Groups) -> "DeltaDisclosure | None":
        """Return the promise for a part.

        Logarithms add up: of a group by its part, and of the part by all rows. It is None for
        declared distributions, and for a part that lacks a value.
        """
        if part.declared_of(self.sensitive) is not None:
            return None
        counts = part.counts_of(self.sensitive)
        if _lacking(counts)[0]:
            return None
        apart = float(_logarithms(counts, part.sizes)[counts.group == 0].max())
        remaining = Decimal(floor((float(self.delta) - apart) * _STEPS - 1)) / _STEPS
        return replace(self, delta=remaining) if remaining > 0 else None

    def sentence(self) -> str:
        """Return the promise in words."""
        return (
            f"every group shows every published value of {self.sensitive}, and none of them is "
            f"more frequent or rarer there than among all published rows by a factor of e to the "
            f"power {plain(self.delta)} or more"
        )

    def sentence_of_declared(self) -> str:
        """Return the promise in words, about the declared distributions."""
        return (
            f"the distribution that is declared for a group has every value of {self.sensitive} "
            f"that another has, and none of them is likelier or less likely there than in those of "
            f"all published rows together by a factor of e to the power {plain(self.delta)} or more"
        )

    def _counts(self, groups: Groups) -> tuple[Counts, np.ndarray]:
        """Return the counts of the attribute and the size of each group, shown or declared.

        Raises:
            PromiseError: where a target is no distribution, or targets have different values.
        """
        declared = groups.declared_of(self.sensitive)
        if declared is None:
            return groups.counts_of(self.sensitive), groups.sizes
        chances, _ = declared_shares(declared, groups.sizes)
        group, value = np.nonzero(chances[declared.target])
        sizes = groups.sizes.astype(object)
        count = chances[declared.target[group], value] * sizes[group]
        unit = int(chances[0].sum()) if len(chances) else 1
        return Counts(group, value, count, chances.shape[-1], None), sizes * unit

    def _largest(self, counts: Counts, sizes: np.ndarray) -> Number:
        if not len(sizes) or _lacking(counts).any():
            return inf if len(sizes) else None
        logarithms = _logarithms(counts, sizes)
        highest = np.flatnonzero(logarithms >= logarithms.max() - _NEAR)
        return _logarithm(max(_ratios(counts, sizes, highest)))


def _logarithms(counts: Counts, sizes: np.ndarray) -> np.ndarray:
    """Return |ln p - ln q| of each entry of the counts (float64)."""
    if counts.count.dtype == object:  # whole numbers of any size, whose quotients are floats
        expected = counts.totals[counts.value] * np.repeat(sizes, counts.distinct)
        quotients = counts.count * int(sizes.sum()) / expected
        return np.asarray(abs(np.log(quotients.astype(np.float64))))
    rows = np.log(float(sizes.sum())) if len(sizes) else 0.0
    of_group = np.repeat(_log(sizes), counts.distinct)
    of_value = _log(np.maximum(counts.totals, 1))[counts.value]
    return np.asarray(abs(_log(counts.count) - of_group - of_value + rows))


def _log(numbers: np.ndarray) -> np.ndarray:
    return np.log(numbers.astype(np.float64))


def _ratios(counts: Counts, sizes: np.ndarray, entries: np.ndarray) -> list[Fraction]:
    """Return the larger of p / q and q / p, of some entries of the counts."""
    rows = int(sizes.sum())
    shown_counts = counts.count[entries].tolist()
    totals = counts.totals[counts.value[entries]].tolist()
    of_group = sizes[counts.group[entries]].tolist()
    entries_with_sizes = zip(shown_counts, totals, of_group, strict=True)
    ratios = (Fraction(count * rows, total * size) for count, total, size in entries_with_sizes)
    return [max(ratio, 1 / ratio) for ratio in ratios]


def _lacking(counts: Counts) -> np.ndarray:
    """Mark the groups that lack a value that another group shows (bool)."""
    return np.asarray(counts.distinct < np.count_nonzero(counts.totals))


def _exceeds(ratio: Fraction, exponent: Decimal) -> bool:
    """Return True if the ratio is above e to a positive power; it cannot be equal.

    >>> _exceeds(Fraction(2), Decimal("0.6931471805599453")), _exceeds(Fraction(2), Decimal("0.7"))
    (True, False)
    """
    digits = _DIGITS
    while True:
        with localcontext(Context(prec=digits)):
            power = exponent.exp()  # correctly rounded, so that its neighbours are around it
            below, above = Fraction(power.next_minus()), Fraction(power.next_plus())
        if ratio <= below or ratio >= above:
            return ratio >= above
        digits *= 2


def _logarithm(ratio: Fraction) -> Fraction:
    """Return the natural logarithm to six decimals, the same on every machine."""
    with localcontext(Context(prec=_DIGITS)):
        logarithm = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        return Fraction(logarithm.quantize(Decimal("0.000001")))

"""β-likeness: no value is much more frequent in a group than in all rows.

Source: Cao, Karras, Publishing microdata with a robust privacy guarantee (PVLDB 5(11), 2012). All
rows are the published ones, logarithms are natural. A value that is rarer in a group than in all
rows does no harm. If subdomains replace values, a group's shares are those that are declared
for it, and those of all rows their mixture.

A share p below 1 is rational, and -ln p is not (Lindemann), so that a gain never equals it: enough
digits of the logarithm always show which one is larger.
"""

from collections.abc import Mapping
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.emd import declared_shares
from sfumato.expectations.models.model import PrivacyModel, Reading, Way, Worst
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import are_above, largest
from sfumato.expectations.shared.numbers import ExactNumber, Number, plain

_NEAR = 1e-9  # a quotient and a logarithm of floats are off by far less
_DIGITS = 34  # of a logarithm, to begin with
_STEPS = 10**9  # of a bound that is rounded downwards


@plain_dataclass(frozen=True, eq=False)
class _Shares:
    """Shares of values in groups: whole numbers, one entry for each pair of a group and a value.

    The share in the group over that in all rows is `shown / expected`, the latter is `common /
    whole`; `group` is the entry's (int64).
    """

    group: np.ndarray
    shown: np.ndarray
    expected: np.ndarray
    common: np.ndarray
    whole: int


@dataclass(frozen=True, kw_only=True)
class BetaLikeness(PrivacyModel):
    """(q - p) / p ≤ min(β, -ln p) for the share q in a group and p in all rows, for every value.

    `basic` leaves the logarithm out, and limits nothing of a value that 1/(1 + β) of all rows or
    more have. Merged groups have a mean of their shares, and so cannot break it.
    """

    name: ClassVar[str] = "beta-likeness"
    title: ClassVar[str] = "β-likeness"
    meanings: ClassVar[Mapping[str, str]] = {
        "beta": "gain of a value's share in a group over that in all rows, at most",
    }
    monotone: ClassVar[bool] = True
    readings: ClassVar[tuple[Reading, ...]] = ("any-of", "weight-one")
    rows_together: ClassVar[bool] = True
    ways: ClassVar[frozenset[Way]] = frozenset({"labels", "rows", "subdomains"})
    protects: ClassVar[bool] = True
    at_most: ClassVar[frozenset[str]] = frozenset({"beta"})
    compares_with_all: ClassVar[bool] = True
    since: ClassVar[int] = 6
    example: ClassVar[Mapping[str, Any]] = {"beta": 1}

    model: Literal["beta-likeness"] = "beta-likeness"
    beta: Annotated[
        ExactNumber,
        Field(
            gt=0, description="largest relative gain of a value's share (1 is twice as frequent)"
        ),
    ]
    variant: Annotated[
        Literal["enhanced", "basic"],
        Field(description="enhanced also bounds the gain by -ln p, p being the share in all rows"),
    ] = "enhanced"

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`beta`: the largest gain of each group (float64), at least 0."""
        seen = self._shares(groups)
        gains = np.zeros(len(groups))
        np.maximum.at(gains, seen.group, (seen.shown / seen.expected).astype(np.float64) - 1)
        return {"beta": gains}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups in which some value's share gains too much (bool, one per group)."""
        failing = np.zeros(len(groups), dtype=bool)
        try:
            seen = self._shares(groups)
        except PromiseError:
            return ~failing
        over = are_above(seen.shown, seen.expected, 1 + Fraction(self.beta))
        if self.variant == "enhanced":
            over |= _beyond_logarithm(seen)
        failing[seen.group[over]] = True
        return failing

    def worst(self, groups: Groups) -> Worst:
        """Return the largest gain of a group, in fractions."""
        try:
            seen = self._shares(groups)
        except PromiseError:
            return {"beta": None}, len(groups)
        ratio = largest(seen.shown, seen.expected)
        gain = None if ratio is None else max(ratio - 1, Fraction(0))
        return {"beta": gain}, int(self.failing(groups).sum())

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"beta": Fraction(self.beta)}

    def allows(self, share: Fraction, common: Fraction) -> bool:
        """Decide whether a group may show a value with a share that all rows have so often."""
        gain = share / common - 1
        enhanced = self.variant == "enhanced"
        return gain <= Fraction(self.beta) and not (enhanced and _exceeds(gain, common))

    def for_part(self, part: Groups) -> "BetaLikeness | None":
        """Return the promise for a part: its ratio to all rows uses up some of the allowed gain.

        Ratios of shares multiply: of a group to its part, and of the part to all rows. A part does
        not know the shares in all rows, whose logarithms limit the gain: then the result is None.
        """
        if self.variant == "enhanced":
            return None
        apart = self._largest_ratio(part)
        remaining = (1 + Fraction(self.beta)) / apart - 1
        rounded = Decimal(remaining.numerator * _STEPS // remaining.denominator) / _STEPS
        return replace(self, beta=rounded) if rounded > 0 else None

    def sentence(self) -> str:
        """Return the promise in words."""
        return f"{self._gains()} among all published rows{self._at_most()}"

    def sentence_of_declared(self) -> str:
        """Return the promise in words, about the declared distributions."""
        return (
            f"in the distribution that is declared for a group no value of {self.sensitive} has a "
            f"share that gains more than {plain(self.beta)} times over its share in those of all "
            f"published rows together{self._at_most()}"
        )

    def _gains(self) -> str:
        return (
            f"no value of {self.sensitive} has a share in a group that gains more than "
            f"{plain(self.beta)} times over its share"
        )

    def _at_most(self) -> str:
        return "" if self.variant == "basic" else ", nor more than minus the logarithm of that"

    def _largest_ratio(self, part: Groups) -> Fraction:
        """Return the largest ratio of a share in the first group to that in all rows."""
        seen = self._shares(part)
        first = seen.group == 0
        return largest(seen.shown[first], seen.expected[first]) or Fraction(1)

    def _shares(self, groups: Groups) -> _Shares:
        """Return what groups show or declare of the attribute, or of the only one."""
        subdomains = groups.declared_of(self.sensitive)
        if subdomains is not None:
            chances, whole = declared_shares(subdomains, groups.sizes)
            group, value = np.nonzero(chances[subdomains.target])
            unit = int(chances[0].sum()) if len(chances) else 1
            mine = chances[subdomains.target[group], value] * groups.rows
            return _Shares(group, mine, whole[value], whole[value], unit * groups.rows)
        counts = groups.counts_of(self.sensitive)
        totals = counts.totals[counts.value]
        sizes = groups.sizes[counts.group]
        small = groups.rows < 2**31  # products of two numbers of rows fit
        columns = (
            column if small else column.astype(object) for column in (counts.count, totals, sizes)
        )
        count, total, size = columns
        return _Shares(counts.group, count * groups.rows, total * size, total, groups.rows)


def _beyond_logarithm(seen: _Shares) -> np.ndarray:
    """Mark the entries whose gain is above -ln p (bool), exactly."""
    gains = (seen.shown / seen.expected).astype(np.float64) - 1
    over = gains + np.log((seen.common / seen.whole).astype(np.float64))
    beyond = np.asarray(over > 0)
    for entry in np.flatnonzero(abs(over) <= _NEAR).tolist():
        gain = Fraction(int(seen.shown[entry]), int(seen.expected[entry])) - 1
        beyond[entry] = _exceeds(gain, Fraction(int(seen.common[entry]), seen.whole))
    return beyond


def _exceeds(gain: Fraction, common: Fraction) -> bool:
    """Return True if a gain is above minus the logarithm of a share; equal only if both are 0.

    >>> _exceeds(Fraction(7, 10), Fraction(1, 2)), _exceeds(Fraction(69, 100), Fraction(1, 2))
    (True, False)
    """
    if common == 1 or gain <= 0:
        return gain > 0
    digits = _DIGITS
    while True:
        down, up = Context(prec=digits, rounding=ROUND_FLOOR), Context(digits, ROUND_CEILING)
        low, high = (
            context.divide(Decimal(common.denominator), Decimal(common.numerator)).ln(context)
            for context in (down, up)
        )
        below, over = Fraction(low.next_minus(down)), Fraction(high.next_plus(up))
        if gain <= below or gain >= over:
            return gain >= over
        digits *= 2

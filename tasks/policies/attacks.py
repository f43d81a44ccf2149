"""Rules about limits on attacks: which must be there, and the risk against a register.

A release states limits that refused nothing. No file can show that they were kept: they compare
guesses with the original table. A rule decides exactly that they are stated, and their numbers.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.expectations.shared.numbers import ExactNumber, plain
from sfumato.tasks.policies.rule import (
    MeasuredRelease,
    Observed,
    PolicyRule,
    Subject,
    join_names,
)
from sfumato.tasks.schema.stated import KeptBar

_LINKAGE = "linkage"


class AttackLimits(PolicyRule):
    """A limit on each of some attacks refuses a release; the rule sets no limit itself."""

    example: ClassVar[Mapping[str, Any]] = {"rule": "attack-bars", "attacks": ["singling-out"]}

    rule: Literal["attack-bars"]
    attacks: Annotated[
        tuple[str, ...], Field(min_length=1, description="attacks that need a limit, by name")
    ]

    def sentence(self) -> str:
        """Return the demand as a clause."""
        names = join_names(self.attacks, "and")
        return f"a limit on each of {names} refuses a release; a person chooses the limits"

    def faults(self, subject: Subject) -> Iterator[str]:
        """Yield each attack without a limit that refuses a release."""
        if subject.of_two_tables:
            yield str(self.why_not_two_tables())
            return
        if subject.in_parts:
            yield "parts: a release in parts states no limits on attacks. Leave parts out"
            return
        limited = {bar.attack for bar in _bars(subject)}
        for attack in self.attacks:
            if attack not in limited:
                yield (
                    f"attacks: has no limit on {attack} that refuses a release. Choose a share and "
                    f"write `{attack}: {{max-share: SHARE}}` under attacks, without on-failure"
                )

    def why_not_two_tables(self) -> str | None:
        """Return why two tables do not keep it: their attacks have no limits yet."""
        return (
            f"tables: the policy needs limits on {join_names(self.attacks, 'and')}, and no attack "
            "on two tables can be limited yet. Release one table"
        )

    def measure(self, release: MeasuredRelease) -> tuple[bool, Observed, str]:  # noqa: ARG002
        """Return the limits, which decided already."""
        names = join_names(self.attacks, "and")
        words = f"attacks: the publisher states limits on {names}, which no file can show"
        return True, None, words


class RegisterRisk(PolicyRule):
    """Against a register that the spec has, the publisher believes no row to be a person's so much.

    Without a register the rule demands nothing.
    """

    example: ClassVar[Mapping[str, Any]] = {"rule": "register-risk", "at-most": "0.09"}

    rule: Literal["register-risk"]
    at_most: Annotated[
        ExactNumber, Field(gt=0, le=1, description="the highest risk of a person of the register")
    ]

    def sentence(self) -> str:
        """Return the demand as a clause."""
        return (
            f"where the spec has a register, no row is believed to be a person's with more than "
            f"{plain(self.at_most)}"
        )

    def faults(self, subject: Subject) -> Iterator[str]:
        """Yield the fault of limits on linkage that allow a higher risk."""
        bars = [bar for bar in _bars(subject) if bar.attack == _LINKAGE]
        if bars and not any(self._is_kept(bar) for bar in bars):
            most = plain(self.at_most)
            yield (
                f"attacks.linkage: allows a risk against the register above {most}. Write "
                f"`max-share-above: {{belief: {most}, share: 0}}`"
            )

    def measure(self, release: MeasuredRelease) -> tuple[bool, Observed, str]:
        """Return the limit, which decided already."""
        if not any(bar.attack == _LINKAGE for bar in _bars(release.subject)):
            return True, None, "register: no limit on linkage is stated, so there is no register"
        words = "register: the publisher states the limit on linkage, which no file can show"
        return True, None, words

    def _is_kept(self, bar: KeptBar) -> bool:
        """Decide whether a bar allows nobody to be found with more than the threshold."""
        if bar.limit != "max-share-above" or bar.belief is None:
            return False
        return _exact(bar.most) == 0 and _exact(bar.belief) <= Fraction(self.at_most)


def _bars(subject: Subject) -> tuple[KeptBar, ...]:
    return () if subject.bars is None else subject.bars.bars


def _exact(number: float) -> Fraction:
    """Return the decimal number that a share is written as."""
    return Fraction(repr(number))

"""Mutants: members that rules changed, each with the answer that a verifier must give."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.conformance import (
    rules_of_files,
    rules_of_lines,
    rules_of_logs,
    rules_of_manifest,
    rules_of_policies,
    rules_of_promises,
    rules_of_resources,
    rules_of_tables,
)
from tests.conformance.drafts import Draft, NotApplicableError
from tests.conformance.members import Member
from tests.conformance.rulebook import RULES, Chance, Expected, Rule

MODULES = (
    rules_of_files,
    rules_of_manifest,
    rules_of_resources,
    rules_of_tables,
    rules_of_promises,
    rules_of_lines,
    rules_of_logs,
    rules_of_policies,
)
"""Modules of rules: they register what they define."""


@dataclass(frozen=True)
class Mutant:
    """A changed release.

    Attributes:
        name: its number, with the rule.
        rule: the name of the rule that changed it.
        member: the name of the member that it was.
        release: its directory.
        expected: what a verifier must answer.
    """

    name: str
    rule: str
    member: str
    release: Path
    expected: Expected


class Drafts:
    """The members of a corpus, each read once."""

    def __init__(self, members: Sequence[Member]) -> None:
        """Take the members; they are read when they are needed."""
        self.members = members
        self._read: dict[str, Draft] = {}

    def copy_of(self, member: Member) -> Draft:
        """Return a draft of a member that may be changed."""
        if member.name not in self._read:
            self._read[member.name] = Draft.read(member.release)
        return self._read[member.name].copy()


def make_mutants(
    seed: int, number: int, members: Sequence[Member], folder: Path
) -> Iterator[Mutant]:
    """Make so many mutants below a folder, by each rule in turn; the seed decides of all.

    The order of the rules is the seed's, too.

    Raises:
        LookupError: if a rule applies to no member.
    """
    drafts, names = Drafts(members), Random(seed).sample(list(RULES), len(RULES))
    for place in range(number):
        rule = RULES[names[place % len(names)]]
        rng = Chance(f"{seed} {rule.name} {place // len(names)}")
        member, draft, expected = _apply_change(rule, drafts, rng)
        name = f"{place:05}-{rule.name}"
        release = draft.write(folder / name, member.release.name, member.release)
        yield Mutant(name, rule.name, member.name, release, expected)


def _apply_change(rule: Rule, drafts: Drafts, rng: Random) -> tuple[Member, Draft, Expected]:
    """Change the first member, in an order that is drawn, to which a rule applies."""
    for member in rng.sample(drafts.members, len(drafts.members)):
        draft = drafts.copy_of(member)
        try:
            return member, draft, rule.apply(draft, rng)
        except NotApplicableError:
            continue
    raise LookupError(f"the rule {rule.name} applies to no member")

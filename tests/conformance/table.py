"""Agreement of a verifier with a corpus, counted by rule, and its disagreements one by one."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.conformance.members import Member
from tests.conformance.mutants import Mutant
from tests.conformance.rulebook import VALID, Expected
from tests.conformance.verdicts import Answer, agrees


@dataclass
class Tally:
    """Agreements and disagreements of a verifier.

    Attributes:
        level: of conformance (V2): `core`, `full` or `byte`.
        counts: by rule, how many agree and how many there are; members are the rule `member`.
        disagreements: a line for each.
    """

    level: str
    counts: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    disagreements: list[str] = field(default_factory=list)

    def add_member(self, member: Member, answer: Answer) -> None:
        """Count the answer about a member."""
        self._add("member", member.name, VALID, answer)

    def add_mutant(self, mutant: Mutant, answer: Answer) -> None:
        """Count the answer about a mutant."""
        self._add(mutant.rule, f"{mutant.name} of {mutant.member}", mutant.expected, answer)

    def _add(self, rule: str, name: str, expected: Expected, answer: Answer) -> None:
        agreements = agrees(answer, expected, self.level)
        self.counts[rule][0] += agreements
        self.counts[rule][1] += 1
        if not agreements:
            expected_words = f"{expected.verdict} {' '.join(sorted(expected.reasons))}"
            got = f"{answer.verdict} {' '.join(sorted(answer.reasons))} [{answer.words[:200]}]"
            self.disagreements.append(f"{rule}: {name}: expected {expected_words}; got {got}")

    @property
    def agreements(self) -> int:
        """The number of agreements."""
        return sum(agreements for agreements, _ in self.counts.values())

    def lines(self) -> Iterator[str]:
        """Yield the table, and the disagreements below it."""
        width = max(map(len, self.counts))
        yield f"{'rule'.ljust(width)}  agreements   of"
        for rule, (agreements, number) in self.counts.items():
            yield f"{rule.ljust(width)}  {agreements:6}  {number:3}"
        number = sum(n for _, n in self.counts.values())
        yield f"{'all'.ljust(width)}  {self.agreements:6}  {number:3}"
        yield from self.disagreements


def tally(
    level: str,
    members: Sequence[tuple[Member, Answer]],
    mutants: Sequence[tuple[Mutant, Answer]],
) -> Tally:
    """Count answers about members and mutants."""
    counted = Tally(level)
    for member, answer in members:
        counted.add_member(member, answer)
    for mutant, answer in mutants:
        counted.add_mutant(mutant, answer)
    return counted

"""The protocol of attacks: a release and what the attacker knows, and how well the guesses do."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.margins import Margin
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.vectors import vectors
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.terms.assessment import SeenGroups
from sfumato.tasks.terms.people import WhoseRows
from sfumato.tasks.terms.terms import Declared

IDENTITIES = "identities"
"""What is attacked where no column is sensitive, as `form.protects` calls it."""


@dataclass(frozen=True, eq=False)
class AttackedRelease:
    """A release under attack, and the people whom it is about.

    Attributes:
        declared: what it declares.
        tables: what it shows.
        people: the represented rows as they are, for the score; nobody, where nothing is scored.
        sensitive: the column that attackers want to know; empty where they want none, but people.
        seen: the groups of the tables, where they were counted before.
        whose: whose the rows are and where they stand, where people have several and it is known.
        digest: of the release, by which samples are drawn.
        counted: the values of the sensitive column in each group, in place of those that are shown.
        learned: what attacks have learned, by their names, so that it is learned once.
        runs: on so many drawn worlds the partition is run again, where that has to be.
    """

    declared: Declared
    tables: Tables
    people: Microdata
    sensitive: str
    seen: SeenGroups | None = None
    whose: WhoseRows | None = None
    digest: str = ""
    counted: Counts | None = None
    learned: dict[str, Any] = field(default_factory=dict)
    runs: int = 0

    @property
    def called(self) -> str:
        """What attackers want to know, as it is told: a column, or whose row is which."""
        return self.sensitive or IDENTITIES

    def drawing(self, attack: str) -> np.random.Generator:
        """Chance for an attack of that name: always the same for one release, which nobody chose.

        So figures are the same whenever they are computed, and no other sample can be tried.
        """
        seed = hashlib.sha256(f"{attack} {self.digest}".encode()).digest()
        return np.random.default_rng(int.from_bytes(seed))

    def groups(self) -> Counts | None:
        """The values of the sensitive column in each group; None where values are not shown."""
        return self._groups

    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """The vector of each row that is shown, and of each person, -1 where no row has it (int64).

        Of forms that show rows as they are.
        """
        return self._vectors

    @cached_property
    def _vectors(self) -> tuple[np.ndarray, np.ndarray]:
        table = self.tables[relations(self.declared).rows]
        return vectors(table, self.declared.named("quasi-identifier"), self.people)

    @cached_property
    def _groups(self) -> Counts | None:
        if self.counted is not None:
            return self.counted
        seen = self.seen or SeenGroups(self.declared, self.tables)
        told_by = self.declared.named("quasi-identifier")
        return seen.told_by(told_by, [self.sensitive]).sensitive.get(self.sensitive)


@dataclass(frozen=True)
class Score:
    """How an attack did; all figures are shares from 0 to 1, of the people where nothing is said.

    Attributes:
        measure: what was counted, in words.
        share: of the people, or of what the measure says.
        references: the same share without the attack, by what is known instead.
        margin: where the exact figure is, of one that comes from a sample.
        exact: of which share of the people beliefs were counted exactly; the others' are near.
        skipped: why an attack was not made; there is no share then.
    """

    measure: str
    share: float
    references: Mapping[str, float] = field(default_factory=dict)
    margin: Margin | None = None
    exact: float | None = None
    skipped: str = ""

    @property
    def beside(self) -> str:
        """What stands beside the share, in words: its margin, the references, how exact it is."""
        margin = [] if self.margin is None else [self.margin.words]
        counted = [] if self.exact is None else [f"counted exactly: {self.exact:.1%}"]
        others = (f"{words}: {share:.1%}" for words, share in self.references.items())
        return "; ".join([*margin, *others, *counted])

    @property
    def told(self) -> str:
        """The score as a line of text: the share, of what, and what stands beside it."""
        if self.skipped:
            return f"  skipped  {self.measure}: {self.skipped}"
        beside = f" ({self.beside})" if self.beside else ""
        return f"  {self.share:>6.1%}  {self.measure}{beside}"

    def document(self) -> dict[str, Any]:
        """The score for JSON and tables."""
        if self.skipped:
            return {"measure": self.measure, "skipped": self.skipped}
        told = {} if self.margin is None else self.margin.document()
        told |= {} if self.exact is None else {"exact": self.exact}
        return {"measure": self.measure, "share": self.share, **self.references, **told}


def skipped_attack(name: str, reason: str) -> tuple[Score]:
    """What stands in place of the scores of an attack that was not made, so that it is missed.

    >>> skipped_attack("definetti", "too many pairs")[0].document()
    {'measure': 'definetti', 'skipped': 'too many pairs'}
    """
    return (Score(name, math.nan, skipped=reason),)


SURE = 0.8
"""The belief from which on a value is as good as known, in words of scores."""


class Attack(Protocol):
    """One module per attack offers this."""

    def __call__(self, target: AttackedRelease) -> tuple[Score, ...]:
        """Attack; no score where a release of this form does not show what the attack needs."""
        ...


def right_guesses(belief: np.ndarray, own: np.ndarray) -> float:
    """The share of people whose own value is the top guess; between equal guesses a coin decides.

    Args:
        belief: in each value, by class of people who are told apart (float64, classes x values).
        own: how many people of each class have each value (int64, classes x values).
    """
    return float((own * top_guesses(belief)).sum() / own.sum())


def top_guesses(belief: np.ndarray) -> np.ndarray:
    """The chance that each value is guessed (float64, classes x values), from beliefs like it."""
    top = belief == belief.max(axis=1, keepdims=True)
    return np.asarray(top / top.sum(axis=1, keepdims=True))


def most_frequent(counts: Counts) -> float:
    """The share of people who have the value that most have: the guess without any release."""
    return float(counts.totals.max() / counts.totals.sum())


def best_in_group(counts: Counts) -> float:
    """The share of people who have the most frequent value of their group."""
    return float(counts.largest.sum() / counts.sizes.sum())

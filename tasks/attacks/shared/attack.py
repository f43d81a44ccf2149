"""Protocol of attacks: the attacked release, and the scores of the guesses."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.shared.margins import Margin
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.vectors import RowsTogether
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.terms.assessment import SeenGroups
from sfumato.tasks.terms.people import WhoseRows
from sfumato.tasks.terms.terms import Declared

_TOGETHER = "rows together"
IDENTITIES = "identities"
"""The subject of attacks if no column is sensitive, by its name in `form.protects`."""


@dataclass(frozen=True, eq=False)
class AttackedRelease:
    """A release under attack, and the people whom it is about.

    Attributes:
        declared: the release's declaration.
        tables: its published tables.
        people: the original represented rows, for the score; no rows if nothing is scored.
        sensitive: the column that attackers want to know; empty if they want to find people.
        seen: the groups of the tables, if they were counted before.
        whose: the person and the group of each row, if people have several rows and both are known.
        digest: the digest of the release, the seed of all samples.
        counted: values of the sensitive column in each group that replace the published ones.
        learned: results that attacks computed once, by the attack's name.
        shared: results that depend on no sensitive column, for all targets of a release.
        runs: the number of drawn worlds on which the partition is run again, if it has to be.
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
    shared: dict[str, Any] = field(default_factory=dict)
    runs: int = 0

    @property
    def subject(self) -> str:
        """The subject of the attack in reports: the sensitive column, or *identities*."""
        return self.sensitive or IDENTITIES

    def drawing(self, attack: str) -> np.random.Generator:
        """Return the random generator of an attack, which depends only on its name and the release.

        So figures are the same whenever they are computed, and nobody can try another sample.
        """
        seed = hashlib.sha256(f"{attack} {self.digest}".encode()).digest()
        return np.random.default_rng(int.from_bytes(seed))

    def groups(self) -> Counts | None:
        """Return the sensitive values of each group, or None if they are not shown."""
        return self._groups

    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the vector of each published row and of each person (int64).

        The vector of a person is -1 if no row has it. Only for forms that show exact rows.
        """
        return self.together.vectors

    @cached_property
    def together(self) -> RowsTogether:
        """The published rows and people, compared. Only for forms that show exact rows."""
        table = self.tables[relations(self.declared).rows]
        names = self.declared.names_with_roles("quasi-identifier")
        shared: RowsTogether | None = self.shared.get(_TOGETHER)
        if shared is not None and shared.table is table and shared.people is self.people:
            return shared
        together = RowsTogether(table, self.people, names)
        self.shared.setdefault(_TOGETHER, together)
        return together

    @cached_property
    def _groups(self) -> Counts | None:
        if self.counted is not None:
            return self.counted
        seen = self.seen or SeenGroups(self.declared, self.tables)
        told_by = self.declared.names_with_roles("quasi-identifier")
        return seen.told_by(told_by, [self.sensitive]).sensitive.get(self.sensitive)


class Proportion(NamedTuple):
    """The things of which a score gives the share, if these are no people: `number` of `all_`."""

    number: int
    all_: int


@dataclass(frozen=True)
class Score:
    """Result of an attack; figures are shares from 0 to 1.

    They are shares of the people unless `measure` says otherwise.

    Attributes:
        measure: the thing that was counted, in words.
        share: the share of the people, or of the things that `measure` names.
        references: the same share without the attack, by the knowledge used instead, in words.
        margin: the interval of the exact share, if the share comes from a sample.
        exact: the share of people whose beliefs were counted exactly; others' are approximate.
        skipped: the reason why the attack was not made; then there is no share.
        tally: the numbers of which the share is made, if it is not one of people.
    """

    measure: str
    share: float
    references: Mapping[str, float] = field(default_factory=dict)
    margin: Margin | None = None
    exact: float | None = None
    skipped: str = ""
    tally: Proportion | None = None

    @property
    def context(self) -> str:
        """The margin, the references and the share that was counted exactly, in words."""
        margin = [] if self.margin is None else [self.margin.words]
        counted = [] if self.exact is None else [f"counted exactly: {self.exact:.1%}"]
        others = (f"{words}: {share:.1%}" for words, share in self.references.items())
        numbers = [] if self.tally is None else [f"{self.tally.number:,} of {self.tally.all_:,}"]
        return "; ".join([*numbers, *margin, *others, *counted])

    @property
    def text(self) -> str:
        """The score as a line of text: the share, its measure and the context."""
        if self.skipped:
            return f"  skipped  {self.measure}: {self.skipped}"
        beside = f" ({self.context})" if self.context else ""
        return f"  {self.share:>6.1%}  {self.measure}{beside}"

    def document(self) -> dict[str, Any]:
        """Return the score for JSON and tables."""
        if self.skipped:
            return {"measure": self.measure, "skipped": self.skipped}
        details = {} if self.margin is None else self.margin.document()
        details |= {} if self.exact is None else {"exact": self.exact}
        if self.tally is not None:
            details |= {"number": self.tally.number, "of": self.tally.all_}
        return {"measure": self.measure, "share": self.share, **self.references, **details}


def skipped_attack(name: str, reason: str) -> tuple[Score]:
    """Return the score of an attack that was not made: its name and the reason, without a share.

    >>> skipped_attack("definetti", "too many pairs")[0].document()
    {'measure': 'definetti', 'skipped': 'too many pairs'}
    """
    return (Score(name, math.nan, skipped=reason),)


SURE = 0.8
"""The belief from which scores count a value as good as known."""


class Attack(Protocol):
    """Function that attacks a release; each module of an attack offers one."""

    def __call__(self, target: AttackedRelease) -> tuple[Score, ...]:
        """Attack the release; return no score if its form does not show what the attack needs."""
        ...


def right_guesses(belief: np.ndarray, own: np.ndarray) -> float:
    """Return the share of people whose own value is the top guess; ties are shared equally.

    Args:
        belief: the belief in each value, by class of people (float64, classes x values).
        own: the number of people of each class with each value (int64, classes x values).
    """
    return float((own * top_guesses(belief)).sum() / own.sum())


def top_guesses(belief: np.ndarray) -> np.ndarray:
    """Return the chance that each value is guessed (float64, classes x values)."""
    top = belief == belief.max(axis=1, keepdims=True)
    return np.asarray(top / top.sum(axis=1, keepdims=True))


def most_frequent(counts: Counts) -> float:
    """Return the share of people with the most frequent value: the best guess without a release."""
    return float(counts.totals.max() / counts.totals.sum())


def best_in_group(counts: Counts) -> float:
    """Return the share of people who have the most frequent value of their group."""
    return float(counts.largest.sum() / counts.sizes.sum())

"""Attacks on people who have rows in a second table: what is certain of their values.

A group has m people and s rows, c of them with one value; nobody has more than M rows. Whoever has
n rows surely has one with the value if c + n > s, because fewer than n rows lack it. The attackers
know the group of everybody, and

    related-groups    nothing more
    related-numbers   how many rows everyone has
    related-insiders  that, and the own rows: one of the people of the group
    related-known     the values of another column beside the sensitive one, as of a cost

Numbers of people are exact. Beside each stands what the published numbers of groups bound it by.

Source: this project (the guide's page on related tables).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.counting import count, count_people, dense
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import People, RelatedRows
from sfumato.expectations.groups.related import (
    Insiders,
    fewest_rows,
    had_by_everybody,
    most_common,
    surely_of_somebody,
)
from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.attacks.linking.people_of_groups import group_of_people
from sfumato.tasks.attacks.shared.attack import (
    SURE,
    Attack,
    AttackedRelease,
    Proportion,
    Score,
    skipped_attack,
)
from sfumato.tasks.attacks.shared.beliefs import top_in_group
from sfumato.tasks.forms.related.facts import (
    NumbersShown,
    Told,
    how_numbers_are_shown,
    told_by_facts,
)
from sfumato.tasks.forms.related.parameters import GROUPS, PEOPLE
from sfumato.tasks.microdata.grouping import related_rows
from sfumato.tasks.microdata.table import Microdata, OwnedRows, key
from sfumato.tasks.query.question.ways import facts_of

_UNKNOWN = "the quasi-identifiers do not show the groups of all people"
_PUBLISHED = "at most, by the published numbers of groups"
_LEARNED = "related rows"
_WORDS_OF_GROUPS: Mapping[NumbersShown, str] = {
    "hidden": "nothing but the group",
    "shuffled": "the group and its numbers of rows",
    "published": "the group and the published numbers of rows",
}


@dataclass(frozen=True, eq=False)
class RelatedTruth:
    """The related rows of a release with their owners, for one sensitive column.

    Attributes:
        name: the column.
        sizes: the people of each group (int64).
        group: the group of each person (int64).
        owned: the rows, and the person of each.
        related: the same rows, counted by group and by person.
        numbers: how the release shows numbers of rows.
        facts: what facts of people, published beside the rows, say of numbers of rows.
        alone: marks the people with whom nobody shares the quasi-identifiers (bool).
    """

    name: str
    sizes: np.ndarray
    group: np.ndarray
    owned: OwnedRows
    related: RelatedRows
    numbers: NumbersShown = "hidden"
    facts: Told = "none"
    alone: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @property
    def counts(self) -> Counts:
        """The values in each group that has rows."""
        return self.related.rows.counts_of(self.name)

    @property
    def people(self) -> People:
        """The people with rows in each group, with their values."""
        people = self.related.rows.people
        if people is None:
            raise ValueError("the owners of rows are not known")
        return people

    @property
    def with_rows(self) -> int:
        """The number of people with rows."""
        return len(self.people.person)

    @cached_property
    def by_groups(self) -> np.ndarray:
        """Mark people of whom a value is certain from what is published of the group (bool).

        Facts that are numbers of rows, or whether there are some, are the group's as well.
        """
        if self.numbers == "published":
            return self.by_numbers
        fewest: np.ndarray | int = 0
        if self.numbers == "shuffled" or self.facts == "presence":
            rows = fewest_rows(self.sizes, self.related)
            fewest = np.minimum(rows, 1) if self.facts == "presence" else rows
        certain = surely_of_somebody(self.sizes, self.related, self.name, fewest)
        return np.asarray(certain[self.people.group])

    @cached_property
    def at_most_by_groups(self) -> np.ndarray:
        """Mark people of whom a value may be certain from the group and any facts of it (bool)."""
        everybody = had_by_everybody(self.sizes, self.related, self.name)
        return np.asarray(self.by_groups | everybody[self.people.group])

    @cached_property
    def by_numbers(self) -> np.ndarray:
        """Mark people of whom a value is certain once everyone's number of rows is known (bool)."""
        people, rows = self.people, self.related.rows.sizes
        return np.asarray(self.counts.largest[people.group] + people.rows > rows[people.group])

    @cached_property
    def by_insiders(self) -> np.ndarray:
        """Mark people of whom somebody of the group, or anyone who knows numbers, is sure (bool).

        Of all insiders the one is best who leaves the fewest rows without some value.
        """
        people = self.people
        fewest = _least_of_others(people.group, Insiders(self.related, self.name).rows_without())
        return np.asarray(self.by_numbers | (people.rows > fewest))

    def share_of_groups(self, rows_of_two: int) -> float:
        """Return the share of people in groups with c + rows_of_two · M > s, others being safe."""
        most = most_common(self.related, self.name) + rows_of_two * self.related.most
        return self.share((most > self.related.rows.sizes)[self.people.group])

    def share(self, marked: np.ndarray) -> float:
        """Return the share of people with rows who are marked (bool)."""
        return int(marked.sum()) / self.with_rows


def truth_of(target: AttackedRelease) -> RelatedTruth | None:
    """Return the related rows with their owners; None if somebody's group is not known."""
    key = f"{_LEARNED} {target.sensitive}"
    if key not in target.learned:
        target.learned[key] = _read_truth(target)
    truth: RelatedTruth | None = target.learned[key]
    return truth


def _read_truth(target: AttackedRelease) -> RelatedTruth | None:
    whose, people = target.whose, target.people
    group = group_of_people(target) if whose is None else whose.group
    owned = people.related if whose is None else whose.rows.related
    if group is None or owned is None or not owned.table.rows:
        return None
    sizes = as_integers(target.tables[GROUPS][PEOPLE])
    counted = related_rows(owned, group, [target.sensitive])
    rows = people if whose is None else whose.rows
    columns = {name: target.declared.columns[name] for name in facts_of(target.declared)}
    return RelatedTruth(
        target.sensitive,
        sizes,
        group,
        owned,
        counted,
        how_numbers_are_shown(target.declared.columns),
        told_by_facts(columns),
        _alone(rows),
    )


def _alone(people: Microdata) -> np.ndarray:
    """Mark the people with whom nobody shares the quasi-identifiers (bool)."""
    keys, _ = key(people.with_roles("quasi-identifier"), people.rows)
    _, place, times = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(times[place.reshape(-1)] == 1)


def by_groups(target: AttackedRelease) -> tuple[Score, ...]:
    """Score an attacker who knows the groups of people, by right and by certain guesses."""
    truth = truth_of(target)
    if truth is None:
        return skipped_attack("related-groups", _UNKNOWN)
    counts, people = truth.counts, truth.people
    alike = counts.largest == truth.related.rows.sizes
    own = people.held[truth.name]
    everyone = int(truth.sizes.sum())
    beside = {"in groups in which all rows have one value": truth.share(alike[people.group])}
    if truth.facts == "any":
        beside["at most, with the facts of the group"] = truth.share(truth.at_most_by_groups)
    return (
        Score(
            f"a value of their own in {_table(target)} guessed from the group alone",
            _right_guesses(truth) / everyone,
            {
                "without the release": int(np.bincount(own.value).max()) / everyone,
                _PUBLISHED: _most_right(truth) / everyone,
            },
        ),
        _sure(
            target,
            truth,
            truth.by_groups,
            _WORDS_OF_GROUPS[truth.numbers],
            beside,
        ),
    )


def by_numbers(target: AttackedRelease) -> tuple[Score, ...]:
    """Score who also knows everybody's number of rows: by what they are sure of, or believe."""
    truth = truth_of(target)
    if truth is None:
        return skipped_attack("related-numbers", _UNKNOWN)
    believed = _believed_by_numbers(truth, Fraction(str(SURE)))
    return (
        _sure(
            target,
            truth,
            truth.by_numbers,
            "everyone's number of rows",
            {
                "from the group alone": truth.share(truth.by_groups),
                _PUBLISHED: truth.share_of_groups(1),
            },
        ),
        Score(
            f"people with rows in {_table(target)} of whom a value of their own is believed with "
            f"{SURE:.0%} or more, by everyone's number of rows",
            truth.share(believed),
            tally=Proportion(int(believed.sum()), truth.with_rows),
        ),
        *_numbers_read(target, truth),
    )


def _numbers_read(target: AttackedRelease, truth: RelatedTruth) -> Iterator[Score]:
    """Yield the share of people whose own number of rows the files show."""
    if truth.numbers == "published":
        marked = truth.alone[truth.people.person]
        yield Score(
            f"people with rows in {_table(target)} of whom the files show how many they have, as "
            "no other person has the same quasi-identifiers",
            truth.share(marked),
            tally=Proportion(int(marked.sum()), truth.with_rows),
        )


def by_insiders(target: AttackedRelease) -> tuple[Score, ...]:
    """Score people of the same group, who know their own rows as well, by what they are sure of."""
    truth = truth_of(target)
    if truth is None:
        return skipped_attack("related-insiders", _UNKNOWN)
    beside = {
        "by who is not of the group": truth.share(truth.by_numbers),
        _PUBLISHED: truth.share_of_groups(2),
    }
    words = "everyone's number of rows and the own rows of another person of the group"
    return (_sure(target, truth, truth.by_insiders, words, beside),)


def by_known_columns(target: AttackedRelease) -> tuple[Score, ...]:
    """Count the people whose value is certain to an attacker who knows a column of their rows.

    Rows of a group with the same known value are a cell. An attacker who knows that column of
    everybody's rows knows how many rows each person has in each cell.
    """
    truth, names = truth_of(target), _known_columns(target)
    if truth is None:
        return skipped_attack("related-known", _UNKNOWN) if names else ()
    return tuple(score for name in names for score in _by_known_column(target, truth, name))


ATTACKS: Mapping[str, Attack] = {
    "related-groups": by_groups,
    "related-numbers": by_numbers,
    "related-insiders": by_insiders,
    "related-known": by_known_columns,
}
"""The attacks on releases of people and their related rows."""


def _table(target: AttackedRelease) -> str:
    return str(target.declared.form.related_table)


def _sure(
    target: AttackedRelease,
    truth: RelatedTruth,
    marked: np.ndarray,
    knowledge: str,
    beside: Mapping[str, float],
) -> Score:
    """Return the share of people with rows about whom an attacker is certain of some value."""
    return Score(
        f"people with rows in {_table(target)} of whom a value is certain, by {knowledge}",
        truth.share(marked),
        beside,
        tally=Proportion(int(marked.sum()), truth.with_rows),
    )


def _right_guesses(truth: RelatedTruth) -> float:
    """Return how many people have the most frequent value of their group; ties share a guess."""
    return float(top_in_group(truth.counts)[_entries_of_values(truth)].sum())


def _entries_of_values(truth: RelatedTruth) -> np.ndarray:
    """Return the entry of the counts of groups for each value that somebody has (int64)."""
    counts, own = truth.counts, truth.people.held[truth.name]
    keys = counts.group * counts.values + counts.value
    return np.asarray(np.searchsorted(keys, own.group * counts.values + own.value))


def _most_right(truth: RelatedTruth) -> int:
    """Return how many people can at most have the most frequent value of their group."""
    return int(np.minimum(truth.counts.largest, truth.sizes[truth.related.group]).sum())


def _believed_by_numbers(truth: RelatedTruth, least: Fraction) -> np.ndarray:
    """Mark the people with a value that an attacker believes at least so strongly (bool).

    Of s rows, c with the value, somebody with n rows lacks it with the chance C(s-c, n) / C(s, n).
    """
    people, own = truth.people, truth.people.held[truth.name]
    numbers = int(people.person.max()) + 1
    owner = np.searchsorted(
        people.group * numbers + people.person, own.group * numbers + own.person
    )
    times = truth.counts.count[_entries_of_values(truth)]
    triples = np.stack([truth.related.rows.sizes[own.group], times, people.rows[owner]], axis=1)
    kinds, kind = np.unique(triples, axis=0, return_inverse=True)
    strong = np.array([1 - _chance_of_none(*map(int, triple)) >= least for triple in kinds])
    believed = np.zeros(len(people.person), dtype=bool)
    believed[owner[strong[kind.ravel()]]] = True
    return believed


def _chance_of_none(rows: int, matching: int, own: int) -> Fraction:
    """Return the chance that none of a person's rows is one of the matching ones."""
    if matching + own > rows:
        return Fraction(0)
    chance = Fraction(1)
    for taken in range(min(own, matching)):
        # as many factors as the smaller of both numbers: C(s-c, n) / C(s, n) is symmetric in them
        chance *= Fraction(rows - max(own, matching) - taken, rows - taken)
    return chance


def _least_of_others(group: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the least number of anybody else of the group (int64), the largest int64 for nobody.

    Args:
        group: the group of each person (int64, ascending).
        numbers: a number for each person (int64).
    """
    nobody = np.iinfo(np.int64).max
    order = np.lexsort((numbers, group))
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    follows = np.append(first[1:], len(group)) - first > 1
    second = np.full(len(first), nobody)
    second[follows] = numbers[order[first[follows] + 1]]
    place = np.cumsum(np.diff(group, prepend=-1) != 0) - 1
    least = numbers[order[first]][place]
    least[order[first]] = second
    return np.asarray(least)


def _known_columns(target: AttackedRelease) -> Sequence[str]:
    """Return the published columns of related rows without the attacked one.

    A promise about a column protects its values; it does not protect the others of a row from
    those who know its value, so these columns are attacked as unprotected ones are.
    """
    names = target.declared.form.related_columns
    return [name for name in names if name != target.sensitive]


def _by_known_column(target: AttackedRelease, truth: RelatedTruth, column: str) -> Iterator[Score]:
    """Yield scores of who knows a column of one of a person's rows, and of everybody's rows."""
    rows, owner = truth.owned.table, truth.owned.owner
    codes, values = rows[column].category()
    cell, cells = dense(truth.group[owner] * values + codes)
    coded = {truth.name: rows[truth.name].counted_codes()}
    counted = count(cell, cells, coded)
    largest = counted.counts_of(truth.name).largest
    people = count_people(cell, owner, counted, {n: c.codes for n, c in coded.items()})
    alone = {"without it, by everyone's number of rows": truth.share(truth.by_numbers)}
    of_one_row = (largest == counted.sizes)[people.group]
    of_all_rows = largest[people.group] + people.rows > counted.sizes[people.group]
    for marked, knowledge in (
        (of_one_row, f"the {column} of one of their rows"),
        (of_all_rows, f"the {column} of all rows"),
    ):
        sure = np.isin(truth.people.person, distinct(people.person[marked]))
        yield _sure(target, truth, sure, knowledge, alone)

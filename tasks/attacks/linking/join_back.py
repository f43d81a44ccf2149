"""Join-back: a register joined with tables that show each quasi-identifier apart.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss, whose promises take every combination of the values that a group admits to be as likely. Who
has a register knows which combinations somebody has, and weighs people in place of combinations.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow.compute as pc

from sfumato.expectations.errors import InputError
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.covering import Covering, covering
from sfumato.expectations.measures.readings import (
    people_covered,
    presence_of,
    sums_over_covering,
)
from sfumato.tasks.attacks.attack import AttackedRelease, Score, most_frequent, right_guesses
from sfumato.tasks.attacks.beliefs import TrueBeliefs
from sfumato.tasks.attacks.linking.register import likelier, vector_of_people
from sfumato.tasks.declaration.shown_form import form_of
from sfumato.tasks.microdata.table import Microdata, key
from sfumato.tasks.query.accuracy.vectors import codes_as_published

_COMBINATIONS = "taking combinations to be as likely"
_MOST, _SURE = 20_000_000, 1e9  # pairs of a vector and a value; odds of who is surely there


def join_back(target: AttackedRelease, register: Microdata) -> tuple[Score, ...]:
    """Ask who of a register is there, and who has which value.

    Args:
        target: a release that shows columns apart.
        register: everybody whom it could be about, with its quasi-identifiers.

    Raises:
        InputError: where people of the release are not in the register.
    """
    joined = _joined(target, register)
    if joined is None:
        return ()
    present = joined.present()
    absent = joined.people - present
    by_people, by_combinations = (joined.presence(of) for of in joined.chances)
    members, everybody = int(present.sum()), int(joined.people.sum())
    surely = [float(present[of >= 1].sum() / members) for of in (by_people, by_combinations)]
    above = [likelier(of, present, absent) for of in (by_people, by_combinations)]
    return (
        Score(
            "surely in the release, of those who are",
            surely[0],
            {_COMBINATIONS: surely[1], "share of the register that is in it": members / everybody},
        ),
        Score(
            "likelier to be in the release than somebody of the register who is not",
            above[0],
            {_COMBINATIONS: above[1], "by a coin": 0.5},
        ),
        *(
            score
            for name in target.declared.named("sensitive")
            for score in _guessed(joined, target, name)
        ),
    )


def presence_by_people(target: AttackedRelease, register: Microdata) -> TrueBeliefs | None:
    """What is believed of who is there, by people whom groups cover; None where none do.

    Raises:
        InputError: where people of the release are not in the register.
    """
    joined = _joined(target, register)
    if joined is None:
        return None
    present = joined.present()
    belief = joined.presence(joined.chances[0])
    return TrueBeliefs(present[present > 0], belief[present > 0])


@dataclass(frozen=True, eq=False)
class JoinedBack:
    """A register beside the groups that cover its people.

    Attributes:
        shown: the groups.
        counts: the values of each sensitive column in them.
        codes: the register's vectors (int64, one array per quasi-identifier, one entry per vector).
        people: how many have each vector (int64).
        ours: the vector of each represented person (int64).
    """

    shown: Covering
    counts: Mapping[str, Counts]
    codes: Sequence[np.ndarray]
    people: np.ndarray
    ours: np.ndarray

    def present(self) -> np.ndarray:
        """How many represented people have each vector (int64).

        Raises:
            InputError: where they are more than the register has.
        """
        present = np.bincount(self.ours, minlength=len(self.people))
        if (present > self.people).any():
            raise InputError("the register lacks people of the release")
        return present

    @cached_property
    def chances(self) -> tuple[np.ndarray, np.ndarray]:
        """The chance that somebody whom a group covers is in it (float64, one per group).

        First by all people of the register whom it covers, then by all combinations of its values.
        """
        covered = people_covered(self.shown, self.codes, self.people)
        by_people = np.minimum(1.0, self.shown.sizes / np.maximum(covered, 1))
        return by_people, self.shown.rounded()

    def presence(self, chance: np.ndarray) -> np.ndarray:
        """The chance that somebody with each vector is in some group (float64)."""
        return presence_of(self.shown, self.codes, chance).any_record

    def belief(self, name: str, chance: np.ndarray) -> np.ndarray:
        """How likely each value is for who has a vector and is there (float64, vectors x values).

        Groups weigh as the odds of being in them.
        """
        counts, unsure = self.counts[name], np.where(chance < 1, chance, 0.0)
        odds = np.where(chance < 1, unsure / (1 - unsure), _SURE)
        weights = np.zeros((counts.values, len(chance)))
        share = counts.count / counts.sizes[counts.group]
        weights[counts.value, counts.group] = share * odds[counts.group]
        return sums_over_covering(self.shown, self.codes, list(weights)).T


def _guessed(joined: JoinedBack, target: AttackedRelease, name: str) -> Iterator[Score]:
    """The share of people whose own value is the likeliest one for their vector."""
    counts = joined.counts[name]
    if counts.labels is None or len(joined.people) * counts.values > _MOST:
        return
    truth = target.people[name].array().cast(counts.labels.type)
    value = pc.index_in(truth, value_set=counts.labels).to_numpy(zero_copy_only=False)
    at = joined.ours * counts.values + value.astype(np.int64)
    own = np.bincount(at, minlength=len(joined.people) * counts.values)
    own = own.reshape(len(joined.people), -1)
    shares = [right_guesses(joined.belief(name, of), own) for of in joined.chances]
    yield Score(
        f"own {name!r} guessed once people are joined back",
        shares[0],
        {_COMBINATIONS: shares[1], "without the release": most_frequent(counts)},
    )


def _joined(target: AttackedRelease, register: Microdata) -> JoinedBack | None:
    declared, names = target.declared, target.declared.named("quasi-identifier")
    form, tables = form_of(declared), target.tables
    groups = form.groups(tables, declared.columns, names, declared.named("sensitive"))
    shown = covering(groups, names)
    if shown is None:
        return None
    columns = [register[name] for name in names]
    keys, vector = np.unique(key(columns, register.rows)[0], return_inverse=True)
    first = np.zeros(len(keys), dtype=np.int64)
    first[vector] = np.arange(register.rows)
    values = {name: table[name] for table in tables.values() for name in table.column_names}
    codes = [codes_as_published(column, values[column.name])[first] for column in columns]
    people = np.bincount(vector, minlength=len(keys))
    return JoinedBack(
        shown, groups.sensitive, codes, people, vector_of_people(target, register, vector)
    )

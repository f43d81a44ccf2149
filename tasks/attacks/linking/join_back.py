"""Join-back attack: a register joined with tables that show each quasi-identifier separately.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss, whose promises take all combinations of a group's values to be equally likely. An attacker
with a register knows which combinations people have, and weighs people in place of combinations:
all alike, or by the expected occurrences of their values in the groups that admit them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.measures.readings import people_covered
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.attacks.linking.memberships import CoveredPeople, cover_people
from sfumato.tasks.attacks.linking.people_of_groups import column_covers, published_codes
from sfumato.tasks.attacks.linking.register import chance_above, own_values, vector_of_people
from sfumato.tasks.attacks.shared.attack import (
    AttackedRelease,
    Score,
    most_frequent,
    right_guesses,
    skipped_attack,
)
from sfumato.tasks.attacks.shared.beliefs import TrueBeliefs
from sfumato.tasks.microdata.table import Microdata, key

_COMBINATIONS = "taking combinations to be as likely"
_ALIKE = "taking people to be as likely"
_WEIGHED = "weighing people by how often values seem to occur"
_TOO_MANY = "too many pairs of a person and a member of a group that covers them"
_PAIRS = 50_000_000  # most pairs of a vector and a group
_SURE = 1 - 1e-9


def join_back(target: AttackedRelease, register: Microdata) -> tuple[Score, ...]:
    """Guess who of a register is in the release, and who has which value.

    Args:
        target: a release that shows columns apart.
        register: everyone whom it could be about, with its quasi-identifiers.

    Raises:
        InputError: people of the release are not in the register.
    """
    joined = _join(target, register)
    if joined is None:
        return ()
    present = joined.present()
    absent = joined.people - present
    there = {words: joined.presence(memberships) for words, memberships in joined.attackers.items()}
    members, everybody = int(present.sum()), int(joined.people.sum())
    exact = joined.exact()
    surely = {
        words: float(present[chance >= _SURE].sum() / members) for words, chance in there.items()
    }
    above = {words: chance_above(chance, present, absent) for words, chance in there.items()}
    in_it = {"share of the register that is in it": members / everybody}
    return (
        _score("surely in the release, of those who are", surely, in_it, exact),
        _score(
            "likelier to be in the release than somebody of the register who is not",
            above,
            {"by a coin": 0.5},
            exact,
        ),
        *(
            score
            for name in target.declared.names_with_roles("sensitive")
            for score in _score_guesses(joined, target, name)
        ),
        *(() if _WEIGHED in joined.attackers else skipped_attack(_WEIGHED, _TOO_MANY)),
    )


def _score(
    measure: str, shares: Mapping[str, float], without: Mapping[str, float], exact: float
) -> Score:
    """Return the score of an attacker who weighs people alike, with others as references."""
    others = {words: share for words, share in shares.items() if words != _ALIKE}
    return Score(measure, shares[_ALIKE], {**others, **without}, exact=exact)


def presence_by_people(target: AttackedRelease, register: Microdata) -> TrueBeliefs | None:
    """Return the beliefs that people are in the release, or None if it shows no columns apart.

    Raises:
        InputError: people of the release are not in the register.
    """
    joined = _join(target, register)
    if joined is None:
        return None
    present = joined.present()
    belief = joined.presence(joined.covered.alike())
    return TrueBeliefs(present[present > 0], belief[present > 0])


def guessed_values(target: AttackedRelease) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the number of people of each vector with each value, and the beliefs in these values.

    The attacker knows all people of the release, and takes all people whom a group covers to be
    equally likely in it (int64 and float64, vectors x values).

    Returns:
        None if the release shows no columns apart, or values are unknown.

    Raises:
        InputError: groups cover too many people.
    """
    joined = _join(target, target.people)
    if joined is None:
        return None
    counts = joined.counts[target.sensitive]
    own = own_values(target, target.sensitive, counts, joined.ours, len(joined.people))
    belief = _round_shares(joined.belief(target.sensitive, joined.covered.alike()))
    return None if own is None else (own, belief)


@dataclass(frozen=True, eq=False)
class JoinedBack:
    """A register with the groups that cover its people.

    Attributes:
        covered: the register's people in pairs with groups.
        counts: the values of each sensitive column in the groups.
        ours: the vector of each represented person (int64).
    """

    covered: CoveredPeople
    counts: Mapping[str, Counts]
    ours: np.ndarray

    @property
    def people(self) -> np.ndarray:
        """The number of people of the register with each vector (int64)."""
        return self.covered.people

    def present(self) -> np.ndarray:
        """Return the number of represented people with each vector (int64).

        Raises:
            InputError: more people are represented than the register has.
        """
        present = np.bincount(self.ours, minlength=len(self.people))
        if (present > self.people).any():
            raise InputError(
                "the register does not contain all people of the release. Give a complete register"
            )
        return present

    def exact(self) -> float:
        """Return the share of represented people whose memberships were counted in all worlds."""
        present = self.present()
        return float(present[self.covered.are_counted()].sum() / present.sum())

    @cached_property
    def attackers(self) -> Mapping[str, np.ndarray]:
        """The chance that a person is in each covering group, by attacker (float64, by pairs)."""
        covered = self.covered
        memberships = {
            _ALIKE: covered.alike(),
            _WEIGHED: covered.by_weights(),
            _COMBINATIONS: covered.by_combinations(),
        }
        return {words: chances for words, chances in memberships.items() if chances is not None}

    def presence(self, memberships: np.ndarray) -> np.ndarray:
        """Return the chance that a person is in some group (float64, one per vector)."""
        return np.bincount(self.covered.vector, memberships, len(self.people))

    def belief(self, name: str, memberships: np.ndarray) -> np.ndarray:
        """Return weights of the values of people who are present (float64, vectors x values).

        Weights are in proportion to the chances, and do not add up to 1.
        """
        counts, covered = self.counts[name], self.covered
        beliefs = np.zeros((len(self.people), counts.values))
        for value in range(counts.values):
            entries = counts.value == value
            share = np.zeros(len(counts.sizes))
            share[counts.group[entries]] = (
                counts.count[entries] / counts.sizes[counts.group[entries]]
            )
            weight = memberships * share[covered.group]
            beliefs[:, value] = np.bincount(covered.vector, weight, len(beliefs))
        return beliefs


def _score_guesses(joined: JoinedBack, target: AttackedRelease, name: str) -> Iterator[Score]:
    """Score the share of people whose own value is the likeliest one for their vector."""
    counts = joined.counts[name]
    own = own_values(target, name, counts, joined.ours, len(joined.people))
    if own is None:
        return
    shares = {
        words: right_guesses(_round_shares(joined.belief(name, memberships)), own)
        for words, memberships in joined.attackers.items()
    }
    without = {"without the release": most_frequent(counts)}
    words = f"own {name!r} guessed once people are joined back"
    yield _score(words, shares, without, joined.exact())


def _round_shares(belief: np.ndarray) -> np.ndarray:
    """Return the beliefs of each vector as shares, rounded so that equal ones are equal."""
    return np.asarray(np.round(belief / np.maximum(belief.sum(axis=1, keepdims=True), 1e-300), 12))


def _join(target: AttackedRelease, register: Microdata) -> JoinedBack | None:
    groups, covers = column_covers(target)
    if covers is None:
        return None
    columns = [register[name] for name in target.declared.names_with_roles("quasi-identifier")]
    keys, vector = np.unique(key(columns, register.rows)[0], return_inverse=True)
    first = np.zeros(len(keys), dtype=np.int64)
    first[vector] = np.arange(register.rows)
    codes = [published[first] for published in published_codes(target, columns)]
    people = np.bincount(vector, minlength=len(keys))
    if int(people_covered(covers, codes, np.ones_like(people)).sum()) > _PAIRS:
        raise InputError("the groups cover too many people of the register to join them back")
    covered = cover_people(covers, codes, people)
    return JoinedBack(covered, groups.sensitive, vector_of_people(target, register, vector))

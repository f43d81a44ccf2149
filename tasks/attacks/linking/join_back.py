"""Join-back: a register joined with tables that show each quasi-identifier apart.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss, whose promises take every combination of the values that a group admits to be as likely. Who
has a register knows which combinations somebody has, and takes people in place of combinations:
each as likely, or weighed by how often values seem to occur, as the groups that admit them tell.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.errors import InputError
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.measures.readings import people_covered
from sfumato.tasks.attacks.attack import (
    AttackedRelease,
    Score,
    most_frequent,
    right_guesses,
    skipped_attack,
)
from sfumato.tasks.attacks.beliefs import TrueBeliefs
from sfumato.tasks.attacks.linking.memberships import CoveredPeople, cover_people
from sfumato.tasks.attacks.linking.people_of_groups import column_covers, published_codes
from sfumato.tasks.attacks.linking.register import likelier, own_values, vector_of_people
from sfumato.tasks.microdata.table import Microdata, key

_COMBINATIONS = "taking combinations to be as likely"
_ALIKE = "taking people to be as likely"
_WEIGHED = "weighing people by how often values seem to occur"
_TOO_MANY = "too many pairs of a person and a member of a group that covers them"
_PAIRS = 50_000_000  # of a vector and a group
_SURE = 1 - 1e-9


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
    there = {words: joined.presence(of) for words, of in joined.attackers.items()}
    members, everybody = int(present.sum()), int(joined.people.sum())
    exact = joined.exact()
    surely = {words: float(present[of >= _SURE].sum() / members) for words, of in there.items()}
    above = {words: likelier(of, present, absent) for words, of in there.items()}
    in_it = {"share of the register that is in it": members / everybody}
    return (
        _beside("surely in the release, of those who are", surely, in_it, exact),
        _beside(
            "likelier to be in the release than somebody of the register who is not",
            above,
            {"by a coin": 0.5},
            exact,
        ),
        *(
            score
            for name in target.declared.named("sensitive")
            for score in _guessed(joined, target, name)
        ),
        *(() if _WEIGHED in joined.attackers else skipped_attack(_WEIGHED, _TOO_MANY)),
    )


def _beside(
    measure: str, found: Mapping[str, float], without: Mapping[str, float], exact: float
) -> Score:
    """What is found of people who are alike, beside other attackers and what is known without."""
    others = {words: share for words, share in found.items() if words != _ALIKE}
    return Score(measure, found[_ALIKE], {**others, **without}, exact=exact)


def presence_by_people(target: AttackedRelease, register: Microdata) -> TrueBeliefs | None:
    """What is believed of who is there, by people whom groups cover; None where none do.

    Raises:
        InputError: where people of the release are not in the register.
    """
    joined = _joined(target, register)
    if joined is None:
        return None
    present = joined.present()
    belief = joined.presence(joined.covered.alike())
    return TrueBeliefs(present[present > 0], belief[present > 0])


def guessed_values(target: AttackedRelease) -> tuple[np.ndarray, np.ndarray] | None:
    """How many people of each vector have each value, and what is believed of them.

    By who knows everybody of the release, and takes each of them to be as likely in each group that
    covers them (int64 and float64, vectors x values).

    Returns:
        None where the release shows no columns apart, or values are not known.

    Raises:
        InputError: where groups cover too many people.
    """
    joined = _joined(target, target.people)
    if joined is None:
        return None
    counts = joined.counts[target.sensitive]
    own = own_values(target, target.sensitive, counts, joined.ours, len(joined.people))
    belief = _rounded(joined.belief(target.sensitive, joined.covered.alike()))
    return None if own is None else (own, belief)


@dataclass(frozen=True, eq=False)
class JoinedBack:
    """A register beside the groups that cover its people.

    Attributes:
        covered: its people, and the groups.
        counts: the values of each sensitive column in them.
        ours: the vector of each represented person (int64).
    """

    covered: CoveredPeople
    counts: Mapping[str, Counts]
    ours: np.ndarray

    @property
    def people(self) -> np.ndarray:
        """How many of the register have each vector (int64)."""
        return self.covered.people

    def present(self) -> np.ndarray:
        """How many represented people have each vector (int64).

        Raises:
            InputError: where they are more than the register has.
        """
        present = np.bincount(self.ours, minlength=len(self.people))
        if (present > self.people).any():
            raise InputError("the register lacks people of the release")
        return present

    def exact(self) -> float:
        """The share of those who are there whose memberships were counted in all worlds."""
        present = self.present()
        return float(present[self.covered.are_counted()].sum() / present.sum())

    @cached_property
    def attackers(self) -> Mapping[str, np.ndarray]:
        """How likely one is in each group that covers them, by attackers (float64, by pairs)."""
        covered = self.covered
        found = {
            _ALIKE: covered.alike(),
            _WEIGHED: covered.weighed(),
            _COMBINATIONS: covered.combined(),
        }
        return {words: of for words, of in found.items() if of is not None}

    def presence(self, memberships: np.ndarray) -> np.ndarray:
        """How likely somebody with each vector is in some group (float64, one per vector)."""
        return np.bincount(self.covered.vector, memberships, len(self.people))

    def belief(self, name: str, memberships: np.ndarray) -> np.ndarray:
        """How likely each value is for who has a vector and is there (float64, vectors x values).

        Not as shares, but in proportion.
        """
        counts, covered = self.counts[name], self.covered
        found = np.zeros((len(self.people), counts.values))
        for value in range(counts.values):
            of = counts.value == value
            share = np.zeros(len(counts.sizes))
            share[counts.group[of]] = counts.count[of] / counts.sizes[counts.group[of]]
            weight = memberships * share[covered.group]
            found[:, value] = np.bincount(covered.vector, weight, len(found))
        return found


def _guessed(joined: JoinedBack, target: AttackedRelease, name: str) -> Iterator[Score]:
    """The share of people whose own value is the likeliest one for their vector."""
    counts = joined.counts[name]
    own = own_values(target, name, counts, joined.ours, len(joined.people))
    if own is None:
        return
    shares = {
        words: right_guesses(_rounded(joined.belief(name, of)), own)
        for words, of in joined.attackers.items()
    }
    without = {"without the release": most_frequent(counts)}
    words = f"own {name!r} guessed once people are joined back"
    yield _beside(words, shares, without, joined.exact())


def _rounded(belief: np.ndarray) -> np.ndarray:
    """Beliefs of each vector as shares, to what rounding leaves of them: equal ones are equal."""
    return np.asarray(np.round(belief / np.maximum(belief.sum(axis=1, keepdims=True), 1e-300), 12))


def _joined(target: AttackedRelease, register: Microdata) -> JoinedBack | None:
    groups, shown = column_covers(target)
    if shown is None:
        return None
    columns = [register[name] for name in target.declared.named("quasi-identifier")]
    keys, vector = np.unique(key(columns, register.rows)[0], return_inverse=True)
    first = np.zeros(len(keys), dtype=np.int64)
    first[vector] = np.arange(register.rows)
    codes = [of[first] for of in published_codes(target, columns)]
    people = np.bincount(vector, minlength=len(keys))
    if int(people_covered(shown, codes, np.ones_like(people)).sum()) > _PAIRS:
        raise InputError("the groups cover too many people of the register to join them back")
    covered = cover_people(shown, codes, people)
    return JoinedBack(covered, groups.sensitive, vector_of_people(target, register, vector))

"""deFinetti: what the groups themselves teach about who has which value.

Source: Kifer, Attacks on privacy and deFinetti's theorem (SIGMOD 2009). A classifier is trained on
the groups of a release that shows quasi-identifiers as they are, and its guesses are fitted to the
values of each group, again and again: naive Bayes with add-one smoothing, whose beliefs are scaled
so that each group has its values and each person one of them (Sinkhorn).
"""

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.attack import (
    SURE,
    AttackedRelease,
    Score,
    most_frequent,
    right_guesses,
    top_guesses,
)
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs
from sfumato.tasks.attacks.learning.fitting import fit_weights
from sfumato.tasks.microdata.table import Column, encode
from sfumato.tasks.query.accuracy.vectors import vectors
from sfumato.tasks.query.question.relations import relations
from sfumato.tasks.schema.names import GROUP_ID

_ROUNDS, _SCALINGS = 15, 20
_MOST = 20_000_000  # pairs of a class of people and a value of its group
_NAME, _EXACT = "definetti", "rows"


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Learn from the groups, and guess each person's value; forms without exact rows show none."""
    found = _attacked(target)
    if found is None:
        return ()
    known, own, learned = found
    alone = known.group_alone()
    trained = log_likelihood(known.codes, known.sizes, own.astype(np.float64))
    shares = [right_guesses(belief, own) for belief in (learned, alone, trained)]
    references = {
        "without the release": most_frequent(known.counts),
        "from the group alone": shares[1],
        "trained on the truth, without the release": shares[2],
    }
    sure = [float((own * (one >= SURE)).sum() / own.sum()) for one in (learned, alone)]
    return (
        Score("own value guessed by deFinetti's attack", shares[0], references),
        Score(
            f"own value believed with {SURE:.0%} or more",
            sure[0],
            {"from the group alone": sure[1]},
        ),
    )


def beliefs(target: AttackedRelease) -> OwnValueBeliefs | None:
    """What the groups teach of each person; None where they teach nothing, or are too many."""
    found = _attacked(target)
    if found is None:
        return None
    known, own, learned = found
    there = own > 0
    top, alone = (top_guesses(one)[there] for one in (learned, known.group_alone()))
    return OwnValueBeliefs(own[there], learned[there], top, alone)


def _attacked(target: AttackedRelease) -> tuple["Classes", np.ndarray, np.ndarray] | None:
    """The classes, how many people of each vector have each value, and the beliefs, once."""
    if _NAME not in target.learned:
        target.learned[_NAME] = _learned(target)
    found: tuple[Classes, np.ndarray, np.ndarray] | None = target.learned[_NAME]
    return found


def _learned(target: AttackedRelease) -> tuple["Classes", np.ndarray, np.ndarray] | None:
    counts = target.groups() if target.declared.form.shows == _EXACT else None
    if counts is None or not len(counts.sizes):
        return None
    found = _classes(target, counts)
    return None if found is None else (*found, learn(found[0]))


@dataclass(frozen=True, eq=False)
class Classes:
    """People who are told apart by a release: those of one group and one vector are one class.

    Pairs are of a class and a value that its group shows, by class and then by value.

    Attributes:
        group: of each class (int64).
        people: in each class (int64).
        vector: of each class, as its number among all vectors (int64).
        codes: each vector's values (int64, vectors x columns).
        sizes: how many values each column has.
        of: the class of each pair (int64).
        value: of each pair (int64).
        entry: of each pair, the entry of its group and value in `counts` (int64).
        counts: the values of each group.
    """

    group: np.ndarray
    people: np.ndarray
    vector: np.ndarray
    codes: np.ndarray
    sizes: tuple[int, ...]
    of: np.ndarray
    value: np.ndarray
    entry: np.ndarray
    counts: Counts

    @property
    def classes(self) -> np.ndarray:
        """How many classes each group has (int64)."""
        return np.bincount(self.group, minlength=len(self.counts.sizes))

    def beliefs(self, weight: np.ndarray) -> np.ndarray:
        """What is believed of a person with each vector (float64, vectors x values).

        Args:
            weight: expected people of each pair (float64).
        """
        shape = len(self.codes), self.counts.values
        at = self.vector[self.of] * shape[1] + self.value
        found = np.bincount(at, weight, shape[0] * shape[1]).reshape(shape)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def spread(self) -> np.ndarray:
        """Expected people of each pair where all of a group are alike (float64)."""
        sizes = self.counts.sizes[self.group[self.of]]
        return np.asarray(self.people[self.of] * self.counts.count[self.entry] / sizes)

    def group_alone(self) -> np.ndarray:
        """The beliefs of who learns nothing from other groups (float64, vectors x values)."""
        return self.beliefs(self.spread())


def learn(known: Classes) -> np.ndarray:
    """The beliefs after fifteen rounds of learning and fitting (float64, vectors x values)."""
    weight, sizes = known.spread(), (known.classes, known.counts.distinct)
    at = known.vector[known.of] * known.counts.values + known.value
    for _ in range(_ROUNDS):
        likelihood = _naive_bayes(known, at, weight)
        weight = fit_weights(likelihood, known.people, known.counts.count, sizes, _SCALINGS)
    return known.beliefs(weight)


def _naive_bayes(known: Classes, at: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """P(value) P(quasi-identifiers | value) of each pair, up to a factor of its class (float64)."""
    shape = len(known.codes), known.counts.values
    soft = np.bincount(at, weight, shape[0] * shape[1]).reshape(shape)
    logs = log_likelihood(known.codes, known.sizes, soft)[known.vector[known.of], known.value]
    first = np.flatnonzero(np.diff(known.of, prepend=-1))
    return np.asarray(np.exp(logs - np.maximum.reduceat(logs, first)[known.of]))


def log_likelihood(codes: np.ndarray, sizes: tuple[int, ...], soft: np.ndarray) -> np.ndarray:
    """Ln P(value) + sum over columns of ln P(column's value | value), with add-one smoothing.

    Args:
        codes: each vector's values (int64, vectors x columns).
        sizes: how many values each column has.
        soft: expected people by vector and value (float64, vectors x values).
    """
    totals = soft.sum(axis=0)
    found: np.ndarray = np.zeros_like(soft) + np.log(totals + 1)
    for column, size in zip(codes.T, sizes, strict=True):
        at = (column[:, None] * soft.shape[1] + np.arange(soft.shape[1])).ravel()
        table = np.bincount(at, soft.ravel(), size * soft.shape[1]).reshape(size, -1)
        found += np.log((table + 1) / (totals + size))[column]
    return found


def _classes(target: AttackedRelease, counts: Counts) -> tuple[Classes, np.ndarray] | None:
    """The classes, and how many people of each vector have each value (int64, vectors x values).

    None where there are too many pairs.
    """
    table = target.tables[relations(target.declared).rows]
    names = target.declared.named("quasi-identifier")
    vector, of_people = vectors(table, names, target.people)
    number = int(vector.max()) + 1
    group = table[GROUP_ID].to_numpy().astype(np.int64)
    pair, people = np.unique(group * number + vector, return_counts=True)
    of_class = pair // number
    shown = counts.distinct[of_class]
    if max(int(shown.sum()), number * counts.values) > _MOST:
        return None
    of = np.repeat(np.arange(len(pair)), shown)
    entry = np.arange(len(of)) + (counts.starts[of_class] - np.cumsum(shown) + shown)[of]
    one_row = np.zeros(number, dtype=np.int64)
    one_row[vector] = np.arange(len(vector))
    told = [encode(name, "quasi-identifier", table[name]).category() for name in names]
    known = Classes(
        group=of_class,
        people=people.astype(np.int64),
        vector=pair % number,
        codes=np.stack([codes[one_row] for codes, _ in told], axis=1).astype(np.int64),
        sizes=tuple(size for _, size in told),
        of=of,
        value=counts.value[entry],
        entry=entry,
        counts=counts,
    )
    return known, _own_values(target.people[target.sensitive], of_people, number, counts)


def _own_values(truth: Column, vector: np.ndarray, vectors_: int, counts: Counts) -> np.ndarray:
    """How many people of each vector have each value (int64, vectors x values)."""
    labels = counts.labels
    if labels is None:
        raise ValueError("the values of the groups are not told")
    place = pc.index_in(truth.array().cast(labels.type), value_set=labels).to_numpy(False)
    there = vector >= 0
    at = vector[there] * counts.values + place[there].astype(np.int64)
    return np.bincount(at, minlength=vectors_ * counts.values).reshape(vectors_, -1)

"""deFinetti: what the groups themselves teach about who has which value.

Source: Kifer, Attacks on privacy and deFinetti's theorem (SIGMOD 2009). A classifier is trained on
the groups of a release that shows quasi-identifiers as they are, and its guesses are fitted to the
values of each group, again and again: naive Bayes with add-one smoothing, whose beliefs are scaled
so that each group has its values and each person one of them (Sinkhorn). What is believed in the
end is exact in small groups, given the classifier: scaling believes too little there.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.attack import (
    SURE,
    AttackedRelease,
    Score,
    most_frequent,
    right_guesses,
    skipped_attack,
    top_guesses,
)
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs
from sfumato.tasks.attacks.learning.classes import Classes, train_on_vectors
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID

_ROUNDS = 15
_ENOUGH = 100_000  # people, where no bar asks for what all teach
_ON_ALL = 5  # rounds, where one does
_MOST = 20_000_000  # pairs of a class of people and a value of its group
_TOO_MANY = f"more than {_MOST:,} pairs of people who are alike and a value of their group"
_NAME, _EXACT = "definetti", "rows"


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Learn from the groups, and guess each person's value; forms without exact rows show none.

    Of many people the groups of some are learned from, unless all were, as bars ask for: about
    everybody guesses are made.
    """
    found = target.learned.get(_NAME) or _learned(target)
    if found is None:
        return skipped_attack(_NAME, _TOO_MANY) if _has_groups(target) else ()
    alone = found.known.group_alone()
    trained = train_on_vectors(found.known.codes, found.known.sizes, found.own.astype(np.float64))
    beliefs_of = (found.belief, alone, trained.log_likelihood(found.known.codes))
    shares = [right_guesses(belief, found.own) for belief in beliefs_of]
    references = {
        "without the release": most_frequent(found.known.counts),
        "from the group alone": shares[1],
        "trained on the truth, without the release": shares[2],
    }
    sure = [
        float((found.own * (one >= SURE)).sum() / found.own.sum()) for one in (found.belief, alone)
    ]
    return (
        Score(f"own value guessed by deFinetti's attack{found.words}", shares[0], references),
        Score(
            f"own value believed with {SURE:.0%} or more{found.words}",
            sure[0],
            {"from the group alone": sure[1]},
        ),
    )


def _has_groups(target: AttackedRelease) -> bool:
    """Whether there is something to learn from: groups of rows as they are."""
    counts = target.groups() if target.declared.form.shows == _EXACT else None
    return counts is not None and len(counts.sizes) > 0


def beliefs(target: AttackedRelease) -> OwnValueBeliefs | None:
    """What all groups teach of each person; None where they teach nothing, or are too many."""
    if _NAME not in target.learned:
        target.learned[_NAME] = _learned(target, _ON_ALL)
    found: LearnedBeliefs | None = target.learned[_NAME]
    if found is None:
        return None
    there = found.own > 0
    top, alone = (top_guesses(one)[there] for one in (found.belief, found.known.group_alone()))
    return OwnValueBeliefs(found.own[there], found.belief[there], top, alone)


def expect_hits(target: AttackedRelease) -> tuple[Score, ...]:
    """How often the attack expects its guesses to be right, which its tables alone tell.

    Nothing is told of more rows than are learned from as a whole.
    """
    counts = target.groups() if target.declared.form.shows == _EXACT else None
    if counts is None or not 0 < counts.sizes.sum() <= _ENOUGH:
        return ()
    known = _classes(replace(target, people=_shown_people(target)), counts)
    if known is None:
        return ()
    people = np.bincount(known.vector, known.people, minlength=len(known.codes))
    learned, alone = (
        float((people * belief.max(axis=1)).sum() / people.sum())
        for belief in (learn(known), known.group_alone())
    )
    words = "own value guessed by who learns from all groups (deFinetti's attack), as they expect"
    return (Score(words, learned, {"as who learns nothing expects": alone}),)


def _shown_people(target: AttackedRelease) -> Microdata:
    """The rows as they are shown, in the place of people."""
    table = target.tables[relations(target.declared).rows]
    names = target.declared.named("quasi-identifier")
    columns = (encode(name, "quasi-identifier", table[name]) for name in names)
    return Microdata(tuple(columns), table.num_rows)


@dataclass(frozen=True, eq=False)
class LearnedBeliefs:
    """What was learned.

    Attributes:
        known: the classes of people.
        own: how many people of each vector have each value (int64, vectors x values).
        belief: in each value, by vector (float64, vectors x values).
        words: of how many people's groups, where these are not all.
    """

    known: Classes
    own: np.ndarray
    belief: np.ndarray
    words: str = ""


def _learned(target: AttackedRelease, last: int = 0) -> LearnedBeliefs | None:
    """What groups teach, those of some of many people in all rounds but the last ones.

    None where there are too many.
    """
    counts = target.groups() if target.declared.form.shows == _EXACT else None
    if counts is None or not len(counts.sizes):
        return None
    known = _classes(target, counts)
    if known is None:
        return None
    vector = target.vectors()[1]
    own = _own_values(target.people[target.sensitive], vector, len(known.codes), counts)
    if counts.sizes.sum() <= _ENOUGH:
        return LearnedBeliefs(known, own, learn(known))
    some = _some_groups(counts, _ENOUGH, target.drawing(_NAME))
    if last:
        return LearnedBeliefs(known, own, learn(known, some, last))
    words = f", learned from the groups of {int(counts.sizes[some].sum()):,} people"
    return LearnedBeliefs(known, own, learn(known, some), words)


def _some_groups(counts: Counts, enough: int, drawing: np.random.Generator) -> np.ndarray:
    """So many groups, at random, that enough people are in them (bool, one per group)."""
    order = drawing.permutation(len(counts.sizes))
    people = np.cumsum(counts.sizes[order])
    some = np.zeros(len(order), dtype=bool)
    some[order[: int(np.searchsorted(people, enough)) + 1]] = True
    return some


def learn(known: Classes, groups: np.ndarray | None = None, last: int = 0) -> np.ndarray:
    """The beliefs after fifteen rounds of learning and fitting (float64, vectors x values).

    Args:
        known: the classes of people.
        groups: those that are learned from (bool, one per group), where it is not all of them;
            what was learned is fitted to all.
        last: how many of the rounds learn from all again.
    """
    every = known.pairs()
    taught = every if groups is None else known.pairs(groups)
    weight = taught.spread
    for _ in range(_ROUNDS - last - 1):
        weight = taught.fit(taught.train(weight))
    model = taught.train(weight)
    for _ in range(last):
        model = every.train(every.fit(model))
    return known.beliefs(every.fit(model, exactly=True))


def _classes(target: AttackedRelease, counts: Counts) -> Classes | None:
    """The classes of people; None where there are too many pairs."""
    table = target.tables[relations(target.declared).rows]
    names = target.declared.named("quasi-identifier")
    vector, _ = target.vectors()
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
    return Classes(
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


def _own_values(truth: Column, vector: np.ndarray, vectors_: int, counts: Counts) -> np.ndarray:
    """How many people of each vector have each value (int64, vectors x values)."""
    labels = counts.labels
    if labels is None:
        raise ValueError("the values of the groups are not told")
    place = pc.index_in(truth.array().cast(labels.type), value_set=labels).to_numpy(False)
    there = vector >= 0
    at = vector[there] * counts.values + place[there].astype(np.int64)
    return np.bincount(at, minlength=vectors_ * counts.values).reshape(vectors_, -1)

"""deFinetti attack: the groups themselves teach which values occur together.

A classifier is trained on the groups of a release with exact quasi-identifiers, and its guesses are
fitted to the values of each group, again and again. The classifier is naive Bayes with add-one
smoothing. Its beliefs are scaled so that each group has its values and each person one of them
(Sinkhorn). Scaling gives too weak beliefs in small groups; there the final beliefs are computed
exactly, given the classifier.

A *vector* is a combination of quasi-identifiers. A *class* is the people of one group with one
vector; a *pair* is a class and a value of its group.

Source: Kifer, Attacks on privacy and deFinetti's theorem (SIGMOD 2009).
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.ranks import categories
from sfumato.expectations.shared.sorting import tally
from sfumato.tasks.attacks.learning.classes import (
    Classes,
    NaiveBayes,
    OwnValues,
    VectorBeliefs,
    train_on_vectors,
)
from sfumato.tasks.attacks.shared.attack import (
    SURE,
    AttackedRelease,
    Score,
    most_frequent,
    skipped_attack,
    top_guesses,
)
from sfumato.tasks.attacks.shared.beliefs import OwnValueBeliefs
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID

_ROUNDS = 15
_ENOUGH = 100_000  # people whose groups are learned from in each round
_AT_ONCE = 20_000  # vectors about which all values are compared together
_ON_ALL = 5  # last rounds that learn from all groups, for a bar
_MOST = 20_000_000  # pairs of a class of people and a value of its group
_TOO_MANY = (
    f"more than {_MOST:,} pairs of people with the same quasi-identifiers and a value of "
    "their group"
)
_NAME, _EXACT = "definetti", "rows"  # the attack, and what forms show that have exact rows


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Learn from the groups and guess each person's value; forms without exact rows give no score.

    If there are many people, the groups of some are learned from, unless a bar has already learned
    from all. Guesses are made about everyone.
    """
    learned = target.learned.get(_NAME) or _learn(target)
    if learned is None:
        return skipped_attack(_NAME, _TOO_MANY) if _has_groups(target) else ()
    classes, own = learned.classes, learned.own
    trained = train_on_vectors(classes.codes, classes.sizes, own)
    belief, guessed = learned.belief.in_values(own.cells)
    belief_alone, guessed_alone = classes.group_alone().in_values(own.cells)
    references = {
        "without the release": most_frequent(classes.counts),
        "from the group alone": own.share(guessed_alone),
        "trained on the truth, without the release": own.share(_guess(trained, classes, own)),
    }
    sure = [own.share(probability >= SURE) for probability in (belief, belief_alone)]
    return (
        Score(
            f"own value guessed by deFinetti's attack{learned.words}",
            own.share(guessed),
            references,
        ),
        Score(
            f"own value believed with {SURE:.0%} or more{learned.words}",
            sure[0],
            {"from the group alone": sure[1]},
        ),
    )


def _guess(model: NaiveBayes, classes: Classes, own: OwnValues) -> np.ndarray:
    """Return the chance that a classifier guesses the value of each pair (float64)."""
    guessed = []
    for first in range(0, len(classes.codes), _AT_ONCE):
        codes = classes.codes[first : first + _AT_ONCE]
        ends = np.array([first, first + len(codes)]) * own.values
        cells = own.cells[slice(*np.searchsorted(own.cells, ends).tolist())]
        guessed.append(top_guesses(model.log_likelihood(codes)).ravel()[cells - ends[0]])
    return np.concatenate(guessed)


def _has_groups(target: AttackedRelease) -> bool:
    """Decide whether there are groups of exact rows to learn from."""
    counts = target.groups() if target.declared.form.shows == _EXACT else None
    return counts is not None and len(counts.sizes) > 0


def beliefs(target: AttackedRelease) -> OwnValueBeliefs | None:
    """Return the beliefs learned from all groups; None without groups or with too many pairs."""
    if _NAME not in target.learned:
        target.learned[_NAME] = _learn(target, _ON_ALL)
    learned: LearnedBeliefs | None = target.learned[_NAME]
    if learned is None:
        return None
    own = learned.own
    belief, top = learned.belief.in_values(own.cells)
    _, alone = learned.classes.group_alone().in_values(own.cells)
    return OwnValueBeliefs(own.people, belief, top, alone)


def expect_hits(target: AttackedRelease) -> tuple[Score, ...]:
    """Score the share of its own guesses that the attack expects to be right, from the tables only.

    There is no score for more rows than the attack learns from as a whole.
    """
    counts = target.groups() if target.declared.form.shows == _EXACT else None
    if counts is None or not 0 < counts.sizes.sum() <= _ENOUGH:
        return ()
    classes = _classes(replace(target, people=_shown_people(target)), counts)
    if classes is None:
        return ()
    people = np.bincount(classes.vector, classes.people, minlength=len(classes.codes))
    learned, alone = (
        float((people[each.cells // counts.values] * each.guessed * each.belief).sum())
        / float(people.sum())
        for each in (learn(classes), classes.group_alone())
    )
    words = "own value guessed by who learns from all groups (deFinetti's attack), as they expect"
    return (Score(words, learned, {"as who learns nothing expects": alone}),)


def _shown_people(target: AttackedRelease) -> Microdata:
    """Return the published rows in place of people."""
    table = target.tables[relations(target.declared).rows]
    names = target.declared.names_with_roles("quasi-identifier")
    columns = (encode(name, "quasi-identifier", table[name]) for name in names)
    return Microdata(tuple(columns), table.num_rows)


@dataclass(frozen=True, eq=False)
class LearnedBeliefs:
    """Beliefs that were learned from groups.

    Attributes:
        classes: the classes of people.
        own: the people of each vector by their own value.
        belief: the beliefs about a person with each vector.
        words: the size of the sample that was learned from, in words; empty if it was everyone.
    """

    classes: Classes
    own: OwnValues
    belief: VectorBeliefs
    words: str = ""


def _learn(target: AttackedRelease, last: int = 0) -> LearnedBeliefs | None:
    """Learn from the groups; return None if there are no groups or too many pairs.

    If there are more than `_ENOUGH` people, only some groups are learned from, except in the last
    `last` rounds.
    """
    counts = target.groups() if target.declared.form.shows == _EXACT else None
    if counts is None or not len(counts.sizes):
        return None
    classes = _classes(target, counts)
    if classes is None:
        return None
    vector = target.vectors()[1]
    own = _own_values(target.people[target.sensitive], vector, len(classes.codes), counts)
    if counts.sizes.sum() <= _ENOUGH:
        return LearnedBeliefs(classes, own, learn(classes))
    some = _some_groups(counts, _ENOUGH, target.drawing(_NAME))
    if last:
        return LearnedBeliefs(classes, own, learn(classes, some, last))
    words = f", learned from the groups of {int(counts.sizes[some].sum()):,} people"
    return LearnedBeliefs(classes, own, learn(classes, some), words)


def _some_groups(counts: Counts, enough: int, drawing: np.random.Generator) -> np.ndarray:
    """Draw random groups until enough people are in them (bool, one per group)."""
    order = drawing.permutation(len(counts.sizes))
    people = np.cumsum(counts.sizes[order])
    some = np.zeros(len(order), dtype=bool)
    some[order[: int(np.searchsorted(people, enough)) + 1]] = True
    return some


def learn(classes: Classes, groups: np.ndarray | None = None, last: int = 0) -> VectorBeliefs:
    """Return the beliefs after fifteen rounds of learning and fitting.

    Args:
        classes: the classes of people.
        groups: the groups to learn from (bool, one per group), or None for all; the final beliefs
            are fitted to all groups.
        last: the number of last rounds that learn from all groups again.
    """
    every = classes.pairs()
    taught = every if groups is None else classes.pairs(groups)
    weight = taught.spread
    for _ in range(_ROUNDS - last - 1):
        weight = taught.fit(taught.train(weight))
    model = taught.train(weight)
    for _ in range(last):
        model = every.train(every.fit(model))
    return classes.beliefs(every.fit(model, exactly=True))


def _classes(target: AttackedRelease, counts: Counts) -> Classes | None:
    """Return the classes of people, or None if there are too many pairs."""
    if target.together.has_more_vectors_than(_MOST // counts.values):
        return None
    table, names = target.together.table, target.together.names
    vector, _ = target.vectors()
    number = int(vector.max()) + 1
    group = table[GROUP_ID].to_numpy().astype(np.int64)
    pair, people = tally(group * number + vector, len(counts.sizes) * number)
    # one class for each group and vector that occur together, then one pair for each of its values
    of_class = pair // number
    shown_values = counts.distinct[of_class]
    if int(shown_values.sum()) > _MOST:
        return None
    pair_class = np.repeat(np.arange(len(pair)), shown_values)
    entry = (
        np.arange(len(pair_class))
        + (counts.starts[of_class] - np.cumsum(shown_values) + shown_values)[pair_class]
    )
    one_row = np.zeros(number, dtype=np.int64)
    one_row[vector] = np.arange(len(vector))
    columns = [categories(*target.together.rank_published(name)) for name in names]
    return Classes(
        group=of_class,
        people=people,
        vector=pair % number,
        codes=np.stack([codes[one_row] for codes, _ in columns], axis=1).astype(np.int64),
        sizes=tuple(size for _, size in columns),
        pair_class=pair_class,
        value=counts.value[entry],
        entry=entry,
        counts=counts,
    )


def _own_values(truth: Column, vector: np.ndarray, vectors_: int, counts: Counts) -> OwnValues:
    """Return the people of each vector by their own value."""
    labels = counts.labels
    if labels is None:
        raise ValueError("the values of the groups are not known")
    place = pc.index_in(truth.array().cast(labels.type), value_set=labels).to_numpy(False)
    there = vector >= 0  # others have quasi-identifiers that no published row has
    cell = vector[there] * counts.values + place[there].astype(np.int64)
    return OwnValues(*tally(cell, vectors_ * counts.values), counts.values)

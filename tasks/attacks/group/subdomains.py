"""Subdomains attack: guesses of values from subdomains, with the targets as the prior.

A *target* is the distribution that a group is declared to have: a tree of nodes, whose leaves are
values. A *subdomain* is a node that is shown in place of a value below it. The attacker knows the
target, and the subdomains that a group shows. Each person of a group is equally likely to be behind
each of its subdomains, also made-up ones. Below a subdomain values are as likely as in the target.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009).
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow.compute as pc

from sfumato.expectations.groups.groups import Target
from sfumato.expectations.groups.subdomains import leaves, probabilities
from sfumato.tasks.attacks.shared.attack import (
    SURE,
    AttackedRelease,
    Score,
    right_guesses,
    skipped_attack,
    top_guesses,
)
from sfumato.tasks.attacks.shared.beliefs import OwnValueBeliefs
from sfumato.tasks.forms.targets import QIT, ShownGroups, shown_groups
from sfumato.tasks.query.accuracy.vectors import vectors
from sfumato.tasks.schema.names import GROUP_ID

_NAME, _WAY = "subdomains", "subdomains"
_MOST = 20_000_000  # pairs of a vector, or a group, and a value
_TOO_MANY = (
    f"more than {_MOST:,} pairs of a value and people with the same quasi-identifiers, or "
    "of a value and a group"
)
_Learned = tuple[np.ndarray, np.ndarray, np.ndarray]
"""By vector and value: the people, the beliefs from subdomains, and those from the target only."""


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess each person's likeliest value; a form without subdomains gives no score."""
    learned = _learn_once(target)
    if learned is None:
        there = target.declared.form.shows == _WAY and target.people.rows
        return skipped_attack("subdomains", _TOO_MANY) if there else ()
    own, belief, declared = learned
    references = {
        "without the release": float(own.sum(axis=0).max() / own.sum()),
        "from the declared target alone": right_guesses(declared, own),
    }
    sure = [
        float((own * (probability >= SURE)).sum() / own.sum()) for probability in (belief, declared)
    ]
    return (
        Score("own value guessed from the subdomains", right_guesses(belief, own), references),
        Score(
            f"own value behind subdomains believed with {SURE:.0%} or more",
            sure[0],
            {"from the declared target alone": sure[1]},
        ),
    )


def beliefs(target: AttackedRelease) -> OwnValueBeliefs | None:
    """Return the beliefs that the subdomains give about each person, or None if there are none."""
    learned = _learn_once(target)
    if learned is None:
        return None
    own, belief, declared = learned
    there = own > 0
    top, alone = (top_guesses(probability)[there] for probability in (belief, declared))
    return OwnValueBeliefs(own[there], belief[there], top, alone)


def leaf_shares(target: Target) -> list[list[Fraction]]:
    """Return the chance of each leaf below each node (nodes x leaves), by the target."""
    chance, ends = probabilities(target), leaves(target)
    shares = [[Fraction(0)] * len(ends) for _ in chance]
    for number, leaf in enumerate(ends):
        node = leaf
        while node >= 0:
            if chance[node]:
                shares[node][number] = chance[leaf] / chance[node]
            node = int(target.parent[node])
    return shares


def beliefs_of_groups(seen: ShownGroups) -> tuple[np.ndarray, np.ndarray]:
    """Return two beliefs about each person of a group (float64 each, groups x values).

    The first are from the subdomains of the group, the second from its target only.
    """
    from scipy.sparse import csr_array  # imported where it is needed

    subdomains, groups, values = seen.subdomains, len(seen.sizes), len(seen.published.domain)
    belief, declared = np.zeros((groups, values)), np.zeros((groups, values))
    for number, target in enumerate(subdomains.targets):
        of_nodes = np.array(leaf_shares(target), dtype=np.float64)
        members = subdomains.target == number
        declared[members] = of_nodes[0]
        entries = members[subdomains.group]
        entries_at = (
            subdomains.count[entries],
            (subdomains.group[entries], subdomains.node[entries]),
        )
        belief += csr_array(entries_at, shape=(groups, len(of_nodes))) @ of_nodes
    return belief / belief.sum(axis=1, keepdims=True), declared


def _learn_once(target: AttackedRelease) -> _Learned | None:
    """Return, by vector, the people with each value and the two beliefs; once per target."""
    if _NAME not in target.learned:
        shows = target.declared.form.shows == _WAY
        target.learned[_NAME] = _learn(target) if shows else None
    learned: _Learned | None = target.learned[_NAME]
    return learned


def _learn(target: AttackedRelease) -> _Learned | None:
    seen = shown_groups(target.tables, target.declared.columns)
    if not are_few(target, seen):
        return None
    own, belief, declared = beliefs_of_people(target, seen, beliefs_of_groups(seen))
    return own, belief, declared


def are_few(target: AttackedRelease, seen: ShownGroups) -> bool:
    """Decide whether vectors and groups are few enough to be paired with values, and not 0."""
    names, values = target.declared.names_with_roles("quasi-identifier"), len(seen.published.domain)
    vector, _ = vectors(target.tables[QIT], names, target.people)
    number = int(vector.max(initial=-1)) + 1
    return number > 0 and max(number, len(seen.sizes)) * values <= _MOST


def beliefs_of_people(
    target: AttackedRelease, seen: ShownGroups, of_groups: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return, by vector of quasi-identifiers, the people with each value and beliefs about them.

    Args:
        target: the release.
        seen: its groups.
        of_groups: beliefs about the people of each group (float64, groups x values), of several
            attackers.

    Returns:
        The number of people (int64, vectors x values), and the beliefs of each attacker (float64,
        the same shape): the mean of the groups that contain the vector.
    """
    from scipy.sparse import csr_array  # imported where it is needed

    table, values = target.tables[QIT], len(seen.published.domain)
    vector, of_people = vectors(
        table, target.declared.names_with_roles("quasi-identifier"), target.people
    )
    number = int(vector.max(initial=-1)) + 1
    rows = np.ones(len(vector))
    stands = csr_array((rows, (vector, table[GROUP_ID].to_numpy())), (number, len(seen.sizes)))
    many = stands.sum(axis=1)[:, None]
    labels = seen.published.domain.values
    truth = target.people[target.sensitive].array().cast(labels.type)
    place = pc.index_in(truth, value_set=labels).to_numpy(False)
    there = of_people >= 0
    cell = of_people[there] * values + place[there].astype(np.int64)
    own = np.bincount(cell, minlength=number * values).reshape(number, values)
    return [own, *(stands @ belief / many for belief in of_groups)]

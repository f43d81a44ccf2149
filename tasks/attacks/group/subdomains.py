"""Subdomains: what the targets tell of who has which value, taken as the prior.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009): the
attacker knows the target, and which subdomains a group shows. Each person of a group is equally
likely to be behind each of its subdomains, made-up ones among them, and below a subdomain values
are as likely as the target says.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow.compute as pc
from scipy.sparse import csr_array

from sfumato.expectations.groups.groups import Target
from sfumato.expectations.groups.subdomains import leaves, probabilities
from sfumato.tasks.attacks.attack import (
    SURE,
    AttackedRelease,
    Score,
    right_guesses,
    skipped_attack,
    top_guesses,
)
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs
from sfumato.tasks.forms.targets import QIT, ShownGroups, shown_groups
from sfumato.tasks.query.accuracy.vectors import vectors
from sfumato.tasks.schema.names import GROUP_ID

_NAME, _WAY = "subdomains", "subdomains"
_MOST = 20_000_000  # pairs of a vector, or a group, and a value
_TOO_MANY = f"more than {_MOST:,} pairs of people who are alike, or a group, and a value"
_Learned = tuple[np.ndarray, np.ndarray, np.ndarray]


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess each person's likeliest value; forms that show no subdomains show nothing."""
    found = _attacked(target)
    if found is None:
        there = target.declared.form.shows == _WAY and target.people.rows
        return skipped_attack("subdomains", _TOO_MANY) if there else ()
    own, belief, declared = found
    references = {
        "without the release": float(own.sum(axis=0).max() / own.sum()),
        "from the declared target alone": right_guesses(declared, own),
    }
    sure = [float((own * (one >= SURE)).sum() / own.sum()) for one in (belief, declared)]
    return (
        Score("own value guessed from the subdomains", right_guesses(belief, own), references),
        Score(
            f"own value behind subdomains believed with {SURE:.0%} or more",
            sure[0],
            {"from the declared target alone": sure[1]},
        ),
    )


def beliefs(target: AttackedRelease) -> OwnValueBeliefs | None:
    """What the subdomains tell of each person; None where there are none."""
    found = _attacked(target)
    if found is None:
        return None
    own, belief, declared = found
    there = own > 0
    top, alone = (top_guesses(one)[there] for one in (belief, declared))
    return OwnValueBeliefs(own[there], belief[there], top, alone)


def below(target: Target) -> list[list[Fraction]]:
    """How likely each leaf is below each node (nodes x leaves), by the target."""
    chance, ends = probabilities(target), leaves(target)
    found = [[Fraction(0)] * len(ends) for _ in chance]
    for number, leaf in enumerate(ends):
        node = leaf
        while node >= 0:
            if chance[node]:
                found[node][number] = chance[leaf] / chance[node]
            node = int(target.parent[node])
    return found


def beliefs_of_groups(seen: ShownGroups) -> tuple[np.ndarray, np.ndarray]:
    """What is believed of each person of a group (float64, groups x values).

    Returns:
        By the subdomains that it shows, and by its target alone.
    """
    shown, groups, values = seen.shown, len(seen.sizes), len(seen.told.domain)
    belief, declared = np.zeros((groups, values)), np.zeros((groups, values))
    for number, target in enumerate(shown.targets):
        of_nodes = np.array(below(target), dtype=np.float64)
        members = shown.target == number
        declared[members] = of_nodes[0]
        entries = members[shown.group]
        at = (shown.count[entries], (shown.group[entries], shown.node[entries]))
        belief += csr_array(at, shape=(groups, len(of_nodes))) @ of_nodes
    return belief / belief.sum(axis=1, keepdims=True), declared


def _attacked(target: AttackedRelease) -> _Learned | None:
    """By vector of quasi-identifiers: people with each value, and the two beliefs, once."""
    if _NAME not in target.learned:
        shows = target.declared.form.shows == _WAY
        target.learned[_NAME] = _of_vectors(target) if shows else None
    found: _Learned | None = target.learned[_NAME]
    return found


def _of_vectors(target: AttackedRelease) -> _Learned | None:
    seen = shown_groups(target.tables, target.declared.columns)
    if not are_few(target, seen):
        return None
    own, belief, declared = beliefs_of_people(target, seen, beliefs_of_groups(seen))
    return own, belief, declared


def are_few(target: AttackedRelease, seen: ShownGroups) -> bool:
    """Whether people who are alike, groups and values are few enough to pair, and there are any."""
    names, values = target.declared.named("quasi-identifier"), len(seen.told.domain)
    vector, _ = vectors(target.tables[QIT], names, target.people)
    number = int(vector.max(initial=-1)) + 1
    return number > 0 and max(number, len(seen.sizes)) * values <= _MOST


def beliefs_of_people(
    target: AttackedRelease, seen: ShownGroups, of_groups: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """By vector of quasi-identifiers: people with each value, and what is believed of them.

    Args:
        target: the release.
        seen: its groups.
        of_groups: what is believed of the people of each group (float64, groups x values), in
            several ways.

    Returns:
        The number of people (int64, vectors x values), and each belief (float64, the same shape):
        the mean of those of the groups in which the vector stands.
    """
    table, values = target.tables[QIT], len(seen.told.domain)
    vector, of_people = vectors(table, target.declared.named("quasi-identifier"), target.people)
    number = int(vector.max(initial=-1)) + 1
    rows = np.ones(len(vector))
    stands = csr_array((rows, (vector, table[GROUP_ID].to_numpy())), (number, len(seen.sizes)))
    many = stands.sum(axis=1)[:, None]
    labels = seen.told.domain.values
    truth = target.people[target.sensitive].array().cast(labels.type)
    place = pc.index_in(truth, value_set=labels).to_numpy(False)
    there = of_people >= 0
    at = of_people[there] * values + place[there].astype(np.int64)
    own = np.bincount(at, minlength=number * values).reshape(number, values)
    return [own, *(stands @ one / many for one in of_groups)]

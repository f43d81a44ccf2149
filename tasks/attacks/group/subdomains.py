"""Subdomains: what the targets tell of who has which value, taken as the prior.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009): the
attacker knows the target, and which subdomains a group shows. Each person of a group is equally
likely to be behind each of its subdomains, made-up ones among them, and below a subdomain values
are as likely as the target says.
"""

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
from sfumato.tasks.forms.redistributed.shown_groups import QIT, ShownGroups, shown_groups
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
    table = target.tables[QIT]
    seen = shown_groups(target.tables, target.declared.columns)
    names, values = target.declared.named("quasi-identifier"), len(seen.told.domain)
    vector, of_people = vectors(table, names, target.people)
    number = int(vector.max(initial=-1)) + 1
    if max(number, len(seen.sizes)) * values > _MOST or not number:
        return None
    rows = np.ones(len(vector))
    stands = csr_array((rows, (vector, table[GROUP_ID].to_numpy())), (number, len(seen.sizes)))
    many = stands.sum(axis=1)[:, None]
    belief, declared = (stands @ one / many for one in beliefs_of_groups(seen))
    labels = seen.told.domain.values
    truth = target.people[target.sensitive].array().cast(labels.type)
    place = pc.index_in(truth, value_set=labels).to_numpy(False)
    there = of_people >= 0
    at = of_people[there] * values + place[there].astype(np.int64)
    own = np.bincount(at, minlength=number * values).reshape(number, values)
    return own, belief, declared

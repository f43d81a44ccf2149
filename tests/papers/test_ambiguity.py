"""Ambiguity, on the eight people of the paper."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.groups.covering import covering, single
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.ambiguity import ambiguity
from sfumato.tasks.partitions.ambiguity.calibrated import covers_of
from sfumato.tasks.partitions.ambiguity.parameters import AmbiguityParameters
from sfumato.tasks.partitions.ambiguity.rule import AmbiguityRule

PEOPLE = [
    (45, "M", 11000, "diabetes"),  # Alan
    (20, "M", 12000, "flu"),  # Charles
    (50, "M", 23000, "diarrhea"),  # George
    (60, "M", 12000, "stroke"),  # Henry
    (20, "F", 54000, "leukemia"),  # Alice
    (50, "F", 23000, "diabetes"),  # Carol
    (60, "F", 23000, "leukemia"),  # Grace
    (60, "F", 21000, "dyspepsia"),  # Helen
]
QUASI = ("age", "gender", "zip")
GIVEN = AmbiguityParameters(method="ambiguity")


def people(rows=PEOPLE):
    columns = zip((*QUASI, "disease"), zip(*rows, strict=True), strict=True)
    return Microdata(
        tuple(
            encode(name, "quasi-identifier" if name in QUASI else "sensitive", pa.array(values))
            for name, values in columns
        ),
        len(rows),
    )


def promise(alpha, beta, presence="per-group"):
    scope = {"quasi_identifiers": QUASI, "sensitive": "disease", "presence": presence}
    return AlphaBeta(alpha=Decimal(alpha), beta=Decimal(beta), **scope)


def presence_of(group):
    return covering(covers_of(people(), np.array(group)), QUASI)


def test_the_papers_groups_have_a_third_and_four_ninths():
    """Group 2 has four people and three diseases: its presence is 4/9 and not 3/9."""
    presence = presence_of([0, 0, 0, 0, 1, 1, 1, 1])
    assert [presence.presence(0), presence.presence(1)] == [Fraction(1, 3), Fraction(4, 9)]
    assert presence.admitted_counts.tolist() == [[4, 3], [1, 1], [3, 3]]


def test_what_the_rule_asks_of_a_group():
    """⌈1/β⌉ rows and not one more; with α = 1/3, four rows need twelve combinations."""
    assert [
        AmbiguityRule(Fraction(1), Fraction(b), "s", ()).least for b in ("1/4", "0.26", "1")
    ] == [
        4,
        4,
        1,
    ]
    limits = AmbiguityRule(Fraction("1/3"), Fraction("1/2"), "s", ()).limits(
        Fraction("1/3"), 8, [4, 2, 4], True
    )
    assert limits.combinations.tolist() == [0, 3, 6, 9, 12, 15, 18, 21, 24]
    assert limits.times.tolist() == [1, 1, 1, 1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize("seed", range(20))
def test_the_papers_people_in_groups_of_two(seed):
    """A pair that differs in age and zip alone covers four combinations: 2/4 is enough."""
    partition = ambiguity.partition(people(), [], [promise("0.5", "0.5")], GIVEN, seeded_keys(seed))
    assert partition.suppressed == partition.facts["suppressed"] <= 2
    presence = presence_of(partition.group)
    assert single(presence).largest <= Fraction(1, 2)
    for group in range(partition.facts["groups"]):
        diseases = [PEOPLE[row][3] for row in np.flatnonzero(partition.group == group)]
        assert len(set(diseases)) == len(diseases) >= 2


def test_the_second_row_of_a_group_differs_in_all_that_it_can():
    """One like Alan and Henry cover eight combinations; with one of Alan's age and zip, two."""
    alan = (45, "F", 11000, "flu")
    rows = [alan, (60, "M", 12000, "stroke"), alan, (45, "M", 11000, "stroke"), alan]
    for seed in range(20):
        partition = ambiguity.partition(
            people(rows), [], [promise("0.25", "0.5")], GIVEN, seeded_keys(seed)
        )
        assert partition.facts["groups"] == 1
        assert (partition.group[1], partition.group[3]) == (0, -1)
        assert sorted(partition.group[::2].tolist()) == [-1, -1, 0]


def test_together_the_papers_groups_keep_less():
    """Two groups that cover a vector add up: what each keeps, both do not."""
    alone = promise("0.34", "0.34")
    rows = [(a, g, z, d) for a, g, z, d in PEOPLE for _ in range(6)]
    rows = [(a, g, z, f"{d}{i % 6}") for i, (a, g, z, d) in enumerate(rows)]
    partition = ambiguity.partition(people(rows), [], [alone], GIVEN, seeded_keys(1))
    assert partition.facts["groups"] > 4
    with pytest.raises(PromiseError, match=r"all groups together break α = 0\.34"):
        ambiguity.partition(
            people(rows), [], [promise("0.34", "0.34", "combined")], GIVEN, seeded_keys(1)
        )

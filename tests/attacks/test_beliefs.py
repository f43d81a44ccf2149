"""Beliefs of attackers in people's own values: vectors, brute force, and planted rows."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.attacks import beside
from sfumato.tasks.attacks.group import background, homogeneity
from sfumato.tasks.attacks.group.background import rule_out
from sfumato.tasks.attacks.learning import definetti
from sfumato.tasks.attacks.shared.attack import AttackedRelease
from tests.attacks.test_attacks import (
    FORMS,
    QUASI,
    draw_correlated,
    make_release,
    of_numbers,
    release_showing,
)

GROUPS = st.lists(
    st.lists(st.integers(0, 4), min_size=1, max_size=7).map(sorted), min_size=1, max_size=4
)


def test_the_vector_of_background_knowledge(groups_of):
    """Two with cancer, one with heart disease, one with an infection: 2/3, and then 1."""
    counts = of_numbers(groups_of, [[0, 0, 1, 2]])
    assert [rule_out(counts, count).belief[0] for count in (0, 1, 2)] == [0.5, 2 / 3, 1.0]
    assert rule_out(counts, 1).share_above(0.6) == 0.5
    certain, more = background.attack(release_showing(counts))
    assert (certain.share, more.share) == (0.0, 1.0)
    assert "own value certain once 2 others" in more.measure


@given(members=GROUPS, count=st.integers(0, 4))
def test_the_worst_values_are_rule_out(groups_of, members, count):
    counts = of_numbers(groups_of, members)
    beliefs = rule_out(counts, count)
    entries = iter(zip(beliefs.people, beliefs.belief, beliefs.guessed, strict=True))
    for values in members:
        rows = Counter(values)
        for value in sorted(rows):
            people, belief, guessed = next(entries)
            others = [other for other in rows if other != value]
            worst = max(
                combinations(others, min(count, len(others))),
                key=lambda gone: sum(rows[row] for row in gone),
            )
            remainder = [rows[other] for other in others if other not in worst]
            assert people == rows[value]
            assert belief == float(Fraction(rows[value], rows[value] + sum(remainder)))
            top = rows[value] >= max(remainder, default=0)
            assert guessed == (1 / (1 + remainder.count(rows[value])) if top else 0)
    alone = homogeneity.beliefs(release_showing(counts))
    np.testing.assert_array_equal(beliefs.alone, alone.guessed)
    if count == 0:
        np.testing.assert_array_equal(beliefs.belief, alone.belief)
        np.testing.assert_array_equal(beliefs.guessed, alone.guessed)


@given(members=GROUPS)
def test_the_group_alone_tells_no_more_than_itself(groups_of, members):
    beliefs = homogeneity.beliefs(release_showing(of_numbers(groups_of, members)))
    best = sum(Counter(values).most_common(1)[0][1] for values in members)
    assert beliefs.number == sum(map(len, members))
    assert beliefs.hits() == pytest.approx(best / beliefs.number)
    assert beliefs.lift() == 0
    alike = sum(len(values) for values in members if len(set(values)) == 1)
    assert beliefs.share_above(1) == alike / beliefs.number


@pytest.mark.parametrize("form", FORMS)
def test_beliefs_of_definetti_are_those_that_are_scored(form, tmp_path):
    release = make_release(tmp_path, draw_correlated(np.random.default_rng(7), 300, 0.9), form)
    guessed, sure = definetti.attack(release)
    beliefs = definetti.beliefs(release)
    assert beliefs.number == 300
    assert beliefs.hits() == pytest.approx(guessed.share)
    assert beliefs.share_above(0.8) == pytest.approx(sure.share)
    alone = guessed.references["from the group alone"]
    assert beliefs.lift() == pytest.approx(guessed.share - alone)
    assert beliefs.lift() > 0.3


class TestOrder:
    """The order of values: shuffled or not."""

    @pytest.fixture
    def release(self, tmp_path):
        return make_release(
            tmp_path, draw_correlated(np.random.default_rng(3), 800, 0.5), "permuted"
        )

    def test_shuffled_values_stand_beside_their_people_by_chance(self, release):
        (score,) = beside.attack(release)
        chance = score.references["where values are shuffled"]
        assert 0.3 < chance < 0.6
        assert score.share == pytest.approx(chance, abs=0.08)

    def test_values_that_were_not_shuffled_are_found(self, release):
        table = release.tables["microdata"]
        people = release.people.table().to_pylist()
        own = {tuple(row[name] for name in QUASI): row["s"] for row in people}
        rows = zip(*(table[name].to_pylist() for name in QUASI), strict=True)
        values = pa.array([own[row] for row in rows], table["s"].type)
        planted = table.set_column(table.column_names.index("s"), "s", values)
        tables = {**release.tables, "microdata": planted}
        (score,) = beside.attack(AttackedRelease(release.declared, tables, release.people, "s"))
        assert score.share == 1.0

    def test_values_that_are_sorted_as_rows_are_are_found(self, release):
        """Nobody's value was left beside them; but both stand in ascending order."""
        table = release.tables["microdata"]
        groups, values = (table[name].to_numpy() for name in ("group_id", "s"))
        rows = np.lexsort((table["a"].to_numpy(), groups))
        ascending = np.empty_like(values)
        ascending[rows] = values[np.lexsort((values, groups))]
        planted = pa.array(ascending, table["s"].type)
        table = table.set_column(table.column_names.index("s"), "s", planted)
        tables = {**release.tables, "microdata": table}
        (score,) = beside.attack(AttackedRelease(release.declared, tables, release.people, "s"))
        assert score.share > score.references["where values are shuffled"] + 0.15

    def test_other_forms_have_no_value_beside_anybody(self, tmp_path):
        people = draw_correlated(np.random.default_rng(3), 200, 0.5)
        assert beside.attack(make_release(tmp_path, people, "split")) == ()

"""Families of counts and of GROUP BY: scores against all queries that they have, on small tables.

How wide an answer is, is found without any formula, by all ways in which values may be dealt within
groups; or by asking the release that would be published.
"""

from itertools import pairwise, permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.candidates.choosing import choose
from sfumato.tasks.candidates.scores import draw_queries, score_rows
from sfumato.tasks.candidates.wished import Choosing
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.partitions.aimed.parameters import CountsAim, GroupByAim, HybridParameters
from sfumato.tasks.partitions.aimed.queries import queries_of, row_in_units
from sfumato.tasks.partitions.aimed.widths import group_count_widths, group_widths
from sfumato.tasks.partitions.ke import ke
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.formats import lowest_format
from tests.aimed.tables import promise, table, windows
from tests.aimed.test_auto import manifest_part, spec_of
from tests.aimed.test_cuts import make_partition
from tests.aimed.test_minimality import (
    AGES,
    FORM,
    ROOMS,
    WAGES,
    attack,
    certain,
    make_aimed,
    terms,
)
from tests.query.worlds import answers_on, column, declare, with_help
from tests.release.small import Small, people

__all__ = ["certain"]

PEOPLE = st.lists(
    st.tuples(st.integers(20, 24), st.integers(0, 4), st.integers(0, 2)), min_size=2, max_size=6
)


ANY_ROWS = {"kind": "arbitrary", "selected": [5]}


def counts(*spans, condition="equal"):
    return CountsAim(kind="counts", over="age", spans=spans, condition=condition)


def group_by(column_name="age"):
    return GroupByAim(kind="group-by", by=column_name)


def shuffles(groups, wages):
    """All ways in which wages may be dealt within groups."""
    for order in permutations(range(len(wages))):
        if all(groups[position] == groups[place] for place, position in enumerate(order)):
            yield [wages[position] for position in order]


def open_of(groups, wages, question):
    """Return how far an answer is open, over all worlds."""
    values = [question(world) for world in shuffles(groups, wages)]
    return max(values) - min(values)


def score_partition(microdata, groups, aims):
    queries = draw_queries(queries_of(microdata, aims), seeded_keys(1))
    return score_rows(microdata, Partition(np.array(groups)), {}, "wage", queries)


@pytest.mark.parametrize("condition", ["equal", "at-most"])
@given(rows=PEOPLE)
@settings(max_examples=25)
def test_the_score_of_counts_is_the_mean_width_of_all_of_them(condition, rows):
    """A count for each age at which windows begin, and each row whose wage is compared with."""
    ages, wages, groups = (list(column_values) for column_values in zip(*rows, strict=True))
    groups = np.unique(groups, return_inverse=True)[1].tolist()
    microdata = table(ages, wages)
    shares = []
    for low in sorted(set(ages)):
        inside = [place for place, age in enumerate(ages) if low <= age <= low + 1]
        for bound in wages:

            def count_answer(world, inside=inside, bound=bound):
                inside_values = [world[place] for place in inside]
                return sum(
                    w == bound if condition == "equal" else w <= bound for w in inside_values
                )

            shares.append(open_of(groups, wages, count_answer) / len(inside))
    score = score_partition(microdata, groups, [counts(1, condition=condition)])
    assert score == pytest.approx(np.mean(shares) * row_in_units(microdata["wage"]))


@given(rows=PEOPLE)
@settings(max_examples=25)
def test_the_score_of_a_group_by_is_the_mean_width_of_its_cells(rows):
    ages, wages, groups = (list(column_values) for column_values in zip(*rows, strict=True))
    groups = np.unique(groups, return_inverse=True)[1].tolist()
    towns = [None if age == 20 else f"town {age}" for age in ages]
    shares = []
    for town in set(towns):
        inside = [place for place, name in enumerate(towns) if name == town]
        total = open_of(groups, wages, lambda world, inside=inside: sum(world[p] for p in inside))
        shares.append(total / len(inside))
    score = score_partition(table(ages, wages, town=towns), groups, [group_by("town")])
    assert score == pytest.approx(np.mean(shares))


def test_scores_are_the_widths_of_the_bounds_that_the_release_gives():
    """Of both families together, whose levels count alike."""
    ages = [20, 20, 21, 22, 22, 23]
    wages, groups = [1, 5, 5, 9, 2, 2], [0, 0, 0, 1, 1, 1]
    declaration = declare(
        age=column("quasi-identifier", "integer"), wage=column("sensitive", "integer")
    )
    microdata = pa.table({"age": ages, "wage": wages, "group_id": groups})
    sql = [
        f"SELECT COUNT(*) x FROM microdata WHERE age BETWEEN {low} AND {low + 1} AND wage <= {most}"
        for low in sorted(set(ages))
        for most in wages
    ]
    lows = np.repeat(sorted(set(ages)), len(wages))
    selected = [sum(low <= age <= low + 1 for age in ages) for low in lows]
    answers = answers_on(with_help(microdata, "wage"), declaration, sql)
    widths = [float(answer.rows[0]["x"].upper - answer.rows[0]["x"].lower) for answer in answers]
    of_counts = np.mean(np.array(widths) / selected) * row_in_units(table(ages, wages)["wage"])
    (cells,) = answers_on(
        with_help(microdata, "wage"),
        declaration,
        ["SELECT age, AVG(wage) x FROM microdata GROUP BY age"],
    )
    of_cells = np.mean([float(row["x"].upper - row["x"].lower) for row in cells.rows])
    aims = [counts(1, condition="at-most"), group_by()]
    assert score_partition(table(ages, wages), groups, aims) == pytest.approx(
        (of_counts + of_cells) / 2
    )


@given(
    st.lists(
        st.lists(st.integers(0, 6), min_size=2, max_size=6).map(sorted), min_size=1, max_size=3
    ),
    st.data(),
)
@settings(max_examples=40)
def test_widths_of_counts_are_those_of_sums_of_ones_and_noughts(groups, data):
    values = sorted(value for group in groups for value in group)
    low, high = sorted(data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6))))
    bounds = np.append(0, np.cumsum([len(group) for group in groups]))
    limits = np.array([[low, high]], dtype=float)
    widths = group_count_widths(np.array(values, dtype=float), bounds, len(values), limits)
    hits = np.arange(len(values) + 1)
    ones = [float(low <= value <= high) for value in values]
    runs = [sorted(ones[a:b]) for a, b in pairwise(bounds)]
    sums = group_widths(np.array([item for run in runs for item in run]), bounds, len(values))
    assert widths.expected_width(hits) == pytest.approx(sums.expected_width(hits))


@pytest.mark.parametrize(
    ("method", "aim"),
    [
        ("hybrid", counts(10, condition="at-most")),
        ("contiguous", counts(1)),
        ("hybrid", group_by()),
        ("contiguous", group_by()),
    ],
)
def test_whoever_knows_how_such_cuts_are_decided_believes_what_groups_tell(method, aim):
    (excess, belief, by_groups), fewest, releases = attack(make_aimed(method, 2, 2, aim))
    assert releases > 1
    assert (excess, fewest) == (0, None), (belief, by_groups)


@pytest.mark.parametrize("aims", [(counts(1, condition="at-most"),), (group_by(),)])
@pytest.mark.parametrize("method", ["hybrid", "contiguous"])
def test_cuts_narrow_what_they_are_aimed_at(aims, method):
    rng = np.random.default_rng(4)
    microdata = table(rng.integers(20, 60, 400), rng.integers(0, 1000, 400))
    cut = make_partition(microdata, method, k=3, e=100, aims=aims)
    parameters = KEParameters(method="ke", objective="weighted")
    whole = ke.partition(microdata, [], [promise(3, 100)], parameters, seeded_keys(1))
    assert cut.facts["parts"] > 5
    assert (
        0
        < score_partition(microdata, cut.group, aims)
        < 0.8 * score_partition(microdata, whole.group, aims)
    )


def test_a_choice_by_them_is_the_same_in_all_worlds_with_these_values():
    aims = [counts(1), counts(10, condition="at-most"), group_by()]
    partitions = [("ke", {"objective": "sum"}), *((name, {"aims": aims}) for name in ROOMS)]
    candidates = [
        {"partition": {"method": name, **more}, "strata": [], "form": FORM}
        for name, more in partitions
    ]
    choosing = Choosing(candidates=candidates, aims=aims)
    chosen = set()
    for wages in list(permutations(WAGES))[::120]:
        best, tried = choose(table(AGES, wages), terms(2, 2), choosing, seeded_keys(3))
        chosen.add((best.model_dump_json(), *(alternative.score for alternative in tried)))
    assert len(chosen) == 1


def test_releases_that_name_them_are_of_the_newest_format():
    for aim, format_ in ((windows(1), 5), (counts(1), 7), (group_by(), 7)):
        parameters = HybridParameters(method="hybrid", aims=(windows(2), aim))
        assert lowest_format(parameters) == format_


def test_auto_is_aimed_at_them_and_published(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    aims = [{"kind": "counts", "over": "age", "spans": [5]}, {"kind": "group-by", "by": "town"}]
    line = Small(tmp_path / "line").write(
        people(rows=120), version=2, partition={"method": "auto", "aims": aims}
    )
    assert manifest_part(line.publish("first"))["partition"]["method"] != "auto"


@pytest.mark.parametrize(
    ("aim", "form", "words"),
    [
        ({"kind": "group-by", "by": "wage"}, "permuted", "aims.1: 'wage' is not a quasi-id"),
        ({"kind": "counts", "over": "town", "spans": [5]}, "permuted", "'town' has no ranges"),
        (
            {"kind": "group-by", "by": "town"},
            "generalized",
            ("partition: auto: cannot compute the width of aims of kind group-by in form gen"),
        ),
        (
            {"kind": "counts", "over": "age", "spans": [5]},
            "generalized",
            ("partition: auto: cannot compute the width of aims of kind counts in form"),
        ),
    ],
)
def test_what_cannot_be_aimed_at_is_refused(tmp_path, aim, form, words):
    keys = {"partition": {"method": "auto", "aims": [ANY_ROWS, aim]}, "form": {"method": form}}
    with pytest.raises(SpecError, match=words):
        spec_of(tmp_path, **keys, evaluate={})

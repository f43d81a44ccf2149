"""Partitions that are run again on drawn worlds: beside all worlds, where these can be listed."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.tasks.attacks.linking.people_of_groups import group_of_people
from sfumato.tasks.attacks.minimal import minimality, redrawn, retraced
from sfumato.tasks.attacks.minimal.orders import order_of
from sfumato.tasks.attacks.minimal.redrawn import ShownColumns
from sfumato.tasks.attacks.minimal.rerun import NotRetracedError
from sfumato.tasks.attacks.minimal.retraced import retrace, worlds_within
from sfumato.tasks.attacks.shared.attack import SURE
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.partitions.aimed.parameters import ContiguousParameters, HybridParameters
from sfumato.tasks.partitions.ambiguity.parameters import AmbiguityParameters
from sfumato.tasks.partitions.anatomy.parameters import AnatomyParameters
from sfumato.tasks.partitions.disjoint_cover.parameters import DisjointCoverParameters
from sfumato.tasks.partitions.registry import PARTITIONS
from tests.attacks.test_minimality import diverse, release_of, table
from tests.attacks.test_retraced import CASES, RELAXED, as_sets

AMBIGUITY = AmbiguityParameters(method="ambiguity")
DISJOINT = DisjointCoverParameters(method="disjoint-cover")
PER_GROUP = AlphaBeta(alpha="0.6", beta="0.5", sensitive="s", presence="per-group")
FOUR = {"a": [1, 1, 2, 3], "b": [5, 6, 5, 5], "c": [0, 1, 0, 1], "s": [7, 8, 9, 10]}


def as_shown(arrays, group, world):
    """Return what groups show that show columns apart."""
    names = [name for name in arrays if name != "s"]
    rows = [np.flatnonzero(group == number) for number in range(int(group.max()) + 1)]
    return Counter(
        (
            *(frozenset(arrays[name][row] for row in members) for name in names),
            tuple(sorted(world[row] for row in members)),
        )
        for members in rows
    )


def posterior_of_ambiguity(arrays, group):
    """By all worlds and all orders of values that are equally frequent, per row and value.

    Of values that occur once chance decides about nothing else.
    """
    labels = as_shown(arrays, group, arrays["s"])
    belief, total = [defaultdict(Fraction) for _ in arrays["s"]], Fraction(0)
    names = tuple(name for name in arrays if name != "s")
    promises = [replace(PER_GROUP, quasi_identifiers=names)]
    for world in permutations(arrays["s"]):
        world_table = table({**arrays, "s": list(world)})
        for number in range(24):
            calls = iter([np.arange(4), np.arange(4), order_of(number, 4)])
            made = PARTITIONS["ambiguity"](
                world_table, [], promises, AMBIGUITY, lambda _, c=calls: next(c).astype(np.uint64)
            )
            if (made.group >= 0).all() and as_shown(arrays, made.group, world) == labels:
                total += 1
                for row, value in enumerate(world):
                    belief[row][value] += 1
    return [{v: counts[v] / total for v in counts} for counts in belief]


def test_ambiguity_is_believed_as_all_worlds_tell(tmp_path, monkeypatch):
    release = replace(release_of(tmp_path, FOUR, [PER_GROUP], AMBIGUITY, "ambiguous"), runs=800)
    expected = posterior_of_ambiguity(FOUR, grouping(release))
    retold = retrace(release)
    monkeypatch.setattr(minimality, "retrace", {release: retold}.get)  # the attack does it anew
    own = sorted(float(belief[value]) for belief, value in zip(expected, FOUR["s"], strict=True))
    beliefs = [group.beliefs() for group in retold.groups]
    believed = np.sort(
        np.concatenate([np.repeat(belief.belief, belief.people) for belief in beliefs])
    )
    error = max(group.error for group in retold.groups)
    assert 0 < error < 0.33
    assert np.abs(believed - own).max() <= error
    least, most = (np.array(column) for column in retold.hits()[1:])
    hits = sum(
        Fraction(
            counts[value] == max(counts.values()),
            sum(b == max(counts.values()) for b in counts.values()),
        )
        for counts, value in zip(expected, FOUR["s"], strict=True)
    )
    assert least[0] <= hits / 4 <= most[0]
    guessed, sure = minimality.attack(release)
    assert "drawn worlds" in guessed.margin.method
    assert sure.share == sum(belief >= SURE for belief in own) / 4


def grouping(release):
    """The group of each row, as people's values and groups of values tell it."""
    counts = release.groups()
    values = [counts.labels[code].as_py() for code in counts.value.tolist()]
    group_of_value = dict(zip(values, counts.group.tolist(), strict=True))
    return np.array([group_of_value[value] for value in release.people["s"].array().to_pylist()])


def test_whoever_does_not_know_the_partition_joins_people_back(tmp_path):
    """Of overlapping groups nobody's group is known, and that is what is told beside."""
    arrays = {
        "a": [1, 1, 2, 2, 1, 2, 3, 3],
        "b": [5, 6, 5, 6, 7, 7, 5, 7],
        "c": [0, 1, 1, 0, 0, 1, 1, 0],
        "s": [7, 8, 9, 10, 7, 8, 9, 10],
    }
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        release = release_of(folder, arrays, [PER_GROUP], AMBIGUITY, "ambiguous", seed)
        if group_of_people(release) is None:
            break
    else:
        pytest.fail("no two groups of twenty releases overlap")
    scores = minimality.attack(replace(release, runs=3_000))
    if scores[0].skipped:
        assert scores[0].skipped == redrawn._NONE_KEPT.format(runs=3000)
        return
    assert [*scores[0].references] == ["by who joins people back"]
    assert scores[0].margin.low <= scores[0].share <= scores[0].margin.high


def test_disjoint_covers_tell_everybodys_group(tmp_path):
    release = release_of(tmp_path, FOUR, [PER_GROUP], DISJOINT, "ambiguous")
    assert as_sets(group_of_people(release)) == as_sets(grouping(release))


def test_disjoint_cover_is_believed_as_other_draws_tell(tmp_path):
    """Of each way to give a group's values to its people, so many draws of its own."""
    arrays = {**FOUR, "s": [7, 7, 8, 9]}
    names = tuple(name for name in arrays if name != "s")
    promises = [replace(PER_GROUP, quasi_identifiers=names)]
    release = replace(release_of(tmp_path, arrays, [PER_GROUP], DISJOINT, "ambiguous"), runs=120)
    group = np.unique(group_of_people(release), return_inverse=True)[1]
    codes = release.people["s"].codes.astype(np.int64)
    often, draws = {}, 20
    for world in worlds_within(codes, group):
        world_table = table({**arrays, "s": (world + 7).tolist()})
        made = (
            PARTITIONS["disjoint-cover"](world_table, [], promises, DISJOINT, seeded_keys(seed))
            for seed in range(draws)
        )
        often[tuple(world.tolist())] = sum(
            as_sets(partition.group) == as_sets(group) for partition in made
        )
    total = sum(often.values())
    own = sorted(
        sum(times for world, times in often.items() if world[row] == codes[row]) / total
        for row in range(4)
    )
    retold = retrace(release)
    beliefs = [group.beliefs() for group in retold.groups]
    believed = np.sort(
        np.concatenate([np.repeat(belief.belief, belief.people) for belief in beliefs])
    )
    both = max(group.error for group in retold.groups) + (2 / total) ** 0.5
    assert np.abs(believed - own).max() <= both


@pytest.mark.parametrize("case", ["relaxed, one ill", "suppression"])
def test_drawn_worlds_are_near_all_worlds(case, tmp_path, monkeypatch):
    partition, arrays, promises, _ = CASES[case]
    release = release_of(tmp_path, arrays, promises, partition)
    exact = minimality.attack(release)
    monkeypatch.setattr(retraced, "_RUNS", 1)
    near = minimality.attack(replace(release, runs=200))
    for score, other in zip(exact, near, strict=True):
        assert score.margin is None
        assert other.margin.low <= score.share <= other.margin.high
        assert other.references == score.references
    (skipped,) = minimality.attack(release)
    assert "--runs" in skipped.skipped


def test_more_people_are_run_again_where_that_is_asked_for(tmp_path):
    arrays = {"a": [3 * i % 40 for i in range(26)], "s": [7, 8] * 13}
    release = release_of(tmp_path, arrays, [diverse(2)], RELAXED)
    (skipped,) = minimality.attack(release)
    assert skipped.skipped == retraced._TOO_MANY
    scores = minimality.attack(replace(release, runs=5))
    assert scores[0].skipped == "" or "drawn worlds" in scores[0].skipped


def test_what_no_drawn_world_shows_is_not_scored(tmp_path):
    release = replace(release_of(tmp_path, FOUR, [PER_GROUP], AMBIGUITY, "ambiguous"), runs=1)
    columns = ShownColumns.from_tables(release)
    group = grouping(release)
    codes = release.people["s"].codes.astype(np.int64)
    assert columns.are_those_of(codes, group)
    assert not columns.are_those_of(codes[[1, 0, 2, 3]], group)
    assert not columns.are_those_of(codes, np.zeros(4, dtype=np.int64))
    assert not columns.are_those_of(codes, np.where(group == 0, -1, group))
    first = [replace(release, digest=str(n)) for n in range(30)]
    missed = [score for score in first if _is_missed(score)]
    assert 0 < len(missed) < 30


def test_more_worlds_than_memory_holds_are_not_drawn(tmp_path, monkeypatch):
    release = release_of(tmp_path, FOUR, [PER_GROUP], AMBIGUITY, "ambiguous")
    monkeypatch.setattr(redrawn, "_VALUES", 39)
    (skipped,) = minimality.attack(replace(release, runs=10))
    assert skipped.skipped == redrawn._TOO_MUCH.format(runs=9)


def _is_missed(release):
    try:
        retrace(release)
    except NotRetracedError as error:
        assert str(error) == redrawn._NONE_KEPT.format(runs=1)
        return True
    return False


AIM = {"kind": "range", "over": "a", "spans": [1]}


@pytest.mark.parametrize(
    "partition",
    [
        HybridParameters(method="hybrid", aims=(AIM,)),
        ContiguousParameters(method="contiguous", aims=(AIM,)),
    ],
)
def test_of_cuts_by_values_alone_nothing_is_retraced(partition, tmp_path):
    """By all worlds it is shown beside the partitions themselves."""
    arrays = {"a": [1, 2, 3, 4], "s": [7, 8, 9, 10]}
    promises = [KEAnonymity(k=2, e="1", sensitive="s")]
    (skipped,) = minimality.attack(
        replace(release_of(tmp_path, arrays, promises, partition), runs=9)
    )
    assert skipped.skipped == retraced._BY_VALUES


def test_alike_groups_are_believed_as_groups_alone_tell(tmp_path):
    """Noise decides which values are alike: nothing is told of who has which."""
    partition = AnatomyParameters(method="anatomy", alike={"epsilon": "1"})
    arrays = {"a": [1, 2, 4, 8], "s": [7, 8, 9, 10]}
    release = release_of(tmp_path, arrays, [diverse(2)], partition)
    (skipped,) = minimality.attack(release)
    assert skipped.skipped == retraced._NOT_LISTED
    retold = retrace(replace(release, runs=300))
    for group in retold.groups:
        assert np.abs(group.belief - 0.5).max() <= group.error < 0.3

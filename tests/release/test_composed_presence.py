"""Presence over the versions of an ambiguous line: enumerated, and shared among cohorts."""

import itertools
import json
from fractions import Fraction
from math import prod
from unittest.mock import patch

import pytest

from sfumato.expectations.groups.covering import covering
from sfumato.expectations.measures.joined_presence import joint_presence
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.candidates import continued
from sfumato.tasks.private.people.lines import maps_of
from sfumato.tasks.private.people.slots import presence_ever
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.expectations.test_alpha_beta import ambiguous
from tests.release.evolving import Evolving

LOOSE = {"method": "mondrian", "mode": "relaxed"}
"""Cuts for each group's own presence, and parts rows with equal values, so that boxes overlap."""


@pytest.fixture
def line(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return Evolving(tmp_path / "line", "ambiguous")


def slots_after(line):
    return maps_of(line.folder.parent / "work" / line.name)[-1]


def wish(partition, share):
    return {"partition": partition, "versions": {"rule": "composed", "share": share}}


# groups with the vectors of their rows: the first cohort has group 0, the second 1, a third one 2
COHORTS = [
    [(0, 0), (1, 1)],
    [(1, 0), (2, 1)],
    [(0, 1), (1, 0), (2, 1)],
]


def worlds_of(rows):
    """Every set of as many vectors as the group has rows, of the values that it admits."""
    first, second = (sorted(set(values)) for values in zip(*rows, strict=True))
    box = list(itertools.product(first, second))
    return [set(world) for world in itertools.combinations(box, len(rows))]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_presence_over_versions_is_bounded_by_the_sum_over_all_groups(number):
    """A world of all versions has one world of each group, and each group counts once."""
    cohorts = COHORTS[:number]
    by_group = [worlds_of(rows) for rows in cohorts]
    vectors = set(itertools.chain(*itertools.chain(*by_group)))
    all_worlds = [set().union(*chosen) for chosen in itertools.product(*by_group)]
    chances = {
        vector: Fraction(sum(vector in world for world in all_worlds), len(all_worlds))
        for vector in vectors
    }
    rows = [(g, *vector, 0) for g, group in enumerate(cohorts) for vector in group]
    bound = joint_presence(covering(ambiguous(rows), None))
    assert bound is not None
    sums = []
    for vector, chance in chances.items():
        by_covering = [
            Fraction(len(worlds[0]), len(set().union(*worlds)))
            for worlds in by_group
            if vector in set().union(*worlds)
        ]
        sums.append(min(Fraction(1), sum(by_covering)))
        assert chance == 1 - prod(1 - present for present in by_covering) <= sums[-1]
    assert bound.largest == max(sums)


@pytest.mark.parametrize("partition", [{"method": "mondrian"}, {"method": "disjoint-cover"}])
def test_every_cohort_leaves_the_next_one_its_share(line, partition):
    """Of α at least (1 - share)ⁿ is left after n cohorts, exactly."""
    rest = alpha = Fraction(9, 10)
    share = Fraction(1, 3)
    for number in range(3):
        if number:
            line.move(join=48)
        directory = line.publish(**wish(partition, "1/3"))
        ((promise, verdict),) = check(directory).verdicts
        used = presence_ever(slots_after(line), promise)
        assert verdict.observed["alpha"] <= used <= alpha - (1 - share) * rest
        rest = alpha - used


def test_a_first_version_that_takes_more_than_its_share_is_refused(line):
    """Each group of its own is within share × α; all of them together are at 7/12."""
    figures = r"newcomers is 7/12, and their share of what alpha-beta still allows is 0.45"
    with pytest.raises(PromiseError, match=figures):
        line.publish(**wish(LOOSE, "1/2"))
    assert not line.versions


def test_a_cohort_that_takes_more_than_its_share_waits(line):
    line.publish(**wish({"method": "disjoint-cover"}, "1/2"))
    line.move(join=48)
    directory = line.publish(**wish(LOOSE, "1/2"))
    rows = json.loads((directory / "datapackage.json").read_bytes())["sfumato"]["rows"]
    assert rows["not_represented_versions"] == 48
    assert open_release(directory).declared.rows.published == 66


def test_what_cannot_be_proven_is_nobodys_share(line):
    with (
        patch("sfumato.expectations.measures.joined_presence._NODES", 0),
        pytest.raises(PromiseError, match=r"in the groups of newcomers cannot be proven"),
    ):
        line.publish(**wish(LOOSE, "1/2"))


@pytest.mark.parametrize("versions", [0, 1])
def test_the_gate_decides_without_the_candidate(line, monkeypatch, versions):
    """A candidate that does not look at its share is refused, be it the first or a later one."""
    monkeypatch.setattr(continued, "_require_share", lambda *_: None)
    if versions:
        line.publish(**wish({"method": "disjoint-cover"}, "1/2"))
        line.move(join=48)
    with pytest.raises(PromiseError, match=r"new groups take more than versions\.share of"):
        line.publish(**wish(LOOSE, "1/2"))
    assert len(line.versions) == versions

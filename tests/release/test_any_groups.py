"""Groups of any kind in any form: made, and judged by the gate."""

from unittest.mock import patch

import numpy as np
import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import attack_again
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release

BANDS = [{"column": "age", "bands": [30, 40, 50]}]
PRESENT = {"model": "alpha-beta", "alpha": 0.3, "beta": 0.5}
L3 = {"model": "l-diversity", "variant": "distinct", "l": 3}
UNIFORM = {"model": "p-privacy", "target": "uniform"}


@pytest.fixture
def publish(small):
    def publish_groups(partition, form, promises, strata=()):
        small.write(
            [
                {
                    "person": n,
                    "age": 20 + n % 40,
                    "town": "ABCD"[n // 7 % 4],
                    "job": "abcdefghij"[n * 3 // 4 % 10],
                    "area": 100 + n * 5 % 12,
                    "wage": 1 + n * n % 7,
                }
                for n in range(240)
            ],
            columns={
                "person": {"role": "identifier", "unit": True},
                **{n: {"role": "quasi-identifier", "type": "integer"} for n in ("age", "area")},
                **{n: {"role": "quasi-identifier"} for n in ("town", "job")},
                "wage": {"role": "sensitive", "type": "integer"},
            },
            promises=promises,
            partition=partition,
            form=form,
            strata=list(strata),
            evaluate={"workloads": []},
        )
        return small.publish("one").directory

    return publish_groups


def verdicts(directory):
    return {promise.name: verdict for promise, verdict in check(directory).verdicts}


@pytest.mark.parametrize("presence", ["combined", "per-group"])
def test_mondrian_keeps_presence_in_every_group(publish, presence):
    """Boxes of strict cuts are disjoint, so that both readings agree."""
    promise = {**PRESENT, "presence": presence}
    directory = publish({"method": "mondrian"}, {"method": "ambiguous"}, [promise])
    verdict = verdicts(directory)["alpha-beta"]
    assert verdict.holds
    assert verdict.groups > 1
    assert verdict.observed["alpha"] <= verdict.required["alpha"]


RELAXED = {"method": "mondrian", "mode": "relaxed"}


def test_overlapping_groups_keep_presence_one_by_one(publish):
    """Relaxed cuts part rows with equal values, so that boxes overlap."""
    directory = publish(RELAXED, {"method": "ambiguous"}, [{**PRESENT, "presence": "per-group"}])
    assert verdicts(directory)["alpha-beta"].holds


def test_overlapping_groups_are_judged_together_by_the_gate(publish):
    with pytest.raises(PromiseError, match=r"alpha-beta is broken in \d+ of \d+ groups: required"):
        publish(RELAXED, {"method": "ambiguous"}, [PRESENT])


@pytest.mark.parametrize(
    ("partition", "form", "promises", "strata"),
    [
        ({"method": "mondrian"}, {"method": "ambiguous"}, [PRESENT], ()),
        ({"method": "stratum"}, {"method": "permuted"}, [L3], BANDS),
        ({"method": "mondrian"}, {"method": "redistributed", "rows": 12}, [UNIFORM], ()),
    ],
    ids=["ambiguous", "owner", "declared"],
)
def test_minimality_is_scored_or_says_why_not(publish, small, partition, form, promises, strata):
    directory = publish(partition, form, promises, strata)
    scores_by_column, _ = attack_again(directory, small.spec, Overrides())
    scores = [score for scores in scores_by_column.values() for score in scores]
    assert any("who knows" in score.measure or score.measure == "minimality" for score in scores)
    assert all(score.skipped or 0 <= score.share <= 1 for score in scores)


def test_groups_of_a_generalization_become_ambiguous(publish):
    """Theorem 6.1 of the ambiguity paper: AT and ST from the groups of a generalization."""
    loose = {**PRESENT, "alpha": 0.7}
    directory = publish({"method": "full-domain"}, {"method": "ambiguous"}, [loose, L3])
    assert all(verdict.holds for verdict in verdicts(directory).values())


@pytest.mark.parametrize("form", ["permuted", "split", "generalized"])
def test_groups_of_the_owner_in_several_forms(publish, form):
    directory = publish({"method": "stratum"}, {"method": form}, [L3], BANDS)
    assert verdicts(directory)["distinct-l-diversity"].holds
    if form != "generalized":
        assert verdicts(directory)["distinct-l-diversity"].groups == 4


def test_groups_of_the_owner_are_refused_with_what_broke(publish):
    figures = r"distinct-l-diversity cannot be kept: required l=6, at best l=4 in 4 of 4 strata"
    with pytest.raises(PromiseError, match=figures):
        publish({"method": "stratum"}, {"method": "permuted"}, [{**L3, "l": 6}], BANDS)


def test_presence_that_no_partition_aimed_at_is_refused_with_its_figures(publish):
    with pytest.raises(PromiseError, match=r"alpha-beta is broken in .* groups"):
        publish({"method": "exact-qi"}, {"method": "ambiguous"}, [{**PRESENT, "beta": 1}])


@pytest.mark.parametrize("target", [UNIFORM, {**UNIFORM, "target": "source", "per": "table"}])
def test_declared_targets_go_with_groups_of_mondrian(publish, target):
    form = {"method": "redistributed", "rows": 12, "denominator": 16}
    directory = publish({"method": "mondrian"}, form, [target, L3])
    assert all(verdict.holds for verdict in verdicts(directory).values())
    sizes = np.bincount(open_release(directory).table("qit")["group_id"].to_numpy())
    assert len(sizes) > 5
    assert sizes.min() >= 12


@pytest.mark.parametrize(
    ("partition", "form", "words"),
    [
        ({"method": "mondrian"}, {}, r"form\.rows: partition mondrian needs the fewest rows"),
        ({"method": "stratum"}, {"rows": 5}, r"form\.rows: partition stratum makes groups of any"),
        (
            {"method": "full-domain", "suppression": 0.1},
            {"rows": 5},
            r"partition\.suppression: targets would reveal",
        ),
    ],
)
def test_what_does_not_go_with_declared_targets(publish, partition, form, words):
    with pytest.raises(SpecError, match=words):
        publish(partition, {"method": "redistributed", **form}, [UNIFORM])


def test_what_cannot_be_proven_is_a_refusal_of_its_own(publish):
    """The search for the most present combination is given up."""
    with (
        patch("sfumato.expectations.measures.joined_presence._NODES", 0),
        pytest.raises(PromiseError, match=r"alpha-beta cannot be proven in \d+ of \d+ groups"),
    ):
        publish(RELAXED, {"method": "ambiguous"}, [PRESENT])

"""Releases in parts under attack: each part by itself, and all of them as one table would be."""

import json
from dataclasses import replace
from unittest.mock import patch

import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.cli.main import run
from sfumato.tasks.attacks.bars import (
    AttackedPart,
    MeasuredLimit,
    measure_limits,
    pool_limits,
    pool_scores,
)
from sfumato.tasks.attacks.declared import AttackBars
from sfumato.tasks.attacks.registry import ATTACKS, attack_release, targets_of
from sfumato.tasks.microdata.table import Microdata, seeded_keys
from sfumato.tasks.parts.anonymize import write_candidates
from sfumato.tasks.parts.attack import attack_all_parts, attack_candidates
from sfumato.tasks.parts.validate import seal_candidates
from sfumato.tasks.private.people.backup import ATTACKED
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.publish import publish
from sfumato.tasks.schema.stated import KeptBar
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import sealed_candidate
from sfumato.tasks.terms.opened import PAGE, open_release
from sfumato.tasks.workers.workers import InTurn
from tests.lines import TIME
from tests.parts.divided import SPEC, divide, examine_in, visits
from tests.parts.test_answers import as_one

SURE = {"max-share-above": {"belief": 1, "share": 0}}
BARS = {
    "homogeneity": {"max-lift": 0, **SURE},
    "background": {"known": 2, **SURE, "on-failure": "tell"},
    "known-people": {"known": 1, "max-share-above": {"belief": 0.5, "share": 1}},
    "small-range": {"width": 50, "max-share-above": {"belief": 0.5, "share": 1}},
}


def write_with_bars(divided, **changes):
    """A line whose bars are about its costs alone."""
    columns = {**SPEC["columns"], "ward": {"role": "drop"}}
    return divided.write(visits(), columns=columns, **changes)


def test_what_parts_tell_is_what_all_of_them_tell(divided_line):
    release = divided_line.write(visits()).publish("one").directory
    bars = AttackBars.model_validate(BARS)
    parts, missing = attack_all_parts(release, bars, InTurn())
    assert len(parts) > 1
    assert missing == []
    tables, declared = as_one(release)
    declared = declared.model_copy(update={"window": bars.window})
    whole = targets_of(declared, tables, Microdata((), 0))
    for scores_found, expected in zip(
        pool_limits(parts), measure_limits(bars.root, whole), strict=True
    ):
        assert scores_found == expected
    together = pool_scores(parts)
    for name, scores in attack_release(whole).items():
        scores_found = {score.measure: score for score in together[name]}
        assert {*scores_found} == {score.measure for score in scores}
        for score in scores:
            if "as likely as" not in score.measure:  # than among the people of the part
                assert scores_found[score.measure].share == pytest.approx(score.share)


@pytest.fixture
def attack_in_parts(divided_line):
    """Attack a line's candidate in parts."""

    def attack(name, bars, judging=lambda _: ()):
        resolved, run_ = (
            write_with_bars(divided_line, attacks=bars).plan(),
            divided_line.folder / name,
        )
        run_.mkdir(parents=True, mode=0o700)
        divided_ = divide(resolved, run_)
        candidate = write_candidates(divided_, resolved.terms, run_, seeded_keys(1), InTurn())
        stated = resolved.terms, resolved.withheld, resolved.line
        seal_candidates(candidate, divided_, *stated, InTurn(), examine_in)
        whose, bars_asked = identity(divided_), resolved.spec.attacks
        outcome = attack_candidates(candidate, bars_asked, whose, resolved.line, judging, InTurn())
        published = publish(resolved.line, sealed_candidate(candidate), whose, TIME)
        return outcome, run_, published.directory

    return attack


def test_bars_are_judged_stated_and_told_in_private(attack_in_parts):
    outcome, run_, version = attack_in_parts("one", BARS)
    assert {verdict.limit.attack: verdict.is_kept for verdict in outcome.judged} == {
        "homogeneity": True,
        "background": False,
        "known-people": True,
        "small-range": True,
    }
    record = json.loads((run_ / ATTACKED).read_bytes())
    assert record["scores"]["cost"]
    assert record["missing"] == []
    stated = [bar.attack for bar in open_release(version).declared.bars.bars]
    assert stated == ["homogeneity", "homogeneity", "known-people", "small-range"]
    validation = json.loads((version / "validation.json").read_bytes())
    assert [result["observed"] for result in validation if result["table"] == "attacks"] == [
        None
    ] * 4
    assert "Bars on attacks: kept" in (version / PAGE).read_text(encoding="utf-8")
    assert check(version)


def test_what_breaks_a_bar_is_refused_and_not_drawn_anew(attack_in_parts):
    broken = {"background": {"known": 2, **SURE}}
    with pytest.raises(
        PromiseError, match=r"background\.max-share-above: 0 of 'cost': this limit is not"
    ):
        attack_in_parts("one", broken)
    judged = []
    with pytest.raises(PromiseError, match="this candidate stays refused"):
        attack_in_parts("two", broken, judged.append)
    assert judged == []


def test_what_needs_the_truth_is_refused_when_the_spec_is_read(divided_line):
    divided_line.write(visits(), attacks={"definetti": SURE})
    with pytest.raises(
        SpecError, match=(r"attacks\.definetti: cannot be judged for releases in parts")
    ):
        divided_line.plan()


def test_the_command_attacks_parts(divided_line, tmp_path, capsys):
    version = write_with_bars(divided_line, attacks=BARS).publish("one").directory
    command = ["attack", str(version), "--truth", str(divided_line.spec)]
    assert run(command) == 0
    output = capsys.readouterr().out
    assert "own value guessed from the group alone (without the release: " in output
    assert "bar       attacks.background.max-share-above: 0 of 'cost': not kept" in output
    assert run([*command, "--register", str(tmp_path / "any.csv")]) == 2
    assert "is in parts, and --register does not work for such" in capsys.readouterr().err


def test_a_score_that_fails_is_said_once(divided_line):
    def broken(_):
        raise ZeroDivisionError

    release = divided_line.write(visits()).publish("one").directory
    with patch.dict(ATTACKS, {"skewness": broken}):
        _, missing = attack_all_parts(release, AttackBars(), InTurn())
    assert missing == ["cost: skewness", "ward: skewness"]


def test_what_is_not_known_of_one_part_is_not_judged_of_all():
    limit = KeptBar(attack="small-range", limit="max-share-above", most=1, belief=0.5)
    known_limit = MeasuredLimit(limit, "cost", refuses=True, number=150, share=0.5)
    parts = [
        AttackedPart(1, {}, [limit])
        for limit in (known_limit, replace(known_limit, number=0, share=None))
    ]
    assert pool_limits(parts)[0].share is None
    assert not pool_limits(parts)[0].judged_bar.is_kept
    few = [
        AttackedPart(1, {}, [replace(known_limit, number=60, share=share)]) for share in (0.5, 0.25)
    ]
    assert pool_limits(few)[0].judged_bar.observed == 0.375, "together they are enough"

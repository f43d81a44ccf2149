"""Bars on attacks: as a spec writes them, as they are judged, and what becomes of a release."""

import json
from unittest.mock import patch

import numpy as np
import pytest
from pydantic import ValidationError

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.expectations.suites.gate import judge_attacks
from sfumato.flows.cli.main import run
from sfumato.tasks.attacks.bars import JudgedBar, judge_bars
from sfumato.tasks.attacks.declared import JUDGED, AttackBars
from sfumato.tasks.attacks.registry import ATTACKS, FIGURES
from sfumato.tasks.microdata.table import load
from sfumato.tasks.private.people.backup import ATTACKED, REFUSED
from sfumato.tasks.schema.stated import KeptBar
from sfumato.tasks.stages.attack import attack_candidate, keep_attacks
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate
from tests.attacks.test_attacks import draw_correlated, make_release
from tests.release.small import people

SURE = {"max-share-above": {"belief": 1, "share": 0}}
L3 = [{"model": "l-diversity", "variant": "distinct", "l": 3}]


def bars(**attacks):
    return AttackBars.model_validate(attacks)


LIFT = KeptBar(attack="definetti", limit="max-lift", most=0.2)


def test_there_is_a_bar_for_every_attack_but_those_that_test_chance():
    assert set(JUDGED) == set(FIGURES)
    assert set(ATTACKS) - set(FIGURES) == {"beside", "distance", "few-columns"}
    assert set(FIGURES) - set(ATTACKS) == {"linkage", "presence", "composition"}, "need more"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            {"definetty": SURE},
            "definetty: is not an attack that can be limited. Write one of homogeneity",
        ),
        ({"distance": SURE}, "distance: is not an attack that can be limited"),
        ({"definetti": {}}, "needs max-lift, or max-share-above"),
        ({"small-range": {}}, "small-range: needs max-share-above"),
        (
            {"small-range": {"max-lift": 0}},
            "max-lift: is not a limit of this attack. Write max-share-above",
        ),
        ({"small-range": {**SURE, "width": 0}}, "greater than 0"),
        ({"definetti": {**SURE, "width": 5}}, "width: belongs to other attacks"),
        ({"similarity": SURE}, "level: is missing"),
        ({"skewness": {"max-share": 0.1}}, "times: is missing"),
        ({"skewness": {"max-share": 0.1, "times": 1}}, "greater than 1"),
        ({"matches": SURE}, "max-share-above: is not a limit of this attack. Write max-share"),
        ({"linkage": SURE}, "register: is missing"),
        ({"definetti": {"max-lift": 1.5}}, "less than or equal to 1"),
        ({"definetti": {**SURE, "known": 1}}, "known: belongs to other attacks"),
        ({"background": SURE}, "background: known: is missing"),
        ({"background": {**SURE, "known": 0}}, "greater than or equal to 1"),
    ],
)
def test_what_is_no_bar_is_refused(written, message):
    with pytest.raises(ValidationError, match=message):
        bars(**written)


def test_limits_are_judged_on_everybody(tmp_path):
    release = make_release(tmp_path, draw_correlated(np.random.default_rng(5), 1500, 0.9))
    bars_asked = bars(
        definetti={"max-lift": 0.2, "max-share-above": {"belief": 0.8, "share": 0.05}},
        homogeneity={"max-lift": 0, **SURE},
    )
    judged = judge_bars(bars_asked.root, [release])
    verdicts = {(verdict.limit.attack, verdict.limit.limit): verdict for verdict in judged}
    assert not verdicts["definetti", "max-lift"].is_kept
    assert verdicts["definetti", "max-lift"].observed == pytest.approx(0.4, abs=0.1)
    assert not verdicts["definetti", "max-share-above"].is_kept
    assert verdicts["homogeneity", "max-lift"].is_kept
    assert verdicts["homogeneity", "max-share-above"].is_kept
    assert all("0.4" not in verdict.words for verdict in judged)


def test_few_people_are_not_judged_and_what_is_not_judged_is_not_kept(tmp_path):
    release = make_release(tmp_path, draw_correlated(np.random.default_rng(5), 96, 0.1))
    bars_asked = bars(homogeneity={"max-lift": 1, "max-share-above": {"belief": 1, "share": 1}})
    for verdict in judge_bars(bars_asked.root, [release]):
        assert (verdict.observed, verdict.is_kept) == (None, False)
        assert verdict.words.endswith("(could not be judged)")


@pytest.mark.parametrize(("observed", "passes"), [(0.2, True), (0.20001, False), (None, False)])
def test_great_expectations_judges_the_same(observed, passes, tmp_path):
    bar = JudgedBar(LIFT, "s", observed, refuses=True)
    assert bar.is_kept is passes
    findings = judge_attacks("wages", tmp_path, [bar])
    assert all(finding.passed for finding in findings) is passes
    assert (tmp_path / "wages.attacks.json").exists()


@pytest.fixture
def line(small):
    def write_line(attacks, rows=300, **changes):
        spec = {"promises": L3, "partition": {"method": "anatomy"}, "attacks": attacks} | changes
        return small.write(people(rows=rows), **spec)

    return write_line


def attack(small, name="one", judging=lambda bars: ()):
    resolved, folder = small.prepare_run(name)
    whose = identity(folder / "deidentified")
    bars_asked = resolved.spec.attacks.with_local_registers(resolved.base)
    original = load(folder / "deidentified")
    candidate = folder / "candidate"
    seal_candidate(candidate, assess_candidate(candidate))
    outcome = attack_candidate(candidate, original, bars_asked, whose, resolved.line, judging)
    assert not outcome.missing
    return outcome.judged


class TestStage:
    """A candidate under attack."""

    def test_one_that_keeps_its_bars_passes(self, line, small):
        (judged,) = attack(line({"background": {"known": 1, **SURE}}))
        assert judged.is_kept
        private = small.folder / "one"
        record = json.loads((private / ATTACKED).read_bytes())
        assert record["bars"][0]["observed"] == 0
        assert next(score["measure"] for score in record["scores"]["wage"]).startswith("own value")
        assert (private / ATTACKED).stat().st_mode & 0o777 == 0o600
        assert "IDENT-" not in (private / ATTACKED).read_text(encoding="utf-8")
        keep_attacks(private, small.plan().line.reports("0001"))
        assert (small.plan().line.reports("0001") / ATTACKED).exists()

    def test_one_that_does_not_is_refused_and_not_drawn_anew(self, line, small):
        broken = {"background": {"known": 2, **SURE}}
        with pytest.raises(
            PromiseError, match=r"background\.max-share-above: 0 of 'wage': this limit is not"
        ):
            attack(line(broken))
        judged = []
        with pytest.raises(PromiseError, match="this candidate stays refused"):
            attack(small, "two", judged.append)
        assert judged == []  # it was not even attacked
        (verdict,) = attack(
            line({"background": {**broken["background"], "on-failure": "tell"}}), "3"
        )
        assert (verdict.is_kept, verdict.refuses) == (False, False)

    def test_without_bars_it_is_scored_and_leaves_nothing_in_the_line(self, line, small):
        assert attack(line({})) == []
        record = json.loads((small.folder / "one" / ATTACKED).read_bytes())
        measures = {score["measure"] for score in record["scores"]["wage"]}
        assert {
            "own value guessed from the group alone",
            "own value guessed by deFinetti's attack",
        } <= measures
        assert record["bars"] == record["missing"] == []
        private = small.plan().line.private
        assert not (private / ATTACKED).exists()
        assert not (private / REFUSED).exists()

    def test_figures_of_what_was_refused_are_kept_for_the_owner(self, line, small):
        with pytest.raises(PromiseError, match=r"attacks\.json in the line's private"):
            attack(line({"background": {"known": 2, **SURE}}))
        record = json.loads((small.plan().line.private / ATTACKED).read_bytes())
        assert record["bars"][0]["observed"] > 0
        assert record["scores"]["wage"]

    def test_a_score_that_fails_stops_nothing_and_is_said(self, line, small):
        def broken(_):
            raise ZeroDivisionError("IDENT-1")

        resolved, folder = line({}).prepare_run("one")
        candidate = folder / "candidate"
        seal_candidate(candidate, assess_candidate(candidate))
        original, whose = load(folder / "deidentified"), identity(folder / "deidentified")
        arguments = candidate, original, resolved.spec.attacks, whose, resolved.line
        with patch.dict(ATTACKS, {"matches": broken}):
            outcome = attack_candidate(*arguments, lambda _: ())
        assert outcome.missing == ["wage: matches"]
        assert outcome.scores["wage"]
        assert "IDENT" not in (folder / ATTACKED).read_text(encoding="utf-8")

    def test_great_expectations_judges_those_that_only_tell_and_refuses_nothing(self, line, small):
        findings = []

        def judging(judged):
            findings.extend(judge_attacks("wages", small.folder, judged))
            return findings

        tells = {"background": {"known": 2, **SURE, "on-failure": "tell"}}
        (verdict,) = attack(line(tells), judging=judging)
        assert not verdict.is_kept
        assert [finding.passed for finding in findings] == [True, False]

    def test_great_expectations_may_refuse_it_too(self, line):
        def no(judged):
            return judge_attacks("wages", small_place, [*judged, worse])

        worse = JudgedBar(LIFT, "wage", 0.3, refuses=True)
        small = line({"background": {"known": 1, **SURE}})
        small_place = small.folder
        with pytest.raises(PromiseError, match="attacks: this limit is not kept"):
            attack(small, judging=no)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {
                "form": {"method": "generalized"},
                "partition": {"method": "mondrian"},
                "evaluate": {},
            },
            "definetti",
        ),
        ({"versions": "composed"}, "definetti: cannot be judged for composed versions"),
    ],
)
def test_bars_that_cannot_be_judged_are_refused_when_the_spec_is_read(line, changes, message):
    small = line({"definetti": SURE}, **changes)
    with pytest.raises(SpecError, match=message):
        small.plan()


def test_a_bar_on_minimality_is_refused_where_no_finer_groups_are_tried(line):
    small = line({"minimality": SURE})
    with pytest.raises(
        SpecError, match="minimality: can only be judged with partition mondrian or full-domain"
    ):
        small.plan()


def test_a_bar_on_all_rows_of_people_is_refused_where_each_has_one(line):
    small = line({"several-rows": SURE})
    with pytest.raises(SpecError, match=r"attacks\.several-rows: judges people with several"):
        small.plan()


@pytest.mark.parametrize(("failure", "follows"), [("refuse", "be refused"), ("tell", "warn")])
def test_a_draft_warns(line, capsys, failure, follows):
    small = line({"background": {"known": 2, **SURE, "on-failure": failure}})
    assert run(["plan", str(small.spec), "--format", "json"]) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning.startswith("beyond attacks.background.max-share-above: 0 of 'wage': a release")
    assert warning.endswith(follows)


def test_the_command_scores_a_version(line, small, capsys):
    small = line({"background": {"known": 2, **SURE, "on-failure": "tell"}})
    version = small.publish("one").directory
    assert run(["attack", str(version), "--truth", str(small.spec)]) == 0
    output = capsys.readouterr()
    assert "bar       attacks.background.max-share-above: 0 of 'wage': not kept" in output.out
    assert "own value guessed from the group alone (without the release: " in output.out
    assert "PRIVATE" in output.err
    assert run(["attack", str(version), "--truth", str(small.spec), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bars"][0]["kept"] is False
    line({"background": {"known": 2, **SURE}})
    assert run(["attack", str(version), "--truth", str(small.spec)]) == 3
    assert "limits that are not kept" in capsys.readouterr().err
    assert run(["attack", str(version), "--truth", str(small.folder / "none.yaml")]) == 2

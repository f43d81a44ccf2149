"""Both verifiers give the verdicts of the specification on the same members and mutants."""

import shlex
from pathlib import Path

import pytest

from tests.conformance.members import make_members
from tests.conformance.mutants import make_mutants
from tests.conformance.rulebook import RULES
from tests.conformance.table import tally
from tests.conformance.verdicts import answers_of

pytestmark = pytest.mark.node
ANSWERS = Path(__file__).parent / "tools" / "answers.mjs"
MEMBERS, FROZEN, MUTANTS, SEED = 26, 2, 170, 4


def test_the_second_verifier_answers_mutants_as_their_rules_say(tmp_path):
    members = make_members(SEED, MEMBERS, tmp_path / "members", FROZEN)
    mutants = list(make_mutants(SEED, MUTANTS, members, tmp_path / "mutants"))
    assert {mutant.rule for mutant in mutants} == RULES.keys()
    releases = [member.release for member in members] + [mutant.release for mutant in mutants]
    answers = list(answers_of(f"node {shlex.quote(str(ANSWERS))} {{*}}", releases))
    of_members = list(zip(members, answers, strict=False))
    of_mutants = list(zip(mutants, answers[len(members) :], strict=True))
    assert tally("full", of_members, of_mutants).disagreements == []
    verdicts = [mutant.expected.verdict for mutant in mutants]
    assert min(verdicts.count("valid"), verdicts.count("refused") - 100) > 10

"""Both verifiers give the verdicts of the specification on the same members and mutants."""

import shlex
from pathlib import Path

import pytest

from tests.conformance.drafts import Draft
from tests.conformance.members import make_members
from tests.conformance.mutants import make_mutants
from tests.conformance.rulebook import RULES
from tests.conformance.table import tally
from tests.conformance.verdicts import answers_of

pytestmark = pytest.mark.node
ANSWERS = Path(__file__).parent / "tools" / "answers.mjs"
MEMBERS, FROZEN, SEED = 30, 2, 5


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    """Members of many recipes, the specification's examples, and two frozen releases."""
    return make_members(SEED, MEMBERS, tmp_path_factory.mktemp("members"), FROZEN)


def answers_in_javascript(releases):
    return list(answers_of(f"node {shlex.quote(str(ANSWERS))} {{*}}", releases))


def test_the_second_verifier_answers_mutants_as_their_rules_say(members, tmp_path):
    mutants = list(make_mutants(SEED, len(RULES), members, tmp_path / "mutants"))
    assert {mutant.rule for mutant in mutants} == RULES.keys()
    releases = [member.release for member in members] + [mutant.release for mutant in mutants]
    answers = answers_in_javascript(releases)
    of_members = list(zip(members, answers, strict=False))
    of_mutants = list(zip(mutants, answers[len(members) :], strict=True))
    assert tally("full", of_members, of_mutants).disagreements == []
    verdicts = [mutant.expected.verdict for mutant in mutants]
    assert min(verdicts.count("valid"), verdicts.count("refused") - 100) > 10


def test_a_column_of_no_values_has_no_pages(members, tmp_path):
    """A writer gives booleans no dictionary, and so no page at all where a table is empty."""
    drafts = [Draft.read(member.release) for member in members]
    draft = next(draft for draft in drafts if _has_booleans(draft))
    name = next(name for name, table in draft.tables().items() if "treated" in table.column_names)
    draft.put_table(name, draft.table(name).slice(0, 0))
    (answer,) = answers_in_javascript([draft.write(tmp_path / "line", "0001")])
    assert answer.reasons & {"row-count-wrong", "table-empty"}, answer


def _has_booleans(draft):
    return not draft.in_parts and any(
        column["name"] == "treated" and column["role"] != "sensitive"
        for column in draft.terms["columns"]
    )

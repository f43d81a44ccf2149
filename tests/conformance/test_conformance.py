"""Our own check gives the verdicts of the specification on a corpus of members and mutants."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from tests.conformance.__main__ import main
from tests.conformance.arithmetic import limits_of
from tests.conformance.drafts import Draft, NotApplicableError
from tests.conformance.members import Member, description_of, make_members
from tests.conformance.mutants import make_mutants
from tests.conformance.rulebook import RULES, VALID, Expected, refusal
from tests.conformance.table import Tally, tally
from tests.conformance.verdicts import Answer, agrees, answers_of, check_here, reasons_in
from tests.guide.test_release_format import reasons

MEMBERS, FROZEN, MUTANTS, OF_THE_WEEK = 40, 2, 300, 40
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("corpus")


@pytest.fixture(scope="module")
def members(folder):
    """Members of every recipe, the specification's examples, and some frozen releases."""
    return make_members(1, MEMBERS, folder / "members", FROZEN)


@pytest.fixture(scope="module")
def mutants(members, folder):
    """Mutants by every rule, most by two changes or three."""
    return list(make_mutants(1, MUTANTS, members, folder / "fixed"))


@pytest.fixture
def reader(tmp_path):
    """The environment of a reader who trusts nobody."""
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def week_of_the_newest_commit():
    """Return a number that changes every week, and that a commit always gives again."""
    command = ["git", "log", "-1", "--format=%ct"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    seconds = int(ran.stdout.strip() or 0)  # an archive of the source has no history
    year, week, _ = datetime.fromtimestamp(seconds, UTC).isocalendar()
    return year * 100 + week


def verdicts_here(mutants, environ):
    return [(mutant, check_here(mutant.release, environ)) for mutant in mutants]


def test_every_member_is_valid(members, reader):
    answers = [(member, check_here(member.release, reader)) for member in members]
    assert tally("byte", answers, []).disagreements == []
    choices = [description_of(member) for member in members]
    assert len({choice["form"] for choice in choices}) == 6
    assert len({choice["partition"] for choice in choices}) >= 10
    assert len({choice["format"] for choice in choices}) >= 4


def test_every_mutant_is_answered_as_its_rule_says(mutants, reader):
    assert {mutant.rule for mutant in mutants} == RULES.keys()
    assert tally("byte", [], verdicts_here(mutants, reader)).disagreements == []
    verdicts = [mutant.expected.verdict for mutant in mutants]
    assert verdicts.count("valid") > 20
    assert verdicts.count("refused") > 200


def test_mutants_of_the_week_are_answered_as_their_rules_say(members, folder, reader):
    week = week_of_the_newest_commit()
    weekly = list(make_mutants(week, OF_THE_WEEK, members, folder / "week"))
    assert len({mutant.rule for mutant in weekly}) == OF_THE_WEEK
    assert tally("byte", [], verdicts_here(weekly, reader)).disagreements == []


def test_the_whole_of_a_release_in_parts_describes_its_own_columns(members, tmp_path, reader):
    draft = next(d for d in (Draft.read(member.release) for member in members) if d.in_parts)
    expected = RULES["nobodys-column-described"].apply(draft, Random(1))
    answer = check_here(draft.write(tmp_path / "line", draft.version), reader)
    assert (answer.verdict, answer.reasons & expected.reasons) == ("refused", {"statement-wrong"})


def test_rules_name_reasons_of_the_closed_list_alone(mutants):
    assert len(RULES) >= 100
    assert set().union(*(mutant.expected.reasons for mutant in mutants)) <= reasons()


def test_the_same_seed_gives_the_same_files(members, folder):
    first, second = (
        [_files(m.release) for m in make_mutants(3, 30, members, folder / name)]
        for name in ("one", "other")
    )
    assert first == second


def _files(release):
    return {
        path.relative_to(release).as_posix(): path.read_bytes()
        for path in release.rglob("*")
        if path.is_file()
    }


def test_a_draft_that_nothing_changed_is_the_release(members):
    for member in members:
        draft = Draft.read(member.release)
        before = dict(draft.files)
        draft.state(lambda document: document)
        assert draft.files == before


def test_arithmetic_gives_the_figures_that_releases_observe(members):
    compared = 0
    for member in members:
        draft = Draft.read(member.release)
        if draft.in_parts or draft.form == "redistributed":
            continue
        terms, tables = draft.terms, draft.tables()
        for promise, entry in zip(terms["promises"], terms["observed"], strict=True):
            compared += _comparison(terms, tables, promise, entry["observed"])
    assert compared > 30


def _comparison(terms, tables, promise, observed):
    try:
        limits = limits_of(terms, tables, promise)
    except NotApplicableError:
        return 0
    for limit in limits:
        assert float(limit.figure) == pytest.approx(
            float(Fraction(str(observed[limit.name]))), abs=2e-6
        )
    return len(limits)


@pytest.mark.parametrize(
    ("answer", "expected", "level", "right"),
    [
        (Answer("valid"), VALID, "core", True),
        (Answer("refused", frozenset({"order-wrong"})), VALID, "core", False),
        (Answer("refused", frozenset({"csv-differs"})), refusal("csv-differs"), "core", True),
        (Answer("refused", frozenset({"order-wrong"})), refusal("csv-differs"), "core", False),
        (Answer("valid"), refusal("csv-differs"), "core", False),
        (Answer("valid"), refusal("bytes-differ", core="valid"), "core", True),
        (Answer("valid"), refusal("bytes-differ", core="valid"), "byte", False),
        (Answer("refused"), refusal("bytes-differ", core="valid"), "core", False),
        (Answer("valid"), refusal("bytes-differ", core="valid"), "full", True),
        (Answer("valid"), refusal("help-table-differs", core="valid"), "core", True),
        (Answer("valid"), refusal("help-table-differs", core="valid"), "full", False),
        (Answer("refused"), refusal("help-table-differs", core="valid"), "full", True),
        (Answer("valid"), refusal("value-hidden", core="either"), "core", True),
        (
            Answer("refused", frozenset({"value-hidden"})),
            refusal("value-hidden", core="either"),
            "core",
            True,
        ),
        (Answer("failed"), refusal("csv-differs"), "core", False),
        (
            Answer("refused", frozenset({"format-newer"})),
            Expected("not judged", frozenset({"format-newer"})),
            "core",
            False,
        ),
    ],
)
def test_agreement_is_of_verdict_and_reason(answer, expected, level, right):
    assert agrees(answer, expected, level) == right


def test_a_disagreement_is_counted_and_told():
    counted = Tally("core")
    counted.add_member(Member("small", Path()), Answer("refused", frozenset({"order-wrong"})))
    assert counted.agreements == 0
    assert "member: small: expected valid" in counted.disagreements[0]
    assert "member       0    1" in "\n".join(counted.lines())


VERIFIER = """
import json, sys
codes = {"valid": 0, "refused": 3, "not judged": 2}
for place in sys.argv[1:]:
    verdict = "refused" if "bad" in place else "not judged" if "new" in place else "valid"
    reasons = {"refused": ["order-wrong"], "not judged": ["format-newer"]}.get(verdict, [])
    print(json.dumps({"verdict": verdict, "reasons": reasons}))
sys.exit(codes[verdict] if len(sys.argv) == 2 else 0)
"""


@pytest.mark.parametrize("places", ["{}", "{*}"])
def test_another_verifier_answers_one_by_one_or_many_at_once(tmp_path, places):
    script = tmp_path / "verifier.py"
    script.write_text(VERIFIER, encoding="utf-8")
    releases = [tmp_path / name for name in ("good", "bad", "new")]
    answers = list(answers_of(f"{sys.executable} {script} {places}", releases))
    assert [answer.verdict for answer in answers] == ["valid", "refused", "not judged"]
    assert [sorted(answer.reasons) for answer in answers] == [[], ["order-wrong"], ["format-newer"]]


def test_a_verifier_that_falls_over_agrees_with_nothing(tmp_path):
    (answer,) = answers_of("python -c 'import sys; sys.exit(1)' {}", [tmp_path])
    assert answer.verdict == "failed"
    assert not agrees(answer, refusal("order-wrong"), "core")


def test_messages_name_reasons_of_the_closed_list():
    assert reasons_in("data/x.csv: differs from the published tables") <= reasons()
    assert reasons_in("validation.json: differs from the published tables") == {"validation-wrong"}
    assert reasons_in("a text of nobody's") == set()


def test_the_command_writes_what_is_expected_and_runs_our_check(tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--members", "12", "--mutants", "6", "--out", str(out), "--verify"]
    assert main(["--seed", "6", *options]) == 0
    document = json.loads((out / "expected.json").read_text(encoding="utf-8"))
    assert len(document) == 18
    assert all((out / place).is_dir() for place in document)
    assert "all" in capsys.readouterr().out
